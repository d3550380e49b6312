// Package allow decides who may call which tool with which arguments: rules of a file, in
// the Common Expression Language.
package allow

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"

	"cel.dev/cel-go/cel"

	"sabha.dev/chassis/strictyaml"
)

// Bounds of one expression.
const (
	maxExpression = 2000
	maxCost       = 100_000
	checkEvery    = 100 // iterations between two looks at the context
)

// Request is a call that is about to be made.
type Request struct {
	// Caller is the service that asks, for example planner or gateway.
	Caller string
	// Organisation, Subject and Scopes are of the principal it asks for.
	Organisation, Subject string
	Scopes                []string
	// Server and Tool are the names of both; Arguments is the JSON object.
	Server, Tool string
	Arguments    map[string]any
	// ReadOnly, Idempotent and Destructive are the effects of the tool.
	ReadOnly, Idempotent, Destructive bool
	// Trusted says that no untrusted data is in the call.
	Trusted bool
}

// Denied is why a call may not be made. Its text may be shown to whoever asked.
type Denied struct{ Reason string }

// Error says why.
func (d *Denied) Error() string { return d.Reason }

type rule struct {
	name    string
	deny    bool
	reason  string
	program cel.Program
}

// Policy decides.
type Policy struct{ rules []rule }

// Standard is the policy where the operator has written none: anybody who reaches the
// executor reads and adds, and only the planner, whose plans ask people before they act,
// calls what may remove or overwrite.
const Standard = `
rules:
  - name: whatever reads
    allow: read_only
  - name: whatever only adds
    allow: "!destructive"
  - name: steps of plans
    allow: caller == "planner"
`

var environment = sync.OnceValues(func() (*cel.Env, error) {
	return cel.NewEnv(
		cel.Variable("caller", cel.StringType), cel.Variable("organisation", cel.StringType), cel.Variable("subject", cel.StringType),
		cel.Variable("scopes", cel.ListType(cel.StringType)),
		cel.Variable("server", cel.StringType), cel.Variable("tool", cel.StringType), cel.Variable("arguments", cel.MapType(cel.StringType, cel.DynType)),
		cel.Variable("read_only", cel.BoolType), cel.Variable("idempotent", cel.BoolType), cel.Variable("destructive", cel.BoolType),
		cel.Variable("trusted", cel.BoolType),
		cel.CrossTypeNumericComparisons(true), cel.ParserExpressionSizeLimit(maxExpression), cel.ParserRecursionLimit(100), cel.DefaultUTCTimeZone(true),
	)
})

// Read reads a file; an empty name is the standard policy. Problems name their lines.
func Read(file string) (*Policy, error) {
	if file == "" {
		return Parse("standard policy", []byte(Standard))
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	return Parse(file, text)
}

// Parse reads a policy; file names it in problems.
func Parse(file string, text []byte) (*Policy, error) {
	p := &Policy{}
	return p, strictyaml.Parse(file, text, p.compile)
}

func (p *Policy) compile(root strictyaml.Node) {
	f, ok := root.Fields("rules")
	if !ok {
		return
	}
	list, ok := f.Need("rules")
	if !ok {
		return
	}
	names := map[string]int{}
	for _, n := range list.Items() {
		f, ok := n.Fields("name", "allow", "deny", "reason")
		if !ok {
			continue
		}
		r := rule{}
		if at, ok := f.Need("name"); ok {
			if r.name = at.Text(); r.name == "" {
				at.Problem("is empty; a refusal names the rule")
			}
			if line, twice := names[r.name]; twice {
				at.Problem("another rule has this name, on line %d", line)
			}
			names[r.name] = at.Line()
		}
		allow, allows := f.Get("allow")
		deny, denies := f.Get("deny")
		if allows == denies {
			n.Problem("a rule has either allow or deny, an expression such as tool == \"pay\" && arguments.amount <= 100")
			continue
		}
		if r.deny = denies; denies {
			allow = deny
		}
		if at, ok := f.Get("reason"); ok {
			if r.reason = at.Text(); allows {
				at.Problem("is told with a refusal; it belongs to a rule that denies")
			}
		}
		if r.program, ok = compile(allow); ok {
			p.rules = append(p.rules, r)
		}
	}
}

func compile(n strictyaml.Node) (cel.Program, bool) {
	// Scalar, so that a bare true may stand there.
	text := n.Scalar()
	if text == "" {
		return nil, false
	}
	env, err := environment()
	if err != nil {
		n.Problem("%s", err)
		return nil, false
	}
	ast, issues := env.Compile(text)
	if issues.Err() != nil {
		n.Problem("%s", strings.Join(strings.Fields(issues.Errors()[0].Message), " "))
		return nil, false
	}
	if !ast.OutputType().IsExactType(cel.BoolType) && !ast.OutputType().IsExactType(cel.DynType) {
		n.Problem("the expression gives %s; it has to give bool", cel.FormatCELType(ast.OutputType()))
		return nil, false
	}
	program, err := env.Program(ast, cel.CostLimit(maxCost), cel.InterruptCheckFrequency(checkEvery))
	if err != nil {
		n.Problem("%s", err)
		return nil, false
	}
	return program, true
}

// Check gives nil for a call that may be made, else *Denied: where a rule denies it, where
// such a rule cannot be evaluated, and where no rule allows it.
func (p *Policy) Check(ctx context.Context, r Request) error {
	arguments := r.Arguments
	if arguments == nil {
		arguments = map[string]any{}
	}
	scopes := r.Scopes
	if scopes == nil {
		scopes = []string{}
	}
	in := map[string]any{
		"caller": r.Caller, "organisation": r.Organisation, "subject": r.Subject, "scopes": scopes, "server": r.Server, "tool": r.Tool,
		"arguments": arguments, "read_only": r.ReadOnly, "idempotent": r.Idempotent, "destructive": r.Destructive, "trusted": r.Trusted,
	}
	allowed := false
	for _, rule := range p.rules {
		if !rule.deny && allowed {
			continue
		}
		v, _, err := rule.program.ContextEval(ctx, in)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		holds, is := false, false
		if err == nil {
			holds, is = v.Value().(bool)
		}
		switch {
		case rule.deny && !is:
			return &Denied{fmt.Sprintf("the rule %q, which may forbid the call, cannot be evaluated with these arguments", rule.name)}
		case rule.deny && holds && rule.reason != "":
			return &Denied{fmt.Sprintf("the rule %q forbids the call: %s", rule.name, rule.reason)}
		case rule.deny && holds:
			return &Denied{fmt.Sprintf("the rule %q forbids the call", rule.name)}
		case !rule.deny:
			allowed = is && holds
		}
	}
	if !allowed {
		return &Denied{fmt.Sprintf("no rule lets %s call %s/%s with these arguments", r.Caller, r.Server, r.Tool)}
	}
	return nil
}

package disclosure

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"

	"sabha.dev/chassis/label"
	"sabha.dev/chassis/sensitive"
	"sabha.dev/chassis/strictyaml"
)

// Bounds of a condition.
const (
	maxCondition = 4000 // characters
	maxCost      = 100_000
)

// rule is the first fitting of its list to decide.
type rule struct {
	name    string
	classes []sensitive.Class // all of them when empty
	when    cel.Program       // nil: always
	always  bool
	action  Action
	consent bool
	line    int
}

// environment has what conditions may read. It is made once, and only read.
var environment = sync.OnceValues(func() (*cel.Env, error) {
	return cel.NewEnv(
		cel.Variable("recipient.partner", cel.StringType),
		cel.Variable("recipient.organisation", cel.StringType),
		cel.Variable("recipient.skill", cel.StringType),
		cel.Variable("labels.integrity", cel.StringType),
		cel.Variable("labels.confidentiality", cel.StringType),
		cel.Variable("labels.classes", cel.ListType(cel.StringType)),
		cel.Variable("class", cel.StringType),
		cel.Variable("kind", cel.StringType),
		cel.Variable("path", cel.StringType),
		cel.Variable("purpose", cel.StringType),
		cel.Variable("consented", cel.BoolType),
		cel.ParserExpressionSizeLimit(maxCondition),
	)
})

func parseRules(n strictyaml.Node) []rule {
	var list []rule
	names := map[string]bool{}
	for i, item := range n.Items() {
		f, ok := item.Fields("name", "classes", "when", "action", "consent")
		if !ok {
			continue
		}
		r := rule{name: fmt.Sprintf("rule %d", i+1), line: item.Line(), always: true}
		if at, ok := f.Get("name"); ok {
			if r.name = at.Text(); names[r.name] {
				at.Problem("another rule is named %q", strictyaml.Clip(r.name))
			}
			names[r.name] = true
		}
		if at, ok := f.Get("classes"); ok {
			r.classes = classes(at)
		}
		if at, ok := f.Get("when"); ok {
			r.when, r.always = condition(at), false
		}
		if at, ok := f.Need("action"); ok {
			r.action = Action(at.OneOf(actions...))
		}
		if at, ok := f.Get("consent"); ok {
			r.consent = at.Bool()
		}
		for _, earlier := range list {
			if covers(earlier, r) {
				item.Problem("is never reached: %q in line %d decides before it", earlier.name, earlier.line)
				break
			}
		}
		list = append(list, r)
	}
	return list
}

// covers tells whether a rule fits wherever a later one does.
func covers(earlier, later rule) bool {
	if !earlier.always {
		return false
	}
	if len(earlier.classes) == 0 {
		return true
	}
	if len(later.classes) == 0 {
		return false
	}
	for _, c := range later.classes {
		if !slices.Contains(earlier.classes, c) {
			return false
		}
	}
	return true
}

// condition compiles a CEL expression that gives true or false.
func condition(n strictyaml.Node) cel.Program {
	source := n.Text()
	if source == "" {
		return nil
	}
	env, err := environment()
	if err != nil {
		n.Problem("%s", err)
		return nil
	}
	ast, issues := env.Compile(source)
	if issues.Err() != nil {
		for _, e := range issues.Errors() {
			message, _, _ := strings.Cut(strings.Join(strings.Fields(e.Message), " "), " (in container")
			message, _, _ = strings.Cut(message, " expecting {")
			n.Problem("column %d of the condition: %s", max(1, e.Location.Column()+1), message)
		}
		return nil
	}
	if !ast.OutputType().IsExactType(cel.BoolType) {
		n.Problem("must give true or false; the condition gives %s", cel.FormatCELType(ast.OutputType()))
		return nil
	}
	program, err := env.Program(ast, cel.CostLimit(maxCost))
	if err != nil {
		n.Problem("%s", err)
		return nil
	}
	return program
}

// decision is what happens to one finding, and why.
type decision struct {
	action Action
	rule   string
	// problem says why it is refused although no rule says so.
	problem string
}

// decide gives what happens to a class at a place. A condition that cannot be evaluated
// refuses.
func (p *Policy) decide(to Recipient, labels label.Labels, class sensitive.Class, kind, path string) decision {
	var vars map[string]any
	for _, r := range p.rules {
		if len(r.classes) > 0 && !slices.Contains(r.classes, class) {
			continue
		}
		if r.when != nil {
			if vars == nil {
				vars = map[string]any{
					"recipient.partner": to.Partner, "recipient.organisation": to.Organisation, "recipient.skill": to.Skill,
					"labels.integrity": string(labels.Integrity), "labels.confidentiality": string(labels.Confidentiality),
					"labels.classes": append([]string{}, labels.Classes...),
					"class":          string(class), "kind": kind, "path": path, "purpose": to.Purpose, "consented": to.consented(),
				}
			}
			out, _, err := r.when.Eval(vars)
			if err != nil {
				return decision{Refuse, r.name, "its condition cannot be evaluated: " + strings.Join(strings.Fields(err.Error()), " ")}
			}
			if out != types.True {
				continue
			}
		}
		return p.withConsent(to, class, decision{action: r.action, rule: r.name}, r.consent)
	}
	return p.withConsent(to, class, decision{action: p.otherwise, rule: "default"}, false)
}

// withConsent refuses what needs a consent that is not there. What is dropped or masked
// needs none.
func (p *Policy) withConsent(to Recipient, class sensitive.Class, d decision, needed bool) decision {
	if d.action != Allow && d.action != Tokenise || !needed && !slices.Contains(p.consent, class) || to.consented() {
		return d
	}
	d.action = Refuse
	if to.Purpose == "" {
		d.problem = "it leaves only with consent, and no purpose is stated; state purpose and consent in the step that sends it"
	} else {
		d.problem = fmt.Sprintf("it leaves only with consent, and there is none to %q; have a step before it record one and name it as consent", to.Purpose)
	}
	return d
}

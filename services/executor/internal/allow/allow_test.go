package allow

import (
	"errors"
	"strings"
	"testing"
)

func policy(t *testing.T, text string) *Policy {
	t.Helper()
	p, err := Parse("tools.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// verdict is why a call is refused, empty for one that may be made.
func verdict(t *testing.T, p *Policy, r Request) string {
	t.Helper()
	err := p.Check(t.Context(), r)
	var denied *Denied
	if err != nil && !errors.As(err, &denied) {
		t.Fatal(err)
	}
	if denied != nil {
		return denied.Reason
	}
	return ""
}

func TestStandardPolicy(t *testing.T) {
	p, err := Read("")
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		r    Request
		want string
	}{
		"a client reads":              {Request{Caller: "gateway", Server: "s", Tool: "t", ReadOnly: true}, ""},
		"a client adds":               {Request{Caller: "gateway", Server: "s", Tool: "t"}, ""},
		"a client removes":            {Request{Caller: "gateway", Server: "s", Tool: "t", Destructive: true}, "no rule lets gateway call s/t with these arguments"},
		"an agent of the bus":         {Request{Caller: "weather", Server: "s", Tool: "t", Destructive: true, Idempotent: true}, "no rule lets weather call s/t with these arguments"},
		"a step of a plan overwrites": {Request{Caller: "planner", Server: "s", Tool: "t", Destructive: true}, ""},
	} {
		if got := verdict(t, p, c.r); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestRulesByCallerToolAndArguments(t *testing.T) {
	p := policy(t, `
rules:
  - name: small payments
    allow: caller == "planner" && server == "ledger" && tool == "pay" && arguments.amount <= 100
  - name: the desk
    allow: organisation == "acme" && "payments" in scopes && server == "ledger"
  - name: reading
    allow: read_only && trusted
  - name: frozen account
    deny: tool == "pay" && arguments.to in ["mallory", "trudy"]
    reason: the account is frozen
  - name: nobody at all
    deny: subject == "root"
`)
	pay := func(r Request, arguments map[string]any) Request {
		r.Server, r.Tool, r.Arguments, r.Destructive = "ledger", "pay", arguments, true
		return r
	}
	for name, c := range map[string]struct {
		r    Request
		want string
	}{
		"small":             {pay(Request{Caller: "planner"}, map[string]any{"amount": 99.5, "to": "alice"}), ""},
		"too much":          {pay(Request{Caller: "planner"}, map[string]any{"amount": 101.0, "to": "alice"}), "no rule lets planner call ledger/pay with these arguments"},
		"of another type":   {pay(Request{Caller: "planner"}, map[string]any{"amount": "99", "to": "alice"}), "no rule lets planner call ledger/pay with these arguments"},
		"not by a client":   {pay(Request{Caller: "gateway"}, map[string]any{"amount": 1.0, "to": "alice"}), "no rule lets gateway call ledger/pay with these arguments"},
		"by scope":          {pay(Request{Caller: "gateway", Organisation: "acme", Scopes: []string{"payments"}}, map[string]any{"amount": 5000.0, "to": "alice"}), ""},
		"denied":            {pay(Request{Caller: "planner"}, map[string]any{"amount": 1.0, "to": "mallory"}), `the rule "frozen account" forbids the call: the account is frozen`},
		"denied by subject": {pay(Request{Caller: "planner", Subject: "root"}, map[string]any{"amount": 1.0, "to": "alice"}), `the rule "nobody at all" forbids the call`},
		"cannot be told":    {pay(Request{Caller: "planner"}, map[string]any{"amount": 1.0}), `the rule "frozen account", which may forbid the call, cannot be evaluated with these arguments`},
		"reads trusted":     {Request{Server: "s", Tool: "t", ReadOnly: true, Trusted: true}, ""},
		"reads untrusted":   {Request{Caller: "x", Server: "s", Tool: "t", ReadOnly: true}, "no rule lets x call s/t with these arguments"},
	} {
		if got := verdict(t, p, c.r); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
	if got := verdict(t, policy(t, "rules: []"), Request{Caller: "planner", Server: "s", Tool: "t"}); !strings.HasPrefix(got, "no rule lets planner") {
		t.Errorf("without rules: %q", got)
	}
}

func TestMistakesAreNamedWithTheirLines(t *testing.T) {
	_, err := Parse("tools.yaml", []byte(`rules:
  - name: a
    allow: toool == "x"
  - name: a
    deny: arguments.amount +
  - allow: "true"
  - name: b
    allow: 1 + 1
  - name: c
  - name: d
    allow: read_only
    deny: destructive
  - name: e
    allow: read_only
    reason: because
  - name: f
    alow: read_only
`))
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{
		"tools.yaml:3: rules[0].allow: undeclared reference to 'toool'", "tools.yaml:4: rules[1].name: another rule has this name, on line 2",
		"tools.yaml:5: rules[1].deny:", "tools.yaml:6: rules[2]", "the expression gives int; it has to give bool", "a rule has either allow or deny",
		"it belongs to a rule that denies", "alow",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("no %q in\n%v", want, err)
		}
	}
}

package playbook

import (
	"fmt"
	"testing"
)

func book(t *testing.T, name, version, match string) *Playbook {
	t.Helper()
	return mustParse(t, fmt.Sprintf("playbook: %s\nversion: %s\n%s\nsteps: [{id: a, agent: memory, skill: recall}]\noutput: {text: done}\n", name, version, match))
}

func TestLibraryFindsByNameAndVersion(t *testing.T) {
	l, err := NewLibrary(book(t, "loans", "1.9.0", ""), book(t, "loans", "1.10.0", ""), book(t, "loans", "2.0.0-rc.1", ""), book(t, "general", "3", ""))
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ ref, want, err string }{
		{"loans", "2.0.0-rc.1", ""},
		{"loans@1.10.0", "1.10.0", ""},
		{"general@3", "3", ""},
		{"loans@1.11.0", "", `playbook "loans" has no version "1.11.0"; its versions: 2.0.0-rc.1, 1.10.0, 1.9.0`},
		{"loan", "", `unknown playbook "loan" (did you mean "loans"?); known playbooks: general, loans`},
	} {
		t.Run(tt.ref, func(t *testing.T) {
			b, err := l.Find(tt.ref)
			if tt.err != "" {
				if err == nil || err.Error() != tt.err {
					t.Fatalf("error %v, want %s", err, tt.err)
				}
				return
			}
			if err != nil || string(b.Version) != tt.want {
				t.Errorf("got %v, %v; want version %s", b, err, tt.want)
			}
		})
	}
}

func TestLibraryRefusesTwoOfOneVersion(t *testing.T) {
	_, err := NewLibrary(book(t, "loans", "2", ""), book(t, "loans", "2.0.0", ""))
	if want := `test.yaml: playbook "loans" version 2.0.0 is in test.yaml too; give one of them another name or version`; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestLibraryMatchesByPriorityThenName(t *testing.T) {
	l, err := NewLibrary(
		book(t, "by-name-only", "1", ""),
		book(t, "code", "1", `match: {skills: [run], priority: 5}`),
		book(t, "loans", "1", `match: {when: 'request.text.contains("loan")', priority: 5}`),
		book(t, "both", "1", `match: {skills: [plan], when: 'has(request.data.amount) && request.data.amount > 10'}`),
		book(t, "anything", "1", `match: {when: "true", priority: -1}`),
		book(t, "broken", "1", `match: {when: 'request.data.size > 1', skills: [break]}`),
	)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name string
		req  Request
		want string
		errs int
	}{
		{"skill", Request{Skill: "run", Text: "a loan"}, "code", 0},
		{"condition", Request{Text: "a loan"}, "loans", 0},
		{"skill and condition", Request{Skill: "plan", Data: map[string]any{"amount": 11.0}}, "both", 0},
		{"skill without condition", Request{Skill: "plan", Data: map[string]any{"amount": 3.0}}, "anything", 0},
		{"a condition that fails is passed over", Request{Skill: "break"}, "anything", 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b, errs := l.Match(tt.req)
			if b == nil || b.Name != tt.want || len(errs) != tt.errs {
				t.Errorf("got %v, %v; want %s", b, errs, tt.want)
			}
		})
	}
}

func TestNothingMatchesAnEmptyLibrary(t *testing.T) {
	l, err := NewLibrary(book(t, "by-name-only", "1", ""))
	if err != nil {
		t.Fatal(err)
	}
	if b, errs := l.Match(Request{Text: "x"}); b != nil || errs != nil {
		t.Errorf("got %v, %v", b, errs)
	}
}

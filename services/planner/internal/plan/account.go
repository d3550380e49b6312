package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"

	"sabha.dev/chassis/agent"
	"sabha.dev/services/planner/playbook"
)

// account is what a plan reports about its steps when it does not complete. It is
// read from the rows, so that it is whole whoever did the work.
type account struct {
	Stopped    []string          `json:"stopped"`
	NotStopped map[string]string `json:"not_stopped"`
	Undone     []string          `json:"undone"`
	NotUndone  map[string]string `json:"not_undone"`
}

func (p *plan) account() account {
	a := account{Stopped: []string{}, NotStopped: map[string]string{}, Undone: []string{}, NotUndone: map[string]string{}}
	for _, r := range p.ordered(func(*row) bool { return true }) {
		switch {
		case r.Kind == stepKind && r.State == playbook.Canceled && r.Reason == stopped:
			a.Stopped = append(a.Stopped, r.name())
		case r.Kind == stepKind && r.State == playbook.Canceled:
			a.NotStopped[r.name()] = r.Reason
		case r.Kind == compensationKind && r.State == playbook.Completed:
			a.Undone = append(a.Undone, r.name()) // they were begun one after the other
		case r.Kind == compensationKind:
			a.NotUndone[r.name()] = r.Reason
		}
	}
	return a
}

// name of a row for people: rounds after the first are told apart.
func (r *row) name() string {
	if r.Round == 0 {
		return r.Step
	}
	return fmt.Sprintf("%s (round %d)", r.Step, r.Round+1)
}

func (a account) empty() bool {
	return len(a.Stopped)+len(a.NotStopped)+len(a.Undone)+len(a.NotUndone) == 0
}

// parts tells the account in words and as data.
func (a account) parts(head string) ([]*a2apb.Part, error) {
	if a.empty() {
		return []*a2apb.Part{agent.Text(head)}, nil
	}
	var b strings.Builder
	b.WriteString(head)
	list := func(what string, ids []string) {
		if len(ids) > 0 {
			fmt.Fprintf(&b, "\n%s: %s.", what, strings.Join(ids, ", "))
		}
	}
	reasons := func(what string, of map[string]string) {
		for _, id := range sorted(of) {
			fmt.Fprintf(&b, "\n%s: %s (%s).", what, id, of[id])
		}
	}
	list("Stopped", a.Stopped)
	reasons("Could not be stopped", a.NotStopped)
	list("Undone", a.Undone)
	reasons("Could not be undone", a.NotUndone)
	data, err := agent.Data(a)
	if err != nil {
		return nil, err
	}
	return []*a2apb.Part{agent.Text(b.String()), data}, nil
}

func sorted(m map[string]string) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

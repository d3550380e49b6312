package load

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"sabha.dev/e2e/chaos/ledger"
)

// Account is what became of all plans, of their steps and of their events.
type Account struct {
	Plans, Accepted, Terminal int
	// Repeated lists executions of steps that had finished; Reruns counts those of
	// steps that were in flight when something died.
	Repeated []string
	Reruns   int
	// Steps counts the finished steps that the ledger's agent carried out; Silent lists
	// those that the ledger does not know.
	Steps  int
	Silent []string
	// Executions of all steps.
	Executions int
	// Events that clients saw; Gaps and Repeats that nobody spoke of, and explicit gaps.
	Events, Gaps, Repeats, Explicit int
	Cuts, Tries, Internal           int
	Duplicates                      int
	Webhooks                        Webhooks
	// Wrong is what clients saw that must not be, Unexpected the plans that came to
	// another end than they should.
	Wrong, Unexpected []string

	outcomes, late map[string]int
}

// Webhooks counts deliveries, those that came after a newer one, and plans whose
// final event never came.
type Webhooks struct {
	Deliveries, Late, Missing int
	Wrong                     []string
}

// NewAccount reckons plans up against the entries of the ledger and what came to
// the receiver.
func NewAccount(plans []*Plan, entries []ledger.Entry, r *Receiver) *Account {
	a := &Account{Plans: len(plans), Executions: len(entries), outcomes: map[string]int{}, late: map[string]int{}}
	executed := map[string][]ledger.Entry{} // by task/step, with /undo for compensations
	calls := map[string]int{}
	for _, e := range entries {
		task, step, undo := e.Step()
		key := task + "/" + step
		if undo {
			key += "/undo"
		}
		executed[key] = append(executed[key], e)
		calls[e.Message+" "+e.Phase]++
	}
	for _, n := range calls {
		a.Reruns += n - 1
	}
	for _, p := range plans {
		a.add(p, executed)
	}
	a.Reruns -= len(a.Repeated)
	a.Webhooks = r.account(plans)
	a.Wrong = append(a.Wrong, a.Webhooks.Wrong...)
	return a
}

func (a *Account) add(p *Plan, executed map[string][]ledger.Entry) {
	if p.Accepted.IsZero() {
		a.Wrong = append(a.Wrong, p.Wrong...)
		return
	}
	a.Accepted++
	a.Cuts, a.Tries, a.Internal, a.Duplicates = a.Cuts+len(p.Cuts()), a.Tries+p.Tries, a.Internal+p.Internal, a.Duplicates+p.Duplicates
	events, explicit, gaps, repeats := p.Events()
	a.Events, a.Explicit, a.Gaps, a.Repeats = a.Events+events, a.Explicit+explicit, a.Gaps+gaps, a.Repeats+repeats
	a.Wrong = append(a.Wrong, p.Wrong...)
	if terminal(p.Read) && p.Read == p.State {
		a.Terminal++
		a.outcomes[strings.TrimPrefix(p.Read.String(), "TASK_STATE_")]++
		if why := p.Unexpected(); why != "" {
			a.Unexpected = append(a.Unexpected, why)
		} else if p.Read != p.kind.end {
			a.late[p.Note]++
		}
	} else {
		a.Wrong = append(a.Wrong, fmt.Sprintf("plan %d (%s over %s, task %s) has not ended: its client saw %s last, at %s",
			p.N, p.kind.book, p.Binding, p.Task, p.watcher.state, p.watcher.cursor))
	}
	ends := maps.Clone(p.Recorded)
	if ends == nil {
		ends = map[string]time.Time{}
	}
	for step, at := range p.Seen() {
		if end, ok := ends[step]; !ok || at.Before(end) {
			ends[step] = at
		}
	}
	for step, end := range ends {
		list := executed[p.Task+"/"+step]
		if len(list) == 0 {
			if p.kind.late { // a playbook of the platform's own, whose agents keep no ledger
				continue
			}
			a.Silent = append(a.Silent, p.Task+"/"+step)
		}
		a.Steps++
		for _, e := range list {
			if e.Began.After(end) {
				a.Repeated = append(a.Repeated, fmt.Sprintf("plan %d: %s had finished at %s and was executed at %s (%s %s)",
					p.N, step, end.Format(clockForm), e.Began.Format(clockForm), e.Message, e.Phase))
			}
		}
	}
}

const clockForm = "15:04:05.000000"

// Good tells whether everything that was promised was kept.
func (a *Account) Good() bool {
	return a.Accepted == a.Plans && a.Terminal == a.Accepted && a.Gaps+a.Repeats+a.Internal == 0 &&
		len(a.Repeated)+len(a.Silent)+len(a.Wrong)+len(a.Unexpected) == 0 && a.Webhooks.Missing == 0
}

// Print writes the whole account; its last line is the sum.
func (a *Account) Print(w io.Writer) {
	var ends []string
	for _, state := range slices.Sorted(maps.Keys(a.outcomes)) {
		ends = append(ends, fmt.Sprintf("%s %d", state, a.outcomes[state]))
	}
	line := func(format string, args ...any) { _, _ = fmt.Fprintf(w, format+"\n", args...) }
	line("Plans      %d sent, %d accepted, ended %s", a.Plans, a.Accepted, strings.Join(ends, ", "))
	for _, why := range slices.Sorted(maps.Keys(a.late)) {
		line("           %d of the shipped playbooks ended in time with: %s", a.late[why], why)
	}
	line("Clients    %d calls made again, %d streams cut and resumed, %d messages sent twice, %d internal errors answered", a.Tries, a.Cuts, a.Duplicates, a.Internal)
	line("Events     %d seen, %d gaps said aloud and mended by a snapshot, %d unsaid, %d repeated", a.Events, a.Explicit, a.Gaps, a.Repeats)
	line("Ledger     %d executions of %d finished steps, %d reruns of steps in flight, %d repeats of finished ones", a.Executions, a.Steps, a.Reruns, len(a.Repeated))
	for title, list := range map[string][]string{"Repeated": a.Repeated, "Not in the ledger": a.Silent, "Wrong": a.Wrong, "Unexpected": a.Unexpected} {
		for n, s := range list {
			if n == shown {
				line("%s: … and %d more", title, len(list)-n)
				break
			}
			line("%s: %s", title, s)
		}
	}
	line("Webhooks   %d deliveries, %d of them after a newer one", a.Webhooks.Deliveries, a.Webhooks.Late)
	line("accepted %d, terminal %d, lost %d, steps repeated %d, gaps %d, webhooks missing %d",
		a.Accepted, a.Terminal, a.Accepted-a.Terminal, len(a.Repeated), a.Gaps, a.Webhooks.Missing)
}

// shown is how many faults of a sort are printed.
const shown = 20

package load

import (
	"strings"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"

	"sabha.dev/e2e/chaos/ledger"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// ended is a plan of one step that finished at noon.
func ended() *Plan {
	return &Plan{
		Task: "t1", Accepted: noon, State: completed, Read: completed, kind: kind{book: "chain", end: completed},
		Recorded: map[string]time.Time{"a": noon},
	}
}

func executed(message string, after time.Duration) ledger.Entry {
	return ledger.Entry{Began: noon.Add(after), Skill: "work", Message: message}
}

func TestTheAccountFindsWhatMustNotBe(t *testing.T) {
	once := []ledger.Entry{executed("t1/a/0/0", -time.Second)}
	for _, c := range []struct {
		name    string
		change  func(*Plan)
		entries []ledger.Entry
		last    string
		said    string
		good    bool
	}{
		{name: "all is well", entries: once, last: "accepted 1, terminal 1, lost 0, steps repeated 0, gaps 0, webhooks missing 0", good: true},
		{
			name: "a step in flight ran again", entries: append(once, executed("t1/a/0/0", -time.Millisecond)),
			last: "accepted 1, terminal 1, lost 0, steps repeated 0, gaps 0, webhooks missing 0", said: "1 reruns of steps in flight, 0 repeats", good: true,
		},
		{
			name: "a finished step ran again", entries: append(once, executed("t1/a/0/1", time.Millisecond)),
			last: "accepted 1, terminal 1, lost 0, steps repeated 1, gaps 0, webhooks missing 0", said: "a had finished at 12:00:00.000000 and was executed at 12:00:00.001000 (t1/a/0/1",
		},
		{
			name: "a step ran again that a client had seen finished", entries: append(once, executed("t1/a/0/0", -time.Millisecond)),
			change: func(p *Plan) { p.watcher.finished = map[string]time.Time{"a": noon.Add(-time.Second / 2)} },
			last:   "accepted 1, terminal 1, lost 0, steps repeated 1, gaps 0, webhooks missing 0",
		},
		{
			name: "a step finished that nobody executed",
			last: "accepted 1, terminal 1, lost 0, steps repeated 0, gaps 0, webhooks missing 0", said: "Not in the ledger: t1/a",
		},
		{
			name: "lost", entries: once, change: func(p *Plan) { p.State, p.Read = 0, 0 },
			last: "accepted 1, terminal 0, lost 1, steps repeated 0, gaps 0, webhooks missing 0",
		},
		{
			name: "two ends", entries: once, change: func(p *Plan) { p.Read = canceled },
			last: "accepted 1, terminal 0, lost 1, steps repeated 0, gaps 0, webhooks missing 0",
		},
		{
			name: "another end than it should have", entries: once, change: func(p *Plan) { p.State, p.Read, p.Note = canceled, canceled, "why" },
			last: "accepted 1, terminal 1, lost 0, steps repeated 0, gaps 0, webhooks missing 0", said: "Unexpected: plan 0 (chain, task t1) ended as TASK_STATE_CANCELED: why",
		},
		{
			name: "a gap", entries: once, change: func(p *Plan) { p.watcher.gaps = 1 },
			last: "accepted 1, terminal 1, lost 0, steps repeated 0, gaps 1, webhooks missing 0",
		},
		{
			name: "an internal error", entries: once, change: func(p *Plan) { p.Internal = 1 },
			last: "accepted 1, terminal 1, lost 0, steps repeated 0, gaps 0, webhooks missing 0", said: "1 internal errors answered",
		},
		{
			name: "never accepted", change: func(p *Plan) { p.Accepted = time.Time{} },
			last: "accepted 0, terminal 0, lost 0, steps repeated 0, gaps 0, webhooks missing 0", said: "1 sent, 0 accepted",
		},
		{
			name: "something wrong", entries: once, change: func(p *Plan) { p.wrong("a duplicate became another task") },
			last: "accepted 1, terminal 1, lost 0, steps repeated 0, gaps 0, webhooks missing 0", said: "Wrong: plan 0 (chain over , task t1): a duplicate became another task",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := ended()
			if c.change != nil {
				c.change(p)
			}
			r := &Receiver{hooks: map[int]*hook{p.N: {posts: 1, state: p.Read}}}
			a := NewAccount([]*Plan{p}, c.entries, r)
			var out strings.Builder
			a.Print(&out)
			lines := strings.Split(strings.TrimSpace(out.String()), "\n")
			if last := lines[len(lines)-1]; last != c.last || a.Good() != c.good || !strings.Contains(out.String(), c.said) {
				t.Errorf("good %v:\n%s\nwant %s\nand …%s…", a.Good(), &out, c.last, c.said)
			}
		})
	}
}

func TestTheAccountCountsWebhooks(t *testing.T) {
	entries := []ledger.Entry{executed("t1/a/0/0", -time.Second)}
	for _, c := range []struct {
		name string
		hook *hook
		last string
		good bool
	}{
		{"the final event came", &hook{posts: 3, state: completed}, "webhooks missing 0", true},
		{"nothing came", nil, "webhooks missing 1", false},
		{"the final event did not come", &hook{posts: 2, state: a2apb.TaskState_TASK_STATE_WORKING}, "webhooks missing 1", false},
		{"something wrong", &hook{posts: 3, state: completed, wrong: []string{"not signed"}}, "webhooks missing 0", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := &Receiver{hooks: map[int]*hook{}}
			if c.hook != nil {
				r.hooks[0] = c.hook
			}
			a := NewAccount([]*Plan{ended()}, entries, r)
			var out strings.Builder
			a.Print(&out)
			if !strings.HasSuffix(strings.TrimSpace(out.String()), c.last) || a.Good() != c.good {
				t.Errorf("good %v:\n%s", a.Good(), &out)
			}
		})
	}
}

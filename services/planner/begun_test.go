package planner_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"

	"sabha.dev/chassis/sqldb"
	plannerv1 "sabha.dev/gen/sabha/planner/v1"
	"sabha.dev/testrig/clocktest"
)

// halted begins a plan and stops the planner in the middle of it.
func halted(t *testing.T, o options) (r *rig, id string, open func()) {
	t.Helper()
	r = start(t, o, chain)
	gate := make(chan struct{})
	r.work.on("b", r.work.gated(gate))
	id = r.begin(message("chain"))
	r.await(func() bool { return r.work.did("b") == 1 }, func() string { return "b begun" })
	r.down("planner")
	return r, id, func() { close(gate) }
}

// TestAPlanKeepsThePlaybookThatItBeganWith changes the file under a plan that has
// begun, and takes it away, as a release does that brings another version.
func TestAPlanKeepsThePlaybookThatItBeganWith(t *testing.T) {
	for name, change := range map[string]func(r *rig, file string){
		"the file is gone": func(r *rig, file string) { r.must(os.Remove(file)) },
		"another version": func(r *rig, file string) {
			r.must(os.WriteFile(file, []byte(strings.NewReplacer("playbook: trip", "playbook: chain", "version: 1", "version: 2").Replace(trip)), 0o600))
		},
		"another text of the same version": func(r *rig, file string) {
			r.must(os.WriteFile(file, []byte(strings.ReplaceAll(chain, "description: ", "description: Changed. ")+"# more\n"), 0o600))
		},
	} {
		t.Run(name, func(t *testing.T) {
			r, id, open := halted(t, options{})
			change(r, filepath.Join(r.books, "a.yaml"))
			r.up("planner")
			open()
			r.ends(id, completed)
			if got := r.work.history(); !slices.Equal(got, []string{"a", "b", "c"}) {
				t.Fatalf("executed %v", got)
			}
			fork, err := plannerv1.NewPlannerServiceClient(r.dial("gateway", "planner")).ForkPlan(r.ctx(), &plannerv1.ForkPlanRequest{TaskId: id, Step: "c"})
			r.must(err)
			r.ends(fork.GetTaskId(), completed)
			if got := r.work.history(); !slices.Equal(got, []string{"a", "b", "c", "c"}) {
				t.Fatalf("executed %v with the fork", got)
			}
			book, err := plannerv1.NewPlannerServiceClient(r.dial("gateway", "planner")).GetPlaybook(r.ctx(), &plannerv1.GetPlaybookRequest{Name: "chain", Version: "1"})
			if name == "the file is gone" || name == "another version" {
				if err != nil || book.GetSource() != chain {
					t.Fatalf("the text that the plan began with: %v, %q", err, book.GetSource())
				}
				return
			}
			const want = "plans have begun with another text of version 1; raise the version when the playbook changes"
			if err != nil || len(book.GetProblems()) != 1 || !strings.HasSuffix(book.GetProblems()[0], want) {
				t.Fatalf("%v, problems %q", err, book.GetProblems())
			}
		})
	}
}

// unreadable makes the stored text of a playbook one that only a later release reads,
// and takes the file away.
func unreadable(r *rig) (restore func()) {
	r.must(os.Remove(filepath.Join(r.books, "a.yaml")))
	db, err := sqldb.Open(r.tb.Context(), "sqlite:"+filepath.Join(r.dir, "planner.db"))
	r.must(err)
	r.tb.Cleanup(func() { _ = db.Close() })
	set := func(text string) {
		_, err := db.Write.ExecContext(r.tb.Context(), `UPDATE playbooks SET source = $1 WHERE name = 'chain'`, text)
		r.must(err)
	}
	set(chain + "of_a_later_release: true\n")
	return func() { set(chain) }
}

const notHere = "The plan began with playbook chain version 1, which this release of the planner cannot read."

func TestAPlanWaitsForAPlannerThatReadsItsPlaybook(t *testing.T) {
	r, id, open := halted(t, options{})
	restore := unreadable(r)
	r.up("planner")
	open()
	task := r.until(id, "says what it waits for", func(t *a2apb.Task) bool { return note(t) == notHere })
	r.is(task, working)
	restore()
	r.ends(id, completed)
	if got := r.work.history(); !slices.Equal(got, []string{"a", "b", "c"}) {
		t.Fatalf("executed %v", got)
	}
}

func TestAPlanThatNobodyReadsEndsWithItsBudgetOrACancel(t *testing.T) {
	t.Run("cancel", func(t *testing.T) {
		r, id, open := halted(t, options{})
		unreadable(r)
		r.up("planner")
		open()
		r.until(id, "says what it waits for", func(t *a2apb.Task) bool { return note(t) == notHere })
		r.cancel(id)
		task := r.ends(id, canceled)
		if want := "Canceled. What had been begun is neither stopped nor undone: " + notHere; strings.ReplaceAll(note(task), "\n", "") != want {
			t.Fatalf("%q", note(task))
		}
	})
	t.Run("budget", func(t *testing.T) {
		c := clocktest.New(time.Now())
		r, id, open := halted(t, options{clock: c})
		unreadable(r)
		r.up("planner")
		open()
		r.await(func() bool { c.Advance(2 * time.Second); return ended(r.get(id)) }, func() string { return show(r.get(id)) })
		task := r.ends(id, failed)
		if note(task) != notHere {
			t.Fatalf("%q", note(task))
		}
	})
}

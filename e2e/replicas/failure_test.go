//go:build slow

package replicas

import (
	"database/sql"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"sabha.dev/testrig/natstest"
)

// Nodes are processes here: one is killed, or stalled, with work in its hands.
// Lease and sweep are those of production.
func TestANodeThatFailsLosesItsTasksToOthers(t *testing.T) {
	for name, database := range map[string]func(string) string{
		"sqlite": sqlite(t), "postgres": func(string) string { return postgres.URL(t) },
	} {
		for _, how := range []syscall.Signal{syscall.SIGKILL, syscall.SIGSTOP} {
			t.Run(fmt.Sprintf("%s, %v", name, how), func(t *testing.T) {
				if name == "sqlite" {
					database = sqlite(t)
				}
				failing(t, newFleet(t, 2, natstest.New(t).URL(), database), how)
			})
		}
	}
}

func failing(t *testing.T, f *fleet, how syscall.Signal) {
	first, other := f.spawn(0), f.spawn(1)
	_ = other
	const tasks = 6
	c0, c1 := f.client(0, "grpc"), f.client(1, "rest")
	var ids []string
	var watches []*watch
	for range tasks {
		id := f.send(c0, atOnce(planned(hold))).GetId()
		ids = append(ids, id)
		// The planner behind the gateway that stays may be the one that fails: then the
		// stream ends, and the client asks again.
		watches = append(watches, f.follow(f.ctx(), "", id, func() client { return c1 }, 1000))
	}
	f.begun(hold, tasks)
	// These watch the node that fails, and go on at the other.
	turn := 0
	watches = append(watches, f.follow(f.ctx(), "", ids[0], func() client {
		turn++
		if turn == 1 {
			return c0
		}
		return f.client(1, bindings[turn%3])
	}, 1000))
	before := len(executions(f.dir))
	failed := time.Now()
	f.must(first.Process.Signal(how))
	for how == syscall.SIGSTOP && f.locked() {
		// Stalled in the middle of a write it holds the file of SQLite, as long as it is
		// there: nobody else can write, whoever has the lease.
		f.must(first.Process.Signal(syscall.SIGCONT))
		time.Sleep(20 * time.Millisecond)
		f.must(first.Process.Signal(how))
	}
	f.openGate()
	for _, id := range ids {
		f.soon("task "+id+" ends", func() bool { return state(f.get(c1, "", id)) == "COMPLETED" })
	}
	t.Logf("after %v all %d tasks had ended on the other node in %.1f s (lease 10 s, sweep 2 s); %d executions began again",
		how, tasks, time.Since(failed).Seconds(), len(executions(f.dir))-before-tasks)
	if how == syscall.SIGSTOP {
		f.must(first.Process.Signal(syscall.SIGCONT))
	} else {
		f.spawn(0)
	}
	for i, w := range watches {
		if got := w.seen(); got != "COMPLETED" {
			t.Errorf("subscriber %d saw %s", i, got)
		}
	}
	// The node that failed says what is so, and serves again.
	for _, id := range ids {
		if got := f.get(c0, "", id); state(got) != "COMPLETED" {
			t.Errorf("at the node that failed: %s %q", state(got), note(got))
		}
		f.audited(id, "TASK_STATE_COMPLETED")
	}
	if got := f.send(c0, planned(quick)); state(got) != "COMPLETED" {
		t.Errorf("then it served %s %q", state(got), note(got))
	}
	f.closeGate()
}

// locked tells whether a database can not be written.
func (f *fleet) locked() bool {
	f.Helper()
	for _, url := range f.plans[0].Databases {
		file, ours := strings.CutPrefix(url, "sqlite:")
		if !ours {
			continue // PostgreSQL ends a transaction that says nothing, and locks rows
		}
		path, _, _ := strings.Cut(file, "?")
		db, err := sql.Open("sqlite", path+"?_pragma=busy_timeout(500)&_txlock=immediate")
		f.must(err)
		tx, err := db.Begin()
		if err == nil {
			err = tx.Rollback()
		}
		f.must(db.Close())
		if err != nil {
			return true
		}
	}
	return false
}

package taskstore_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"

	"sabha.dev/chassis/taskstore"
)

// library stores seven tasks of two owners, two agents and two contexts: each
// gets its status one second after the one before; t0 and t1 share their time.
func library(r *rig) *taskstore.Store {
	r.Helper()
	s := r.store("a")
	for i, c := range []struct {
		owner, agent, context string
		state                 a2apb.TaskState
	}{
		{"acme/alice", "echo", "c1", a2apb.TaskState_TASK_STATE_COMPLETED},
		{"acme/alice", "echo", "c2", a2apb.TaskState_TASK_STATE_WORKING},
		{"acme/bob", "echo", "c1", a2apb.TaskState_TASK_STATE_WORKING},
		{"acme/alice", "echo", "c1", a2apb.TaskState_TASK_STATE_FAILED},
		{"acme/alice", "other", "c1", a2apb.TaskState_TASK_STATE_WORKING},
		{"acme/alice", "echo", "c1", a2apb.TaskState_TASK_STATE_COMPLETED},
		{"acme/alice", "echo", "c2", a2apb.TaskState_TASK_STATE_INPUT_REQUIRED},
	} {
		if i > 1 {
			r.clock.Advance(time.Second)
		}
		rec := r.record(fmt.Sprintf("t%d", i))
		rec.Owner, rec.Agent, rec.Task.ContextId = c.owner, c.agent, c.context
		h, err := s.Create(r.Context(), rec, "m-"+rec.Task.GetId())
		r.must(err)
		r.must(h.Commit(r.Context(), emit(status(c.state, ""))))
	}
	return s
}

func ids(list []*taskstore.Record) string {
	var out []string
	for _, rec := range list {
		out = append(out, rec.Task.GetId())
	}
	return strings.Join(out, " ")
}

func TestListFiltersAndOrders(t *testing.T) {
	onBothEngines(t, func(t *testing.T, r *rig) {
		s := library(r)
		alice, nobody := "acme/alice", "acme/nobody"
		for _, c := range []struct {
			name   string
			filter taskstore.Filter
			want   string
			total  int
		}{
			{"everything, newest status first, ids in order where times are equal", taskstore.Filter{}, "t6 t5 t4 t3 t2 t0 t1", 7},
			{"an owner's", taskstore.Filter{Owner: &alice}, "t6 t5 t4 t3 t0 t1", 6},
			{"of an owner without any", taskstore.Filter{Owner: &nobody}, "", 0},
			{"of an agent", taskstore.Filter{Owner: &alice, Agent: "echo"}, "t6 t5 t3 t0 t1", 5},
			{"of a context", taskstore.Filter{Owner: &alice, ContextID: "c2"}, "t6 t1", 2},
			{"in a state", taskstore.Filter{States: []a2apb.TaskState{a2apb.TaskState_TASK_STATE_COMPLETED}}, "t5 t0", 2},
			{"in one of two states", taskstore.Filter{Owner: &alice, States: []a2apb.TaskState{a2apb.TaskState_TASK_STATE_FAILED, a2apb.TaskState_TASK_STATE_WORKING}}, "t4 t3 t1", 3},
			{"from a time on", taskstore.Filter{Agent: "echo", StatusAfter: start.Add(4 * time.Second)}, "t6 t5", 2},
			{"everything at once", taskstore.Filter{
				Owner: &alice, Agent: "echo", ContextID: "c1", States: []a2apb.TaskState{a2apb.TaskState_TASK_STATE_COMPLETED}, StatusAfter: start.Add(time.Nanosecond),
			}, "t5", 1},
		} {
			t.Run(c.name, func(t *testing.T) {
				c.filter.Limit = 100
				list, total, err := s.List(t.Context(), c.filter)
				if err != nil {
					t.Fatal(err)
				}
				if ids(list) != c.want || total != c.total {
					t.Errorf("%d tasks: %s; want %d: %s", total, ids(list), c.total, c.want)
				}
			})
		}
	})
}

func TestPagesMeetWithoutHoleOrRepeat(t *testing.T) {
	onBothEngines(t, func(t *testing.T, r *rig) {
		s := library(r)
		for _, size := range []int{1, 2, 3, 7} {
			f := taskstore.Filter{Limit: size}
			var all []string
			for {
				list, total, err := s.List(t.Context(), f)
				r.must(err)
				if total != 7 {
					t.Errorf("a page counts %d tasks, want all 7", total)
				}
				if len(list) == 0 {
					break
				}
				last := list[len(list)-1]
				f.Before, f.BeforeID = last.Task.GetStatus().GetTimestamp().AsTime(), last.Task.GetId()
				all = append(all, ids(list))
			}
			if got := strings.Join(all, " "); got != "t6 t5 t4 t3 t2 t0 t1" {
				t.Errorf("pages of %d: %s", size, got)
			}
		}
	})
}

func TestTheMessageOfAnInterruptionJoinsTheHistory(t *testing.T) {
	onBothEngines(t, func(t *testing.T, r *rig) {
		s := r.store("a")
		h := r.create(s, "t1")
		r.must(h.Commit(t.Context(), emit(status(a2apb.TaskState_TASK_STATE_INPUT_REQUIRED, "which?"))))
		r.must(h.Commit(t.Context(), emit(working("progress"), working(""))))
		var said []string
		for _, m := range r.get(s, "t1").Task.GetHistory() {
			said = append(said, m.GetParts()[0].GetText())
		}
		if got := strings.Join(said, ", "); got != "question t1, which?" {
			t.Errorf("history: %s; want the question and what it was asked", got)
		}
	})
}

func TestHopsTellWhoCalledWhomAndHowItEnded(t *testing.T) {
	onBothEngines(t, func(t *testing.T, r *rig) {
		s := r.store("a")
		root := r.create(s, "root")
		r.clock.Advance(time.Second)
		for _, id := range []string{"child", "open"} {
			rec := r.record(id)
			rec.RootTask, rec.Info.ParentTask, rec.Info.TraceID, rec.Info.Caller, rec.Owner = "root", "root", "trace-root", "planner", "service:planner"
			h, err := s.Create(t.Context(), rec, "")
			r.must(err)
			r.clock.Advance(time.Second)
			if id == "child" {
				r.must(h.Commit(t.Context(), emit(artifact("x", "secret", false), status(a2apb.TaskState_TASK_STATE_FAILED, "no luck"))))
			}
		}
		s.Record(taskstore.Hop{
			RootTaskID: "root", ParentTaskID: "root", TraceID: "trace-root", Caller: "planner", Principal: "acme/alice", Agent: "echo", Skill: "ask",
			Protocol: "1.0", StartedAt: r.clock.Now(), EndedAt: r.clock.Now(), Outcome: "MESSAGE", RequestDigest: "q",
		})
		r.clock.Advance(time.Second)
		r.must(root.Commit(t.Context(), emit(status(a2apb.TaskState_TASK_STATE_COMPLETED, "done"))))

		byRoot, err := s.Hops(t.Context(), "root", "")
		r.must(err)
		byTrace, err := s.Hops(t.Context(), "", "trace-root")
		r.must(err)
		line := func(list []taskstore.Hop) string {
			var out []string
			for _, h := range list {
				out = append(out, fmt.Sprintf("%s by %s: %s %s", h.TaskID, h.Caller, h.Outcome, h.Reason))
			}
			return strings.Join(out, "\n")
		}
		want := "root by gateway: TASK_STATE_COMPLETED \nchild by planner: TASK_STATE_FAILED no luck\n by planner: MESSAGE "
		if got := line(byTrace); got != want {
			t.Errorf("hops of the trace:\n%s\nwant\n%s", got, want)
		}
		if got := line(byRoot); got != want+"\nopen by planner: TASK_STATE_SUBMITTED " {
			t.Errorf("hops of the request:\n%s", got)
		}
		for _, h := range byTrace {
			if h.AgentVersion != "7" || h.Protocol != "1.0" || h.Principal != "acme/alice" || h.RequestDigest == "" || h.EndedAt.Before(h.StartedAt) {
				t.Errorf("hop %+v", h)
			}
			if strings.Contains(fmt.Sprint(h), "secret") {
				t.Errorf("the audit row holds the artifact: %+v", h)
			}
		}
	})
}

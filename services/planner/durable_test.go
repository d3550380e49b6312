package planner_test

import (
	"context"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"

	"sabha.dev/chassis/agent"
	"sabha.dev/testrig/postgrestest"
)

var postgres postgrestest.Shared

func TestMain(m *testing.M) {
	code := m.Run()
	postgres.Close()
	os.Exit(code)
}

func TestLongChildParksThePlanAndWakesIt(t *testing.T) {
	r := start(t, options{onLine: 20 * time.Millisecond}, strings.ReplaceAll(chain, "skill: say", "skill: do"))
	gate := make(chan struct{})
	r.work.on("a", r.work.gated(gate))
	id := r.begin(message("chain"))
	r.await(func() bool { return r.owner(id) == "" }, func() string { return "without an owner: " + show(r.get(id)) })
	if task := r.get(id); task.GetStatus().GetState() != working || steps(task)["a"].Task == "" {
		t.Fatalf("%s", show(task))
	}
	close(gate)
	r.ends(id, completed) // long before it would look by itself
	if got := r.work.history(); !slices.Equal(got, []string{"a", "b", "c"}) {
		t.Fatalf("executed %v", got)
	}
}

func TestRestartedPlannerGoesOnWhereItWas(t *testing.T) {
	r := start(t, options{}, chain)
	gate := make(chan struct{})
	r.work.on("b", r.work.gated(gate))
	id := r.begin(message("chain"))
	r.await(func() bool { return r.work.did("b") == 1 }, func() string { return "b begun" })
	r.down("planner")
	r.up("planner")
	close(gate)
	task := r.ends(id, completed)
	if got := r.work.history(); !slices.Equal(got, []string{"a", "b", "c"}) {
		t.Fatalf("executed %v", got)
	}
	if s := steps(task)["b"]; s.Attempt != 0 {
		t.Fatalf("a restart counts as a failed attempt: %+v", s)
	}
}

func TestRestartedPlannerDoesNotAnswerTwice(t *testing.T) {
	r := start(t, options{}, one(""))
	gate := make(chan struct{})
	r.work.on("a", func(ctx context.Context, run agent.Run, n int) (agent.Outcome, error) {
		if n == 1 {
			return agent.InputRequired(agent.Text("first?")), nil
		}
		if n == 2 {
			select {
			case <-gate:
			case <-ctx.Done():
				return agent.Outcome{}, ctx.Err()
			}
			return agent.InputRequired(agent.Text("second?")), nil
		}
		return r.work.answer(run, nil)
	})
	task := r.run(message("one"))
	r.is(task, needs)
	r.say(task.GetId(), "1", "")
	r.await(func() bool { return r.work.did("a") == 2 }, func() string { return "the answer at the child" })
	r.down("planner")
	r.up("planner")
	close(gate)
	task = r.until(task.GetId(), "asking again", func(t *a2apb.Task) bool { return t.GetStatus().GetState() == needs })
	if note(task) != "second?" {
		t.Fatalf("asks %q", note(task))
	}
	r.say(task.GetId(), "2", "")
	r.ends(task.GetId(), completed)
	if got := r.work.heard("a"); !slices.Equal(got, []string{"", "1", "2"}) {
		t.Fatalf("the child heard %q", got)
	}
}

func TestRestartedPlannerGoesOnCancelling(t *testing.T) {
	r := start(t, options{}, trip)
	begun, undo := make(chan struct{}), make(chan struct{})
	r.work.on("car", func(ctx context.Context, _ agent.Run, _ int) (agent.Outcome, error) {
		close(begun)
		<-ctx.Done()
		return agent.Outcome{}, ctx.Err()
	})
	r.work.on("undo flight", r.work.gated(undo))
	id := r.begin(message("trip"))
	<-begun
	r.cancel(id)
	r.await(func() bool { return r.work.did("undo flight") == 1 }, func() string { return show(r.get(id)) })
	r.down("planner")
	r.up("planner")
	close(undo)
	task := r.ends(id, canceled)
	if want := "Canceled.\nStopped: car.\nUndone: hotel, flight."; note(task) != want {
		t.Fatalf("%q, want %q", note(task), want)
	}
	if got := r.work.history(); !slices.Equal(got, []string{"flight", "hotel", "car", "undo hotel", "undo flight"}) {
		t.Fatalf("executed %v", got)
	}
}

func TestAgentThatComesBackIsFoundAgain(t *testing.T) {
	r := start(t, options{}, `playbook: far
version: 1
description: The other worker.
steps:
  - {id: a, agent: spare, skill: do, retries: {max: 0}}
output: {text: "= steps.a.output.text"}
`)
	id := r.begin(message("far"))
	r.until(id, "the agent is missed", func(t *a2apb.Task) bool {
		return steps(t)["a"].Reason == "the agent cannot be reached"
	})
	r.up("spare")
	task := r.ends(id, completed)
	if s := steps(task)["a"]; s.Attempt != 0 || s.Reason != "" || r.work.did("a") != 1 {
		t.Fatalf("%+v after %d executions", s, r.work.did("a"))
	}
}

func TestRestartOfAnAgentCostsNoAttempt(t *testing.T) {
	r := start(t, options{}, `playbook: far
version: 1
description: The other worker.
steps:
  - {id: a, agent: spare, skill: do, retries: {max: 0}}
output: {text: "= steps.a.output.text"}
`)
	r.up("spare")
	var open atomic.Bool
	r.work.on("a", func(ctx context.Context, run agent.Run, _ int) (agent.Outcome, error) {
		if !open.Load() {
			<-ctx.Done()
			return agent.Outcome{}, ctx.Err()
		}
		return r.work.answer(run, nil)
	})
	id := r.begin(message("far"))
	r.await(func() bool { return r.work.did("a") == 1 }, func() string { return "a begun" })
	r.down("spare")
	open.Store(true)
	r.up("spare")
	task := r.ends(id, completed)
	if s := steps(task)["a"]; s.Attempt != 0 {
		t.Fatalf("%+v", s)
	}
}

func TestAgentThatStaysAwayFailsItsStep(t *testing.T) {
	r := start(t, options{}, `playbook: gone
version: 1
description: Nobody is there.
steps:
  - {id: a, agent: spare, skill: do, budget: 300ms, retries: {max: 5, backoff: 1ms}}
output: {text: done}
`)
	task := r.run(message("gone"))
	r.is(task, failed)
	if note(task) != `step "a" failed: the agent cannot be reached within its budget` {
		t.Fatalf("%q", note(task))
	}
}

func TestPlansRunOnPostgreSQL(t *testing.T) {
	r := start(t, options{database: postgres.URL(t)}, chain, trip, loop)
	r.is(r.run(message("chain")), completed)
	r.work.on("judge", func(_ context.Context, run agent.Run, n int) (agent.Outcome, error) {
		return r.work.answer(run, map[string]any{"good": n == 2})
	})
	r.is(r.run(message("loop")), completed)
	r.work.on("car", r.work.fails(9, "no \x00cars"))
	task := r.run(message("trip"))
	r.is(task, failed)
	if want := "step \"car\" failed: no cars\nUndone: hotel, flight."; note(task) != want {
		t.Fatalf("%q", note(task))
	}
	r.down("planner")
	r.up("planner")
	if got := r.get(task.GetId()); note(got) != note(task) {
		t.Fatalf("after a restart: %s", show(got))
	}
}

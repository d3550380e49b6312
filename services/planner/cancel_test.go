package planner_test

import (
	"context"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"sabha.dev/chassis/agent"
	"sabha.dev/testrig/clocktest"
)

const trip = `playbook: trip
version: 1
description: Books three things, each of which can be given back.
defaults: {retries: {max: 0}}
steps:
  - {id: flight, agent: worker, skill: do, inputs: {n: 1}, compensation: {agent: worker, skill: undo, inputs: {of: "= steps.flight.output.data.step"}}}
  - {id: hotel, agent: worker, skill: do, needs: [flight], compensation: {agent: worker, skill: undo}}
  - {id: car, agent: worker, skill: do, needs: [hotel], compensation: {agent: worker, skill: undo}}
output: {text: booked}
`

func TestFailureUndoesWhatWasDoneInReverse(t *testing.T) {
	r := start(t, options{}, trip)
	r.work.on("car", r.work.fails(9, "no cars"))
	task := r.run(message("trip"))
	r.is(task, failed)
	if want := "step \"car\" failed: no cars\nUndone: hotel, flight."; note(task) != want {
		t.Fatalf("%q, want %q", note(task), want)
	}
	if got := r.work.history(); !slices.Equal(got, []string{"flight", "hotel", "car", "undo hotel", "undo flight"}) {
		t.Fatalf("executed %v", got)
	}
	want := map[string]any{"stopped": []any{}, "not_stopped": map[string]any{}, "undone": []any{"hotel", "flight"}, "not_undone": map[string]any{}}
	if got := report(task); !reflect.DeepEqual(got, want) {
		t.Fatalf("report %v", got)
	}
}

func TestUndoingIsTriedAgainAndReportedWhenItFails(t *testing.T) {
	r := start(t, options{}, trip)
	r.work.on("car", r.work.fails(9, "no cars"))
	r.work.on("undo hotel", r.work.fails(9, "not refundable"))
	r.work.on("undo flight", r.work.fails(1, "busy"))
	task := r.run(message("trip"))
	r.is(task, failed)
	if want := "step \"car\" failed: no cars\nUndone: flight.\nCould not be undone: hotel (not refundable)."; note(task) != want {
		t.Fatalf("%q, want %q", note(task), want)
	}
	if r.work.did("undo hotel") != 3 || r.work.did("undo flight") != 2 {
		t.Fatalf("executed %v", r.work.history())
	}
}

func TestUndoingARevisedStepUndoesEachRound(t *testing.T) {
	r := start(t, options{}, `playbook: rounds
version: 1
description: Each round does something.
defaults: {retries: {max: 0}}
steps:
  - {id: draft, agent: worker, skill: do, inputs: {round: "= revision.round"}, compensation: {agent: worker, skill: undo, inputs: {round: "= steps.draft.output.data.round"}}}
  - {id: judge, agent: worker, skill: do, needs: [draft], revise: {step: draft, until: steps.judge.output.data.good, max: 1}}
output: {text: good}
`)
	r.work.on("judge", r.work.gives(map[string]any{"good": false}))
	var rounds []any
	r.work.on("undo draft", func(_ context.Context, run agent.Run, _ int) (agent.Outcome, error) {
		rounds = append(rounds, agent.DataOf(run.Request().Message.GetParts()).AsInterface().(map[string]any)["round"])
		return r.work.answer(run, nil)
	})
	task := r.run(message("rounds"))
	r.is(task, failed)
	if !reflect.DeepEqual(rounds, []any{1.0, 0.0}) {
		t.Fatalf("undone rounds %v: %s", rounds, note(task))
	}
}

func TestCancelStopsUndoesAndReports(t *testing.T) {
	r := start(t, options{}, trip)
	begun, undo := make(chan struct{}), make(chan struct{})
	r.work.on("car", func(ctx context.Context, _ agent.Run, _ int) (agent.Outcome, error) {
		close(begun)
		<-ctx.Done()
		return agent.Outcome{}, ctx.Err()
	})
	r.work.on("undo hotel", r.work.gated(undo))
	id := r.begin(message("trip"))
	<-begun
	task := r.cancel(id)
	if r.is(task, working); note(task) != "cancelling" {
		t.Fatalf("%q", note(task))
	}
	task = r.until(id, "undoing the hotel", func(*a2apb.Task) bool { return r.work.did("undo hotel") == 1 })
	if r.is(task, working); note(task) != "cancelling" {
		t.Fatalf("while it undoes: %q", note(task))
	}
	again := r.cancel(id) // changes nothing
	if r.is(again, working); note(again) != "cancelling" {
		t.Fatalf("canceled twice: %q", note(again))
	}
	close(undo)
	task = r.ends(id, canceled)
	if want := "Canceled.\nStopped: car.\nUndone: hotel, flight."; note(task) != want {
		t.Fatalf("%q, want %q", note(task), want)
	}
	want := map[string]any{"stopped": []any{"car"}, "not_stopped": map[string]any{}, "undone": []any{"hotel", "flight"}, "not_undone": map[string]any{}}
	if got := report(task); !reflect.DeepEqual(got, want) {
		t.Fatalf("report %v", got)
	}
	if got := r.work.history(); !slices.Equal(got, []string{"flight", "hotel", "car", "undo hotel", "undo flight"}) {
		t.Fatalf("executed %v", got)
	}
	if last := r.cancel(id); note(last) != note(task) {
		t.Fatalf("canceled after the end: %s", show(last))
	}
	_, err := r.client.SendMessage(r.ctx(), &a2apb.SendMessageRequest{Message: &a2apb.Message{
		MessageId: "late", TaskId: id, Role: a2apb.Role_ROLE_USER, Parts: []*a2apb.Part{agent.Text("go on")},
	}})
	if status.Code(err) != codes.FailedPrecondition {
		t.Fatalf("a canceled plan took a message: %v", err)
	}
}

func TestCancelReportsWhatItCouldNotStop(t *testing.T) {
	r := start(t, options{}, `playbook: two
version: 1
description: Two workers.
steps:
  - {id: a, agent: worker, skill: do}
  - {id: b, agent: spare, skill: do}
output: {text: done}
`)
	r.up("spare")
	begun := make(chan struct{}, 2)
	hang := func(ctx context.Context, _ agent.Run, _ int) (agent.Outcome, error) {
		begun <- struct{}{}
		<-ctx.Done()
		return agent.Outcome{}, ctx.Err()
	}
	r.work.on("a", hang)
	r.work.on("b", hang)
	id := r.begin(message("two"))
	<-begun
	<-begun
	r.down("spare")
	r.cancel(id)
	task := r.ends(id, canceled)
	why := steps(task)["b"].Reason
	if want := "Canceled.\nStopped: a.\nCould not be stopped: b (" + why + ")."; note(task) != want || why == "" {
		t.Fatalf("%q, want %q", note(task), want)
	}
	if got, _ := report(task)["not_stopped"].(map[string]any); got["b"] != why {
		t.Fatalf("report %v", report(task))
	}
}

func TestCancelGivesAChildTimeToEnd(t *testing.T) {
	for name, ends := range map[string]bool{"it ends": true, "it does not": false} {
		t.Run(name, func(t *testing.T) {
			c := clocktest.New(time.Now().UTC())
			r := start(t, options{clock: c}, `playbook: careful
version: 1
description: A child that compensates itself.
steps:
  - {id: a, agent: worker, skill: careful}
output: {text: done}
`)
			begun, release := make(chan struct{}), make(chan struct{})
			r.work.on("a", func(ctx context.Context, run agent.Run, _ int) (agent.Outcome, error) {
				close(begun)
				<-run.Canceling()
				select {
				case <-release:
				case <-ctx.Done():
				}
				return agent.Canceled(agent.Text("cleaned up")), nil
			})
			id := r.begin(message("careful"))
			<-begun
			r.cancel(id)
			if ends {
				close(release)
			}
			// Seconds go by, one after the other, so that leases are renewed.
			r.await(func() bool { c.Advance(time.Second); return ended(r.get(id)) }, func() string { return show(r.get(id)) })
			task := r.ends(id, canceled)
			want := "Canceled.\nStopped: a."
			if !ends {
				want = "Canceled.\nCould not be stopped: a (it was told to stop and had not ended after 10s)."
			}
			if note(task) != want {
				t.Fatalf("%q, want %q", note(task), want)
			}
			if !ends {
				close(release)
			}
		})
	}
}

func TestCancelDoesNotSendWhatWaitsForItsRetry(t *testing.T) {
	r := start(t, options{}, one("    retries: {max: 3, backoff: 20s, max_backoff: 20s, jitter: 0}"))
	r.work.on("a", r.work.fails(9, "no luck"))
	id := r.begin(message("one"))
	r.until(id, "waiting for a retry", func(t *a2apb.Task) bool { return steps(t)["a"].Attempt == 1 })
	r.cancel(id)
	task := r.ends(id, canceled)
	if note(task) != "Canceled.\nStopped: a." || r.work.did("a") != 1 {
		t.Fatalf("%q after %d executions", note(task), r.work.did("a"))
	}
}

func TestCancelWhileParkedStopsTheChild(t *testing.T) {
	r := start(t, options{onLine: 20 * time.Millisecond}, one(""))
	stopped := make(chan struct{})
	r.work.on("a", func(ctx context.Context, _ agent.Run, _ int) (agent.Outcome, error) {
		<-ctx.Done()
		close(stopped)
		return agent.Outcome{}, ctx.Err()
	})
	id := r.begin(message("one"))
	r.await(func() bool { return r.owner(id) == "" && r.work.did("a") == 1 }, func() string { return "parked" })
	r.cancel(id)
	task := r.ends(id, canceled)
	<-stopped
	if note(task) != "Canceled.\nStopped: a." {
		t.Fatalf("%q", note(task))
	}
}

func TestCancelBeforeThePlanBegan(t *testing.T) {
	r := start(t, options{}, asksInput)
	task := r.run(message("order"))
	r.is(task, needs)
	r.cancel(task.GetId())
	task = r.ends(task.GetId(), canceled)
	if note(task) != "Canceled. The plan had not begun." || len(r.work.history()) != 0 {
		t.Fatalf("%q", note(task))
	}
}

func TestCancelWhileTheClientIsAwaited(t *testing.T) {
	r := start(t, options{}, one(""))
	r.work.on("a", r.work.asks("which one?"))
	task := r.run(message("one"))
	r.is(task, needs)
	r.cancel(task.GetId())
	task = r.ends(task.GetId(), canceled)
	if note(task) != "Canceled.\nStopped: a." {
		t.Fatalf("%q", note(task))
	}
}

func TestCancelStartsNothing(t *testing.T) {
	r := start(t, options{}, `playbook: far
version: 1
description: The other worker, which is away.
steps:
  - {id: a, agent: spare, skill: do, retries: {max: 0}}
output: {text: done}
`)
	id := r.begin(message("far"))
	r.until(id, "the agent is missed", func(t *a2apb.Task) bool { return steps(t)["a"].Reason == "the agent cannot be reached" })
	r.cancel(id)
	task := r.ends(id, canceled)
	if want := "Canceled.\nCould not be stopped: a (it cannot be told whether it runs: the agent cannot be reached)."; note(task) != want {
		t.Fatalf("%q, want %q", note(task), want)
	}
	r.up("spare")
	if r.work.did("a") != 0 {
		t.Fatalf("executed %v", r.work.history())
	}
}

func TestCancelThatRacesTheEndGivesExactlyOneOfThem(t *testing.T) {
	r := start(t, options{}, trip)
	for n := range 20 {
		gate := make(chan struct{})
		begun := make(chan struct{})
		r.work.on("car", func(ctx context.Context, run agent.Run, k int) (agent.Outcome, error) {
			close(begun)
			return r.work.gated(gate)(ctx, run, k)
		})
		before := len(r.work.history())
		id := r.begin(message("trip"))
		<-begun
		go close(gate)
		time.Sleep(time.Duration(n%7) * time.Millisecond)
		_, err := r.client.CancelTask(r.ctx(), &a2apb.CancelTaskRequest{Id: id})
		task := r.until(id, "ended", ended)
		executed := r.work.history()[before:]
		switch state := task.GetStatus().GetState(); {
		case state == completed && status.Code(err) == codes.FailedPrecondition:
			if !slices.Equal(executed, []string{"flight", "hotel", "car"}) {
				t.Fatalf("completed, executed %v", executed)
			}
		case state == canceled && err == nil:
			want := []string{"flight", "hotel", "car", "undo hotel", "undo flight"}
			told := "Canceled.\nStopped: car.\nUndone: hotel, flight."
			if steps(task)["car"].State == "COMPLETED" {
				want = []string{"flight", "hotel", "car", "undo car", "undo hotel", "undo flight"}
				told = "Canceled.\nUndone: car, hotel, flight."
			}
			if !slices.Equal(executed, want) || note(task) != told {
				t.Fatalf("executed %v, told %q", executed, note(task))
			}
		default:
			t.Fatalf("cancel gave %v, the plan ended as %s", err, show(task))
		}
	}
}

package engine_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/grpc/codes"

	"sabha.dev/chassis/agent"
	"sabha.dev/chassis/clock"
	"sabha.dev/chassis/engine"
	"sabha.dev/chassis/fault"
	"sabha.dev/chassis/taskstore"
	"sabha.dev/testrig/clocktest"
)

func TestATaskOfADeadReplicaIsTakenOver(t *testing.T) {
	onBothEngines(t, func(t *testing.T, r *rig) {
		var alive atomic.Bool
		a := running(func(ctx context.Context, run agent.Run) (agent.Outcome, error) {
			if alive.Load() {
				return agent.Completed(agent.Text(fmt.Sprintf("attempt %d", run.Attempt()))), nil
			}
			if err := run.Commit(ctx, agent.Change{Events: []*a2apb.StreamResponse{artifact("half")}}); err != nil {
				return agent.Outcome{}, err
			}
			<-ctx.Done()
			return agent.Outcome{}, ctx.Err()
		})
		first := r.start("first", a)
		const tasks = 5
		var ids []string
		for i := range tasks {
			ids = append(ids, first.send(atOnce(request(fmt.Sprintf("m%d", i), "do", "go"))).GetId())
		}
		r.soon("every task has begun", func() bool {
			for _, id := range ids {
				if artifacts(first.task(id)) != "half" {
					return false
				}
			}
			return true
		})
		alive.Store(true)
		second := r.start("second", a)
		waiting := second.subscribe(ids[0], "")
		if got := waiting.next(t).GetTask(); got.GetId() != ids[0] {
			t.Fatalf("the stream on the living replica begins with %v", got)
		}
		first.die()
		for _, id := range ids {
			r.eventually("task "+id+" completes", second.reached(id, a2apb.TaskState_TASK_STATE_COMPLETED))
			task := second.task(id)
			if artifacts(task) != "half" || said(task) != "attempt 0" {
				t.Errorf("%s: artifacts %q, %q; a takeover is no failed attempt", id, artifacts(task), said(task))
			}
		}
		if r.clock.Now().Before(start.Add(lease)) {
			t.Error("taken over before the lease ran out")
		}
		events, err := waiting.rest(t)
		if err != nil {
			t.Fatal(err)
		}
		if last := events[len(events)-1].GetStatusUpdate().GetStatus().GetState(); last != a2apb.TaskState_TASK_STATE_COMPLETED {
			t.Errorf("the stream ended with %v", events[len(events)-1])
		}
	})
}

func artifact(says string) *a2apb.StreamResponse {
	return &a2apb.StreamResponse{Payload: &a2apb.StreamResponse_ArtifactUpdate{ArtifactUpdate: &a2apb.TaskArtifactUpdateEvent{
		Artifact: &a2apb.Artifact{ArtifactId: "x", Parts: []*a2apb.Part{agent.Text(says)}}, LastChunk: true,
	}}}
}

// A replica that was stalled finds its tasks taken over: it lets go of them, tells
// its readers what is so, and serves again.
func TestAStalledReplicaGivesUpItsRunsAndServesAgain(t *testing.T) {
	onBothEngines(t, func(t *testing.T, r *rig) {
		gaveUp := make(chan struct{})
		var stuck atomic.Bool
		stuck.Store(true)
		frozen := clocktest.New(start)
		stalled := r.start("stalled", running(func(ctx context.Context, _ agent.Run) (agent.Outcome, error) {
			if !stuck.Load() {
				return agent.Completed(agent.Text("served")), nil
			}
			<-ctx.Done()
			close(gaveUp)
			return agent.Completed(agent.Text("stale")), nil
		}), func(c *engine.Config) { c.Clock = clock.Clock(frozen) })
		task := stalled.send(atOnce(request("m1", "do", "go")))
		watched := stalled.subscribe(task.GetId(), "")
		watched.next(t)
		waiting := stalled.sending(request("m1", "do", "go"))
		living := r.start("living", running(func(context.Context, agent.Run) (agent.Outcome, error) {
			return agent.Completed(agent.Text("fresh")), nil
		}))
		r.eventually("the task completes", living.reached(task.GetId(), a2apb.TaskState_TASK_STATE_COMPLETED))
		frozen.Advance(r.clock.Now().Sub(start)) // the stall ends
		r.soon("its run is given up", func() bool {
			frozen.Advance(lease / 3)
			select {
			case <-gaveUp:
				return true
			default:
				return false
			}
		})
		if got := <-waiting; said(got) != "fresh" {
			t.Errorf("the sender who waited there got %q", said(got))
		}
		events, err := watched.rest(t)
		if err != nil || len(events) == 0 || agent.TextOf(events[len(events)-1].GetStatusUpdate().GetStatus().GetMessage().GetParts()) != "fresh" {
			t.Errorf("its reader got %s, %v", told(events), err)
		}
		stuck.Store(false)
		if again := stalled.send(request("m2", "do", "go")); said(again) != "served" {
			t.Errorf("then it served %q", said(again))
		}
	})
}

// The stalled replica renews nothing, but its run goes on and writes: too late.
func TestAStalledReplicaWritesNothingAndItsRunEnds(t *testing.T) {
	onBothEngines(t, func(t *testing.T, r *rig) {
		resume, stalledRun := make(chan struct{}), make(chan error, 1)
		stuck := running(func(ctx context.Context, run agent.Run) (agent.Outcome, error) {
			<-resume
			err := run.Commit(context.WithoutCancel(ctx), agent.Change{Events: []*a2apb.StreamResponse{artifact("stale")}})
			stalledRun <- err
			return agent.Completed(agent.Text("stale")), nil
		})
		frozen := clocktest.New(start)
		stalled := r.start("stalled", stuck, func(c *engine.Config) { c.Clock = clock.Clock(frozen) })
		task := stalled.send(atOnce(request("m1", "do", "go")))
		living := r.start("living", running(func(context.Context, agent.Run) (agent.Outcome, error) {
			return agent.Completed(agent.Text("fresh")), nil
		}))
		answer := living.sending(request("m1", "do", "go")) // the same message on the other replica waits for the same task
		r.eventually("the task completes", living.reached(task.GetId(), a2apb.TaskState_TASK_STATE_COMPLETED))
		close(resume)
		if err := <-stalledRun; !errors.Is(err, taskstore.ErrFenced) && !errors.Is(err, taskstore.ErrEnded) {
			t.Errorf("the stalled run's commit gave %v", err)
		}
		got := <-answer
		if got.GetId() != task.GetId() || said(got) != "fresh" {
			t.Errorf("the sender on the living replica got %s %q", got.GetId(), said(got))
		}
		for _, p := range []*replica{stalled, living} {
			if stored := p.task(task.GetId()); said(stored) != "fresh" || artifacts(stored) != "" {
				t.Errorf("stored %q with artifacts %q", said(stored), artifacts(stored))
			}
		}
	})
}

func TestATaskThatKillsItsReplicasIsQuarantined(t *testing.T) {
	for name, c := range map[string]struct {
		says        func(agent.Run) error
		quarantined bool
	}{
		"it says nothing":       {func(agent.Run) error { return nil }, true},
		"it says that it works": {func(run agent.Run) error { return run.Working(agent.Message(agent.Text("working"))) }, true},
		"it keeps what it has done": {func(run agent.Run) error {
			return run.Append(artifact("more").GetArtifactUpdate().GetArtifact(), false)
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			r := onSQLite(t)
			var runs atomic.Int32
			a := running(func(ctx context.Context, run agent.Run) (agent.Outcome, error) {
				if err := c.says(run); err != nil {
					return agent.Outcome{}, err
				}
				// What was said is stored before the replica dies.
				if err := run.Commit(ctx, agent.Change{}); err != nil {
					return agent.Outcome{}, err
				}
				runs.Add(1)
				<-ctx.Done()
				return agent.Outcome{}, ctx.Err()
			})
			p := r.start("r0", one(agent.Skill{Budget: time.Hour, Run: a.Skills[0].Run}))
			task := p.send(atOnce(request("m1", "do", "go")))
			r.soon("it runs", func() bool { return runs.Load() == 1 })
			for i := 1; i <= 8; i++ {
				before := runs.Load()
				p.die()
				p = r.start(fmt.Sprintf("r%d", i), a)
				var ended bool
				r.eventually("the next replica runs the task or gives it up", func() bool {
					ended = p.state(task.GetId()) == a2apb.TaskState_TASK_STATE_FAILED
					return ended || runs.Load() > before
				})
				if ended {
					break
				}
			}
			got := p.task(task.GetId())
			if c.quarantined != strings.HasPrefix(said(got), "quarantined: taken over") || c.quarantined != (runs.Load() == 6) {
				t.Errorf("after %d runs: %v %q", runs.Load(), got.GetStatus().GetState(), said(got))
			}
		})
	}
}

// A sender that waits hears of a question at once, though other work of the task
// goes on.
func TestASenderHearsOfAQuestionWhileTheRunGoesOn(t *testing.T) {
	onBothEngines(t, func(t *testing.T, r *rig) {
		a := running(func(ctx context.Context, run agent.Run) (agent.Outcome, error) {
			ask := &a2apb.StreamResponse{Payload: &a2apb.StreamResponse_StatusUpdate{StatusUpdate: &a2apb.TaskStatusUpdateEvent{
				Status: &a2apb.TaskStatus{State: a2apb.TaskState_TASK_STATE_INPUT_REQUIRED, Message: agent.Message(agent.Text("which?"))},
			}}}
			if err := run.Note(agent.Change{Events: []*a2apb.StreamResponse{ask}}); err != nil {
				return agent.Outcome{}, err
			}
			for {
				select {
				case <-run.Nudged():
					if agent.TextOf(run.Task().GetHistory()[len(run.Task().GetHistory())-1].GetParts()) == "this" {
						return agent.Completed(agent.Text("done with this")), nil
					}
				case <-ctx.Done():
					return agent.Outcome{}, ctx.Err()
				}
			}
		})
		p, q := r.start("p", a), r.start("q", a)
		asked := p.send(request("m1", "do", "go"))
		if asked.GetStatus().GetState() != a2apb.TaskState_TASK_STATE_INPUT_REQUIRED || said(asked) != "which?" {
			t.Fatalf("the sender got %v %q", asked.GetStatus().GetState(), said(asked))
		}
		if other := q.send(request("m1", "do", "go")); other.GetId() != asked.GetId() || said(other) != "which?" {
			t.Errorf("the same message on the other replica got %v", other)
		}
		if done := q.send(followUp("m2", asked.GetId(), "this")); said(done) != "done with this" {
			t.Errorf("answered on the other replica: %v %q", done.GetStatus().GetState(), said(done))
		}
	})
}

func TestReplicasServeEachOthersTasks(t *testing.T) {
	onBothEngines(t, func(t *testing.T, r *rig) {
		canceled := make(chan string, 10)
		a := one(agent.Skill{Run: func(ctx context.Context, run agent.Run) (agent.Outcome, error) {
			switch agent.TextOf(run.Request().Message.GetParts()) {
			case "ask":
				return agent.InputRequired(agent.Text("what?")), nil
			case "wait":
				<-ctx.Done()
				canceled <- run.Task().GetId()
				return agent.Outcome{}, ctx.Err()
			}
			return agent.Completed(agent.Text("answered")), nil
		}})
		p, q := r.start("p", a), r.start("q", a)

		// Sent to p, awaited on q by a subscription, canceled on q.
		sent := p.sending(request("m1", "do", "wait"))
		var id string
		r.soon("the task runs", func() bool {
			list, err := q.ListTasks(alice(t), &a2apb.ListTasksRequest{Status: a2apb.TaskState_TASK_STATE_WORKING})
			r.must(err)
			if len(list.GetTasks()) == 1 {
				id = list.GetTasks()[0].GetId()
			}
			return id != ""
		})
		watched := q.subscribe(id, "")
		if first := watched.next(t).GetTask(); first.GetStatus().GetState() != a2apb.TaskState_TASK_STATE_WORKING {
			t.Errorf("the subscription begins with %v", first)
		}
		repeated := q.sending(request("m1", "do", "wait"))
		answer, err := q.CancelTask(alice(t), &a2apb.CancelTaskRequest{Id: id})
		r.must(err)
		if answer.GetStatus().GetState() != a2apb.TaskState_TASK_STATE_CANCELED {
			t.Errorf("the cancel was answered with %v", answer.GetStatus())
		}
		if got := <-canceled; got != id {
			t.Errorf("the run of %s was interrupted, want %s", got, id)
		}
		for _, c := range []<-chan *a2apb.Task{sent, repeated} {
			if got := <-c; got.GetId() != id || got.GetStatus().GetState() != a2apb.TaskState_TASK_STATE_CANCELED {
				t.Errorf("a waiting sender got %s %v", got.GetId(), got.GetStatus().GetState())
			}
		}
		events, err := watched.rest(t)
		r.must(err)
		if last := events[len(events)-1]; last.GetStatusUpdate().GetStatus().GetState() != a2apb.TaskState_TASK_STATE_CANCELED {
			t.Errorf("the subscription ended with %v", last)
		}

		// Asked on p, answered on q, watched on p.
		asked := p.send(request("m2", "do", "ask"))
		watched = p.subscribe(asked.GetId(), "")
		watched.next(t)
		if done := q.send(followUp("m3", asked.GetId(), "this")); said(done) != "answered" {
			t.Errorf("the follow-up on the other replica gave %v %q", done.GetStatus().GetState(), said(done))
		}
		events, err = watched.rest(t)
		r.must(err)
		if last := events[len(events)-1]; last.GetStatusUpdate().GetStatus().GetState() != a2apb.TaskState_TASK_STATE_COMPLETED {
			t.Errorf("the subscription ended with %v", last)
		}
	})
}

// A blocked sender is told what is stored, not what its replica had in mind.
func TestACancelThatRacesACompletionIsToldAsItIsStored(t *testing.T) {
	onBothEngines(t, func(t *testing.T, r *rig) {
		var gate atomic.Pointer[chan struct{}]
		a := running(func(context.Context, agent.Run) (agent.Outcome, error) {
			<-*gate.Load()
			return agent.Completed(agent.Text("done")), nil
		})
		p, q := r.start("p", a), r.start("q", a)
		won := map[a2apb.TaskState]int{}
		for i := range 40 {
			open := make(chan struct{})
			gate.Store(&open)
			message := fmt.Sprintf("m%d", i)
			task := p.send(atOnce(request(message, "do", "go")))
			waiting := p.sending(request(message, "do", "go"))
			var cancelErr error
			var wait sync.WaitGroup
			wait.Go(func() { close(open) })
			wait.Go(func() {
				_, cancelErr = q.CancelTask(alice(t), &a2apb.CancelTaskRequest{Id: task.GetId()})
			})
			wait.Wait()
			told, stored := (<-waiting).GetStatus().GetState(), a2apb.TaskState(0)
			r.soon("the task ends", func() bool { stored = q.state(task.GetId()); return taskstore.Terminal(stored) })
			if told != stored {
				t.Errorf("round %d: the sender was told %v, stored is %v", i, told, stored)
			}
			switch {
			case cancelErr == nil && stored != a2apb.TaskState_TASK_STATE_CANCELED:
				t.Errorf("round %d: the cancel was acknowledged, stored is %v", i, stored)
			case cancelErr != nil:
				wantReason(t, cancelErr, fault.TaskNotCancelable)
				if stored != a2apb.TaskState_TASK_STATE_COMPLETED {
					t.Errorf("round %d: the cancel was refused, stored is %v", i, stored)
				}
			}
			won[stored]++
		}
		t.Logf("won: %v", won)
	})
}

func TestTheSameMessageGivesTheSameTask(t *testing.T) {
	r := onSQLite(t)
	release := make(chan struct{})
	a := running(func(context.Context, agent.Run) (agent.Outcome, error) {
		<-release
		return agent.Completed(agent.Text("once")), nil
	})
	p, q := r.start("p", a), r.start("q", a)
	task := p.send(atOnce(request("m1", "do", "go")))
	again := q.send(atOnce(request("m1", "do", "go")))
	blocked := p.sending(request("m1", "do", "go"))
	_, err := p.SendMessage(alice(t), request("m1", "do", "something else"))
	wantReason(t, err, fault.MessageIDConflict)
	if code := fault.Status(err).Code(); code != codes.AlreadyExists {
		t.Errorf("code %v, want ALREADY_EXISTS", code)
	}
	close(release)
	if got := <-blocked; again.GetId() != task.GetId() || got.GetId() != task.GetId() || said(got) != "once" {
		t.Errorf("tasks %s, %s and %s of one message", task.GetId(), again.GetId(), got.GetId())
	}
	if after := q.send(request("m1", "do", "go")); after.GetId() != task.GetId() || said(after) != "once" {
		t.Errorf("after its end the message gives %s %q", after.GetId(), said(after))
	}
	events, err := p.stream(request("m1", "do", "go")).rest(t)
	if err != nil || len(events) != 1 || events[0].GetTask().GetId() != task.GetId() {
		t.Errorf("streamed after its end it gives %v, %v", events, err)
	}
	bob, err := p.SendMessage(as(t.Context(), "bob"), request("m1", "do", "go"))
	if err != nil || bob.GetTask().GetId() == task.GetId() {
		t.Errorf("another caller's message of the same id: %v, %v", bob, err)
	}
}

func TestADrainEndsStreamsAndLosesNothing(t *testing.T) {
	r := onSQLite(t)
	a := running(func(ctx context.Context, _ agent.Run) (agent.Outcome, error) {
		<-ctx.Done()
		return agent.Outcome{}, ctx.Err()
	})
	p := r.start("p", a)
	streaming := p.stream(request("m1", "do", "go"))
	id := streaming.next(t).GetTask().GetId()
	subscribed := p.subscribe(id, "")
	subscribed.next(t)
	blocked := make(chan error, 1)
	go func() {
		_, err := p.SendMessage(alice(t), request("m2", "do", "go"))
		blocked <- err
	}()
	r.soon("the second task runs", func() bool {
		list, err := p.ListTasks(alice(t), &a2apb.ListTasksRequest{Status: a2apb.TaskState_TASK_STATE_WORKING})
		return err == nil && list.GetTotalSize() == 2
	})
	p.Drain()
	_, streamErr := streaming.rest(t)
	_, subscribeErr := subscribed.rest(t)
	for what, err := range map[string]error{"stream": streamErr, "subscription": subscribeErr, "blocked send": <-blocked} {
		if code := fault.Status(err).Code(); code != codes.Unavailable {
			t.Errorf("%s ended with %v (%v), want UNAVAILABLE", what, code, err)
		}
		wantReason(t, err, fault.Unavailable)
	}
	p.die()
	r.must(p.store.Close(t.Context())) // a clean goodbye: nobody waits for a lease
	q := r.start("q", running(func(context.Context, agent.Run) (agent.Outcome, error) { return agent.Completed(), nil }))
	r.soon("the task goes on elsewhere", q.reached(id, a2apb.TaskState_TASK_STATE_COMPLETED))
}

package engine_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"github.com/nats-io/nats.go/jetstream"

	"sabha.dev/chassis/agent"
	"sabha.dev/chassis/eventlog"
	"sabha.dev/chassis/fault"
)

// steps makes an agent that appends a piece for every value it is given.
func steps(step <-chan string) agent.Agent {
	return running(func(ctx context.Context, run agent.Run) (agent.Outcome, error) {
		first := len(run.Task().GetArtifacts()) == 0
		for {
			select {
			case says := <-step:
				if says == "end" {
					return agent.Completed(agent.Text("end")), nil
				}
				a := &a2apb.Artifact{ArtifactId: "x", Parts: []*a2apb.Part{agent.Text(says)}}
				put := func() error { return run.Append(a, false) }
				if first {
					put, first = func() error { return run.Artifact(a) }, false
				}
				if err := put(); err != nil {
					return agent.Outcome{}, err
				}
			case <-ctx.Done():
				return agent.Outcome{}, ctx.Err()
			}
		}
	})
}

// told is what a stream's events say, in order, with their places.
func told(events []*a2apb.StreamResponse) string {
	var out []string
	for _, ev := range events {
		switch {
		case ev.GetTask() != nil:
			out = append(out, "task")
		case ev.GetStatusUpdate() != nil:
			out = append(out, strings.ToLower(strings.TrimPrefix(ev.GetStatusUpdate().GetStatus().GetState().String(), "TASK_STATE_")))
		default:
			out = append(out, agent.TextOf(ev.GetArtifactUpdate().GetArtifact().GetParts()))
		}
		out[len(out)-1] += "@" + cursorOf(ev)
	}
	return strings.Join(out, " ")
}

func TestEveryEventHasItsPlace(t *testing.T) {
	r := onSQLite(t)
	step := make(chan string)
	p := r.start("a", steps(step))
	s := p.stream(request("m1", "do", "go"))
	first := s.next(t)
	id := first.GetTask().GetId()
	for _, says := range []string{"one", "two", "end"} {
		step <- says
	}
	events, err := s.rest(t)
	r.must(err)
	got := told(append([]*a2apb.StreamResponse{first}, events...))
	// The first event shows the task as it was then: with or without the start of work.
	if got != "task@1.1 working@1.2 one@1.3 two@1.4 completed@1.5" && got != "task@1.2 one@1.3 two@1.4 completed@1.5" {
		t.Errorf("events: %s", got)
	}
	// After the end the missed part is still to be had, from every place on.
	r.soon("the log has all events", func() bool {
		events, err := p.subscribe(id, "1.1").rest(t)
		return err == nil && told(events) == "working@1.2 one@1.3 two@1.4 completed@1.5"
	})
	for after, want := range map[int]string{3: "two@1.4 completed@1.5", 4: "completed@1.5"} {
		events, err := p.subscribe(id, fmt.Sprintf("1.%d", after)).rest(t)
		if err != nil || told(events) != want {
			t.Errorf("after 1.%d: %s, %v; want %s", after, told(events), err, want)
		}
	}
	_, err = p.subscribe(id, "1.5").rest(t)
	wantReason(t, err, fault.UnsupportedOperation)
}

func TestPurgedEventsGiveASnapshotMarkedAsAGap(t *testing.T) {
	r := onSQLite(t)
	step := make(chan string)
	p := r.start("a", steps(step))
	id := p.send(atOnce(request("m1", "do", "go"))).GetId()
	for _, says := range []string{"one", "two", "three"} {
		step <- says
	}
	js, err := jetstream.New(r.nats.Connect(t))
	r.must(err)
	stream, err := js.Stream(t.Context(), eventlog.Stream)
	r.must(err)
	r.soon("the log has all events", func() bool {
		updates, err := p.Log.Replay(t.Context(), "doer", id, 1, 0)
		return err == nil && len(updates) == 5
	})
	r.soon("the outbox has none of them", func() bool {
		list, err := p.store.Backlog(t.Context(), 1)
		return err == nil && len(list) == 0
	})
	r.must(stream.Purge(t.Context()))
	s := p.subscribe(id, "1.2")
	done := make(chan *a2apb.StreamResponse, 1)
	go func() { done <- s.next(t) }()
	var ev *a2apb.StreamResponse
	r.eventually("the subscriber gets something", func() bool {
		select {
		case ev = <-done:
			return true
		default:
			return false
		}
	})
	if told([]*a2apb.StreamResponse{ev}) != "task@1.5" || !gap(ev) {
		t.Errorf("got %s, gap %v; want the task at 1.5 as a gap", told([]*a2apb.StreamResponse{ev}), gap(ev))
	}
	if got := agent.TextOf(ev.GetTask().GetArtifacts()[0].GetParts()); got != "one\ntwo\nthree" {
		t.Errorf("the snapshot holds %q", got)
	}
	step <- "end"
	if events, err := s.rest(t); err != nil || told(events) != "completed@1.6" {
		t.Errorf("then %s, %v", told(events), err)
	}
}

func TestAReaderThatFallsBehindGetsASnapshot(t *testing.T) {
	r := onSQLite(t)
	step := make(chan string)
	p := r.start("a", steps(step))
	id := p.send(atOnce(request("m1", "do", "go"))).GetId()
	ctx, leave := context.WithCancel(alice(t))
	defer leave()
	slow := &slowStream{ctx: ctx, gate: make(chan struct{}), got: make(chan *a2apb.StreamResponse, 1000)}
	done := make(chan error, 1)
	go func() { done <- p.SubscribeToTask(&a2apb.SubscribeToTaskRequest{Id: id}, slow) }()
	const pieces = 300
	for i := range pieces {
		step <- fmt.Sprint(i)
	}
	step <- "end"
	r.soon("the task ends though its reader does not read", p.reached(id, a2apb.TaskState_TASK_STATE_COMPLETED))
	close(slow.gate)
	r.must(<-done)
	close(slow.got)
	var last *a2apb.StreamResponse
	count := 0
	for ev := range slow.got {
		last = ev
		count++
	}
	if count >= pieces {
		t.Errorf("%d events came, more than a reader's buffer", count)
	}
	if last.GetTask().GetStatus().GetState() != a2apb.TaskState_TASK_STATE_COMPLETED || !gap(last) || len(last.GetTask().GetArtifacts()[0].GetParts()) != pieces {
		t.Errorf("the last event is %s, gap %v", told([]*a2apb.StreamResponse{last}), gap(last))
	}
}

// While NATS is away tasks go on; their events arrive afterwards, in order.
func TestAnOutageOfTheEventLogStopsNoTask(t *testing.T) {
	onBothEngines(t, func(t *testing.T, r *rig) {
		p := r.start("a", running(func(_ context.Context, run agent.Run) (agent.Outcome, error) {
			err := run.Artifact(&a2apb.Artifact{Parts: []*a2apb.Part{agent.Text("made")}})
			return agent.Completed(agent.Text("done")), err
		}))
		before := p.send(request("m0", "do", "go"))
		r.nats.Stop()
		var ids []string
		for i := range 30 {
			task := p.send(request(fmt.Sprintf("m%d", i+1), "do", "go"))
			if said(task) != "done" || artifacts(task) != "made" {
				t.Fatalf("without the event log: %v", task)
			}
			ids = append(ids, task.GetId())
		}
		r.must(r.nats.Start())
		for _, id := range append(ids, before.GetId()) {
			r.eventually("the log has the events of "+id, func() bool {
				updates, err := p.Log.Replay(t.Context(), "doer", id, 1, 0)
				return err == nil && len(updates) == 4
			})
		}
		r.eventually("the outbox is empty", func() bool {
			list, err := p.store.Waiting(t.Context(), 10)
			return err == nil && len(list) == 0
		})
		var left int
		r.eventually("its rows are deleted", func() bool {
			p.send(request("m0", "do", "go"))
			err := p.store.DB().Read.QueryRowContext(t.Context(), `SELECT COUNT(*) FROM outbox`).Scan(&left)
			return err == nil && left == 0
		})
	})
}

package conformance

import (
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/protobuf/proto"

	"sabha.dev/chassis/agent"
	"sabha.dev/chassis/ext"
)

// shown is what a client knows of a task after a stream's events.
func shown(list []event) string {
	parts := map[string][]string{}
	var order []string
	state := ""
	place := func(a *a2apb.Artifact, more bool) {
		if _, known := parts[a.GetArtifactId()]; !known {
			order = append(order, a.GetArtifactId())
		}
		if !more {
			parts[a.GetArtifactId()] = nil
		}
		for _, p := range a.GetParts() {
			parts[a.GetArtifactId()] = append(parts[a.GetArtifactId()], p.GetText())
		}
	}
	for _, ev := range list {
		switch {
		case ev.GetTask() != nil:
			clear(parts)
			order, state = nil, ev.GetTask().GetStatus().GetState().String()
			for _, a := range ev.GetTask().GetArtifacts() {
				place(a, false)
			}
		case ev.GetStatusUpdate() != nil:
			state = ev.GetStatusUpdate().GetStatus().GetState().String()
		case ev.GetArtifactUpdate() != nil:
			place(ev.GetArtifactUpdate().GetArtifact(), ev.GetArtifactUpdate().GetAppend())
		}
	}
	out := strings.TrimPrefix(state, "TASK_STATE_")
	for _, id := range order {
		out += " " + id + "=" + strings.Join(parts[id], "")
	}
	return out
}

func stream(t testing.TB, b binding, m *a2apb.Message) *events {
	t.Helper()
	return b.stream(t, call{method: "SendStreamingMessage", request: sendTo("", m), as: "alice"})
}

func subscribe(t testing.TB, b binding, id, cursor string) *events {
	t.Helper()
	return b.stream(t, call{method: "SubscribeToTask", request: &a2apb.SubscribeToTaskRequest{Id: id}, as: "alice", cursor: cursor})
}

func TestASendStreamBeginsWithTheTaskAndEndsWithIt(t *testing.T) {
	s := start(t)
	onAll(t, s, func(t *testing.T, b binding) {
		for skill, want := range map[string]string{
			"chunks": "COMPLETED c=012", "complete": "COMPLETED a=42", "fail": "FAILED", "reject": "REJECTED", "ask": "INPUT_REQUIRED",
		} {
			list, end := stream(t, b, message(skill, "go")).all(t)
			if end != nil || len(list) == 0 || list[0].GetTask() == nil {
				t.Fatalf("%s: %v, %v; want the task first", skill, list, end)
			}
			if got := shown(list); got != want {
				t.Errorf("%s: the client knows %q, want %q", skill, got, want)
			}
			stored := get(t, b, list[0].GetTask().GetId())
			for _, ev := range list[1:] {
				u, a := ev.GetStatusUpdate(), ev.GetArtifactUpdate()
				if (u == nil) == (a == nil) || u.GetTaskId()+a.GetTaskId() != stored.GetId() || u.GetContextId()+a.GetContextId() != stored.GetContextId() {
					t.Errorf("%s: event %v", skill, ev)
				}
			}
			if got := list[len(list)-1].id; got == "" || got != stored.GetMetadata().GetFields()[ext.Cursor].GetStringValue() {
				t.Errorf("%s: the last event is at %q, the task at %v", skill, got, stored.GetMetadata())
			}
		}
	})
}

func TestASendStreamStaysOpenWhileAnAuthorisationIsAwaited(t *testing.T) {
	s := start(t)
	onAll(t, s, func(t *testing.T, b binding) {
		name := "stream " + b.name()
		open := stream(t, b, message("authorise", name))
		var list []event
		for {
			ev := open.must(t)
			list = append(list, ev)
			if shown(list) == "AUTH_REQUIRED" {
				break
			}
		}
		s.agent.let(name)
		more, end := open.all(t)
		if got := shown(append(list, more...)); end != nil || got != "COMPLETED" {
			t.Errorf("after the authorisation: %q, %v", got, end)
		}
	})
}

func TestASubscriptionStaysOpenWhileInputIsAwaited(t *testing.T) {
	s := start(t)
	onAll(t, s, func(t *testing.T, b binding) {
		asked := send(t, b, message("ask", "go"))
		first, second := subscribe(t, b, asked.GetId(), ""), subscribe(t, b, asked.GetId(), "")
		var lists [2][]event
		for i, sub := range []*events{first, second} {
			ev := sub.must(t)
			if ev.GetTask().GetStatus().GetState() != a2apb.TaskState_TASK_STATE_INPUT_REQUIRED {
				t.Fatalf("the first event is %v", ev)
			}
			lists[i] = append(lists[i], ev)
		}
		more := message("", "red one")
		more.TaskId = asked.GetId()
		send(t, b, more)
		for i, sub := range []*events{first, second} {
			rest, end := sub.all(t)
			if end != nil {
				t.Errorf("subscription %d ended with %v", i, end)
			}
			lists[i] = append(lists[i], rest...)
		}
		if len(lists[0]) != len(lists[1]) {
			t.Fatalf("%d and %d events", len(lists[0]), len(lists[1]))
		}
		for i := range lists[0] {
			if lists[0][i].id != lists[1][i].id || !proto.Equal(lists[0][i].StreamResponse, lists[1][i].StreamResponse) {
				t.Errorf("event %d: %v\nand: %v", i, lists[0][i], lists[1][i])
			}
		}
		if got := shown(lists[0]); got != "COMPLETED" {
			t.Errorf("the client knows %q", got)
		}
	})
}

func TestAFollowUpStreamGoesOnToTheEnd(t *testing.T) {
	s := start(t)
	onAll(t, s, func(t *testing.T, b binding) {
		asked := send(t, b, message("ask", "go"))
		more := message("", "red one")
		more.TaskId = asked.GetId()
		list, end := stream(t, b, more).all(t)
		if end != nil || len(list) == 0 || list[0].GetTask().GetId() != asked.GetId() || shown(list) != "COMPLETED" {
			t.Errorf("%v, %v", list, end)
		}
	})
}

func TestACursorResumesWithoutHoleOrRepeat(t *testing.T) {
	s := start(t)
	onAll(t, s, func(t *testing.T, b binding) {
		asked := send(t, b, message("ask", "go"))
		open := subscribe(t, b, asked.GetId(), "")
		seen := []event{open.must(t)}
		open.close() // a disconnect
		more := message("", "red one")
		more.TaskId = asked.GetId()
		send(t, b, more) // the task ends meanwhile
		missed, end := subscribe(t, b, asked.GetId(), seen[0].id).all(t)
		if end != nil {
			t.Fatalf("resumed: %v", end)
		}
		places := map[string]bool{seen[0].id: true}
		for _, ev := range missed {
			if ev.GetTask() != nil {
				t.Errorf("a snapshot instead of what was missed: %v", ev)
			}
			if places[ev.id] {
				t.Errorf("event %s came twice", ev.id)
			}
			places[ev.id] = true
		}
		var states []string
		for _, ev := range missed {
			states = append(states, strings.TrimPrefix(ev.GetStatusUpdate().GetStatus().GetState().String(), "TASK_STATE_"))
		}
		if got := strings.Join(states, " "); got != "WORKING COMPLETED" {
			t.Errorf("missed events: %s", got)
		}
		// From each place on, exactly the rest comes.
		for i, ev := range missed[:len(missed)-1] {
			rest, end := subscribe(t, b, asked.GetId(), ev.id).all(t)
			if end != nil || len(rest) != len(missed)-i-1 || rest[0].id != missed[i+1].id {
				t.Errorf("from %s on: %v, %v", ev.id, rest, end)
			}
		}
		// With nothing left to come the task has simply ended.
		unsupported.check(t, b, fails(t, b, call{
			method: "SubscribeToTask", request: &a2apb.SubscribeToTaskRequest{Id: asked.GetId()}, as: "alice", cursor: missed[len(missed)-1].id,
		}))
	})
}

func TestACursorOfAnotherEpochGetsAMarkedSnapshot(t *testing.T) {
	s := start(t)
	onAll(t, s, func(t *testing.T, b binding) {
		asked := send(t, b, message("ask", "go"))
		for _, cursor := range []string{"99.1", "1.9999"} {
			open := subscribe(t, b, asked.GetId(), cursor)
			ev := open.must(t)
			open.close()
			if ev.GetTask().GetId() != asked.GetId() || !ev.GetTask().GetMetadata().GetFields()[ext.Cursor+"/gap"].GetBoolValue() {
				t.Errorf("cursor %s: %v, want the task, marked as a gap", cursor, ev)
			}
		}
	})
}

func TestADisconnectLeavesTheTaskRunning(t *testing.T) {
	s := start(t)
	onAll(t, s, func(t *testing.T, b binding) {
		name := "disconnect " + b.name()
		open := stream(t, b, message("hold", name))
		id := open.must(t).GetTask().GetId()
		open.close()
		if got := get(t, b, id).GetStatus().GetState(); got != a2apb.TaskState_TASK_STATE_WORKING && got != a2apb.TaskState_TASK_STATE_SUBMITTED {
			t.Errorf("after the disconnect the task is %v", got)
		}
		s.agent.let(name)
		ends(t, b, id, a2apb.TaskState_TASK_STATE_COMPLETED)
		if got := says(get(t, b, id)); got != "let go" {
			t.Errorf("it ended with %q", got)
		}
	})
}

// What one binding starts, each of the others continues: there is one server.
func TestBindingsShareTheirTasks(t *testing.T) {
	s := start(t)
	all := []binding{newGRPC(t, s), &rest{s}, &jsonRPC{s}}
	for i, b := range all {
		other := all[(i+1)%len(all)]
		asked := send(t, b, message("ask", "go"))
		watch := subscribe(t, all[(i+2)%len(all)], asked.GetId(), "")
		first := watch.must(t)
		more := message("", "red one")
		more.TaskId = asked.GetId()
		if done := send(t, other, more); agent.TextOf(done.GetStatus().GetMessage().GetParts()) != "the red one" {
			t.Errorf("begun on %s, continued on %s: %v", b.name(), other.name(), done)
		}
		if rest, end := watch.all(t); end != nil || shown(append([]event{first}, rest...)) != "COMPLETED" {
			t.Errorf("watched: %v, %v", rest, end)
		}
	}
}

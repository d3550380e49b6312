package gateway_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/encoding/protojson"

	"sabha.dev/chassis/agent"
	"sabha.dev/chassis/ext"
)

// events reads a gRPC stream to its end: one word for each event, and the error.
func events(stream grpc.ServerStreamingClient[a2apb.StreamResponse], err error) ([]string, error) {
	var seen []string
	for err == nil {
		var e *a2apb.StreamResponse
		if e, err = stream.Recv(); err == nil {
			seen = append(seen, word(e))
		}
	}
	return seen, err
}

func word(e *a2apb.StreamResponse) string {
	switch p := e.GetPayload().(type) {
	case *a2apb.StreamResponse_Task:
		return "task"
	case *a2apb.StreamResponse_Message:
		return "message"
	case *a2apb.StreamResponse_ArtifactUpdate:
		return "artifact " + agent.TextOf(p.ArtifactUpdate.GetArtifact().GetParts())
	case *a2apb.StreamResponse_StatusUpdate:
		return strings.TrimPrefix(p.StatusUpdate.GetStatus().GetState().String(), "TASK_STATE_") + " " + agent.TextOf(p.StatusUpdate.GetStatus().GetMessage().GetParts())
	}
	return "nothing"
}

func TestStreamsPassEventByEventOnEveryBinding(t *testing.T) {
	r := start(t)
	key := "X-API-Key: " + r.operator
	q := request{skill: "work", tenant: "research", headers: []string{key}}
	stream, err := a2apb.NewA2AServiceClient(r.conn).SendStreamingMessage(q.context(t.Context()), q.message())
	overGRPC, err := events(stream, err)
	if err == nil || err.Error() != "EOF" {
		t.Errorf("gRPC ends with %v", err)
	}
	over := map[string][]string{"grpc": overGRPC}
	for binding, open := range map[string][2]string{
		"rest":    {"/research/message:stream", encode(t, q.message())},
		"jsonrpc": {"/research/rpc", `{"jsonrpc":"2.0","id":1,"method":"SendStreamingMessage","params":` + encode(t, q.message()) + `}`},
	} {
		res := r.open(t, t.Context(), "POST", open[0], open[1], q.all())
		if got := res.Header.Get("Content-Type"); res.StatusCode != 200 || got != "text/event-stream" {
			t.Errorf("%s: %d %s", binding, res.StatusCode, got)
		}
		lines := frames(res.Body)
		for text, more := nextFrame(lines); more; text, more = nextFrame(lines) {
			text = strings.TrimSuffix(strings.TrimPrefix(text, `{"jsonrpc":"2.0","id":1,"result":`), "}")
			if binding == "rest" {
				text += "}"
			}
			e := &a2apb.StreamResponse{}
			if err := protojson.Unmarshal([]byte(text), e); err != nil {
				t.Fatalf("%s: frame %s: %v", binding, text, err)
			}
			over[binding] = append(over[binding], word(e))
		}
		_ = res.Body.Close()
	}
	for binding, seen := range over {
		if seen[0] != "task" || seen[len(seen)-1] != "COMPLETED done for /admin" {
			t.Errorf("%s: %q, want the task first and its completion last", binding, seen)
		}
	}
}

// holding starts a task that holds on, and gives it once it does.
func (r *rig) holding(t testing.TB, ctx context.Context, headers ...string) (grpc.ServerStreamingClient[a2apb.StreamResponse], string) {
	t.Helper()
	q := request{skill: "hold", headers: headers}
	stream, err := a2apb.NewA2AServiceClient(r.conn).SendStreamingMessage(q.context(ctx), q.message())
	if err != nil {
		t.Fatal(err)
	}
	id := ""
	for {
		e, err := stream.Recv()
		if err != nil {
			t.Fatal(err)
		}
		if e.GetTask() != nil {
			id = e.GetTask().GetId()
		}
		said := append(e.GetStatusUpdate().GetStatus().GetMessage().GetParts(), e.GetTask().GetStatus().GetMessage().GetParts()...)
		if agent.TextOf(said) == "holding" {
			return stream, id
		}
	}
}

func TestADisconnectLeavesTheTaskAndACursorResumesIt(t *testing.T) {
	r := start(t)
	key := "X-API-Key: " + r.operator
	ctx, leave := context.WithCancel(t.Context())
	_, id := r.holding(t, ctx, key)
	leave()
	close(r.persona.release)
	// The cursor of the task's first event travels as metadata to the agent.
	res := r.open(t, t.Context(), "POST", "/tasks/"+id+":subscribe", "", []string{"A2A-Version: 1.0", key, "Last-Event-ID: 1.0"})
	defer func() { _ = res.Body.Close() }()
	lines := frames(res.Body)
	last := ""
	for text, more := nextFrame(lines); more; text, more = nextFrame(lines) {
		if !strings.Contains(text, ext.Cursor) {
			t.Errorf("event %s carries no cursor", text)
		}
		last = text
	}
	if !strings.Contains(last, "TASK_STATE_COMPLETED") {
		t.Errorf("the last event is %s, want the completion", last)
	}
}

func TestAStopEndsStreamsAsUnavailableAndTasksGoOn(t *testing.T) {
	r := start(t)
	key := "X-API-Key: " + r.operator
	overGRPC, id := r.holding(t, t.Context(), key)
	overREST := r.open(t, t.Context(), "GET", "/tasks/"+id+":subscribe", "", []string{"A2A-Version: 1.0", key})
	defer func() { _ = overREST.Body.Close() }()
	lines := frames(overREST.Body)
	if first, ok := nextFrame(lines); !ok || !strings.Contains(first, id) {
		t.Fatalf("first frame %q", first)
	}
	// A call that waits for the task; it is let go a few seconds after the streams.
	waiting := make(chan error, 1)
	go func() {
		q := request{task: id, skill: "hold", headers: []string{key}}
		_, err := a2apb.NewA2AServiceClient(r.conn).SendMessage(q.context(t.Context()), q.message())
		waiting <- err
	}()
	stopped := make(chan error, 1)
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		stopped <- r.Stop(ctx)
	}()
	_, err := events(overGRPC, nil)
	if got := grpcError(err); got.reason != "UNAVAILABLE" || !strings.Contains(got.said, "stopping") {
		t.Errorf("the gRPC stream ends with %+v, want UNAVAILABLE", got)
	}
	last := ""
	for text, more := nextFrame(lines); more; text, more = nextFrame(lines) {
		last = text
	}
	if !strings.Contains(last, `"UNAVAILABLE"`) {
		t.Errorf("the SSE stream ends with %s, want UNAVAILABLE", last)
	}
	r.clock.BlockUntil(1)
	r.clock.Advance(5 * time.Second)
	if err := <-stopped; err != nil {
		t.Errorf("Stop: %v", err)
	}
	if got := grpcError(<-waiting); got.code != "Unavailable" {
		t.Errorf("the waiting call ends with %+v, want Unavailable", got)
	}
	close(r.persona.release)
}

func TestARevokedKeyEndsItsStreams(t *testing.T) {
	r := start(t)
	secret := r.newKey(t, "-subject", "asha")
	stream, _ := r.holding(t, t.Context(), "X-API-Key: "+secret)
	code, out, errs := r.command(t, "keys", "list", "-config", r.file)
	if code != 0 {
		t.Fatal(errs)
	}
	id := ""
	for line := range strings.Lines(out) {
		if strings.Contains(line, "/asha") {
			id = strings.Fields(line)[0]
		}
	}
	if code, _, errs := r.command(t, "keys", "revoke", "-config", r.file, "-id", id); code != 0 {
		t.Fatal(errs)
	}
	r.clock.Advance(5 * time.Second)
	close(r.persona.release)
	seen, err := events(stream, nil)
	if got := grpcError(err); got.reason != "UNAUTHENTICATED" || len(seen) != 0 {
		t.Errorf("got %q and %+v, want nothing and UNAUTHENTICATED", seen, got)
	}
}

// A stream with nothing to say is kept open, through whatever drops silent connections.
func TestIdleStreamsCarryHeartbeats(t *testing.T) {
	r := start(t)
	defer close(r.persona.release)
	key := "X-API-Key: " + r.operator
	_, id := r.holding(t, t.Context(), key)
	for binding, open := range map[string][2]string{
		"rest":    {"/tasks/" + id + ":subscribe", ""},
		"jsonrpc": {"/rpc", `{"jsonrpc":"2.0","id":1,"method":"SubscribeToTask","params":{"id":"` + id + `"}}`},
	} {
		t.Run(binding, func(t *testing.T) {
			ctx, leave := context.WithCancel(t.Context())
			defer leave()
			res := r.open(t, ctx, "POST", open[0], open[1], []string{"A2A-Version: 1.0", key})
			defer func() { _ = res.Body.Close() }()
			lines := frames(res.Body)
			if first, more := nextFrame(lines); !more || !strings.Contains(first, id) {
				t.Fatalf("the stream begins with %s", first)
			}
			began := r.clock.Now()
			go func() {
				for ctx.Err() == nil {
					r.clock.Advance(time.Second)
					time.Sleep(2 * time.Millisecond)
				}
			}()
			beats := 0
			for beats < 3 && lines.Scan() {
				if lines.Text() == ": heartbeat" {
					beats++
				}
			}
			if silent := r.clock.Now().Sub(began); beats != 3 || silent < 3*15*time.Second {
				t.Errorf("%d heartbeats in %v: %v", beats, silent, lines.Err())
			}
		})
	}
}

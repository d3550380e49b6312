package binding_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/structpb"

	"sabha.dev/chassis/binding"
	"sabha.dev/chassis/ext"
	"sabha.dev/chassis/fault"
)

type eventStream = grpc.ServerStreamingServer[a2apb.StreamResponse]

func at(cursor string) *structpb.Struct {
	return &structpb.Struct{Fields: map[string]*structpb.Value{ext.Cursor: structpb.NewStringValue(cursor)}}
}

func taskEvent(cursor string) *a2apb.StreamResponse {
	return &a2apb.StreamResponse{Payload: &a2apb.StreamResponse_Task{Task: &a2apb.Task{Id: "t1", Metadata: at(cursor)}}}
}

func statusEvent(cursor string) *a2apb.StreamResponse {
	return &a2apb.StreamResponse{Payload: &a2apb.StreamResponse_StatusUpdate{StatusUpdate: &a2apb.TaskStatusUpdateEvent{TaskId: "t1", Metadata: at(cursor)}}}
}

func artifactEvent(cursor string) *a2apb.StreamResponse {
	return &a2apb.StreamResponse{Payload: &a2apb.StreamResponse_ArtifactUpdate{ArtifactUpdate: &a2apb.TaskArtifactUpdateEvent{TaskId: "t1", Metadata: at(cursor)}}}
}

func messageEvent() *a2apb.StreamResponse {
	return &a2apb.StreamResponse{Payload: &a2apb.StreamResponse_Message{Message: &a2apb.Message{
		MessageId: "m2", Parts: []*a2apb.Part{{Content: &a2apb.Part_Text{Text: "two\nlines"}}},
	}}}
}

func sending(then error, events ...*a2apb.StreamResponse) func(eventStream) error {
	return func(s eventStream) error {
		for _, e := range events {
			if err := s.Send(e); err != nil {
				return err
			}
		}
		return then
	}
}

func encoded(t *testing.T, e *a2apb.StreamResponse) string {
	t.Helper()
	text, err := protojson.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// both calls a stream in either binding: what goes around each event, and how to
// ask.
var both = []struct {
	name, path, body, head, tail string
}{
	{"HTTP+JSON", "/message:stream", `{}`, "", ""},
	{"HTTP+JSON subscribe", "/research/tasks/t1:subscribe", "", "", ""},
	{"JSON-RPC", "/rpc", `{"jsonrpc":"2.0","id":"r 1","method":"SendStreamingMessage","params":{}}`, `{"jsonrpc":"2.0","id":"r 1","result":`, "}"},
	{"JSON-RPC subscribe", "/research/rpc", `{"jsonrpc":"2.0","id":1,"method":"SubscribeToTask","params":{"id":"t1"}}`, `{"jsonrpc":"2.0","id":1,"result":`, "}"},
}

func TestStreamsAreFramedExactly(t *testing.T) {
	events := []*a2apb.StreamResponse{taskEvent("3.1"), statusEvent("3.2"), artifactEvent("3.10"), messageEvent()}
	ids := []string{"id: 3.1\n", "id: 3.2\n", "id: 3.10\n", ""}
	r := serve(t, &agent{stream: sending(nil, events...), header: metadata.Pairs("a2a-extensions", ext.Cursor, "sabha-token", "secret")})
	for _, c := range both {
		t.Run(c.name, func(t *testing.T) {
			want := ""
			for i, e := range events {
				want += ids[i] + "data: " + c.head + encoded(t, e) + c.tail + "\n\n"
			}
			got := r.call(t, "POST", c.path, c.body)
			if got.status != 200 || got.body != want {
				t.Errorf("stream %d\n%s\nwant 200\n%s", got.status, got.body, want)
			}
			for name, value := range map[string]string{
				"Content-Type": "text/event-stream", "Cache-Control": "no-cache", "X-Accel-Buffering": "no",
				"A2A-Extensions": ext.Cursor, "Grpc-Metadata-Sabha-Token": "", "Sabha-Token": "",
			} {
				if got.header.Get(name) != value {
					t.Errorf("%s: %q, want %q", name, got.header.Get(name), value)
				}
			}
		})
	}
}

func TestSubscribeAlsoByGet(t *testing.T) {
	a := &agent{}
	got := serve(t, a).call(t, "GET", "/tasks/t1:subscribe", "")
	want := "data: " + encoded(t, &a2apb.StreamResponse{Payload: &a2apb.StreamResponse_Task{Task: aTask}}) + "\n\n"
	if got.status != 200 || got.body != want || a.lastAsked() != `SubscribeToTask {"id":"t1"}` {
		t.Errorf("asked %s, answer %d %q\nwant 200 %q", a.lastAsked(), got.status, got.body, want)
	}
}

func TestCursorThatWouldForgeAFrameIsLeftOut(t *testing.T) {
	for _, cursor := range []string{"1.2\ndata: {}", "1", ".1", "1.", "1.2.3", "a.b", "-1.2", ""} {
		e := statusEvent(cursor)
		got := serve(t, &agent{stream: sending(nil, e)}).call(t, "POST", "/message:stream", `{}`)
		if want := "data: " + encoded(t, e) + "\n\n"; got.body != want {
			t.Errorf("cursor %q: stream %q, want %q", cursor, got.body, want)
		}
	}
}

func TestErrorAfterTheFirstEventIsTheLastFrame(t *testing.T) {
	r := serve(t, &agent{stream: sending(fault.Status(fault.New(fault.Unavailable, "this replica stops; subscribe again")).Err(), statusEvent("1.1"))})
	for _, c := range both {
		t.Run(c.name, func(t *testing.T) {
			prefix, last := "event: error\ndata: ", `{"error":{"code":503,"status":"UNAVAILABLE","message":"this replica stops; subscribe again","details":[`+sabhaInfo("UNAVAILABLE")+`]}}`
			if c.head != "" {
				prefix, last = "data: ", strings.TrimSuffix(c.head, `"result":`)+`"error":{"code":-32043,"message":"this replica stops; subscribe again","data":[`+sabhaInfo("UNAVAILABLE")+`]}}`
			}
			got := r.call(t, "POST", c.path, c.body)
			first, rest, _ := strings.Cut(got.body, "\n\n")
			if want := "id: 1.1\ndata: " + c.head + encoded(t, statusEvent("1.1")) + c.tail; got.status != 200 || first != want {
				t.Errorf("first frame %d %q\nwant 200 %q", got.status, first, want)
			}
			data, ok := strings.CutPrefix(strings.TrimSuffix(rest, "\n\n"), prefix)
			if !ok || compact(data) != last {
				t.Errorf("last frame %q\nwant %s%s", rest, prefix, last)
			}
		})
	}
}

func TestStreamWithoutAnEventIsAnError(t *testing.T) {
	r := serve(t, &agent{stream: sending(nil)})
	for _, c := range both {
		t.Run(c.name, func(t *testing.T) {
			want := `{"error":{"code":500,"status":"INTERNAL","message":"the agent ended the stream without an event","details":[` + a2aInfo("INVALID_AGENT_RESPONSE") + `]}}`
			if c.head != "" {
				want = strings.TrimSuffix(c.head, `"result":`) + `"error":{"code":-32006,"message":"the agent ended the stream without an event","data":[` + a2aInfo("INVALID_AGENT_RESPONSE") + `]}}`
			}
			if got := r.call(t, "POST", c.path, c.body); got.status != 500 || got.body != want {
				t.Errorf("answer %d %s\nwant 500 %s", got.status, got.body, want)
			}
		})
	}
}

// until reads a stream to the end of its next frame.
func until(t *testing.T, body *bufio.Reader) string {
	t.Helper()
	frame := ""
	for {
		line, err := body.ReadString('\n')
		if err != nil {
			t.Fatalf("after %q: %v", frame, err)
		}
		frame += line
		if line == "\n" {
			return frame
		}
	}
}

func TestSilentStreamBeats(t *testing.T) {
	for _, c := range both {
		t.Run(c.name, func(t *testing.T) {
			next := make(chan *a2apb.StreamResponse)
			r := serve(t, &agent{stream: func(s eventStream) error {
				for e := range next {
					if err := s.Send(e); err != nil {
						return err
					}
				}
				return nil
			}}, func(cfg *binding.Config) { cfg.Heartbeat = 10 * time.Second })
			go func() { next <- statusEvent("1.1") }()
			resp := r.open(t, "POST", c.path, c.body)
			defer resp.Body.Close()
			body := bufio.NewReader(resp.Body)

			first := "id: 1.1\ndata: " + c.head + encoded(t, statusEvent("1.1")) + c.tail + "\n\n"
			if got := until(t, body); got != first {
				t.Fatalf("first frame %q, want %q", got, first)
			}
			for range 2 {
				r.clock.BlockUntil(1)
				r.clock.Advance(10 * time.Second)
				if got := until(t, body); got != ": heartbeat\n\n" {
					t.Fatalf("after 10 s of silence: %q, want a comment", got)
				}
			}
			// An event at 6 s moves the next beat from 10 s to 16 s.
			r.clock.BlockUntil(1)
			r.clock.Advance(6 * time.Second)
			next <- statusEvent("1.2")
			second := "id: 1.2\ndata: " + c.head + encoded(t, statusEvent("1.2")) + c.tail + "\n\n"
			if got := until(t, body); got != second {
				t.Fatalf("second frame %q, want %q", got, second)
			}
			r.clock.Advance(4 * time.Second)
			r.clock.BlockUntil(1) // the beat has looked and sleeps again
			next <- statusEvent("1.3")
			third := "id: 1.3\ndata: " + c.head + encoded(t, statusEvent("1.3")) + c.tail + "\n\n"
			if got := until(t, body); got != third {
				t.Fatalf("4 s after an event: %q, want %q", got, third)
			}
			close(next)
			if rest, err := io.ReadAll(body); err != nil || len(rest) != 0 {
				t.Errorf("at the end: %q, %v", rest, err)
			}
		})
	}
}

func TestDisconnectEndsTheCallToTheAgent(t *testing.T) {
	for _, c := range both {
		t.Run(c.name, func(t *testing.T) {
			ended := make(chan error, 1)
			r := serve(t, &agent{stream: func(s eventStream) error {
				if err := s.Send(statusEvent("1.1")); err != nil {
					return err
				}
				<-s.Context().Done()
				ended <- s.Context().Err()
				return nil
			}})
			resp := r.open(t, "POST", c.path, c.body)
			until(t, bufio.NewReader(resp.Body))
			_ = resp.Body.Close()
			if err := <-ended; !errors.Is(err, context.Canceled) {
				t.Errorf("the agent's call ended with %v, want a cancellation", err)
			}
		})
	}
}

func TestBareErrorInAStreamRevealsNothing(t *testing.T) {
	r := serve(t, &agent{stream: sending(status.Error(codes.Internal, "pq: secret"), statusEvent("1.1"))})
	for _, c := range both {
		got := r.call(t, "POST", c.path, c.body)
		if strings.Contains(got.body, "secret") || !strings.Contains(got.body, "internal error; the operator finds it in the log") {
			t.Errorf("%s: stream %q", c.name, got.body)
		}
	}
}

// A subscription after a cursor may have nothing to tell for long.
func TestSilentSubscriptionBegins(t *testing.T) {
	for _, c := range []struct{ name, path, body, head, tail string }{
		{"HTTP+JSON", "/tasks/t1:subscribe", "", "", ""},
		{"JSON-RPC", "/rpc", `{"jsonrpc":"2.0","id":1,"method":"SubscribeToTask","params":{"id":"t1"}}`, `{"jsonrpc":"2.0","id":1,"result":`, "}"},
	} {
		t.Run(c.name, func(t *testing.T) {
			next := make(chan *a2apb.StreamResponse)
			r := serve(t, &agent{stream: func(s eventStream) error {
				for e := range next {
					if err := s.Send(e); err != nil {
						return err
					}
				}
				return status.Error(codes.Unavailable, "the agent stops")
			}})
			go func() {
				r.clock.BlockUntil(1)
				r.clock.Advance(time.Second)
			}()
			resp := r.open(t, "POST", c.path, c.body, "Last-Event-ID: 1.1")
			defer resp.Body.Close()
			if got := resp.Header.Get("Content-Type"); resp.StatusCode != 200 || got != "text/event-stream" {
				t.Fatalf("answer %d %s", resp.StatusCode, got)
			}
			body := bufio.NewReader(resp.Body)
			if got := until(t, body); got != ": heartbeat\n\n" {
				t.Errorf("the stream begins with %q, want a comment", got)
			}
			next <- statusEvent("1.2")
			want := "id: 1.2\ndata: " + c.head + encoded(t, statusEvent("1.2")) + c.tail + "\n\n"
			if got := until(t, body); got != want {
				t.Errorf("then comes %q, want %q", got, want)
			}
			// What ends it now is a frame, as after any first event.
			close(next)
			if got := until(t, body); !strings.Contains(got, "data: {") || !strings.Contains(got, "the agent cannot be reached at the moment") {
				t.Errorf("at last comes %q, want the error", got)
			}
		})
	}
}

package remote_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2acompat/a2av0"
	grpcv0 "github.com/a2aproject/a2a-go/v2/a2agrpc/v0"
	grpcv1 "github.com/a2aproject/a2a-go/v2/a2agrpc/v1"
	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
	"google.golang.org/grpc"

	"sabha.dev/chassis/agent"
	"sabha.dev/services/partners/internal/partner"
	"sabha.dev/services/partners/internal/remote"
)

// foreign is an agent on the SDK's server: it does what the text of a message says.
type foreign struct{}

func (foreign) Execute(ctx context.Context, ec *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		word := ""
		for _, p := range ec.Message.Parts {
			word += p.Text()
		}
		if word == "hello" {
			yield(a2a.NewMessage(a2a.MessageRoleAgent, a2a.NewTextPart("hello yourself")), nil)
			return
		}
		if ec.StoredTask == nil && !yield(a2a.NewSubmittedTask(ec, ec.Message), nil) {
			return
		}
		say := func(s a2a.TaskState, text string) bool {
			return yield(a2a.NewStatusUpdateEvent(ec, s, a2a.NewMessageForTask(a2a.MessageRoleAgent, ec, a2a.NewTextPart(text))), nil)
		}
		switch word {
		case "ask":
			say(a2a.TaskStateInputRequired, "which?")
			return
		case "wait":
			if say(a2a.TaskStateWorking, "it takes its time") {
				<-ctx.Done()
			}
			return
		}
		if say(a2a.TaskStateWorking, "on it") && yield(a2a.NewArtifactEvent(ec, a2a.NewTextPart("made of "+word)), nil) {
			say(a2a.TaskStateCompleted, "done")
		}
	}
}

func (foreign) Cancel(_ context.Context, ec *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		yield(a2a.NewStatusUpdateEvent(ec, a2a.TaskStateCanceled, nil), nil)
	}
}

// serveGRPC serves on a free port and gives host:port.
func serveGRPC(t *testing.T, register func(*grpc.Server)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := grpc.NewServer()
	register(s)
	go func() { _ = s.Serve(l) }()
	t.Cleanup(s.Stop)
	return l.Addr().String()
}

func serveHTTP(t *testing.T, h http.Handler) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL
}

// newForeign starts the SDK's server in a version and a binding and gives it as a partner.
func newForeign(t *testing.T, version, binding string) *partner.Partner {
	t.Helper()
	h := a2asrv.NewHandler(foreign{}, a2asrv.WithLogger(slog.New(slog.NewTextHandler(io.Discard, nil))), a2asrv.WithCapabilityChecks(&a2a.AgentCapabilities{Streaming: true}))
	var url string
	switch version + " " + binding {
	case "1.0 JSONRPC":
		url = serveHTTP(t, a2asrv.NewJSONRPCHandler(h))
	case "1.0 HTTP+JSON":
		url = serveHTTP(t, a2asrv.NewRESTHandler(h))
	case "1.0 GRPC":
		url = serveGRPC(t, func(s *grpc.Server) { grpcv1.NewHandler(h).RegisterWith(s) })
	case "0.3 JSONRPC":
		url = serveHTTP(t, a2av0.NewJSONRPCHandler(h))
	case "0.3 HTTP+JSON":
		url = serveHTTP(t, a2av0.NewRESTHandler(h))
	case "0.3 GRPC":
		url = serveGRPC(t, func(s *grpc.Server) { grpcv0.NewHandler(h).RegisterWith(s) })
	}
	return called("foreign", version, binding, url)
}

// called is a partner with one interface.
func called(id, version, binding, url string) *partner.Partner {
	p := &partner.Partner{ID: id, State: partner.Approved, Callable: true}
	var card any
	switch version {
	case "1.0":
		p.Protocol = partner.A2A1
		card = map[string]any{"capabilities": map[string]any{"streaming": true}, "supportedInterfaces": []any{
			map[string]any{"url": "carrier://pigeon", "protocolBinding": "PIGEON", "protocolVersion": "1.0"},
			map[string]any{"url": url, "protocolBinding": binding, "protocolVersion": "1.0"},
		}}
	case "0.3":
		p.Protocol = partner.A2A0
		card = map[string]any{"protocolVersion": "0.3.0", "capabilities": map[string]any{"streaming": true}, "url": url, "preferredTransport": binding}
	default:
		p.Protocol = partner.KAP1
		card = map[string]any{"protocol": "kap/1.0", "endpoint": url}
	}
	p.Card, _ = json.Marshal(card)
	return p
}

// here opens the addresses of this machine, on which tests have their partners.
func here(string) remote.Settings {
	return remote.Settings{Networks: []string{"127.0.0.0/8", "::1"}, Trace: remote.Full}
}

func newClient(t *testing.T, settings func(string) remote.Settings) *remote.Client {
	c := remote.New(remote.Config{
		Settings: settings, Clock: systemClock, MaxAnswer: 1 << 20, Identity: remote.Identity{ID: "sabha", Name: "Sabha", Organisation: "A Bank"},
	})
	t.Cleanup(c.Close)
	return c
}

func says(text string) *a2apb.SendMessageRequest {
	return remote.Request("id of "+text, "do", []*a2apb.Part{agent.Text(text)})
}

// history is a stream in a line.
func history(all []*a2apb.StreamResponse) string {
	var out []string
	for _, ev := range all {
		switch p := ev.GetPayload().(type) {
		case *a2apb.StreamResponse_Message:
			out = append(out, "message "+agent.TextOf(p.Message.GetParts()))
		case *a2apb.StreamResponse_Task:
			out = append(out, "task "+short(p.Task.GetStatus().GetState()))
		case *a2apb.StreamResponse_StatusUpdate:
			out = append(out, short(p.StatusUpdate.GetStatus().GetState())+" "+agent.TextOf(p.StatusUpdate.GetStatus().GetMessage().GetParts()))
		case *a2apb.StreamResponse_ArtifactUpdate:
			out = append(out, "artifact "+agent.TextOf(p.ArtifactUpdate.GetArtifact().GetParts()))
		}
	}
	return strings.Join(out, "; ")
}

func short(s a2apb.TaskState) string { return strings.TrimPrefix(s.String(), "TASK_STATE_") }

func equal(t *testing.T, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s is %q, want %q", what, got, want)
	}
}

func TestAgentsOfTheGoSDKAreCalledInEveryVersionAndBinding(t *testing.T) {
	for _, version := range []string{"1.0", "0.3"} {
		for _, binding := range []string{"JSONRPC", "HTTP+JSON", "GRPC"} {
			t.Run(version+" "+binding, func(t *testing.T) {
				does(t, newForeign(t, version, binding), version, binding)
			})
		}
	}
}

// does has a foreign agent do everything that it can.
func does(t *testing.T, p *partner.Partner, version, binding string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	l, err := newClient(t, here).Line(p)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "the binding", l.Binding, "a2a/"+version+" "+binding)
	must := func(res *a2apb.StreamResponse, err error) *a2apb.StreamResponse {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return res
	}
	equal(t, "a direct answer", agent.TextOf(must(l.Send(ctx, says("hello"))).GetMessage().GetParts()), "hello yourself")

	task := must(l.Send(ctx, says("clay"))).GetTask()
	equal(t, "the state", short(task.GetStatus().GetState()), "COMPLETED")
	equal(t, "the artifact", agent.TextOf(task.GetArtifacts()[0].GetParts()), "made of clay")
	again, err := l.Get(ctx, task.GetId(), nil)
	must(nil, err)
	equal(t, "the state that is got", short(again.GetStatus().GetState()), "COMPLETED")

	var all []*a2apb.StreamResponse
	must(nil, l.Stream(ctx, says("wool"), func(ev *a2apb.StreamResponse) error { all = append(all, ev); return nil }))
	equal(t, "the stream", history(all), "task SUBMITTED; WORKING on it; artifact made of wool; COMPLETED done")

	task = must(l.Send(ctx, says("ask"))).GetTask()
	equal(t, "the state", short(task.GetStatus().GetState()), "INPUT_REQUIRED")
	more := says("red")
	more.Message.TaskId, more.Message.ContextId = task.GetId(), task.GetContextId()
	task = must(l.Send(ctx, more)).GetTask()
	equal(t, "the state after the answer", short(task.GetStatus().GetState()), "COMPLETED")

	waits := says("wait")
	waits.Configuration = &a2apb.SendMessageConfiguration{ReturnImmediately: true}
	task = must(l.Send(ctx, waits)).GetTask()
	started, seen := make(chan struct{}), make(chan error, 1)
	var events []*a2apb.StreamResponse
	go func() {
		seen <- l.Subscribe(ctx, task.GetId(), func(ev *a2apb.StreamResponse) error {
			if events = append(events, ev); len(events) == 1 {
				close(started)
			}
			return nil
		})
	}()
	select {
	case <-started:
	case err := <-seen:
		t.Fatalf("the subscription ended: %v", err)
	}
	ended, err := l.Cancel(ctx, task.GetId())
	must(nil, err)
	equal(t, "the state after a cancel", short(ended.GetStatus().GetState()), "CANCELED")
	must(nil, <-seen)
	if got := history(events); !strings.HasSuffix(strings.TrimSpace(got), "CANCELED") {
		t.Errorf("the subscription saw %q", got)
	}

	_, err = l.Get(ctx, "nobody", nil)
	equal(t, "the error of a task that is not there", string(remote.KindOf(err)), "gone")
	_, err = l.Cancel(ctx, ended.GetId())
	if k := remote.KindOf(err); err != nil && k != remote.Final {
		t.Errorf("a second cancel: %v", err)
	}
	brief, stop := context.WithTimeout(ctx, 200*time.Millisecond)
	defer stop()
	if _, err = l.Send(brief, says("wait")); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a call over its budget: %v", err)
	}
}

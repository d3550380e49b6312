package main

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"

	"sabha.dev/chassis/agent"
	"sabha.dev/chassis/clock"
)

func startAgent(t *testing.T, card string) *system {
	t.Helper()
	s, err := start(t.Context(), options{
		http: "127.0.0.1:0", grpc: "127.0.0.1:0", dir: t.TempDir(), card: card, clock: clock.System{}, log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return s
}

func (s *system) client(t *testing.T) (a2apb.A2AServiceClient, context.Context) {
	t.Helper()
	conn, err := grpc.NewClient(s.grpc, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return a2apb.NewA2AServiceClient(conn), metadata.AppendToOutgoingContext(t.Context(), "a2a-version", "1.0")
}

// post calls an HTTP binding as the kit does: without credentials.
func (s *system) post(t *testing.T, path, body string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.http+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("A2A-Version", "1.0")
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(text)
}

func request(id string) *a2apb.SendMessageRequest {
	return &a2apb.SendMessageRequest{Message: &a2apb.Message{MessageId: id, Role: a2apb.Role_ROLE_USER, Parts: []*a2apb.Part{agent.Text("hello")}}}
}

// shown is an answer in short: the state, what the status says, and the parts of
// artifacts; or the text of a direct message.
func shown(r *a2apb.SendMessageResponse) string {
	if m := r.GetMessage(); m != nil {
		return "message " + agent.TextOf(m.GetParts())
	}
	out := strings.TrimPrefix(r.GetTask().GetStatus().GetState().String(), "TASK_STATE_")
	if says := agent.TextOf(r.GetTask().GetStatus().GetMessage().GetParts()); says != "" {
		out += ": " + says
	}
	for _, a := range r.GetTask().GetArtifacts() {
		for _, p := range a.GetParts() {
			out += " [" + p.GetFilename() + "|" + p.GetText() + string(p.GetRaw()) + p.GetUrl()
			if d := p.GetData(); d != nil {
				text, _ := json.Marshal(d.AsInterface())
				out += string(text)
			}
			out += "]"
		}
	}
	return out
}

func TestThePrefixOfAMessageIDDecides(t *testing.T) {
	s := startAgent(t, cardPlain)
	client, ctx := s.client(t)
	for prefix, want := range map[string]string{
		"tck-complete-task":           "COMPLETED: Hello from TCK",
		"tck-artifact-text":           "COMPLETED [|Generated text content]",
		"tck-artifact-file":           "COMPLETED [output.txt|tck]",
		"tck-artifact-file-url":       "COMPLETED [output.txt|https://example.com/output.txt]",
		"tck-artifact-data":           `COMPLETED [|{"count":42,"key":"value"}]`,
		"tck-message-response":        "message Direct message response",
		"tck-input-required":          "INPUT_REQUIRED",
		"tck-reject-task":             "REJECTED: rejected",
		"tck-stream-001":              "COMPLETED [|Stream hello from TCK]",
		"tck-stream-002":              "COMPLETED",
		"tck-stream-003":              "COMPLETED [|Stream task lifecycle]",
		"tck-stream-ordering-001":     "COMPLETED [|Ordered output]",
		"tck-stream-artifact-text":    "COMPLETED [|Streamed text content]",
		"tck-stream-artifact-file":    "COMPLETED [output.txt|tck]",
		"tck-stream-artifact-chunked": "COMPLETED [|chunk-1 ] [|chunk-2]",
		"tck-anything-else":           "COMPLETED: Unhandled messageId prefix: tck-anything-else-1",
	} {
		q := request(prefix + "-1")
		text, err := protojson.Marshal(q)
		if err != nil {
			t.Fatal(err)
		}
		// The same id three times: each is a message of its own.
		overGRPC, err := client.SendMessage(ctx, q)
		if err != nil {
			t.Errorf("%s over gRPC: %v", prefix, err)
			continue
		}
		overREST, overRPC := &a2apb.SendMessageResponse{}, &a2apb.SendMessageResponse{}
		code, body := s.post(t, "/message:send", string(text))
		if err := protojson.Unmarshal([]byte(body), overREST); err != nil || code != http.StatusOK {
			t.Errorf("%s over REST: %d %s", prefix, code, body)
		}
		code, body = s.post(t, "/rpc", `{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":`+string(text)+`}`)
		var envelope struct{ Result json.RawMessage }
		if err := json.Unmarshal([]byte(body), &envelope); err != nil || code != http.StatusOK {
			t.Fatalf("%s over JSON-RPC: %d %s", prefix, code, body)
		}
		if err := protojson.Unmarshal(envelope.Result, overRPC); err != nil {
			t.Errorf("%s over JSON-RPC: %s", prefix, body)
		}
		for binding, got := range map[string]*a2apb.SendMessageResponse{"gRPC": overGRPC, "REST": overREST, "JSON-RPC": overRPC} {
			if shown(got) != want {
				t.Errorf("%s over %s: %q, want %q", prefix, binding, shown(got), want)
			}
		}
		if id := overGRPC.GetTask().GetId(); id != "" && (id == overREST.GetTask().GetId() || id == overRPC.GetTask().GetId()) {
			t.Errorf("%s: two messages of one id share task %s", prefix, id)
		}
	}
}

func TestAFollowUpPlaysItsOwnScenario(t *testing.T) {
	client, ctx := startAgent(t, cardPlain).client(t)
	res, err := client.SendMessage(ctx, request("tck-input-required-1"))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ id, want string }{
		{"tck-input-required-1", "INPUT_REQUIRED"}, {"tck-complete-task-1", "COMPLETED: Hello from TCK"},
	} {
		q := request(c.id)
		q.Message.TaskId = res.GetTask().GetId()
		got, err := client.SendMessage(ctx, q)
		if err != nil || shown(got) != c.want {
			t.Errorf("%s: %q, %v; want %q", c.id, shown(got), err, c.want)
		}
	}
}

func TestTheTaskForResubscriptionWorksOn(t *testing.T) {
	client, ctx := startAgent(t, cardPlain).client(t)
	stream, err := client.SendStreamingMessage(ctx, request("test-resubscribe-message-id-1"))
	if err != nil {
		t.Fatal(err)
	}
	var state a2apb.TaskState
	for state != a2apb.TaskState_TASK_STATE_WORKING {
		event, err := stream.Recv()
		if err != nil {
			t.Fatal(err)
		}
		state = max(event.GetTask().GetStatus().GetState(), event.GetStatusUpdate().GetStatus().GetState())
		if state > a2apb.TaskState_TASK_STATE_WORKING {
			t.Fatalf("the task is %v before it was seen to work", state)
		}
	}
}

// Errors travel in gRPC headers that end the stream and must pass the front as such.
func TestErrorsPassTheFrontUnchanged(t *testing.T) {
	s := startAgent(t, cardPlain)
	client, ctx := s.client(t)
	for range 100 {
		if _, err := client.GetTask(ctx, &a2apb.GetTaskRequest{Id: "nothing"}); status.Code(err) != codes.NotFound {
			t.Fatalf("GetTask: %v, want NotFound", err)
		}
	}
	if code, body := s.post(t, "/tasks/nothing:cancel", ""); code != http.StatusNotFound || !strings.Contains(body, "TASK_NOT_FOUND") {
		t.Errorf("cancel: %d %s, want 404", code, body)
	}
}

func TestTheCardDeclaresWhatWasAskedFor(t *testing.T) {
	for card, want := range map[string]struct {
		extended, answered bool
		send               codes.Code
	}{
		cardPlain:    {false, false, codes.OK},
		cardExtended: {true, true, codes.OK},
		cardStrict:   {false, false, codes.FailedPrecondition},
	} {
		s := startAgent(t, card)
		client, ctx := s.client(t)
		res, err := http.Get(s.http + "/.well-known/agent-card.json")
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(res.Body)
		_ = res.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		got := &a2apb.AgentCard{}
		// Read strictly, as the kit does: nothing of A2A 0.3 is on it.
		if err := protojson.Unmarshal(text, got); err != nil {
			t.Fatalf("%s: card %s: %v", card, text, err)
		}
		if got.GetCapabilities().GetExtendedAgentCard() != want.extended {
			t.Errorf("%s: extended card declared: %v, want %v", card, !want.extended, want.extended)
		}
		if where := got.GetSupportedInterfaces()[2].GetUrl(); where != s.grpc {
			t.Errorf("%s: the card says gRPC is at %s, want the front's %s", card, where, s.grpc)
		}
		if _, err := client.SendMessage(ctx, request("tck-complete-task-1")); status.Code(err) != want.send {
			t.Errorf("%s: SendMessage: %v, want %v", card, err, want.send)
		}
		if _, err := client.GetExtendedAgentCard(ctx, &a2apb.GetExtendedAgentCardRequest{}); want.answered != (err == nil) {
			t.Errorf("%s: GetExtendedAgentCard: %v", card, err)
		}
	}
	if _, err := start(t.Context(), options{
		http: "127.0.0.1:0", grpc: "127.0.0.1:0", dir: t.TempDir(), card: "odd", clock: clock.System{}, log: slog.New(slog.DiscardHandler),
	}); err == nil || !strings.Contains(err.Error(), `there is no card "odd"`) {
		t.Errorf("an unknown card: %v", err)
	}
}

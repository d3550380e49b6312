package gateway_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	oldpb "github.com/a2aproject/a2a-go/a2apb"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	adminv1 "sabha.dev/gen/sabha/admin/v1"
	"sabha.dev/services/gateway"
)

// oldRequest reads a message of A2A 0.3 in the JSON of its Protobuf form.
func oldRequest(t *testing.T, text string) *oldpb.SendMessageRequest {
	t.Helper()
	m := &oldpb.SendMessageRequest{}
	if err := protojson.Unmarshal([]byte(strings.Replace(text, `"content"`, `"parts"`, 1)), m); err != nil {
		t.Fatal(err)
	}
	return m
}

func jsonOf(t *testing.T, m proto.Message) string {
	t.Helper()
	text, err := protojson.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return told(strings.ReplaceAll(strings.ReplaceAll(string(text), `: `, `:`), `, "`, `,"`))
}

// oldContext is that of a client of A2A 0.3, which states no version unless told to.
func oldContext(t *testing.T, headers ...string) context.Context {
	return request{bare: true, headers: headers}.context(t.Context())
}

func oldTask(id string) string { return "tasks/" + id }

func TestOldGRPC(t *testing.T) {
	r := start(t)
	c := oldpb.NewA2AServiceClient(r.conn)
	known := oldContext(t, "x-api-key: "+r.operator)

	sent, err := c.SendMessage(known, oldRequest(t, oldProto("g1", "work", helloPart)))
	if err != nil {
		t.Fatal(err)
	}
	want := `{"task":{"id":"ID","contextId":"ID","status":{"state":"TASK_STATE_COMPLETED","message":{"messageId":"ID","contextId":"ID","taskId":"ID","role":"ROLE_AGENT","parts":[{"text":"done for /admin"}]},"timestamp":"TIME"},` +
		`"artifacts":[{"artifactId":"a","parts":[{"text":"made"}]}],"history":[{"messageId":"g1","contextId":"ID","taskId":"ID","role":"ROLE_USER","parts":[{"text":"hello"}],"metadata":{"urn:sabha:ext:skill:v1":"work"}}]}}`
	if got := jsonOf(t, sent); got != want {
		t.Errorf("sent\n %s\nwant\n %s", got, want)
	}
	id := sent.GetTask().GetId()
	again, err := c.SendMessage(known, oldRequest(t, oldProto("g1", "work", helloPart)))
	if err != nil || again.GetTask().GetId() != id {
		t.Errorf("the same message gives %v, %v, want task %s", again, err, id)
	}
	got, err := c.GetTask(known, &oldpb.GetTaskRequest{Name: oldTask(id), HistoryLength: 1})
	if err != nil || !proto.Equal(got, sent.GetTask()) {
		t.Errorf("got %v, %v\nwant %v", got, err, sent.GetTask())
	}
	list, err := c.ListTasks(known, &oldpb.ListTasksRequest{PageSize: 3})
	if err != nil || len(list.GetTasks()) != 1 || list.GetTasks()[0].GetId() != id {
		t.Errorf("list %v, %v", list, err)
	}
	card, err := c.GetAgentCard(known, &oldpb.GetAgentCardRequest{})
	if err != nil || card.GetDescription() != "For /admin" || card.GetPreferredTransport() != "JSONRPC" || card.GetUrl() != r.PublicURL()+"/rpc" || card.GetProtocolVersion() != "0.3" || len(card.GetAdditionalInterfaces()) != 2 {
		t.Errorf("card %v, %v", card, err)
	}
	// Nobody gets an answer where the skill allows it.
	answer, err := c.SendMessage(oldContext(t), oldRequest(t, oldProto("g2", "tell", helloPart)))
	if err != nil || !strings.HasPrefix(answer.GetMsg().GetParts()[0].GetText(), " [] by gateway") {
		t.Errorf("answer to nobody %v, %v", answer, err)
	}

	invoke := func(method string, q proto.Message) func(context.Context) error {
		return func(ctx context.Context) error {
			return r.conn.Invoke(ctx, "/a2a.v1.A2AService/"+method, q, &oldpb.Task{})
		}
	}
	key := "x-api-key: " + r.operator
	for name, e := range map[string]struct {
		call    func(context.Context) error
		headers []string
		want    string
	}{
		"no task":                           {invoke("GetTask", &oldpb.GetTaskRequest{Name: oldTask("t9")}), []string{key}, "NotFound TASK_NOT_FOUND"},
		"another's task":                    {invoke("GetTask", &oldpb.GetTaskRequest{Name: oldTask(id)}), nil, "NotFound TASK_NOT_FOUND"},
		"no task to cancel":                 {invoke("CancelTask", &oldpb.CancelTaskRequest{Name: oldTask("t9")}), []string{key}, "NotFound TASK_NOT_FOUND"},
		"cancel a finished":                 {invoke("CancelTask", &oldpb.CancelTaskRequest{Name: oldTask(id)}), []string{key}, "FailedPrecondition TASK_NOT_CANCELABLE"},
		"subscribe a finished":              {r.oldStream(id), []string{key}, "Unimplemented UNSUPPORTED_OPERATION"},
		"subscribe a finished, knowing 1.0": {r.oldStream(id), []string{key, "a2a-version: 0.3"}, "FailedPrecondition UNSUPPORTED_OPERATION"},
		"send to a finished": {
			invoke("SendMessage", oldRequest(t, strings.Replace(oldProto("g3", "work", helloPart), `"role"`, `"taskId":"`+id+`","role"`, 1))),
			[]string{key},
			"Unimplemented UNSUPPORTED_OPERATION",
		},
		"a version of others":    {invoke("GetTask", &oldpb.GetTaskRequest{Name: oldTask(id)}), []string{key, "a2a-version: 1.0"}, "FailedPrecondition VERSION_NOT_SUPPORTED"},
		"bad credentials":        {invoke("GetTask", &oldpb.GetTaskRequest{Name: oldTask(id)}), []string{"x-api-key: sk-wrong"}, "Unauthenticated UNAUTHENTICATED"},
		"two keys":               {invoke("GetTask", &oldpb.GetTaskRequest{Name: oldTask(id)}), []string{key, key}, "Unauthenticated UNAUTHENTICATED"},
		"nobody":                 {invoke("SendMessage", oldRequest(t, oldProto("g4", "work", helloPart))), nil, "Unauthenticated UNAUTHENTICATED"},
		"no name":                {invoke("GetTask", &oldpb.GetTaskRequest{}), []string{key}, "InvalidArgument "},
		"nothing":                {invoke("SendMessage", &oldpb.SendMessageRequest{}), []string{key}, "InvalidArgument INVALID_ARGUMENT"},
		"a part without content": {invoke("SendMessage", oldRequest(t, oldProto("g5", "work", "{}"))), []string{key}, "InvalidArgument INVALID_ARGUMENT"},
		"a file the skill does not take": {
			invoke("SendMessage", oldRequest(t, oldProto("g6", "work", `{"file":{"fileWithUri":"https://example.com/a.png","mimeType":"image/png"}}`))),
			[]string{key},
			"InvalidArgument CONTENT_TYPE_NOT_SUPPORTED",
		},
		"too large": {invoke("SendMessage", oldRequest(t, oldProto("g7", "work", `{"text":"`+strings.Repeat("x", 4<<20)+`"}`))), []string{key}, "ResourceExhausted TOO_LARGE"},
	} {
		a := grpcError(e.call(oldContext(t, e.headers...)))
		if got := a.code + " " + a.reason; got != e.want {
			t.Errorf("%s: %s (%s), want %s", name, got, a.said, e.want)
		}
	}
}

// oldStream subscribes to a task and reads to the end.
func (r *rig) oldStream(id string) func(context.Context) error {
	return func(ctx context.Context) error {
		s, err := oldpb.NewA2AServiceClient(r.conn).TaskSubscription(ctx, &oldpb.TaskSubscriptionRequest{Name: oldTask(id)})
		for err == nil {
			_, err = s.Recv()
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		return err
	}
}

// TestOldCallsCountLikeOthers lets nobody call more often in one version than in both.
func TestOldCallsCountLikeOthers(t *testing.T) {
	r := start(t, func(c *gateway.Config) { c.RateLimit.Anonymous = gateway.Limit{PerSecond: 0.001, Burst: 4} })
	tell := func(binding, id string) string {
		switch binding {
		case "old gRPC":
			_, err := oldpb.NewA2AServiceClient(r.conn).SendMessage(oldContext(t), oldRequest(t, oldProto(id, "tell", helloPart)))
			return grpcError(err).reason
		case "old JSON-RPC":
			_, _, body := r.post(t, "/rpc", oldCall("message/send", oldMessage(id, "tell", "")), nil)
			return body
		case "old HTTP+JSON":
			_, _, body := r.post(t, "/v1/message:send", oldProto(id, "tell", helloPart), nil)
			return body
		}
		return r.send(t, "grpc", request{id: id}).reason
	}
	for i, binding := range []string{"old gRPC", "old JSON-RPC", "old HTTP+JSON", "gRPC"} {
		if got := tell(binding, fmt.Sprintf("a%d", i)); strings.Contains(got, "RATE_LIMITED") {
			t.Errorf("call %d, over %s, is over the limit of 4", i+1, binding)
		}
	}
	for _, binding := range []string{"old gRPC", "old JSON-RPC", "old HTTP+JSON", "gRPC"} {
		if got := tell(binding, "b"); !strings.Contains(got, "RATE_LIMITED") {
			t.Errorf("a fifth call, over %s, gives %s", binding, got)
		}
	}
}

func states(t *testing.T, s grpc.ServerStreamingClient[oldpb.StreamResponse], until string) (id string, all []string) {
	t.Helper()
	for {
		m, err := s.Recv()
		if errors.Is(err, io.EOF) {
			return id, all
		}
		if err != nil {
			t.Fatal(err)
		}
		var seen string
		switch p := m.GetPayload().(type) {
		case *oldpb.StreamResponse_Task:
			id, seen = p.Task.GetId(), "task "+p.Task.GetStatus().GetState().String()
		case *oldpb.StreamResponse_StatusUpdate:
			seen = fmt.Sprintf("status %s %v", p.StatusUpdate.GetStatus().GetState(), p.StatusUpdate.GetFinal())
		case *oldpb.StreamResponse_ArtifactUpdate:
			seen = "artifact " + p.ArtifactUpdate.GetArtifact().GetArtifactId()
		}
		if all = append(all, seen); seen == until {
			return id, all
		}
	}
}

func TestOldStreamsOverGRPC(t *testing.T) {
	r := start(t)
	c := oldpb.NewA2AServiceClient(r.conn)
	known := oldContext(t, "authorization: Bearer "+r.operator)
	stream, err := c.SendStreamingMessage(known, oldRequest(t, oldProto("s1", "hold", helloPart)))
	if err != nil {
		t.Fatal(err)
	}
	working := "status TASK_STATE_WORKING false"
	id, seen := states(t, stream, working)
	if want := "task TASK_STATE_SUBMITTED," + working; strings.Join(seen, ",") != want {
		t.Errorf("the stream begins with %v, want %s", seen, want)
	}
	subscription, err := c.TaskSubscription(known, &oldpb.TaskSubscriptionRequest{Name: oldTask(id)})
	if err != nil {
		t.Fatal(err)
	}
	states(t, subscription, "task TASK_STATE_WORKING")
	if _, err := c.CancelTask(known, &oldpb.CancelTaskRequest{Name: oldTask(id)}); err != nil {
		t.Fatal(err)
	}
	for name, s := range map[string]grpc.ServerStreamingClient[oldpb.StreamResponse]{"stream": stream, "subscription": subscription} {
		if _, rest := states(t, s, ""); len(rest) == 0 || rest[len(rest)-1] != "status TASK_STATE_CANCELLED true" {
			t.Errorf("%s: %v, want status TASK_STATE_CANCELLED true at the end", name, rest)
		}
	}
}

// TestTheProtocolOfATaskIsRecorded reads the audit rows of calls in either version.
func TestTheProtocolOfATaskIsRecorded(t *testing.T) {
	r := start(t)
	key := "x-api-key: " + r.operator
	task := func(body string) string {
		t.Helper()
		_, rest, _ := strings.Cut(body, `"id":"`)
		id, _, ok := strings.Cut(rest, `"`)
		if !ok || !strings.Contains(strings.ToLower(body), "completed") {
			t.Fatalf("no finished task in %s", body)
		}
		return id
	}
	tasks := map[string][2]string{}
	_, _, body := r.post(t, "/rpc", strings.Replace(oldCall("message/send", oldMessage("p1", "work", "")), `"id":7`, `"id":null`, 1), []string{key})
	tasks["JSON-RPC"] = [2]string{task(strings.Replace(body, `"id":null`, "", 1)), "0.3"}
	_, _, body = r.post(t, "/v1/message:send", oldProto("p2", "work", helloPart), []string{key, gateway.ClientVersion + ": 9.9"})
	tasks["HTTP+JSON"] = [2]string{task(body), "0.3"}
	res, err := oldpb.NewA2AServiceClient(r.conn).SendMessage(oldContext(t, key, gateway.ClientVersion+": 9.9"), oldRequest(t, oldProto("p3", "work", helloPart)))
	if err != nil {
		t.Fatal(err)
	}
	tasks["gRPC"] = [2]string{res.GetTask().GetId(), "0.3"}
	// Clients do not get to say what is recorded.
	a := r.send(t, "grpc", request{skill: "work", headers: []string{key, gateway.ClientVersion + ": 0.3"}})
	tasks["gRPC of 1.0"] = [2]string{a.task, "1.0"}
	a = r.send(t, "rest", request{skill: "work", headers: []string{key, gateway.ClientVersion + ": 0.3"}})
	tasks["HTTP+JSON of 1.0"] = [2]string{a.task, "1.0"}
	admin := adminv1.NewAdminServiceClient(r.conn)
	for name, want := range tasks {
		hops, err := admin.ListHops(oldContext(t, key), &adminv1.ListHopsRequest{TaskId: want[0]})
		if err != nil {
			t.Fatal(err)
		}
		if len(hops.GetHops()) != 1 || hops.GetHops()[0].GetProtocolVersion() != want[1] {
			t.Errorf("%s: %v, want one hop of version %s", name, hops.GetHops(), want[1])
		}
	}
}

package binding_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/test/bufconn"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/emptypb"

	"sabha.dev/chassis/binding"
	"sabha.dev/chassis/fault"
	"sabha.dev/testrig/clocktest"
)

// agent is an A2A service that answers from a script and notes what it was asked.
// Each operation gives the answer, or else the error, whichever is set.
type agent struct {
	a2apb.UnimplementedA2AServiceServer

	err    error
	list   *a2apb.ListTasksResponse
	stream func(grpc.ServerStreamingServer[a2apb.StreamResponse]) error
	header metadata.MD

	mu       sync.Mutex
	asked    string
	metadata metadata.MD
}

func (a *agent) note(ctx context.Context, method string, request proto.Message) error {
	md, _ := metadata.FromIncomingContext(ctx)
	text, err := protojson.Marshal(request)
	if err != nil {
		return err
	}
	a.mu.Lock()
	a.asked, a.metadata = method+" "+compact(string(text)), md
	a.mu.Unlock()
	if a.header != nil {
		if err := grpc.SetHeader(ctx, a.header); err != nil {
			return err
		}
	}
	return a.err
}

// lastAsked is the method and the request, in compact JSON, of the last call.
func (a *agent) lastAsked() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.asked
}

func (a *agent) lastMetadata() metadata.MD {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.metadata
}

var aTask = &a2apb.Task{Id: "t1", ContextId: "c1", Status: &a2apb.TaskStatus{State: a2apb.TaskState_TASK_STATE_WORKING}}

const aTaskJSON = `{"id":"t1","contextId":"c1","status":{"state":"TASK_STATE_WORKING"}}`

func (a *agent) SendMessage(ctx context.Context, r *a2apb.SendMessageRequest) (*a2apb.SendMessageResponse, error) {
	return &a2apb.SendMessageResponse{Payload: &a2apb.SendMessageResponse_Task{Task: aTask}}, a.note(ctx, "SendMessage", r)
}

func (a *agent) GetTask(ctx context.Context, r *a2apb.GetTaskRequest) (*a2apb.Task, error) {
	return aTask, a.note(ctx, "GetTask", r)
}

func (a *agent) ListTasks(ctx context.Context, r *a2apb.ListTasksRequest) (*a2apb.ListTasksResponse, error) {
	return a.list, a.note(ctx, "ListTasks", r)
}

func (a *agent) CancelTask(ctx context.Context, r *a2apb.CancelTaskRequest) (*a2apb.Task, error) {
	return aTask, a.note(ctx, "CancelTask", r)
}

func (a *agent) SendStreamingMessage(r *a2apb.SendMessageRequest, s grpc.ServerStreamingServer[a2apb.StreamResponse]) error {
	if err := a.note(s.Context(), "SendStreamingMessage", r); err != nil {
		return err
	}
	return a.play(s)
}

func (a *agent) SubscribeToTask(r *a2apb.SubscribeToTaskRequest, s grpc.ServerStreamingServer[a2apb.StreamResponse]) error {
	if err := a.note(s.Context(), "SubscribeToTask", r); err != nil {
		return err
	}
	return a.play(s)
}

func (a *agent) play(s grpc.ServerStreamingServer[a2apb.StreamResponse]) error {
	if a.stream != nil {
		return a.stream(s)
	}
	return s.Send(&a2apb.StreamResponse{Payload: &a2apb.StreamResponse_Task{Task: aTask}})
}

var aConfig = &a2apb.TaskPushNotificationConfig{TaskId: "t1", Id: "p1", Url: "https://hooks.example/a"}

const aConfigJSON = `{"id":"p1","taskId":"t1","url":"https://hooks.example/a"}`

func (a *agent) CreateTaskPushNotificationConfig(ctx context.Context, r *a2apb.TaskPushNotificationConfig) (*a2apb.TaskPushNotificationConfig, error) {
	return aConfig, a.note(ctx, "CreateTaskPushNotificationConfig", r)
}

func (a *agent) GetTaskPushNotificationConfig(ctx context.Context, r *a2apb.GetTaskPushNotificationConfigRequest) (*a2apb.TaskPushNotificationConfig, error) {
	return aConfig, a.note(ctx, "GetTaskPushNotificationConfig", r)
}

func (a *agent) ListTaskPushNotificationConfigs(ctx context.Context, r *a2apb.ListTaskPushNotificationConfigsRequest) (*a2apb.ListTaskPushNotificationConfigsResponse, error) {
	return &a2apb.ListTaskPushNotificationConfigsResponse{Configs: []*a2apb.TaskPushNotificationConfig{aConfig}},
		a.note(ctx, "ListTaskPushNotificationConfigs", r)
}

func (a *agent) DeleteTaskPushNotificationConfig(ctx context.Context, r *a2apb.DeleteTaskPushNotificationConfigRequest) (*emptypb.Empty, error) {
	return &emptypb.Empty{}, a.note(ctx, "DeleteTaskPushNotificationConfig", r)
}

func (a *agent) GetExtendedAgentCard(ctx context.Context, r *a2apb.GetExtendedAgentCardRequest) (*a2apb.AgentCard, error) {
	return &a2apb.AgentCard{Name: "extended"}, a.note(ctx, "GetExtendedAgentCard", r)
}

// cards knows the agent at the root and the tenant "research".
func cards(_ context.Context, tenant string) (*a2apb.AgentCard, error) {
	switch tenant {
	case "":
		return &a2apb.AgentCard{Name: "front", Version: "1"}, nil
	case "research":
		return &a2apb.AgentCard{Name: "research", Version: "2"}, nil
	}
	return nil, fault.New(fault.UnknownTenant, "there is no agent %q here", tenant)
}

type rig struct {
	*httptest.Server
	clock *clocktest.Clock
	log   *bytes.Buffer
}

// serve puts a binding before the agent, over real sockets on the outside and a
// real client connection on the inside.
func serve(t testing.TB, a *agent, change ...func(*binding.Config)) rig {
	t.Helper()
	listener := bufconn.Listen(1 << 20)
	inside := grpc.NewServer(grpc.MaxRecvMsgSize(64 << 20))
	a2apb.RegisterA2AServiceServer(inside, a)
	go func() { _ = inside.Serve(listener) }()
	t.Cleanup(inside.Stop)
	return serveConn(t, dial(t, listener.DialContext), change...)
}

func dial(t testing.TB, dialer func(context.Context) (net.Conn, error)) *grpc.ClientConn {
	t.Helper()
	conn, err := grpc.NewClient("passthrough:agent",
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return dialer(ctx) }),
		grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

func serveConn(t testing.TB, conn grpc.ClientConnInterface, change ...func(*binding.Config)) rig {
	t.Helper()
	r := rig{clock: clocktest.New(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)), log: &bytes.Buffer{}}
	cfg := binding.Config{Cards: cards, Clock: r.clock, Log: slog.New(slog.NewTextHandler(r.log, nil))}
	for _, c := range change {
		c(&cfg)
	}
	h, err := binding.New(conn, cfg)
	if err != nil {
		t.Fatal(err)
	}
	r.Server = httptest.NewServer(h)
	t.Cleanup(r.Close)
	return r
}

type answer struct {
	status int
	header http.Header
	body   string // compact, where it is JSON
}

// call sends one request; headers are "Name: value".
func (r rig) call(t testing.TB, method, path, body string, headers ...string) answer {
	t.Helper()
	resp := r.open(t, method, path, body, headers...)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Fatalf("%s %s: reading the answer: %v", method, path, err)
	}
	return answer{resp.StatusCode, resp.Header, compact(string(text))}
}

// open sends one request and leaves the body to be read.
func (r rig) open(t testing.TB, method, path, body string, headers ...string) *http.Response {
	t.Helper()
	var content io.Reader
	if body != "" {
		content = strings.NewReader(body)
	}
	req, err := http.NewRequestWithContext(t.Context(), method, r.URL+path, content)
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		req.Header.Add(name, value)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatalf("%s %s: %v", method, path, err)
	}
	return resp
}

// compact takes insignificant white space out of JSON; protojson adds some or
// none, by build.
func compact(text string) string {
	var b bytes.Buffer
	if json.Compact(&b, []byte(text)) != nil {
		return text
	}
	return b.String()
}

func cloneAny(a *anypb.Any, url string) *anypb.Any {
	return &anypb.Any{TypeUrl: url, Value: a.GetValue()}
}

func readerOf(text string) io.ReadCloser { return io.NopCloser(strings.NewReader(text)) }

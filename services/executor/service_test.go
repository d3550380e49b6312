package executor

import (
	"context"
	"crypto/ed25519"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"sabha.dev/chassis/agent"
	"sabha.dev/chassis/clock"
	"sabha.dev/chassis/ext"
	"sabha.dev/chassis/identity"
	"sabha.dev/chassis/service"
	"sabha.dev/testrig/natstest"
)

// serveVariable makes the test binary an MCP server on its standard input and output.
const serveVariable = "EXECUTOR_TEST_SERVER"

func TestMain(m *testing.M) {
	if os.Getenv(serveVariable) == "" {
		os.Exit(m.Run())
	}
	type numbers struct {
		A float64 `json:"a"`
		B float64 `json:"b"`
	}
	type sum struct {
		Sum float64 `json:"sum"`
	}
	type file struct {
		Path string `json:"path"`
	}
	s := mcp.NewServer(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	reads := &mcp.ToolAnnotations{ReadOnlyHint: true}
	mcp.AddTool(s, &mcp.Tool{Name: "add", Annotations: reads}, func(_ context.Context, _ *mcp.CallToolRequest, in numbers) (*mcp.CallToolResult, sum, error) {
		return nil, sum{in.A + in.B}, nil
	})
	mcp.AddTool(s, &mcp.Tool{Name: "wait", Annotations: reads}, func(ctx context.Context, _ *mcp.CallToolRequest, in file) (*mcp.CallToolResult, sum, error) {
		_ = os.WriteFile(in.Path+".started", nil, 0o600)
		<-ctx.Done()
		_ = os.WriteFile(in.Path+".canceled", nil, 0o600)
		return nil, sum{}, ctx.Err()
	})
	if err := s.Run(context.Background(), &mcp.StdioTransport{}); err != nil {
		os.Exit(1)
	}
	os.Exit(0)
}

// start runs the executor with the test's MCP server and gives a client and the
// context of a caller.
func start(t *testing.T) (a2apb.A2AServiceClient, context.Context) {
	t.Helper()
	return startWith(t, &MCP{Servers: map[string]MCPServer{"test": {
		Command: []string{os.Args[0]}, Env: map[string]string{serveVariable: "1"}, Trust: "first-use",
	}}})
}

// startWith does so with other servers.
func startWith(t *testing.T, tools *MCP) (a2apb.A2AServiceClient, context.Context) {
	t.Helper()
	keys := t.TempDir()
	private := map[string]ed25519.PrivateKey{}
	services := []string{Name, "caller", "gateway"}
	if err := identity.MakeKeys(keys, services...); err != nil {
		t.Fatal(err)
	}
	ring, err := identity.LoadKeyring(keys)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range services {
		if private[s], err = identity.LoadKey(filepath.Join(keys, s+".key")); err != nil {
			t.Fatal(err)
		}
	}
	env := service.Env{
		Clock: clock.System{}, Log: slog.New(slog.DiscardHandler), NATS: natstest.New(t).Connect(t), Keys: ring,
		Key: private[Name], Network: service.NewMemory(), Exclusive: true, Release: "test",
	}
	r, err := service.Start(t.Context(), New(Config{
		Config: service.Config{Database: "sqlite:" + filepath.Join(t.TempDir(), "executor.db")},
		MCP:    tools,
	}), env)
	if err != nil {
		t.Fatal(err)
	}
	env.Key = private["caller"]
	base, done, err := service.OpenBase(t.Context(), service.Definition{Name: "caller"}, env)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		done()
		if err := r.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	conn, err := base.Peer(Name)
	if err != nil {
		t.Fatal(err)
	}
	gateway, err := identity.NewSigner("gateway", private["gateway"], clock.System{})
	if err != nil {
		t.Fatal(err)
	}
	grant, err := gateway.Grant(identity.Principal{Subject: "alice", Organisation: "acme"})
	if err != nil {
		t.Fatal(err)
	}
	ctx := identity.WithOutgoing(t.Context(), identity.Call{Grant: grant})
	return a2apb.NewA2AServiceClient(conn), metadata.AppendToOutgoingContext(ctx, ext.MetadataVersion, "1.0")
}

func request(t *testing.T, id string, data map[string]any) *a2apb.SendMessageRequest {
	t.Helper()
	part, err := agent.Data(data)
	if err != nil {
		t.Fatal(err)
	}
	return &a2apb.SendMessageRequest{Message: &a2apb.Message{MessageId: id, Role: a2apb.Role_ROLE_USER, Parts: []*a2apb.Part{part}}}
}

func TestTasksOverTheWire(t *testing.T) {
	client, ctx := start(t)
	for name, c := range map[string]struct {
		data  map[string]any
		state a2apb.TaskState
		want  string // of the artifact's data, or the closing words
	}{
		"a snippet":       {map[string]any{"code": "inputs['a'] * 2", "inputs": map[string]any{"a": 21}}, a2apb.TaskState_TASK_STATE_COMPLETED, "42"},
		"a wrong snippet": {map[string]any{"code": "1 // 0"}, a2apb.TaskState_TASK_STATE_FAILED, "the snippet failed: line 1: floored division by zero"},
		"a tool":          {map[string]any{"tool": "add", "arguments": map[string]any{"a": 1, "b": 2}}, a2apb.TaskState_TASK_STATE_COMPLETED, `{"sum":3}`},
		"no such tool":    {map[string]any{"tool": "sub"}, a2apb.TaskState_TASK_STATE_FAILED, `message.parts[0].data.tool: there is no tool "sub"; there are: test/add, test/wait`},
		"wrong arguments": {map[string]any{"tool": "add", "arguments": map[string]any{"a": "x", "b": 2}}, a2apb.TaskState_TASK_STATE_FAILED, `message.parts[0].data.arguments: the arguments of "test/add" do not fit its input schema: /a: got string, want number`},
	} {
		t.Run(name, func(t *testing.T) {
			res, err := client.SendMessage(ctx, request(t, name, c.data))
			if err != nil {
				t.Fatal(err)
			}
			task := res.GetTask()
			got := agent.TextOf(task.GetStatus().GetMessage().GetParts())
			if len(task.GetArtifacts()) > 0 {
				raw, err := agent.DataOf(task.GetArtifacts()[0].GetParts()).MarshalJSON()
				if err != nil {
					t.Fatal(err)
				}
				got = strings.ReplaceAll(string(raw), " ", "")
			}
			if task.GetStatus().GetState() != c.state || got != c.want {
				t.Errorf("%v %s\nwant %v %s", task.GetStatus().GetState(), got, c.state, c.want)
			}
		})
	}
	if _, err := client.SendMessage(ctx, &a2apb.SendMessageRequest{Message: &a2apb.Message{MessageId: "x", Role: a2apb.Role_ROLE_USER}}); status.Code(err) != codes.InvalidArgument {
		t.Errorf("a message without parts: %v", err)
	}
}

func TestCancelOfATaskReachesTheTool(t *testing.T) {
	client, ctx := start(t)
	path := filepath.Join(t.TempDir(), "call")
	req := request(t, "m1", map[string]any{"tool": "wait", "arguments": map[string]any{"path": path}})
	req.Configuration = &a2apb.SendMessageConfiguration{ReturnImmediately: true}
	res, err := client.SendMessage(ctx, req)
	if err != nil {
		t.Fatal(err)
	}
	await(t, path+".started")
	task, err := client.CancelTask(ctx, &a2apb.CancelTaskRequest{Id: res.GetTask().GetId()})
	if err != nil || task.GetStatus().GetState() != a2apb.TaskState_TASK_STATE_CANCELED {
		t.Fatalf("task %v, error %v", task, err)
	}
	await(t, path+".canceled")
}

// await waits until another process has made a file; the test's time limit ends it.
func await(t *testing.T, path string) {
	t.Helper()
	for {
		if _, err := os.Stat(path); err == nil {
			return
		}
		select {
		case <-t.Context().Done():
			t.Fatal("never made: " + path)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

package assembly_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/encoding/protojson"

	"sabha.dev/chassis/agent"
	"sabha.dev/cmd/sabha/platform"
)

// patience bounds every wait. It is reached only when something is broken.
const patience = 30 * time.Second

const question = "How often are backups of the customer database taken?"

// rig is a running platform and its callers.
type rig struct {
	t    *testing.T
	p    *platform.Platform
	data string
	conn *grpc.ClientConn
	a2a  a2apb.A2AServiceClient
}

func start(t *testing.T, change ...func(*platform.Options)) *rig {
	t.Helper()
	o := platform.Options{
		Data: filepath.Join(t.TempDir(), "data"), Docs: "testdata/docs", HTTP: "127.0.0.1:0", GRPC: "127.0.0.1:0", Console: "127.0.0.1:0",
		Log: slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelWarn})),
	}
	for _, f := range change {
		f(&o)
	}
	p, err := platform.Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	conn, err := grpc.NewClient(p.GRPCAddr(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return &rig{t: t, p: p, data: o.Data, conn: conn, a2a: a2apb.NewA2AServiceClient(conn)}
}

// ctx is that of a gRPC call with the first key.
func (r *rig) ctx(more ...string) context.Context {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), patience)
	r.t.Cleanup(cancel)
	return metadata.AppendToOutgoingContext(ctx, append([]string{"a2a-version", "1.0", "x-api-key", r.p.FirstKey}, more...)...)
}

func ask(text string) *a2apb.SendMessageRequest {
	return &a2apb.SendMessageRequest{Message: &a2apb.Message{
		MessageId: rand.Text(), Role: a2apb.Role_ROLE_USER, Parts: []*a2apb.Part{agent.Text(text)},
	}}
}

// grpc asks over gRPC.
func (r *rig) grpc(text string, more ...string) *a2apb.Task {
	r.t.Helper()
	res, err := r.a2a.SendMessage(r.ctx(more...), ask(text))
	if err != nil {
		r.t.Fatal(err)
	}
	return res.GetTask()
}

// post posts JSON; headers are "Name: value".
func (r *rig) post(path, body string, headers ...string) (int, []byte) {
	r.t.Helper()
	req, err := http.NewRequestWithContext(r.ctx(), http.MethodPost, "http://"+r.p.HTTPAddr()+path, strings.NewReader(body))
	if err != nil {
		r.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		req.Header.Set(name, value)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		r.t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		r.t.Fatal(err)
	}
	return res.StatusCode, raw
}

// known are the headers of a caller with the first key.
func (r *rig) known() []string {
	return []string{"A2A-Version: 1.0", "X-API-Key: " + r.p.FirstKey}
}

func jsonOf(t *testing.T, req *a2apb.SendMessageRequest) string {
	t.Helper()
	raw, err := protojson.Marshal(req)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// rest asks over HTTP+JSON.
func (r *rig) rest(text string, more ...string) *a2apb.Task {
	r.t.Helper()
	code, raw := r.post("/message:send", jsonOf(r.t, ask(text)), append(r.known(), more...)...)
	res := &a2apb.SendMessageResponse{}
	if err := protojson.Unmarshal(raw, res); err != nil || code != http.StatusOK {
		r.t.Fatalf("%d %s: %v", code, raw, err)
	}
	return res.GetTask()
}

// rpc asks over JSON-RPC.
func (r *rig) rpc(text string) *a2apb.Task {
	r.t.Helper()
	code, raw := r.post("/rpc", `{"jsonrpc":"2.0","id":7,"method":"SendMessage","params":`+jsonOf(r.t, ask(text))+`}`, r.known()...)
	var envelope struct {
		ID     int             `json:"id"`
		Result json.RawMessage `json:"result"`
	}
	res := &a2apb.SendMessageResponse{}
	if err := json.NewDecoder(bytes.NewReader(raw)).Decode(&envelope); err != nil || code != http.StatusOK || envelope.ID != 7 {
		r.t.Fatalf("%d %s: %v", code, raw, err)
	}
	if err := protojson.Unmarshal(envelope.Result, res); err != nil {
		r.t.Fatalf("%s: %v", raw, err)
	}
	return res.GetTask()
}

// answer is the text and data of a task's answer.
func answer(task *a2apb.Task) (string, map[string]any) {
	for _, a := range task.GetArtifacts() {
		if a.GetName() == "answer" {
			data, _ := agent.DataOf(a.GetParts()).AsInterface().(map[string]any)
			return agent.TextOf(a.GetParts()), data
		}
	}
	return "", nil
}

func note(task *a2apb.Task) string { return agent.TextOf(task.GetStatus().GetMessage().GetParts()) }

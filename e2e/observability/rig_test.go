package observability_test

import (
	"context"
	"crypto/rand"
	"fmt"
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
const patience = time.Minute

const question = "How often are backups of the customer database taken?"

// rig is a running platform and its clients.
type rig struct {
	t *testing.T
	platform.Options
	p *platform.Platform
	// key outlives restarts.
	key  string
	conn *grpc.ClientConn
}

func start(t *testing.T, change ...func(*platform.Options)) *rig {
	t.Helper()
	r := &rig{t: t, Options: platform.Options{
		Data: filepath.Join(t.TempDir(), "data"), Docs: "../assembly/testdata/docs", HTTP: "127.0.0.1:0", GRPC: "127.0.0.1:0", Console: "127.0.0.1:0",
		Log: slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelWarn})),
	}}
	for _, f := range change {
		f(&r.Options)
	}
	r.up()
	t.Cleanup(r.down)
	return r
}

func (r *rig) up() {
	r.t.Helper()
	var err error
	if r.p, err = platform.Start(r.t.Context(), r.Options); err != nil {
		r.t.Fatal(err)
	}
	if r.p.FirstKey != "" {
		r.key = r.p.FirstKey
	}
	if r.conn, err = grpc.NewClient(r.p.GRPCAddr(), grpc.WithTransportCredentials(insecure.NewCredentials())); err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) down() {
	_ = r.conn.Close()
	if err := r.p.Stop(context.Background()); err != nil {
		r.t.Error(err)
	}
}

func (r *rig) a2a() a2apb.A2AServiceClient { return a2apb.NewA2AServiceClient(r.conn) }

// ctx is that of a gRPC call with the first key.
func (r *rig) ctx(more ...string) context.Context {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), patience)
	r.t.Cleanup(cancel)
	return metadata.AppendToOutgoingContext(ctx, append([]string{"a2a-version", "1.0", "x-api-key", r.key}, more...)...)
}

func ask(text string) *a2apb.SendMessageRequest {
	return &a2apb.SendMessageRequest{Message: &a2apb.Message{
		MessageId: rand.Text(), Role: a2apb.Role_ROLE_USER, Parts: []*a2apb.Part{agent.Text(text)},
	}}
}

// http makes a request with the first key; headers are "Name: value".
func (r *rig) http(method, path, body string, headers ...string) (int, string) {
	r.t.Helper()
	req, err := http.NewRequestWithContext(r.ctx(), method, "http://"+r.p.HTTPAddr()+path, strings.NewReader(body))
	if err != nil {
		r.t.Fatal(err)
	}
	for _, h := range append([]string{"Content-Type: application/json", "A2A-Version: 1.0", "X-API-Key: " + r.key}, headers...) {
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
	return res.StatusCode, string(raw)
}

func jsonOf(t *testing.T, req *a2apb.SendMessageRequest) string {
	t.Helper()
	raw, err := protojson.Marshal(req)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// await calls f until it is content, and fails with what it said last.
func await(t *testing.T, f func() error) {
	t.Helper()
	var err error
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if err = f(); err == nil {
			return
		}
	}
	t.Fatal(fmt.Errorf("still after %s: %w", patience, err))
}

package gateway_test

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	"sabha.dev/chassis/certs"
	"sabha.dev/services/gateway"
)

func TestBothPublicPortsServeTLS(t *testing.T) {
	dir := t.TempDir()
	if _, err := certs.Issue(dir, certs.Order{Services: []string{"gateway"}, Lifetime: time.Hour}, time.Now()); err != nil {
		t.Fatal(err)
	}
	// No authority beside it: the port needs none.
	if err := os.Remove(filepath.Join(dir, "gateway", "ca.crt")); err != nil {
		t.Fatal(err)
	}
	r := start(t, func(c *gateway.Config) { c.PublicTLS = filepath.Join(dir, "gateway") })
	raw, err := os.ReadFile(filepath.Join(dir, "ca.crt"))
	if err != nil {
		t.Fatal(err)
	}
	authority := &tls.Config{RootCAs: x509.NewCertPool(), MinVersion: tls.VersionTLS12}
	authority.RootCAs.AppendCertsFromPEM(raw)
	web := http.Client{Transport: &http.Transport{TLSClientConfig: authority, ForceAttemptHTTP2: true}}
	do := func(method, path string) *http.Response {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), method, "https://"+r.HTTPAddr()+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("A2A-Version", "1.0")
		req.Header.Set("X-API-Key", r.operator)
		res, err := web.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = res.Body.Close() })
		if res.StatusCode != http.StatusOK || res.ProtoMajor != 2 {
			t.Fatalf("%s: %s over %s, want 200 over HTTP/2", path, res.Status, res.Proto)
		}
		return res
	}

	var card struct {
		SupportedInterfaces []struct{ URL, ProtocolBinding string }
	}
	if err := json.NewDecoder(do("GET", "/.well-known/agent-card.json").Body).Decode(&card); err != nil {
		t.Fatal(err)
	}
	_, port, _ := strings.Cut(r.HTTPAddr(), ":")
	_, grpcPort, _ := strings.Cut(r.GRPCAddr(), ":")
	for _, i := range card.SupportedInterfaces {
		want := map[string]string{"HTTP+JSON": "https://localhost:" + port, "JSONRPC": "https://localhost:" + port + "/rpc", "GRPC": "localhost:" + grpcPort}
		if i.URL != want[i.ProtocolBinding] {
			t.Errorf("the card says %s is at %s, want %s", i.ProtocolBinding, i.URL, want[i.ProtocolBinding])
		}
	}

	conn, err := grpc.NewClient(r.GRPCAddr(), grpc.WithTransportCredentials(credentials.NewTLS(authority)))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	r.conn = conn
	overGRPC, id := r.holding(t, t.Context(), "X-API-Key: "+r.operator)
	// A stream of events over HTTP/2 that has begun, goes on and ends.
	lines := frames(do("GET", "/tasks/"+id+":subscribe").Body)
	if first, ok := nextFrame(lines); !ok || !strings.Contains(first, id) {
		t.Fatalf("the first event is %q", first)
	}
	close(r.persona.release)
	last := ""
	for text, more := nextFrame(lines); more; text, more = nextFrame(lines) {
		last = text
	}
	if !strings.Contains(last, "TASK_STATE_COMPLETED") {
		t.Errorf("the last event over HTTP/2 is %q", last)
	}
	var end *a2apb.StreamResponse
	for {
		ev, err := overGRPC.Recv()
		if err != nil {
			break
		}
		end = ev
	}
	if end.GetStatusUpdate().GetStatus().GetState() != a2apb.TaskState_TASK_STATE_COMPLETED {
		t.Errorf("the last event over gRPC is %v", end)
	}
	// Plain text on the port is told what is wrong.
	res, err := http.Get("http://" + r.HTTPAddr() + "/healthz") //nolint:noctx // a test's own server
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	if res.StatusCode != http.StatusBadRequest {
		t.Errorf("plain text is answered with %s", res.Status)
	}
}

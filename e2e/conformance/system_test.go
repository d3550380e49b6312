// Package conformance tests what the wire must show: every condition of the A2A
// specification and of the platform, on gRPC, HTTP+JSON and JSON-RPC, through
// the gateway and over real sockets. A case is written once and runs on all three.
package conformance

import (
	"context"
	"crypto/ed25519"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"sabha.dev/chassis/clock"
	"sabha.dev/chassis/identity"
	"sabha.dev/chassis/service"
	"sabha.dev/services/gateway"
	"sabha.dev/testrig/natstest"
)

// system is a gateway with agents behind it. The agent at the root is that of
// the planner's place.
type system struct {
	http, grpc string
	// keys of callers by name; "" is nobody's.
	keys  map[string]string
	agent *agents
}

// tenants beside the root.
var tenants = []string{"strict", "bare", "plain", "teller"}

func start(t *testing.T) *system {
	t.Helper()
	s := &system{keys: map[string]string{"": "", "unknown": "sk-" + strings.Repeat("0", 64)}, agent: newAgents()}
	ring, private := identity.Keyring{}, map[string]ed25519.PrivateKey{}
	for _, name := range append([]string{"gateway", "planner"}, tenants...) {
		public, key, err := ed25519.GenerateKey(nil)
		if err != nil {
			t.Fatal(err)
		}
		ring[name], private[name] = public, key
	}
	env := service.Env{
		Clock: clock.System{}, Log: slog.New(slog.DiscardHandler), NATS: natstest.New(t).Connect(t), Keys: ring,
		Network: service.NewMemory(), Release: "test", Exclusive: true,
	}
	for _, name := range append([]string{"planner"}, tenants...) {
		env.Key = private[name]
		running, err := service.Start(t.Context(), service.Definition{
			Name: name, Build: s.agent.build(name), Config: service.Config{
				Database: "sqlite:" + filepath.Join(t.TempDir(), name+".db") + "?sync=normal", Push: service.Push{Allow: []string{"127.0.0.0/8"}},
			},
		}, env)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = running.Stop(context.Background()) })
	}
	config := gateway.Config{
		Config:     service.Config{Database: "sqlite:" + filepath.Join(t.TempDir(), "gateway.db"), Peers: map[string]string{"planner": "127.0.0.1:1"}},
		PublicGRPC: "127.0.0.1:0", PublicHTTP: "127.0.0.1:0", Tenants: tenants,
		RateLimit: gateway.RateLimit{Caller: gateway.Limit{PerSecond: 1e6, Burst: 1e6}, Anonymous: gateway.Limit{PerSecond: 1e6, Burst: 1e6}},
	}
	for _, name := range tenants {
		config.Peers[name] = "127.0.0.1:1"
	}
	env.Key, env.Registry = private["gateway"], prometheus.NewRegistry()
	running, err := gateway.Start(t.Context(), config, env)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = running.Stop(context.Background()) })
	s.http, s.grpc = "http://"+running.HTTPAddr(), running.GRPCAddr()
	for _, who := range []string{"alice", "bob"} {
		s.keys[who] = newKey(t, config, who)
	}
	return s
}

// newKey makes an API key as an operator does, with the gateway's command.
func newKey(t *testing.T, c gateway.Config, who string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "gateway.yaml")
	peers := ""
	for name, address := range c.Peers {
		peers += fmt.Sprintf("  %s: %s\n", name, address)
	}
	text := fmt.Sprintf("database: %q\npublic_grpc: 127.0.0.1:0\npublic_http: 127.0.0.1:0\nkeys: unused\ntenants: [%s]\npeers:\n%s",
		c.Database, strings.Join(c.Tenants, ", "), peers)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, stderr := os.Stdout, os.Stderr
	os.Stdout, os.Stderr = write, nil
	code := gateway.Main([]string{"gateway", "keys", "create", "-config", file, "-subject", who, "-organisation", "acme"})
	os.Stdout, os.Stderr = stdout, stderr
	_ = write.Close()
	out, err := io.ReadAll(read)
	if err != nil || code != 0 {
		t.Fatalf("keys create: exit %d, %v", code, err)
	}
	return strings.TrimSpace(string(out))
}

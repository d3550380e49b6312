package partners_test

import (
	"context"
	"crypto/ed25519"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"sabha.dev/chassis/clock"
	"sabha.dev/chassis/ext"
	"sabha.dev/chassis/identity"
	"sabha.dev/chassis/service"
	"sabha.dev/services/partners"
	"sabha.dev/testrig/natstest"
	"sabha.dev/testrig/postgrestest"
)

var postgres postgrestest.Shared

func TestMain(m *testing.M) {
	code := m.Run()
	_ = postgres.Close()
	os.Exit(code)
}

// onBothEngines runs a test on SQLite and on PostgreSQL.
func onBothEngines(t *testing.T, test func(*rig)) {
	t.Run("sqlite", func(t *testing.T) { test(newRig(t, "sqlite:"+filepath.Join(t.TempDir(), "partners.db"))) })
	t.Run("postgres", func(t *testing.T) { test(newRig(t, postgres.URL(t))) })
}

// rig is the running service with who calls it, and the site of another organisation.
type rig struct {
	*testing.T
	keys    map[string]ed25519.PrivateKey
	env     service.Env
	gateway *identity.Signer
	nats    *natstest.Server
	site    *httptest.Server

	mu   sync.Mutex
	card string
}

func newRig(t *testing.T, database string) *rig {
	t.Helper()
	r := &rig{T: t, keys: map[string]ed25519.PrivateKey{}, nats: natstest.New(t)}
	r.site = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		r.mu.Lock()
		defer r.mu.Unlock()
		if !strings.HasSuffix(q.URL.Path, ".json") {
			w.WriteHeader(http.StatusMethodNotAllowed)
		}
		_, _ = w.Write([]byte(strings.ReplaceAll(r.card, "BASE", r.site.URL)))
	}))
	t.Cleanup(r.site.Close)
	r.publish("/a2a")
	dir := t.TempDir()
	names := []string{partners.Name, "planner", identity.Console, identity.Gateway}
	r.must(identity.MakeKeys(dir, names...))
	ring, err := identity.LoadKeyring(dir)
	r.must(err)
	for _, s := range names {
		r.keys[s], err = identity.LoadKey(filepath.Join(dir, s+".key"))
		r.must(err)
	}
	r.gateway, err = identity.NewSigner(identity.Gateway, r.keys[identity.Gateway], clock.System{})
	r.must(err)
	r.env = service.Env{
		Clock: clock.System{}, Log: slog.New(slog.DiscardHandler), NATS: r.nats.Connect(t), Keys: ring, Key: r.keys[partners.Name],
		Network: service.NewMemory(), Release: "test",
	}
	running, err := service.Start(t.Context(), partners.New(partners.Config{
		Config: service.Config{Database: database}, Networks: []string{"127.0.0.0/8"},
	}), r.env)
	r.must(err)
	t.Cleanup(func() {
		if err := running.Stop(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	return r
}

// publish has the site's card name an interface at a path.
func (r *rig) publish(path string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.card = `{"name":"Underwriter","description":"Decides.","version":"1","supportedInterfaces":[{"url":"BASE` + path + `","protocolBinding":"JSONRPC","protocolVersion":"1.0"}],
"capabilities":{},"defaultInputModes":[],"defaultOutputModes":[],"skills":[{"id":"underwrite","name":"Underwrite","description":"Says yes or no.","tags":["loans"]}]}`
}

func (r *rig) must(err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
}

// peer is the connection of another service.
func (r *rig) peer(name string) *grpc.ClientConn {
	r.Helper()
	env := r.env
	env.Key = r.keys[name]
	base, done, err := service.OpenBase(r.Context(), service.Definition{Name: name}, env)
	r.must(err)
	r.Cleanup(done)
	conn, err := base.Peer(partners.Name)
	r.must(err)
	return conn
}

// as is a call on behalf of somebody.
func (r *rig) as(p identity.Principal) context.Context {
	r.Helper()
	grant, err := r.gateway.Grant(p)
	r.must(err)
	return metadata.AppendToOutgoingContext(identity.WithOutgoing(r.Context(), identity.Call{Grant: grant}), ext.MetadataVersion, "1.0")
}

func (r *rig) until(what string, f func() bool) {
	r.Helper()
	for limit := time.Now().Add(time.Minute); !f(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(limit) {
			r.Fatalf("%s never came about", what)
		}
	}
}

package console_test

import (
	"bufio"
	"context"
	"crypto/ed25519"
	"crypto/tls"
	"crypto/x509"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/types/known/structpb"

	"sabha.dev/chassis/agent"
	"sabha.dev/chassis/certs"
	"sabha.dev/chassis/clock"
	"sabha.dev/chassis/ext"
	"sabha.dev/chassis/identity"
	"sabha.dev/chassis/service"
	"sabha.dev/services/console"
	"sabha.dev/testrig/consoletest"
	"sabha.dev/testrig/natstest"
)

// rig is a console before a planner that works until it is let go.
type rig struct {
	config   console.Config
	url      string
	password string // of admin
	web      *http.Client
	planner  a2apb.A2AServiceClient
	grant    string
	release  chan struct{}
	network  *service.Memory
	env      func(name string) service.Env
}

// plan is the metadata of a plan as the planner writes it.
func plan() *structpb.Value {
	s, err := structpb.NewValue(map[string]any{"playbook": "leave", "version": "2", "steps": []any{
		map[string]any{"step": "look-up", "agent": "research", "skill": "investigate", "state": "RUNNING", "started_at": "2026-03-01T08:00:00Z"},
	}})
	if err != nil {
		return nil // the test then misses the plan
	}
	return s
}

func (r *rig) persona(name string) service.Definition {
	run := func(ctx context.Context, run agent.Run) (agent.Outcome, error) {
		err := run.Commit(ctx, agent.Change{
			Metadata: map[string]*structpb.Value{ext.Plan: plan()},
			Events: []*a2apb.StreamResponse{{Payload: &a2apb.StreamResponse_StatusUpdate{StatusUpdate: &a2apb.TaskStatusUpdateEvent{
				Status: &a2apb.TaskStatus{State: a2apb.TaskState_TASK_STATE_WORKING, Message: agent.Message(agent.Text("looking it up"))},
			}}}},
		})
		if err != nil {
			return agent.Outcome{}, err
		}
		select {
		case <-r.release:
			return agent.Completed(agent.Text("let go")), nil
		case <-ctx.Done():
			return agent.Outcome{}, ctx.Err()
		}
	}
	return service.Definition{Name: name, Build: func(context.Context, *service.Base) (*service.Persona, error) {
		return &service.Persona{Unscreened: true, Agent: agent.Agent{Tenant: name, Name: name, Version: "1", Skills: []agent.Skill{{ID: "hold", Run: run}}}}, nil
	}}
}

// start starts a console, and the personas that it asks.
func start(t *testing.T, personas ...string) *rig {
	t.Helper()
	dir := t.TempDir()
	names := append([]string{"console", "gateway"}, personas...)
	if err := identity.MakeKeys(dir, names...); err != nil {
		t.Fatal(err)
	}
	ring, err := identity.LoadKeyring(dir)
	if err != nil {
		t.Fatal(err)
	}
	private := map[string]ed25519.PrivateKey{}
	for _, n := range names {
		if private[n], err = identity.LoadKey(filepath.Join(dir, n+".key")); err != nil {
			t.Fatal(err)
		}
	}
	nats := natstest.New(t)
	r := &rig{release: make(chan struct{}), network: service.NewMemory()}
	r.env = func(name string) service.Env {
		return service.Env{
			Clock: clock.System{}, Log: slog.New(slog.NewTextHandler(t.Output(), nil)), NATS: nats.Connect(t), Keys: ring, Key: private[name],
			Network: r.network, Exclusive: true,
		}
	}
	for _, n := range personas {
		d := r.persona(n)
		d.Config.Database = "sqlite:" + filepath.Join(dir, n+".db")
		running, err := service.Start(t.Context(), d, r.env(n))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := running.Stop(context.Background()); err != nil {
				t.Error(err)
			}
		})
	}
	r.config = console.Config{Address: ":0", Agents: personas[min(1, len(personas)):]}
	r.config.Database = "sqlite:" + filepath.Join(dir, "console.db")
	running, err := console.Start(t.Context(), r.config, r.env("console"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := running.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	r.url = "http://" + running.Addr()
	if r.password, err = running.FirstAccount(t.Context()); err != nil {
		t.Fatal(err)
	}
	r.web = consoletest.SignIn(t, r.url, "admin", r.password)
	r.connect(t, private["gateway"])
	return r
}

// connect makes a client that asks the planner as the gateway does.
func (r *rig) connect(t *testing.T, key ed25519.PrivateKey) {
	t.Helper()
	signer, err := identity.NewSigner("gateway", key, clock.System{})
	if err != nil {
		t.Fatal(err)
	}
	if r.grant, err = signer.Grant(identity.Principal{Subject: "alma", Organisation: "acme"}); err != nil {
		t.Fatal(err)
	}
	base, done, err := service.OpenBase(t.Context(), service.Definition{Name: "gateway"}, r.env("gateway"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(done)
	conn, err := base.Peer("planner")
	if err != nil {
		t.Fatal(err)
	}
	r.planner = a2apb.NewA2AServiceClient(conn)
}

// ask starts a task and gives its id.
func (r *rig) ask(t *testing.T, text string) string {
	t.Helper()
	ctx := metadata.AppendToOutgoingContext(identity.WithOutgoing(t.Context(), identity.Call{Grant: r.grant}), "a2a-version", "1.0")
	res, err := r.planner.SendMessage(ctx, &a2apb.SendMessageRequest{
		Message:       &a2apb.Message{MessageId: "m-" + text, Role: a2apb.Role_ROLE_USER, Parts: []*a2apb.Part{agent.Text(text)}},
		Configuration: &a2apb.SendMessageConfiguration{ReturnImmediately: true},
	})
	if err != nil {
		t.Fatal(err)
	}
	return res.GetTask().GetId()
}

func (r *rig) get(t *testing.T, path string) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, r.url+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := r.web.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = res.Body.Close() })
	return res
}

// until reads a stream until an event contains all that is wanted.
func until(t *testing.T, lines *bufio.Scanner, all ...string) {
	t.Helper()
	event := ""
	for lines.Scan() {
		if event += lines.Text() + "\n"; lines.Text() != "" {
			continue
		}
		found := true
		for _, want := range all {
			found = found && strings.Contains(event, want)
		}
		if found {
			return
		}
		event = ""
	}
	t.Fatalf("the stream ended (%v) before it showed %q", lines.Err(), all)
}

func TestATaskIsShownLiveFromItsBeginningToItsEnd(t *testing.T) {
	r := start(t, "planner", "security", "memory", "research", "executor", "validator", "review")
	list := bufio.NewScanner(r.get(t, "/events?watch=/tasks").Body)
	list.Buffer(nil, 1<<20)
	until(t, list, "No tasks yet")
	id := r.ask(t, "How much leave is there?")
	until(t, list, "/tasks/"+id, "How much leave is there?", "alma (acme)", "looking it up", "leave", "look-up running")
	detail := bufio.NewScanner(r.get(t, "/events?watch=/tasks/"+id).Body)
	detail.Buffer(nil, 1<<20)
	until(t, detail, id, `id="node-look-up" class="node state state-running"`, "Working", "looking it up")
	timeline := bufio.NewScanner(r.get(t, "/events?watch=/tasks/"+id+"/timeline").Body)
	timeline.Buffer(nil, 1<<20)
	until(t, timeline, "gateway →", "1 call")
	close(r.release)
	until(t, list, "Completed", "let go")
}

func TestTheConsoleStartsWithoutThePlatform(t *testing.T) {
	r := start(t)
	res := r.get(t, "/tasks")
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	if res.StatusCode != http.StatusServiceUnavailable || !strings.Contains(string(body), "The planner cannot be reached") {
		t.Errorf("%s: %s", res.Status, body)
	}
}

func TestServicesThatCannotBeReachedAreNamed(t *testing.T) {
	r := start(t, "planner", "memory")
	body, err := io.ReadAll(r.get(t, "/tasks/"+r.ask(t, "Who is there?")+"/timeline").Body)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(body), "executor, partners, research, review, security, validator cannot be reached; calls to it are missing here.") {
		t.Errorf("%s", body)
	}
	close(r.release)
}

func TestAWrongAddressIsRefusedAtTheStart(t *testing.T) {
	for address, want := range map[string]string{
		"8081": `"8081" must be host:port`, "": `"" must be host:port`, "256.0.0.1:1": "cannot listen on address",
	} {
		c := console.Config{Address: address}
		c.Database = "sqlite:" + filepath.Join(t.TempDir(), "console.db")
		_, err := console.Start(t.Context(), c, service.Env{
			Clock: clock.System{}, Log: slog.New(slog.DiscardHandler), Keys: identity.Keyring{}, Key: ed25519.NewKeyFromSeed(make([]byte, 32)), Network: service.NewMemory(),
		})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", address, err, want)
		}
	}
}

func TestTheConsoleIsServedOverTLS(t *testing.T) {
	dir := t.TempDir()
	if _, err := certs.Issue(dir, certs.Order{Services: []string{"console"}, Lifetime: time.Hour}, time.Now()); err != nil {
		t.Fatal(err)
	}
	r := start(t, "planner")
	r.config.PublicTLS = filepath.Join(dir, "console")
	running, err := console.Start(t.Context(), r.config, r.env("console"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = running.Stop(context.Background()) })
	raw, err := os.ReadFile(filepath.Join(dir, "ca.crt"))
	if err != nil {
		t.Fatal(err)
	}
	authority := &tls.Config{RootCAs: x509.NewCertPool(), MinVersion: tls.VersionTLS12}
	authority.RootCAs.AppendCertsFromPEM(raw)
	web, err := consoletest.Client(t.Context(), &http.Transport{TLSClientConfig: authority, ForceAttemptHTTP2: true}, "https://"+running.Addr(), "admin", r.password)
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+running.Addr()+"/events?watch=/tasks", nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := web.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	if line, err := bufio.NewReader(res.Body).ReadString('\n'); res.ProtoMajor != 2 || line != "retry: 2000\n" {
		t.Errorf("%s over %s begins with %q, %v", res.Status, res.Proto, line, err)
	}
}

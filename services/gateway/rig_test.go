package gateway_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/x509"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"github.com/nats-io/nats.go"
	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/types/known/structpb"

	"sabha.dev/chassis/agent"
	"sabha.dev/chassis/clock"
	"sabha.dev/chassis/fault"
	"sabha.dev/chassis/identity"
	"sabha.dev/chassis/service"
	"sabha.dev/services/gateway"
	"sabha.dev/testrig/clocktest"
	"sabha.dev/testrig/natstest"
)

// persona is an agent that tells what it was asked, works when told, and holds
// on until it is let go.
type persona struct{ release chan struct{} }

func (p *persona) agent(name string) agent.Agent {
	a := agent.Agent{
		Tenant: name, Name: name, Description: "Tells what it was asked.", Version: "1",
		Skills: []agent.Skill{
			{ID: "tell", Name: "Tell", Description: "Tells who asks.", Anonymous: true, Answer: p.tell},
			{ID: "work", Name: "Work", Description: "Completes at once.", Run: p.work},
			{ID: "hold", Name: "Hold", Description: "Works until it is let go.", Run: p.hold},
			{ID: "echo", Name: "Echo", Description: "Says what it is told, and a list.", Anonymous: true, Answer: p.echo, InputModes: []string{"*/*"}},
			{ID: "give-up", Name: "Give up", Description: "Fails.", Run: func(context.Context, agent.Run) (agent.Outcome, error) {
				return agent.Failed(agent.Text("I give up.")), nil
			}},
			{ID: "slow", Name: "Slow", Description: "Answers when it is let go.", Anonymous: true, Answer: p.slow},
			{ID: "question", Name: "Question", Description: "Asks back.", Run: func(context.Context, agent.Run) (agent.Outcome, error) {
				return agent.InputRequired(agent.Text("Which one?")), nil
			}},
			{ID: "which", Name: "Which", Description: "Asks which colour.", Run: p.which},
			{ID: "fail", Name: "Fail", Description: "Answers with an error.", Anonymous: true, Answer: p.fail},
			{ID: "ask-once", Name: "Ask once", Description: "Asks back, and takes the answer.", Run: p.askOnce},
		},
		Extended: func(_ context.Context, who identity.Principal, card *a2apb.AgentCard) error {
			card.Description = "For " + who.Key()
			return nil
		},
	}
	if name == "research" { // it says what it was asked for, and by which skill
		for _, id := range []string{"search", "fetch", "changes", "vector-search"} {
			a.Skills = append(a.Skills, agent.Skill{ID: id, Name: id, Description: "Reads documents.", Anonymous: true, Answer: p.read})
		}
	}
	return a
}

func (p *persona) read(_ context.Context, r *agent.Request) (*a2apb.Message, error) {
	data := agent.DataOf(r.Message.GetParts()).GetStructValue().AsMap()
	data["skill"] = r.Skill
	part, err := agent.Data(data)
	return agent.Message(agent.Text("Extracted 3 relevant passages."), part), err
}

func (p *persona) askOnce(_ context.Context, r agent.Run) (agent.Outcome, error) {
	if said := agent.TextOf(r.Request().Message.GetParts()); strings.HasPrefix(said, "the ") {
		return agent.Completed(agent.Text("took " + said)), nil
	}
	return agent.InputRequired(agent.Text("Which one?")), nil
}

func (p *persona) tell(ctx context.Context, r *agent.Request) (*a2apb.Message, error) {
	md, _ := metadata.FromIncomingContext(ctx)
	var names []string
	for name := range md {
		if name != "sabha-token" && name != "traceparent" && name != ":authority" && name != "content-type" && name != "user-agent" && name != "grpc-accept-encoding" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return agent.Message(agent.Text(fmt.Sprintf("%s %v by %s with %v trace %s", r.Principal.Key(), r.Principal.Scopes, r.Caller, names, r.TraceID))), nil
}

func (p *persona) work(_ context.Context, r agent.Run) (agent.Outcome, error) {
	if err := r.Artifact(&a2apb.Artifact{ArtifactId: "a", Parts: []*a2apb.Part{agent.Text("made")}}); err != nil {
		return agent.Outcome{}, err
	}
	return agent.Completed(agent.Text("done for " + r.Request().Principal.Key())), nil
}

func (p *persona) hold(ctx context.Context, r agent.Run) (agent.Outcome, error) {
	if err := r.Working(agent.Message(agent.Text("holding"))); err != nil {
		return agent.Outcome{}, err
	}
	select {
	case <-p.release:
		return agent.Completed(agent.Text("let go")), nil
	case <-ctx.Done():
		return agent.Outcome{}, ctx.Err()
	}
}

func (p *persona) slow(ctx context.Context, _ *agent.Request) (*a2apb.Message, error) {
	select {
	case <-p.release:
		return agent.Message(agent.Text("at last")), nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (p *persona) echo(_ context.Context, r *agent.Request) (*a2apb.Message, error) {
	list, err := structpb.NewValue([]any{"a", "list"})
	return agent.Message(append(r.Message.GetParts(), &a2apb.Part{Content: &a2apb.Part_Data{Data: list}})...), err
}

// which asks for a colour until it is told one.
func (p *persona) which(_ context.Context, r agent.Run) (agent.Outcome, error) {
	all := r.Task().GetHistory()
	colour := agent.TextOf(all[len(all)-1].GetParts())
	if colour != "red" && colour != "blue" {
		colours, err := agent.Data(map[string]any{"colours": []any{"red", "blue"}})
		return agent.InputRequired(agent.Text("Which colour?"), colours), err
	}
	return agent.Completed(agent.Text("a " + colour + " hat")), nil
}

func (p *persona) fail(context.Context, *agent.Request) (*a2apb.Message, error) {
	return nil, fault.Invalid("message.parts[0]", "say something else").With("hint", "kept")
}

// rig is a gateway before real personas, over real sockets.
type rig struct {
	*gateway.Running
	clock     *clocktest.Clock
	network   *service.Memory
	env       service.Env
	persona   *persona
	keys      map[string]ed25519.PrivateKey
	nats      *nats.Conn
	config    gateway.Config
	logs      *syncBuffer
	conn      *grpc.ClientConn
	web       *http.Client // over TLS; nil for plain text
	authority *x509.CertPool
	operator  string // the first key
	file      string
	backstage map[string]*service.Running
}

type syncBuffer struct {
	c chan struct{}
	b bytes.Buffer
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.c <- struct{}{}
	defer func() { <-s.c }()
	return s.b.Write(p)
}

func (s *syncBuffer) String() string {
	s.c <- struct{}{}
	defer func() { <-s.c }()
	return s.b.String()
}

// start starts a gateway with the personas planner and research behind it. change
// may alter its configuration.
func start(t testing.TB, change ...func(*gateway.Config)) *rig {
	t.Helper()
	r := &rig{
		// It stands still, but agrees with the personas', which runs.
		clock:   clocktest.New(time.Now().UTC()),
		network: service.NewMemory(), persona: &persona{release: make(chan struct{})}, keys: map[string]ed25519.PrivateKey{},
		nats: natstest.New(t).Connect(t), logs: &syncBuffer{c: make(chan struct{}, 1)}, backstage: map[string]*service.Running{},
	}
	ring := identity.Keyring{}
	for _, s := range []string{"gateway", "planner", "research", "review", "partners"} {
		public, private, err := ed25519.GenerateKey(nil)
		if err != nil {
			t.Fatal(err)
		}
		ring[s], r.keys[s] = public, private
	}
	r.env = service.Env{
		Clock: clock.System{}, Log: slog.New(slog.NewTextHandler(r.logs, nil)), NATS: r.nats, Keys: ring, Network: r.network, Release: "test", Exclusive: true,
	}
	for _, s := range []string{"planner", "research"} {
		r.startPersona(t, s)
	}
	r.config = gateway.Config{
		Config:     service.Config{Database: "sqlite:" + filepath.Join(t.TempDir(), "gateway.db")},
		PublicGRPC: "127.0.0.1:0", PublicHTTP: "127.0.0.1:0", Tenants: []string{"research"},
		RateLimit: gateway.RateLimit{Caller: gateway.Limit{PerSecond: 1000, Burst: 1000}, Anonymous: gateway.Limit{PerSecond: 1000, Burst: 1000}},
	}
	r.config.Peers = map[string]string{"planner": "", "research": ""}
	for _, c := range change {
		c(&r.config)
	}
	env := r.env
	env.Key, env.Clock, env.Registry = r.keys["gateway"], r.clock, prometheus.NewRegistry()
	running, err := gateway.Start(t.Context(), r.config, env)
	if err != nil {
		t.Fatal(err)
	}
	r.Running = running
	t.Cleanup(func() { r.stop(t) })
	if r.operator, err = r.FirstKey(t.Context()); err != nil || r.operator == "" {
		t.Fatalf("FirstKey = %q, %v", r.operator, err)
	}
	r.conn = dial(t, r.GRPCAddr())
	r.writeConfig(t)
	return r
}

// writeConfig writes the file that the command works with.
func (r *rig) writeConfig(t testing.TB) {
	t.Helper()
	r.file = filepath.Join(t.TempDir(), "gateway.yaml")
	text := fmt.Sprintf("public_grpc: 127.0.0.1:0\npublic_http: 127.0.0.1:0\ndatabase: %s\nkeys: unused\ntenants: [research]\npeers: {planner: 127.0.0.1:1, research: 127.0.0.1:1}\n", r.config.Database)
	if err := os.WriteFile(r.file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// newKey makes a key with the command, as an operator does.
func (r *rig) newKey(t testing.TB, args ...string) string {
	t.Helper()
	code, out, errs := r.command(t, append([]string{"keys", "create", "-config", r.file}, args...)...)
	if code != 0 {
		t.Fatalf("keys create: exit %d: %s", code, errs)
	}
	return strings.TrimSpace(out)
}

// keyID gives the id of the key of an owner, as an operator finds it.
func (r *rig) keyID(t testing.TB, owner string) string {
	t.Helper()
	_, out, _ := r.command(t, "keys", "list", "-config", r.file)
	for line := range strings.Lines(out) {
		if fields := strings.Fields(line); len(fields) > 1 && fields[1] == owner {
			return fields[0]
		}
	}
	t.Fatalf("no key of %s in %s", owner, out)
	return ""
}

func (r *rig) command(t testing.TB, args ...string) (code int, out, errs string) {
	t.Helper()
	return gateway.RunForTest(t.Context(), append([]string{"gateway"}, args...))
}

func (r *rig) startPersona(t testing.TB, name string) {
	t.Helper()
	env := r.env
	env.Key = r.keys[name]
	s, err := service.Start(t.Context(), service.Definition{
		Name: name, Config: service.Config{Database: "sqlite:" + filepath.Join(t.TempDir(), name+".db"), Push: service.Push{Allow: []string{"127.0.0.0/8"}}},
		Build: func(context.Context, *service.Base) (*service.Persona, error) {
			return &service.Persona{Agent: r.persona.agent(name), Unscreened: true}, nil
		},
	}, env)
	if err != nil {
		t.Fatal(err)
	}
	r.backstage[name] = s
	t.Cleanup(func() { r.stopPersona(name) })
}

func (r *rig) stopPersona(name string) {
	s, ok := r.backstage[name]
	if !ok {
		return
	}
	delete(r.backstage, name)
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = s.Stop(ctx)
}

func (r *rig) stop(t testing.TB) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if err := r.Stop(ctx); err != nil {
		t.Log(err)
	}
}

func dial(t testing.TB, address string) *grpc.ClientConn {
	t.Helper()
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithDefaultCallOptions(grpc.MaxCallSendMsgSize(64<<20)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

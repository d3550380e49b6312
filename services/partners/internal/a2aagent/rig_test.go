package a2aagent_test

import (
	"context"
	"crypto/ed25519"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"sabha.dev/chassis/agent"
	"sabha.dev/chassis/clock"
	"sabha.dev/chassis/engine"
	"sabha.dev/chassis/eventlog"
	"sabha.dev/chassis/ext"
	"sabha.dev/chassis/fault"
	"sabha.dev/chassis/identity"
	"sabha.dev/chassis/label"
	"sabha.dev/chassis/sqldb"
	"sabha.dev/chassis/taskstore"
	"sabha.dev/services/partners/internal/a2aagent"
	"sabha.dev/services/partners/internal/agreement"
	"sabha.dev/services/partners/internal/call"
	"sabha.dev/services/partners/internal/cardtrust"
	"sabha.dev/services/partners/internal/gate"
	"sabha.dev/services/partners/internal/notice"
	"sabha.dev/services/partners/internal/partner"
	"sabha.dev/services/partners/internal/remote"
	"sabha.dev/services/partners/migrations"
	"sabha.dev/testrig/logtest"
	"sabha.dev/testrig/natstest"
	"sabha.dev/testrig/postgrestest"
)

var postgres postgrestest.Shared

func TestMain(m *testing.M) {
	code := m.Run()
	if err := postgres.Close(); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	os.Exit(code)
}

// rig is the partners agent with what it needs, and partners that a test writes.
type rig struct {
	*testing.T
	url     string
	nats    *natstest.Server
	clock   clock.Clock
	log     *logtest.Buffer
	folder  string
	reviews *people
	hooks   string
	ledger  gate.Ledger // may be nil
	// push is whether notifications need signatures, by the key trusted; signer signs them.
	push    cardtrust.Mode
	trusted ed25519.PublicKey
	signer  ed25519.PrivateKey
	// lease of replicas: long, since the clock jumps and renewals go by the machine's.
	lease time.Duration

	mu       sync.Mutex
	partners map[string]*partner.Partner
	skip     time.Duration // how far the clock is ahead of the machine's
}

// Now and After are a clock that runs with the machine's, and jumps where a test says so.
func (r *rig) Now() time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return time.Now().UTC().Add(r.skip)
}

func (r *rig) After(d time.Duration) <-chan time.Time { return time.After(d) }

func (r *rig) jump(d time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.skip += d
}

func newRig(t *testing.T, url string) *rig {
	r := &rig{
		T: t, url: url, nats: natstest.New(t), log: &logtest.Buffer{}, folder: t.TempDir(), partners: map[string]*partner.Partner{}, reviews: newPeople(t), lease: 1000 * time.Hour,
	}
	r.clock = r
	db, err := sqldb.Open(t.Context(), url)
	r.must(err)
	r.must(taskstore.Migrate(t.Context(), db))
	r.must(sqldb.Migrate(t.Context(), db, "partners", migrations.Files))
	_, err = db.Write.ExecContext(t.Context(), `CREATE TABLE crossed (message TEXT NOT NULL, way TEXT NOT NULL, said TEXT NOT NULL)`)
	r.must(err)
	r.must(db.Close())
	return r
}

func onSQLite(t *testing.T) *rig {
	return newRig(t, "sqlite:"+filepath.Join(t.TempDir(), "partners.db")+"?sync=normal")
}

func onBothEngines(t *testing.T, test func(*testing.T, *rig)) {
	t.Run("sqlite", func(t *testing.T) { test(t, onSQLite(t)) })
	t.Run("postgres", func(t *testing.T) { test(t, newRig(t, postgres.URL(t))) })
}

func (r *rig) must(err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
}

// Partner and Partners are the directory.
func (r *rig) Partner(_ context.Context, id string) (*partner.Partner, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if p := r.partners[id]; p != nil {
		copied := *p
		return &copied, nil
	}
	return nil, fault.New(fault.UnknownTenant, "there is no partner %q", id)
}

func (r *rig) Partners(context.Context) (all []*partner.Partner, _ error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, p := range r.partners {
		all = append(all, p)
	}
	return all, nil
}

// agree registers a partner with one skill, "do", and writes the agreement with it.
func (r *rig) agree(id, protocol, url, terms string) *partner.Partner {
	r.Helper()
	p := &partner.Partner{
		ID: id, Organisation: strings.ToUpper(id) + " plc", State: partner.Approved, Callable: true, Protocol: partner.A2A1, Skills: []partner.Skill{{ID: "do"}},
	}
	capabilities := map[string]any{"streaming": strings.Contains(protocol, "stream"), "pushNotifications": strings.Contains(protocol, "push")}
	card := map[string]any{"capabilities": capabilities, "supportedInterfaces": []any{
		map[string]any{"url": url, "protocolBinding": "JSONRPC", "protocolVersion": "1.0"},
	}}
	if strings.HasPrefix(protocol, "kap") {
		p.Protocol, card = partner.KAP1, map[string]any{"endpoint": url}
	}
	p.Card, _ = json.Marshal(card)
	r.mu.Lock()
	r.partners[id] = p
	r.mu.Unlock()
	r.must(os.WriteFile(filepath.Join(r.folder, id+".yaml"), fmt.Appendf(nil, `partner: %s
version: 1
owner: tests
review_date: 2099-01-31
organisation: A test
networks: [127.0.0.0/8]
skills:
  do: %s
`, id, terms), 0o600))
	return p
}

// replica is the agent as one process has it.
type replica struct {
	*engine.Engine
	rig   *rig
	store *taskstore.Store
	calls *call.Store
	heard *notice.Receiver
	once  sync.Once
}

func (r *rig) start(name string) *replica {
	r.Helper()
	log := slog.New(slog.NewTextHandler(r.log, nil))
	db, err := sqldb.Open(r.Context(), r.url)
	r.must(err)
	book, err := agreement.Open(r.folder, r.clock, log)
	r.must(err)
	client := remote.New(remote.Config{
		Clock: r.clock, Settings: func(string) remote.Settings {
			return remote.Settings{Networks: []string{"127.0.0.0/8"}, Trace: remote.Full}
		},
		Identity: remote.Identity{ID: "sabha", Name: "Sabha", Organisation: "A Bank"},
	})
	p := &replica{rig: r, calls: call.NewStore(db, r.clock)}
	p.store, err = taskstore.Open(r.Context(), db, taskstore.Options{Replica: name, AgentVersion: "1", Clock: r.clock, Log: log, Lease: r.lease})
	r.must(err)
	a := a2aagent.New(a2aagent.Config{
		Directory: r, Book: book, Gate: gate.New(gate.Config{Clock: r.clock, Ledger: r.ledger}), Border: border{p.store.Later}, Client: client, Calls: p.calls,
		Review: func() (grpc.ClientConnInterface, error) { return r.reviews.conn, nil }, Hooks: r.hooks, Clock: r.clock, Log: log,
		Jitter: func() float64 { return 0.5 },
	})
	cfg := engine.Config{
		Agent: agent.Agent{Tenant: "partners", Name: "Partners", Version: "1", Lookup: a.Lookup, Extended: a.Extended},
		Clock: r.clock, Logger: log, Store: p.store, NATS: r.nats.Connect(r), Sweep: 20 * time.Millisecond, Lease: r.lease,
		Card: &a2apb.AgentCard{Capabilities: &a2apb.AgentCapabilities{Streaming: proto.Bool(true), ExtendedAgentCard: proto.Bool(true)}},
	}
	cfg.Log, err = eventlog.Open(r.Context(), cfg.NATS, eventlog.Retention{})
	r.must(err)
	p.Engine, err = engine.New(cfg)
	r.must(err)
	r.must(p.Start(r.Context()))
	counts, err := notice.NewCounts(prometheus.NewRegistry())
	r.must(err)
	p.heard = notice.New(notice.Config{Directory: r, Keys: r, Calls: p.calls, Resume: p.Resume, Hooks: r.hooks, Clock: r.clock, Log: log, Counts: counts})
	r.Cleanup(func() {
		p.die()
		_ = p.store.Close(context.Background())
		client.Close()
		_ = db.Close()
	})
	return p
}

func (p *replica) die() { p.once.Do(p.Stop) }

// soon waits for a condition.
func (r *rig) soon(what string, holds func() bool) {
	r.Helper()
	for limit := time.Now().Add(60 * time.Second); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(limit) {
			r.Fatalf("it never came about that %s; log:\n%s", what, r.log)
		}
	}
}

// planner is who calls.
func planner(ctx context.Context) context.Context {
	return metadata.NewIncomingContext(identity.WithCall(ctx, identity.Call{
		Actor: "planner", Principal: identity.Principal{Subject: "alice", Organisation: "bank"}, Grant: "grant", TaskID: "plan", RootTaskID: "plan",
	}), metadata.Pairs(ext.MetadataVersion, "1.0"))
}

// asks is a message as the planner sends one: a data part with the inputs.
func asks(id, to, text string) *a2apb.SendMessageRequest {
	data, err := agent.Data(map[string]any{"text": text, "amount": 5})
	if err != nil {
		panic(err)
	}
	label.Labels{Integrity: label.Trusted, Confidentiality: label.Internal}.Put(data)
	return &a2apb.SendMessageRequest{Message: &a2apb.Message{
		MessageId: id, Role: a2apb.Role_ROLE_USER, Parts: []*a2apb.Part{data},
		Metadata: &structpb.Struct{Fields: map[string]*structpb.Value{ext.Skill: structpb.NewStringValue(to)}},
	}}
}

func (p *replica) send(req *a2apb.SendMessageRequest) *a2apb.SendMessageResponse {
	p.rig.Helper()
	res, err := p.SendMessage(planner(p.rig.Context()), req)
	p.rig.must(err)
	return res
}

// begin sends a message and does not wait for what comes of it.
func (p *replica) begin(req *a2apb.SendMessageRequest) string {
	req.Configuration = &a2apb.SendMessageConfiguration{ReturnImmediately: true}
	return p.send(req).GetTask().GetId()
}

func (p *replica) task(id string) *a2apb.Task {
	p.rig.Helper()
	t, err := p.GetTask(planner(p.rig.Context()), &a2apb.GetTaskRequest{Id: id})
	p.rig.must(err)
	return t
}

// comes waits until a task is in a state, and gives it.
func (p *replica) comes(id string, state a2apb.TaskState) *a2apb.Task {
	p.rig.Helper()
	var t *a2apb.Task
	p.rig.soon("the task is "+state.String(), func() bool {
		t = p.task(id)
		if now := t.GetStatus().GetState(); now != state && remote.Ended(now) {
			p.rig.Fatalf("the task ended as %s: %s; log:\n%s", now, said(t), p.rig.log)
		}
		return t.GetStatus().GetState() == state
	})
	return t
}

func said(t *a2apb.Task) string { return agent.TextOf(t.GetStatus().GetMessage().GetParts()) }

func artifacts(t *a2apb.Task) string {
	var out []string
	for _, a := range t.GetArtifacts() {
		out = append(out, a.GetArtifactId()+"="+agent.TextOf(a.GetParts()))
	}
	return strings.Join(out, "|")
}

// crossed is the record of what crossed, in order: "out TEXT" and "in".
func (r *rig) crossed() string {
	db, err := sqldb.Open(r.Context(), r.url)
	r.must(err)
	defer func() { _ = db.Close() }()
	rows, err := db.Read.QueryContext(r.Context(), `SELECT way, said FROM crossed`)
	r.must(err)
	defer func() { _ = rows.Close() }()
	var out []string
	for rows.Next() {
		var way, text string
		r.must(rows.Scan(&way, &text))
		out = append(out, strings.TrimSpace(way+" "+text))
	}
	r.must(rows.Err())
	return strings.Join(out, "; ")
}

func equal(t testing.TB, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s is %q, want %q", what, got, want)
	}
}

// scripted is a partner over JSON-RPC whose answers a test writes, by method.
type scripted struct {
	mu    sync.Mutex
	calls []string // method and message or task id
	heads []http.Header
	// on gives the result, or what is written in place of an answer.
	on func(method string, params map[string]any) any
}

// raw is a result that is written as it is.
type raw func(w http.ResponseWriter, r *http.Request, id any)

func (s *scripted) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var req struct {
		ID     any            `json:"id"`
		Method string         `json:"method"`
		Params map[string]any `json:"params"`
	}
	if err := json.NewDecoder(r.Body).Decode(&req); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	what, _ := req.Params["id"].(string)
	if m, ok := req.Params["message"].(map[string]any); ok {
		what, _ = m["messageId"].(string)
	}
	s.mu.Lock()
	s.calls = append(s.calls, req.Method+" "+what)
	s.heads = append(s.heads, r.Header)
	s.mu.Unlock()
	switch res := s.on(req.Method, req.Params).(type) {
	case raw:
		res(w, r, req.ID)
	case error:
		_ = json.NewEncoder(w).Encode(map[string]any{"jsonrpc": "2.0", "id": req.ID, "error": map[string]any{"code": -32001, "message": res.Error()}})
	default:
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]any{"jsonrpc": "2.0", "id": req.ID, "result": res})
	}
}

func (s *scripted) seen() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.calls...)
}

func serve(t *testing.T, s *scripted) string {
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	return server.URL
}

// stream is a result that is sent as events.
func stream(events ...any) raw {
	return func(w http.ResponseWriter, r *http.Request, id any) {
		w.Header().Set("Content-Type", "text/event-stream")
		for _, ev := range events {
			if wait, ok := ev.(chan struct{}); ok {
				w.(http.Flusher).Flush()
				select {
				case <-wait:
				case <-r.Context().Done():
				}
				continue
			}
			text, _ := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": id, "result": ev})
			_, _ = fmt.Fprintf(w, "data: %s\n\n", text)
		}
	}
}

func message(text string) any {
	return map[string]any{"message": map[string]any{"messageId": "m", "role": "ROLE_AGENT", "parts": []any{map[string]any{"text": text}}}}
}

func status(state, text string) map[string]any {
	s := map[string]any{"state": "TASK_STATE_" + state}
	if text != "" {
		s["message"] = map[string]any{"messageId": "m", "role": "ROLE_AGENT", "parts": []any{map[string]any{"text": text}}}
	}
	return s
}

// wrote is what a message that the partner got says: texts, then data.
func wrote(params map[string]any) string {
	text, _ := json.Marshal(params["message"])
	m := &a2apb.Message{}
	if err := protojson.Unmarshal(text, m); err != nil {
		return err.Error()
	}
	out := agent.TextOf(m.GetParts())
	if d := agent.DataOf(m.GetParts()); d != nil {
		data, _ := json.Marshal(d.AsInterface())
		out += " " + string(data)
	}
	for _, p := range m.GetParts() {
		if p.GetMetadata() != nil {
			out += " with metadata"
		}
	}
	return out
}

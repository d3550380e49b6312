package engine_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"sabha.dev/chassis/agent"
	"sabha.dev/chassis/engine"
	"sabha.dev/chassis/eventlog"
	"sabha.dev/chassis/ext"
	"sabha.dev/chassis/fault"
	"sabha.dev/chassis/identity"
	"sabha.dev/chassis/sqldb"
	"sabha.dev/chassis/taskstore"
	"sabha.dev/testrig/clocktest"
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

var start = time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)

const lease = 10 * time.Second

// rig is one agent's database and event log, shared by as many replicas as a test starts.
type rig struct {
	*testing.T
	url   string
	nats  *natstest.Server
	clock *clocktest.Clock
	log   *logtest.Buffer
}

func newRig(t *testing.T, url string) *rig {
	r := &rig{T: t, url: url, nats: natstest.New(t), clock: clocktest.New(start), log: &logtest.Buffer{}}
	db, err := sqldb.Open(t.Context(), url)
	r.must(err)
	r.must(taskstore.Migrate(t.Context(), db))
	r.must(db.Close())
	return r
}

func onSQLite(t *testing.T) *rig {
	return newRig(t, "sqlite:"+filepath.Join(t.TempDir(), "tasks.db")+"?sync=normal")
}

// onBothEngines runs a test that depends on what replicas see of each other.
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

// replica is one engine with its store, as one process would have it.
type replica struct {
	*engine.Engine
	rig   *rig
	store *taskstore.Store
	once  sync.Once
}

// start starts a replica of an agent. It stops with the test unless it died before.
func (r *rig) start(name string, a agent.Agent, change ...func(*engine.Config)) *replica {
	r.Helper()
	cfg := engine.Config{
		Agent: a, Clock: r.clock, Logger: slog.New(slog.NewTextHandler(r.log, nil)), Lease: lease,
		Card: &a2apb.AgentCard{Capabilities: &a2apb.AgentCapabilities{Streaming: proto.Bool(true)}},
	}
	for _, c := range change {
		c(&cfg)
	}
	db, err := sqldb.Open(r.Context(), r.url)
	r.must(err)
	cfg.Store, err = taskstore.Open(r.Context(), db, taskstore.Options{Replica: name, AgentVersion: "1", Clock: cfg.Clock, Log: cfg.Logger, Lease: lease})
	r.must(err)
	cfg.NATS = r.nats.Connect(r)
	cfg.Log, err = eventlog.Open(r.Context(), cfg.NATS, eventlog.Retention{})
	r.must(err)
	e, err := engine.New(cfg)
	r.must(err)
	r.must(e.Start(r.Context()))
	p := &replica{Engine: e, rig: r, store: cfg.Store}
	r.Cleanup(func() {
		p.die()
		_ = p.store.Close(context.Background())
		_ = db.Close()
	})
	return p
}

// die ends the replica's work without a word to the others: its row stays, its
// tasks stay its own until the lease runs out.
func (p *replica) die() { p.once.Do(p.Stop) }

// eventually lets time pass until the condition holds.
func (r *rig) eventually(what string, holds func() bool) {
	r.Helper()
	for limit := time.Now().Add(30 * time.Second); !holds(); {
		if time.Now().After(limit) {
			r.Fatalf("it never came about that %s", what)
		}
		r.clock.Advance(200 * time.Millisecond)
		time.Sleep(time.Millisecond)
	}
}

// calmly lets time pass five times as fast as it does, so that leases are renewed
// in time on a busy machine too: no replica is taken for dead.
func (r *rig) calmly(what string, holds func() bool) {
	r.Helper()
	for limit := time.Now().Add(60 * time.Second); !holds(); {
		if time.Now().After(limit) {
			r.Fatalf("it never came about that %s", what)
		}
		r.clock.Advance(50 * time.Millisecond)
		time.Sleep(10 * time.Millisecond)
	}
}

// soon waits for a condition while the clock stands still.
func (r *rig) soon(what string, holds func() bool) {
	r.Helper()
	for limit := time.Now().Add(30 * time.Second); !holds(); time.Sleep(time.Millisecond) {
		if time.Now().After(limit) {
			r.Fatalf("it never came about that %s", what)
		}
	}
}

func as(ctx context.Context, subject string) context.Context {
	call := identity.Call{Actor: "gateway", Edge: true, Grant: "grant of " + subject}
	if subject != "" {
		call.Principal = identity.Principal{Subject: subject, Organisation: "acme"}
	}
	return metadata.NewIncomingContext(identity.WithCall(ctx, call), metadata.Pairs(ext.MetadataVersion, "1.0"))
}

func alice(t *testing.T) context.Context { return as(t.Context(), "alice") }

func request(id, skill, says string) *a2apb.SendMessageRequest {
	return &a2apb.SendMessageRequest{Message: &a2apb.Message{
		MessageId: id, Role: a2apb.Role_ROLE_USER, Parts: []*a2apb.Part{agent.Text(says)},
		Metadata: &structpb.Struct{Fields: map[string]*structpb.Value{ext.Skill: structpb.NewStringValue(skill)}},
	}}
}

func atOnce(req *a2apb.SendMessageRequest) *a2apb.SendMessageRequest {
	req.Configuration = &a2apb.SendMessageConfiguration{ReturnImmediately: true}
	return req
}

func followUp(id, task, says string) *a2apb.SendMessageRequest {
	req := request(id, "", says)
	req.Message.Metadata, req.Message.TaskId = nil, task
	return req
}

// send sends a message as alice and gives the task.
func (p *replica) send(req *a2apb.SendMessageRequest) *a2apb.Task {
	p.rig.Helper()
	res, err := p.SendMessage(alice(p.rig.T), req)
	p.rig.must(err)
	return res.GetTask()
}

// sending sends a message as alice in the background.
func (p *replica) sending(req *a2apb.SendMessageRequest) <-chan *a2apb.Task {
	out := make(chan *a2apb.Task, 1)
	go func() {
		res, err := p.SendMessage(alice(p.rig.T), req)
		if err != nil {
			p.rig.Errorf("send %s: %v", req.GetMessage().GetMessageId(), err)
		}
		out <- res.GetTask()
	}()
	return out
}

func (p *replica) task(id string) *a2apb.Task {
	p.rig.Helper()
	task, err := p.GetTask(alice(p.rig.T), &a2apb.GetTaskRequest{Id: id})
	p.rig.must(err)
	return task
}

func (p *replica) state(id string) a2apb.TaskState { return p.task(id).GetStatus().GetState() }

// reached tells when a task has come to a state.
func (p *replica) reached(id string, want a2apb.TaskState) func() bool {
	return func() bool { return p.state(id) == want }
}

func said(t *a2apb.Task) string { return agent.TextOf(t.GetStatus().GetMessage().GetParts()) }

func artifacts(t *a2apb.Task) string {
	var out []string
	for _, a := range t.GetArtifacts() {
		out = append(out, agent.TextOf(a.GetParts()))
	}
	return strings.Join(out, "|")
}

func wantReason(t testing.TB, err error, want fault.Reason) {
	t.Helper()
	if f := fault.As(err); f == nil || f.Reason != want {
		t.Errorf("error %v, want reason %s", err, want)
	}
}

// stream is the receiving end of a streaming call.
type stream struct {
	grpc.ServerStream
	ctx    context.Context
	events chan *a2apb.StreamResponse
	done   chan error
}

func (s *stream) Context() context.Context { return s.ctx }

func (s *stream) Send(ev *a2apb.StreamResponse) error {
	select {
	case s.events <- ev:
		return nil
	case <-s.ctx.Done():
		return s.ctx.Err()
	}
}

func newStream(ctx context.Context) *stream {
	return &stream{ctx: ctx, events: make(chan *a2apb.StreamResponse, 1000), done: make(chan error, 1)}
}

func (p *replica) stream(req *a2apb.SendMessageRequest) *stream {
	s := newStream(alice(p.rig.T))
	go func() { s.done <- p.SendStreamingMessage(req, s) }()
	return s
}

// withCursor has a subscription continue after a place; an empty one changes nothing.
func withCursor(ctx context.Context, cursor string) context.Context {
	if cursor == "" {
		return ctx
	}
	return metadata.NewIncomingContext(ctx, metadata.Pairs(ext.MetadataVersion, "1.0", ext.MetadataCursor, cursor))
}

// subscribe subscribes as alice; with a cursor the stream continues after it.
func (p *replica) subscribe(id, cursor string) *stream {
	s := newStream(withCursor(alice(p.rig.T), cursor))
	go func() { s.done <- p.SubscribeToTask(&a2apb.SubscribeToTaskRequest{Id: id}, s) }()
	return s
}

// next waits for an event.
func (s *stream) next(t testing.TB) *a2apb.StreamResponse {
	t.Helper()
	select {
	case ev := <-s.events:
		return ev
	case <-time.After(30 * time.Second):
		t.Fatal("no event came")
		return nil
	}
}

// rest waits for the end of the stream and gives what came.
func (s *stream) rest(t testing.TB) ([]*a2apb.StreamResponse, error) {
	t.Helper()
	select {
	case err := <-s.done:
		var out []*a2apb.StreamResponse
		for {
			select {
			case ev := <-s.events:
				out = append(out, ev)
			default:
				return out, err
			}
		}
	case <-time.After(30 * time.Second):
		t.Fatal("the stream stayed open")
		return nil, nil
	}
}

// cursorOf is the place that an event or a task carries.
func cursorOf(ev *a2apb.StreamResponse) string {
	var md *structpb.Struct
	switch p := ev.GetPayload().(type) {
	case *a2apb.StreamResponse_Task:
		md = p.Task.GetMetadata()
	case *a2apb.StreamResponse_StatusUpdate:
		md = p.StatusUpdate.GetMetadata()
	case *a2apb.StreamResponse_ArtifactUpdate:
		md = p.ArtifactUpdate.GetMetadata()
	}
	return md.GetFields()[ext.Cursor].GetStringValue()
}

func gap(ev *a2apb.StreamResponse) bool {
	return ev.GetTask().GetMetadata().GetFields()[ext.Cursor+"/gap"].GetBoolValue()
}

var errBroken = errors.New("secret: connection to 10.0.0.7 refused")

// slowStream is a receiver that takes nothing until its gate opens.
type slowStream struct {
	grpc.ServerStream
	ctx  context.Context
	gate chan struct{}
	got  chan *a2apb.StreamResponse
}

func (s *slowStream) Context() context.Context { return s.ctx }

func (s *slowStream) Send(ev *a2apb.StreamResponse) error {
	select {
	case <-s.gate:
	case <-s.ctx.Done():
		return s.ctx.Err()
	}
	s.got <- ev
	return nil
}

package push_test

import (
	"context"
	"crypto/ed25519"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"sabha.dev/chassis/egress"
	"sabha.dev/chassis/identity"
	"sabha.dev/chassis/metrics"
	"sabha.dev/chassis/push"
	"sabha.dev/chassis/sqldb"
	"sabha.dev/chassis/taskstore"
	"sabha.dev/testrig/clocktest"
	"sabha.dev/testrig/logtest"
)

var start = time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)

const lease = 10 * time.Second

// rig is one service's database with as many replicas as a test starts.
type rig struct {
	*testing.T
	url   string
	clock *clocktest.Clock
	log   *logtest.Buffer
	key   ed25519.PrivateKey
	alive []*replica // renew their lease as time passes
}

func newRig(t *testing.T) *rig {
	r := &rig{T: t, url: "sqlite:" + filepath.Join(t.TempDir(), "tasks.db") + "?sync=normal", clock: clocktest.New(start), log: &logtest.Buffer{}}
	db := r.db()
	r.must(taskstore.Migrate(t.Context(), db))
	_, key, err := ed25519.GenerateKey(nil)
	r.must(err)
	r.key = key
	return r
}

func (r *rig) db() *sqldb.DB {
	db, err := sqldb.Open(r.Context(), r.url)
	r.must(err)
	r.Cleanup(func() { _ = db.Close() })
	return db
}

func (r *rig) must(err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
}

// replica is a store with its deliverer.
type replica struct {
	*push.Deliverer
	store    *taskstore.Store
	registry *prometheus.Registry
	rig      *rig
	stop     func()
	once     sync.Once
}

func (r *rig) start(name string, change ...func(*push.Config)) *replica {
	r.Helper()
	p := &replica{rig: r, registry: prometheus.NewRegistry()}
	counts, err := metrics.New(p.registry)
	r.must(err)
	log := slog.New(slog.NewTextHandler(r.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	p.store, err = taskstore.Open(r.Context(), r.db(), taskstore.Options{Replica: name, AgentVersion: "1", Clock: r.clock, Log: log, Lease: lease, Metrics: counts})
	r.must(err)
	guard, err := egress.New([]string{"127.0.0.0/8"})
	r.must(err)
	c := push.Config{Service: "test", Key: r.key, Guard: guard, Store: p.store, Clock: r.clock, Log: log, Metrics: counts, Frame: framed, MaxFailures: 5}
	for _, f := range change {
		f(&c)
	}
	p.Deliverer, err = push.New(c)
	r.must(err)
	p.Random(1)
	p.store.SetPusher(p.Deliverer)
	ctx, cancel := context.WithCancel(context.WithoutCancel(r.Context()))
	done := make(chan struct{})
	go func() { defer close(done); p.Run(ctx) }()
	p.stop = func() { p.once.Do(func() { cancel(); <-done; r.must(p.store.Close(context.Background())) }) }
	r.Cleanup(p.stop)
	r.alive = append(r.alive, p)
	return p
}

// framed puts the place of an event where readers look for it.
func framed(ev *a2apb.StreamResponse, epoch, version int64, gap bool) *a2apb.StreamResponse {
	ev = proto.CloneOf(ev)
	md := &structpb.Struct{Fields: map[string]*structpb.Value{"at": structpb.NewStringValue(fmt.Sprintf("%d.%d", epoch, version)), "gap": structpb.NewBoolValue(gap)}}
	switch p := ev.GetPayload().(type) {
	case *a2apb.StreamResponse_Task:
		p.Task.Metadata = md
	case *a2apb.StreamResponse_StatusUpdate:
		p.StatusUpdate.Metadata = md
	}
	return ev
}

// create starts a task with a webhook for each URL, as configurations c0, c1, …
func (p *replica) create(id string, urls ...string) *taskstore.Handle {
	p.rig.Helper()
	now := p.rig.clock.Now()
	rec := &taskstore.Record{
		Task: &a2apb.Task{Id: id, ContextId: "ctx", Status: &a2apb.TaskStatus{State: a2apb.TaskState_TASK_STATE_SUBMITTED, Timestamp: timestamppb.New(now)}},
		Info: taskstore.Info{
			Principal: identity.Principal{Subject: "alice"}, Protocol: "1.0", TraceID: "0123456789abcdef0123456789abcdef", SpanID: "0123456789abcdef",
		},
		Owner: "/alice", Agent: "test", Skill: "do", RootTask: id, Deadline: now.Add(time.Hour), Push: true,
	}
	var rows []taskstore.Rows
	for i, url := range urls {
		put, err := p.store.PutPush(config(id, fmt.Sprintf("c%d", i), url), 0, false)
		p.rig.must(err)
		rows = append(rows, put)
	}
	h, err := p.store.Create(p.rig.Context(), rec, "", rows...)
	p.rig.must(err)
	return h
}

func config(task, id, url string) *a2apb.TaskPushNotificationConfig {
	return &a2apb.TaskPushNotificationConfig{
		TaskId: task, Id: id, Url: url, Token: "secret-token", Authentication: &a2apb.AuthenticationInfo{Scheme: "Basic", Credentials: "c2VjcmV0"},
	}
}

func (p *replica) tell(h *taskstore.Handle, says ...string) {
	p.rig.Helper()
	p.rig.must(h.Commit(p.rig.Context(), func(*taskstore.Record) (taskstore.Change, error) {
		var ch taskstore.Change
		for _, s := range says {
			state := a2apb.TaskState_TASK_STATE_WORKING
			if s == "end" {
				state = a2apb.TaskState_TASK_STATE_COMPLETED
			}
			ch.Events = append(ch.Events, &a2apb.StreamResponse{Payload: &a2apb.StreamResponse_StatusUpdate{StatusUpdate: &a2apb.TaskStatusUpdateEvent{Status: &a2apb.TaskStatus{
				State: state, Message: &a2apb.Message{MessageId: s, Role: a2apb.Role_ROLE_AGENT, Parts: []*a2apb.Part{{Content: &a2apb.Part_Text{Text: s}}}},
			}}}})
		}
		return ch, nil
	}))
}

func (p *replica) push(task, id string) *taskstore.Push {
	p.rig.Helper()
	c, err := p.store.Push(p.rig.Context(), taskstore.PushKey{TaskID: task, ID: id})
	p.rig.must(err)
	return c
}

// counted is a counter of a replica.
func (p *replica) counted(name, label string) float64 {
	families, err := p.registry.Gather()
	p.rig.must(err)
	for _, f := range families {
		for _, m := range f.GetMetric() {
			match := label == ""
			for _, l := range m.GetLabel() {
				match = match || l.GetValue() == label
			}
			if f.GetName() == name && match {
				return m.GetCounter().GetValue() + m.GetGauge().GetValue()
			}
		}
	}
	return 0
}

// receiver is a webhook. answer, if set, answers in its place.
type receiver struct {
	*httptest.Server
	mu     sync.Mutex
	got    []string
	flying atomic.Int32
	most   atomic.Int32
}

// event tells an event in a few words: its state, what it says, its place, and
// whether it stands for others that are not told.
func told(ev *a2apb.StreamResponse) string {
	kind, st, md := "event", ev.GetStatusUpdate().GetStatus(), ev.GetStatusUpdate().GetMetadata()
	if t := ev.GetTask(); t != nil {
		kind, st, md = "task", t.GetStatus(), t.GetMetadata()
	}
	says := ""
	for _, p := range st.GetMessage().GetParts() {
		says += " " + p.GetText()
	}
	if md.GetFields()["gap"].GetBoolValue() {
		says += " gap"
	}
	return kind + " " + md.GetFields()["at"].GetStringValue() + says
}

func (r *rig) receiver(answer func(http.ResponseWriter, *http.Request)) *receiver {
	v := &receiver{}
	v.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		n := v.flying.Add(1)
		for m := v.most.Load(); n > m && !v.most.CompareAndSwap(m, n); m = v.most.Load() {
		}
		defer v.flying.Add(-1)
		body, _ := io.ReadAll(q.Body)
		ev := &a2apb.StreamResponse{}
		if err := protojson.Unmarshal(body, ev); err != nil {
			r.Errorf("%s: %v", body, err)
		}
		v.mu.Lock()
		v.got = append(v.got, told(ev))
		v.mu.Unlock()
		if answer != nil {
			answer(w, q)
		}
	}))
	r.Cleanup(func() { v.CloseClientConnections(); v.Close() })
	return v
}

func (v *receiver) list() []string {
	v.mu.Lock()
	defer v.mu.Unlock()
	return slices.Clone(v.got)
}

func (r *rig) wantGot(v *receiver, want ...string) {
	r.Helper()
	r.soon(fmt.Sprintf("%d notifications come", len(want)), func() bool { return len(v.list()) >= len(want) })
	if got := v.list(); !slices.Equal(got, want) {
		r.Errorf("the receiver got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// soon waits for a condition while the clock stands still.
func (r *rig) soon(what string, holds func() bool) {
	r.Helper()
	for limit := time.Now().Add(30 * time.Second); !holds(); time.Sleep(time.Millisecond) {
		if time.Now().After(limit) {
			r.Fatalf("it never came about that %s\n%s", what, r.log)
		}
	}
}

// pass lets time pass; every replica that is alive holds its lease.
func (r *rig) pass(d time.Duration) {
	r.Helper()
	for ; d > 0; d -= lease / 4 {
		r.clock.Advance(min(d, lease/4))
		for _, p := range r.alive {
			r.must(p.store.Renew(r.Context()))
		}
	}
}

// eventually lets time pass until the condition holds.
func (r *rig) eventually(what string, holds func() bool) {
	r.Helper()
	for limit := time.Now().Add(30 * time.Second); !holds(); time.Sleep(time.Millisecond) {
		if time.Now().After(limit) {
			r.Fatalf("it never came about that %s\n%s", what, r.log)
		}
		r.pass(200 * time.Millisecond)
	}
}

package taskstore_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"sabha.dev/chassis/eventlog"
	"sabha.dev/chassis/identity"
	"sabha.dev/chassis/sqldb"
	"sabha.dev/chassis/taskstore"
	eventv1 "sabha.dev/gen/sabha/event/v1"
	"sabha.dev/testrig/clocktest"
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

// rig is one database with as many replicas as a test opens.
type rig struct {
	*testing.T
	url   string
	clock *clocktest.Clock
}

// onBothEngines runs a test of the store's contract on an empty database of each engine.
func onBothEngines(t *testing.T, test func(*testing.T, *rig)) {
	t.Run("sqlite", func(t *testing.T) {
		test(t, newRig(t, "sqlite:"+filepath.Join(t.TempDir(), "tasks.db")+"?sync=normal"))
	})
	t.Run("postgres", func(t *testing.T) { test(t, newRig(t, postgres.URL(t))) })
}

func newRig(t *testing.T, url string) *rig {
	r := &rig{T: t, url: url, clock: clocktest.New(start)}
	if err := taskstore.Migrate(t.Context(), r.db()); err != nil {
		t.Fatal(err)
	}
	return r
}

// db is a connection pool of its own, as another process would have.
func (r *rig) db() *sqldb.DB {
	r.Helper()
	db, err := sqldb.Open(r.Context(), r.url)
	if err != nil {
		r.Fatal(err)
	}
	r.Cleanup(func() { _ = db.Close() })
	return db
}

const lease = 10 * time.Second

// store opens a replica that is closed with the test.
func (r *rig) store(replica string) *taskstore.Store {
	r.Helper()
	s := r.open(replica, false)
	r.Cleanup(func() { _ = s.Close(context.Background()) })
	return s
}

func (r *rig) open(replica string, exclusive bool) *taskstore.Store {
	r.Helper()
	s, err := taskstore.Open(r.Context(), r.db(), taskstore.Options{
		Replica: replica, AgentVersion: "7", Clock: r.clock, Log: slog.New(slog.DiscardHandler), Lease: lease, Exclusive: exclusive,
	})
	if err != nil {
		r.Fatal(err)
	}
	return s
}

// record is a new task of alice that has been submitted.
func (r *rig) record(id string) *taskstore.Record {
	now := r.clock.Now()
	return &taskstore.Record{
		Task: &a2apb.Task{
			Id: id, ContextId: "ctx-" + id, Status: &a2apb.TaskStatus{State: a2apb.TaskState_TASK_STATE_SUBMITTED, Timestamp: timestamppb.New(now)},
			History: []*a2apb.Message{{MessageId: "m-" + id, Role: a2apb.Role_ROLE_USER, Parts: []*a2apb.Part{text("question " + id)}}},
		},
		Info: taskstore.Info{
			Principal: identity.Principal{Subject: "alice", Organisation: "acme"}, Caller: "gateway", TraceID: "trace-" + id,
			Protocol: "1.0", Digest: "digest-" + id, Budget: time.Minute,
		},
		Owner: "acme/alice", Agent: "echo", Skill: "say", RootTask: id, Deadline: now.Add(time.Minute),
	}
}

func (r *rig) create(s *taskstore.Store, id string) *taskstore.Handle {
	r.Helper()
	h, err := s.Create(r.Context(), r.record(id), "m-"+id)
	if err != nil {
		r.Fatalf("create %s: %v", id, err)
	}
	return h
}

func (r *rig) get(s *taskstore.Store, id string) *taskstore.Record {
	r.Helper()
	rec, err := s.Get(r.Context(), id)
	if err != nil {
		r.Fatalf("get %s: %v", id, err)
	}
	return rec
}

func (r *rig) must(err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
}

func text(s string) *a2apb.Part {
	return &a2apb.Part{Content: &a2apb.Part_Text{Text: s}, MediaType: "text/plain"}
}

func agentText(s string) *a2apb.Message {
	return &a2apb.Message{MessageId: "a-" + s, Role: a2apb.Role_ROLE_AGENT, Parts: []*a2apb.Part{text(s)}}
}

func status(state a2apb.TaskState, says string) *a2apb.StreamResponse {
	st := &a2apb.TaskStatus{State: state}
	if says != "" {
		st.Message = agentText(says)
	}
	return &a2apb.StreamResponse{Payload: &a2apb.StreamResponse_StatusUpdate{StatusUpdate: &a2apb.TaskStatusUpdateEvent{Status: st}}}
}

func working(says string) *a2apb.StreamResponse {
	return status(a2apb.TaskState_TASK_STATE_WORKING, says)
}

func artifact(id, says string, more bool) *a2apb.StreamResponse {
	return &a2apb.StreamResponse{Payload: &a2apb.StreamResponse_ArtifactUpdate{ArtifactUpdate: &a2apb.TaskArtifactUpdateEvent{
		Artifact: &a2apb.Artifact{ArtifactId: id, Parts: []*a2apb.Part{text(says)}}, Append: more,
	}}}
}

// emit is the mutation that only tells events. Each call makes them anew, as the
// store may call a mutation again.
func emit(events ...*a2apb.StreamResponse) taskstore.Mutation {
	return func(*taskstore.Record) (taskstore.Change, error) {
		fresh := make([]*a2apb.StreamResponse, len(events))
		for i, ev := range events {
			fresh[i] = proto.CloneOf(ev)
		}
		return taskstore.Change{Events: fresh}, nil
	}
}

// entries reads the whole outbox of every replica.
func (r *rig) entries() []eventlog.Entry {
	r.Helper()
	rows, err := r.db().Read.QueryContext(r.Context(), `SELECT replica, seq, body FROM outbox ORDER BY replica, seq`)
	r.must(err)
	defer func() { _ = rows.Close() }()
	var list []eventlog.Entry
	for rows.Next() {
		e := eventlog.Entry{Commit: &eventv1.Commit{}}
		var body []byte
		r.must(rows.Scan(&e.Replica, &e.Seq, &body))
		r.must(proto.Unmarshal(body, e.Commit))
		list = append(list, e)
	}
	r.must(rows.Err())
	return list
}

// published gives the versions of a task's events in the outbox, in its order.
func (r *rig) published(id string) []int64 {
	r.Helper()
	var versions []int64
	for _, e := range r.entries() {
		for _, b := range e.Commit.GetBundles() {
			if b.GetTaskId() != id {
				continue
			}
			for _, ev := range b.GetEvents() {
				versions = append(versions, ev.GetVersion())
			}
		}
	}
	return versions
}

func (r *rig) wantPublished(id string, upTo int64) {
	r.Helper()
	var want []int64
	for v := int64(1); v <= upTo; v++ {
		want = append(want, v)
	}
	if got := r.published(id); !slices.Equal(got, want) {
		r.Errorf("the outbox holds versions %v of task %s, want %v", got, id, want)
	}
}

func wantErr(t testing.TB, what string, got, want error) {
	t.Helper()
	if !errors.Is(got, want) {
		t.Errorf("%s: error %v, want %v", what, got, want)
	}
}

// told records what a listener hears.
type told struct {
	mu       sync.Mutex
	versions map[string][]int64
}

func listen(s *taskstore.Store) *told {
	l := &told{versions: map[string][]int64{}}
	s.Listen(l)
	return l
}

func (l *told) Committed(rec taskstore.Snapshot, events []*a2apb.StreamResponse) {
	l.mu.Lock()
	defer l.mu.Unlock()
	first := rec.Version - int64(len(events)) + 1
	for i := range events {
		l.versions[rec.TaskID] = append(l.versions[rec.TaskID], first+int64(i))
	}
}

func (l *told) of(id string) []int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.versions[id])
}

package contract

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"github.com/nats-io/nats.go"
	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/protobuf/types/known/structpb"

	"sabha.dev/chassis/sqldb"
	"sabha.dev/services/partners/internal/partner"
	"sabha.dev/services/partners/internal/remote"
	"sabha.dev/services/partners/migrations"
	"sabha.dev/testrig/clocktest"
	"sabha.dev/testrig/postgrestest"
)

var (
	postgres postgrestest.Shared
	start    = time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)
)

func TestMain(m *testing.M) {
	code := m.Run()
	_ = postgres.Close()
	os.Exit(code)
}

// onBothEngines runs a test on SQLite and on PostgreSQL. Each store that it opens stands
// on connections of its own, as those of two replicas do.
func onBothEngines(t *testing.T, test func(t *testing.T, open func() *Store)) {
	t.Run("sqlite", func(t *testing.T) { test(t, opener(t, "sqlite:"+filepath.Join(t.TempDir(), "partners.db"))) })
	t.Run("postgres", func(t *testing.T) { test(t, opener(t, postgres.URL(t))) })
}

func opener(tb testing.TB, url string) func() *Store {
	return func() *Store {
		tb.Helper()
		db, err := sqldb.Open(tb.Context(), url)
		if err != nil {
			tb.Fatal(err)
		}
		tb.Cleanup(func() { _ = db.Close() })
		if err := sqldb.Migrate(tb.Context(), db, "partners", migrations.Files); err != nil {
			tb.Fatal(err)
		}
		return NewStore(db)
	}
}

// agent answers golden tasks with noise, from a seed.
type agent struct {
	mu     sync.Mutex
	random *rand.Rand
	// shift of its answers, in standard deviations.
	shift float64
	// down has every call fail; bad has answers not fit; hang has calls wait for their end.
	down, bad, hang bool
	asked           int
}

func newAgent(seed uint64) *agent { return &agent{random: rand.New(rand.NewPCG(seed, 0))} }

func (a *agent) Ask(ctx context.Context, _ *partner.Partner, _ string, parts []*a2apb.Part) (remote.Answer, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.asked++
	if a.hang {
		a.mu.Unlock()
		<-ctx.Done()
		a.mu.Lock()
		return remote.Answer{}, ctx.Err()
	}
	if a.down {
		return remote.Answer{}, errors.New("connection refused")
	}
	amount := parts[0].GetData().GetStructValue().GetFields()["amount"].GetNumberValue()
	rate := 3 + amount/1e6 + 0.2*(a.random.NormFloat64()+a.shift)
	verdict := "approve"
	if a.random.Float64() < 0.3 {
		verdict = "refer"
	}
	data, err := structpb.NewStruct(map[string]any{"rate": rate, "verdict": verdict})
	if a.bad {
		data, err = structpb.NewStruct(map[string]any{"rate": "secret 42", "verdict": verdict})
	}
	return remote.Answer{
		Parts: []*a2apb.Part{{Content: &a2apb.Part_Data{Data: structpb.NewStructValue(data)}}},
		State: a2apb.TaskState_TASK_STATE_COMPLETED, Took: time.Duration(float64(time.Second) * (1 + a.random.Float64())),
	}, err
}

func (a *agent) set(change func(*agent)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	change(a)
}

// registry has one partner.
type registry struct {
	mu     sync.Mutex
	p      partner.Partner
	reason string
	fails  int // suspensions to fail
}

func newRegistry() *registry {
	return &registry{p: partner.Partner{ID: "underwriter", Organisation: "Underwriter plc", State: partner.Approved, Callable: true}}
}

func (r *registry) Partner(_ context.Context, id string) (*partner.Partner, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if id != r.p.ID {
		return nil, fmt.Errorf("no partner %s", id)
	}
	p := r.p
	return &p, nil
}

func (r *registry) Suspend(_ context.Context, _, _, reason string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.fails > 0 {
		r.fails--
		return errors.New("the registry's database is away")
	}
	r.p.State, r.reason = partner.Suspended, reason
	return nil
}

func (r *registry) state() (partner.State, string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.p.State, r.reason
}

// suites are fixed ones.
type suites []*Suite

func (s suites) Suites() []*Suite { return s }

func (s suites) Suite(id string) *Suite {
	for _, x := range s {
		if x.Partner == id {
			return x
		}
	}
	return nil
}

// golden is a suite of ten tasks with a few more lines.
func golden(tb testing.TB, more string) *Suite {
	tb.Helper()
	text := `partner: underwriter
owner: partnerships@bank.example
every: 1h
jitter: 5m
baseline: 50
` + more + `
measures:
  rate: {number: data.rate}
  verdict: {category: /verdict}
tasks:
`
	for i := range 10 {
		text += fmt.Sprintf(`  loan-%d:
    skill: underwrite
    data: {amount: %d}
    schema: {type: object, required: [rate, verdict], properties: {rate: {type: number}, verdict: {enum: [approve, refer]}}}
    assert: ["data.rate > 0.0", "took < 30.0"]
`, i, 100_000*(i+1))
	}
	s, err := Parse("underwriter.yaml", []byte(text))
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

// rig is a monitor over a store with a clock.
type rig struct {
	*Monitor
	t        testing.TB
	clock    *clocktest.Clock
	agent    *agent
	registry *registry
}

func newRig(t testing.TB, s *Store, suite *Suite, nc *nats.Conn) *rig {
	t.Helper()
	r := &rig{t: t, clock: clocktest.New(start), agent: newAgent(1), registry: newRegistry()}
	r.Monitor = r.replica(s, suite, nc)
	return r
}

// replica is another monitor of the same partner.
func (r *rig) replica(s *Store, suite *Suite, nc *nats.Conn) *Monitor {
	r.t.Helper()
	m, err := NewMonitor(Config{
		Store: s, Suites: suites{suite}, Registry: r.registry, Asker: r.agent, NATS: nc, Clock: r.clock,
		Log: slog.New(slog.NewTextHandler(io.Discard, nil)), Metrics: prometheus.NewRegistry(),
	})
	if err != nil {
		r.t.Fatal(err)
	}
	return m
}

// baseline runs the suite by hand until its baseline is there.
func (r *rig) baseline() {
	r.t.Helper()
	if err := r.once(r.t.Context()); err != nil {
		r.t.Fatal(err)
	}
	if _, err := r.store.Request(r.t.Context(), "underwriter", 50, "bank/ada", "after approval", r.clock.Now()); err != nil {
		r.t.Fatal(err)
	}
	if err := r.once(r.t.Context()); err != nil {
		r.t.Fatal(err)
	}
}

// hours lets the schedule run for a number of intervals.
func (r *rig) hours(n int) {
	r.t.Helper()
	for range n {
		r.clock.Advance(time.Hour + 5*time.Minute)
		if err := r.once(r.t.Context()); err != nil {
			r.t.Fatal(err)
		}
	}
}

func (r *rig) verdicts() []Verdict {
	r.t.Helper()
	list, err := r.store.Verdicts(r.t.Context(), "underwriter", 100)
	if err != nil {
		r.t.Fatal(err)
	}
	return list
}

func (r *rig) runs() []Run {
	r.t.Helper()
	list, err := r.store.Runs(r.t.Context(), "underwriter", 0, 1000)
	if err != nil {
		r.t.Fatal(err)
	}
	return list
}

func figures(tb testing.TB, v Verdict) Figures {
	tb.Helper()
	var f Figures
	if err := json.Unmarshal(v.Figures, &f); err != nil {
		tb.Fatal(err)
	}
	return f
}

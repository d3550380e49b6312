package contract

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"math/rand/v2"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"sabha.dev/services/partners/internal/partner"
	"sabha.dev/services/partners/internal/remote"
	"sabha.dev/services/partners/internal/trust"
	"sabha.dev/testrig/natstest"
)

// underwriter is an agent on the SDK's server. Its card and the form of its answers stay
// as they are; the model behind them may be exchanged.
type underwriter struct {
	mu     sync.Mutex
	random *rand.Rand
	model  func(amount float64, r *rand.Rand) map[string]any
}

func (u *underwriter) Execute(_ context.Context, ec *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		var asked struct{ Amount float64 }
		for _, p := range ec.Message.Parts {
			raw, _ := json.Marshal(p.Data())
			_ = json.Unmarshal(raw, &asked)
		}
		u.mu.Lock()
		answer := u.model(asked.Amount, u.random)
		u.mu.Unlock()
		yield(a2a.NewMessage(a2a.MessageRoleAgent, a2a.NewDataPart(answer)), nil)
	}
}

func (u *underwriter) Cancel(context.Context, *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	return func(func(a2a.Event, error) bool) {}
}

// model answers with noise; dearer adds to its rates, in standard deviations of the noise.
func model(dearer float64) func(float64, *rand.Rand) map[string]any {
	return func(amount float64, r *rand.Rand) map[string]any {
		verdict := "approve"
		if r.Float64() < 0.2 {
			verdict = "refer"
		}
		return map[string]any{"rate": 3 + amount/1e6 + 0.25*(r.ExpFloat64()+dearer), "verdict": verdict}
	}
}

func (u *underwriter) becomes(m func(float64, *rand.Rand) map[string]any) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.model = m
}

// scored is a registry that keeps trust scores.
type scored struct{ *registry }

func (s scored) Partners(context.Context) ([]*partner.Partner, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.p
	return []*partner.Partner{&p}, nil
}

func (s scored) SetTrust(_ context.Context, _ string, score float64, _ json.RawMessage) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.p.Trust = score
	return nil
}

func (s scored) score() float64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.p.Trust
}

// hop is a partner with a real agent, under contract tests and a trust score.
type hop struct {
	*rig
	agent  *underwriter
	scores scored
	keeper *trust.Keeper
	counts *prometheus.Registry
}

func newHop(t *testing.T, more string) *hop {
	t.Helper()
	u := &underwriter{random: rand.New(rand.NewPCG(11, 12)), model: model(0)}
	quiet := slog.New(slog.NewTextHandler(io.Discard, nil))
	server := httptest.NewServer(a2asrv.NewJSONRPCHandler(a2asrv.NewHandler(u, a2asrv.WithLogger(quiet))))
	t.Cleanup(server.Close)
	nc := natstest.New(t).Connect(t)
	r := newRig(t, opener(t, "sqlite:"+t.TempDir()+"/p.db")(), golden(t, more), nil)
	r.registry.p.Protocol = partner.A2A1
	r.registry.p.Card = json.RawMessage(fmt.Sprintf(`{"name":"Underwriter","description":"d","version":"1","capabilities":{},
		"defaultInputModes":["application/json"],"defaultOutputModes":["application/json"],"skills":[{"id":"underwrite","name":"n","description":"d","tags":[]}],
		"supportedInterfaces":[{"url":%q,"protocolBinding":"JSONRPC","protocolVersion":"1.0"}]}`, server.URL))
	// The clock stands still while a call is made, so times are not those of this machine.
	client := remote.New(remote.Config{Clock: r.clock, Settings: func(string) remote.Settings { return remote.Settings{Networks: []string{"127.0.0.0/8"}} }})
	t.Cleanup(client.Close)
	counts := prometheus.NewRegistry()
	m, err := NewMonitor(Config{
		Store: r.store, Suites: r.suites, Registry: r.registry, Asker: client, NATS: nc, Clock: r.clock, Log: quiet, Metrics: counts,
	})
	if err != nil {
		t.Fatal(err)
	}
	r.Monitor = m
	h := &hop{rig: r, agent: u, scores: scored{r.registry}, counts: counts}
	h.keeper = trust.NewKeeper(trust.Config{
		Registry: h.scores, Ledgers: []trust.Ledger{r.store, probes{r.clock.Now}}, Records: []trust.Record{r.store}, Clock: r.clock, Log: quiet,
	})
	return h
}

// probes were all answered, for a month.
type probes struct{ now func() time.Time }

func (p probes) Days(context.Context, string, time.Time) ([]trust.Day, error) {
	var list []trust.Day
	for i := range 30 {
		list = append(list, trust.Day{At: p.now().AddDate(0, 0, -i), Probes: 288, Answered: 288, Calls: 20, OK: 20, Callers: 2})
	}
	return list, nil
}

func (h *hop) trusted() float64 {
	h.t.Helper()
	if err := h.keeper.All(h.t.Context()); err != nil {
		h.t.Fatal(err)
	}
	return h.scores.score()
}

// told gives the events that are on the stream.
func (h *hop) told() []event {
	h.t.Helper()
	if err := h.carry(h.t.Context()); err != nil {
		h.t.Fatal(err)
	}
	js, err := jetstream.New(h.nats)
	if err != nil {
		h.t.Fatal(err)
	}
	stream, err := js.Stream(h.t.Context(), Stream)
	if err != nil {
		return nil // nothing was told
	}
	info, err := stream.Info(h.t.Context())
	if err != nil {
		h.t.Fatal(err)
	}
	var list []event
	for seq := info.State.FirstSeq; seq <= info.State.LastSeq && seq > 0; seq++ {
		msg, err := stream.GetMsg(h.t.Context(), seq)
		if err != nil {
			h.t.Fatal(err)
		}
		var e event
		if err := json.Unmarshal(msg.Data, &e); err != nil || msg.Subject != "sabha.contracts."+e.Partner+"."+e.What {
			h.t.Fatalf("the event %s on %s: %v", msg.Data, msg.Subject, err)
		}
		list = append(list, e)
	}
	return list
}

func TestAnotherModelBehindTheSameCardIsCaught(t *testing.T) {
	h := newHop(t, "on_drift: suspend")
	h.baseline()
	h.hours(20)
	before, last := h.trusted(), h.runs()[0]
	if last.State != Done || last.Good != 10 || before < 0.7 {
		t.Fatalf("the last run is %+v, trust %v", last, before)
	}
	if v := h.verdicts(); len(v) != 0 || len(h.told()) != 0 {
		t.Fatalf("of an unchanged agent is found %+v", v)
	}
	h.agent.becomes(model(0.5))
	h.hours(20)
	found := h.verdicts()
	if len(found) != 1 || found[0].Kind != Drifted || found[0].Number > last.Number+20 {
		t.Fatalf("found is %+v", found)
	}
	told := h.told()
	if len(told) != 1 || told[0].What != Drifted || told[0].Action != Suspend || told[0].Findings[0].Measure != "rate" {
		t.Errorf("told is %+v", told)
	}
	if state, _ := h.registry.state(); state != partner.Suspended {
		t.Errorf("the partner is %s", state)
	}
	if after := h.trusted(); after > before/2 {
		t.Errorf("trust is %v, before %v", after, before)
	}
	if n, err := testutil.GatherAndCount(h.counts, "sabha_partner_contract_findings"); err != nil || n != 1 {
		t.Errorf("%d findings stand by the metric (%v)", n, err)
	}
}

func TestAnUnchangedAgentKeepsItsTrust(t *testing.T) {
	h := newHop(t, "on_drift: suspend")
	h.baseline()
	before := h.trusted()
	h.hours(60)
	if v, told := h.verdicts(), h.told(); len(v) != 0 || len(told) != 0 {
		t.Fatalf("of an unchanged agent is found %+v, told %+v", v, told)
	}
	if after := h.trusted(); after < before-0.05 {
		t.Errorf("trust is %v, before %v", after, before)
	}
}

func TestASuspensionIsTriedUntilItHolds(t *testing.T) {
	h := newHop(t, "on_drift: suspend")
	h.baseline()
	h.agent.becomes(model(3))
	h.registry.fails = 2
	h.hours(8)
	for range 5 {
		_ = h.carry(t.Context())
		h.clock.Advance(lastRetry)
	}
	if state, reason := h.registry.state(); state != partner.Suspended || reason == "" {
		t.Errorf("the partner is %s: %q", state, reason)
	}
	if told := h.told(); len(told) != 1 {
		t.Errorf("told is %+v", told)
	}
}

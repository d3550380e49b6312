package a2aagent_test

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/grpc/metadata"

	"sabha.dev/chassis/engine"
	"sabha.dev/services/partners/internal/gate"
	"sabha.dev/services/partners/internal/partner"
	"sabha.dev/services/partners/internal/remote"
)

// job is the partner's task; artifacts are ids and texts in turn.
func job(state, text string, artifacts ...string) map[string]any {
	t := map[string]any{"id": "theirs", "contextId": "their-context", "status": status(state, text)}
	var list []any
	for i := 0; i+1 < len(artifacts); i += 2 {
		list = append(list, map[string]any{"artifactId": artifacts[i], "parts": []any{map[string]any{"text": artifacts[i+1]}}})
	}
	if list != nil {
		t["artifacts"] = list
	}
	return t
}

func update(state, text string) any {
	return map[string]any{"statusUpdate": map[string]any{"taskId": "theirs", "contextId": "their-context", "status": status(state, text)}}
}

func chunk(id, text string, more, last bool) any {
	return map[string]any{"artifactUpdate": map[string]any{
		"taskId": "theirs", "contextId": "their-context", "append": more, "lastChunk": last,
		"artifact": map[string]any{"artifactId": id, "parts": []any{map[string]any{"text": text}}},
	}}
}

// counted are the calls that the ledger was told of: for whom, and how they ended.
type counted struct {
	mu    sync.Mutex
	calls []string
}

func (c *counted) Called(x gate.Call) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls = append(c.calls, x.Caller+" "+x.Result.String())
}

func (c *counted) Refused(partner.Address, gate.Why, time.Time) {}

func TestTheLedgerIsToldForWhomPartnersAreCalled(t *testing.T) {
	r, ledger := onSQLite(t), &counted{}
	r.ledger = ledger
	s := &scripted{on: func(method string, _ map[string]any) any {
		if method == "GetTask" {
			return job("COMPLETED", "done")
		}
		return map[string]any{"task": job("WORKING", "")}
	}}
	r.agree("acme", "a2a", serve(t, s), lasting)
	r.agree("direct", "a2a", serve(t, &scripted{on: func(string, map[string]any) any { return message("done") }}), "{direct: true}")
	p := r.start("p")
	p.comes(p.begin(asks("m1", "acme/do", "work")), completed)
	p.send(asks("m2", "direct/do", "work"))
	ledger.mu.Lock()
	defer ledger.mu.Unlock()
	equal(t, "the calls", strings.Join(ledger.calls, ", "), "bank/alice ok, bank/alice ok")
}

// Of the agreement's time for a call and what is left of its caller's the lesser counts.
func TestTheReasonSaysWhoseTimeIsUp(t *testing.T) {
	for what, c := range map[string]struct {
		budget, left    time.Duration
		reason, counted string
	}{
		"the agreement's": {time.Hour, 3 * time.Hour, "the partner has not finished within the 1h0m0s that the agreement gives a call", "bank/alice failed"},
		"the caller's":    {3 * time.Hour, time.Hour, "the partner has not finished within the time that its caller had left, which is less than the 3h0m0s of the agreement", "bank/alice abandoned"},
	} {
		t.Run(what, func(t *testing.T) {
			r, ledger := onSQLite(t), &counted{}
			r.ledger = ledger
			r.agree("acme", "a2a", serve(t, &scripted{on: func(method string, _ map[string]any) any {
				if method == "SendMessage" {
					return map[string]any{"task": job("WORKING", "")}
				}
				return job("WORKING", "")
			}}), fmt.Sprintf("{budget: %s, retries: {max: 0}}", c.budget))
			p := r.start("p")
			req := asks("m1", "acme/do", "work")
			req.Configuration = &a2apb.SendMessageConfiguration{ReturnImmediately: true}
			md, _ := metadata.FromIncomingContext(planner(t.Context()))
			md.Set(engine.DeadlineHeader, strconv.FormatInt(r.Now().Add(c.left).UnixMilli(), 10))
			res, err := p.SendMessage(metadata.NewIncomingContext(planner(t.Context()), md), req)
			r.must(err)
			id := res.GetTask().GetId()
			r.soon("the task rests", func() bool {
				rec, err := p.store.Get(t.Context(), id)
				r.must(err)
				return rec.RunOwner == "" && rec.WakeAt.After(r.Now().Add(time.Second))
			})
			r.jump(min(c.budget, c.left) + time.Second)
			r.soon("the task has ended", func() bool { return remote.Ended(p.task(id).GetStatus().GetState()) })
			if got := said(p.task(id)); !strings.HasPrefix(got, c.reason) {
				t.Errorf("the reason is %q, want %q", got, c.reason)
			}
			ledger.mu.Lock()
			defer ledger.mu.Unlock()
			equal(t, "what is counted", strings.Join(ledger.calls, ", "), c.counted)
		})
	}
}

package a2aagent_test

import (
	"strings"
	"sync"
	"testing"
	"time"

	"sabha.dev/services/partners/internal/gate"
	"sabha.dev/services/partners/internal/partner"
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

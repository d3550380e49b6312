package a2aagent_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/protobuf/types/known/structpb"

	"sabha.dev/chassis/agent"
	"sabha.dev/chassis/ext"
	"sabha.dev/chassis/fault"
	"sabha.dev/chassis/label"
)

func TestAPersonConfirmsExactlyWhatLeaves(t *testing.T) {
	onBothEngines(t, func(t *testing.T, r *rig) {
		var got string
		s := &scripted{on: func(_ string, params map[string]any) any {
			got = wrote(params)
			return message("hello " + token)
		}}
		r.agree("acme", "a2a", serve(t, s), "{budget: 1h, confirm: true}")
		p := r.start("p")
		task := p.send(asks("m1", "acme/do", "greet Ada")).GetTask()
		equal(t, "the wait", task.GetStatus().GetState().String()+" "+said(task), auth.String()+" waits for a person: the call of acme/do needs to be confirmed")
		q := r.reviews.question(t)
		equal(t, "the kind", q["kind"].(string), "confirmation")
		equal(t, "what is shown", shown(q["content"]),
			`{"parts":[{"mediaType":"text/plain","text":"greet `+strings.NewReplacer("<", `\u003c`, ">", `\u003e`).Replace(token)+`"},{"data":{"amount":5},"mediaType":"application/json"}],"to":"acme/do"}`)
		equal(t, "the effect", q["effect"].(string), "What is shown is sent to ACME plc (partner acme, skill do).")
		if len(s.seen()) > 0 {
			t.Fatalf("the partner was asked before: %v", s.seen())
		}
		r.reviews.decide(t, "approved", nil)
		p.Nudge(task.GetId())
		equal(t, "the answer", said(p.comes(task.GetId(), completed)), "hello Ada")
		equal(t, "what the partner got", got, "greet "+token+` {"amount":5}`)
	})
}

func TestWhoSendsAMessageMayAskForConfirmation(t *testing.T) {
	r := onSQLite(t)
	s := &scripted{on: func(string, map[string]any) any { return message("no") }}
	r.agree("acme", "a2a", serve(t, s), lasting)
	r.agree("quick", "a2a", serve(t, s), "{direct: true}")
	p := r.start("p")
	req := asks("m1", "acme/do", "sell")
	req.Message.Metadata.Fields[ext.Confirm] = structpb.NewStringValue("it acts on what nobody has checked")
	task := p.send(req).GetTask()
	equal(t, "the reason", shown(r.reviews.question(t)["reasons"]), `["it acts on what nobody has checked"]`)
	r.reviews.decide(t, "rejected", nil)
	p.Nudge(task.GetId())
	equal(t, "the end", said(p.comes(task.GetId(), rejected)), "a person did not allow the call of acme/do")
	req = asks("m2", "quick/do", "sell")
	req.Message.Metadata.Fields[ext.Confirm] = structpb.NewStringValue("it acts")
	_, err := p.SendMessage(planner(t.Context()), req)
	refused(t, err, fault.PermissionDenied, "remove direct from the agreement")
	if len(s.seen()) > 0 {
		t.Errorf("the partner was asked: %v", s.seen())
	}
}

func TestAnEditIsWhatLeaves(t *testing.T) {
	r := onSQLite(t)
	var got string
	s := &scripted{on: func(_ string, params map[string]any) any {
		got = wrote(params)
		return message("done")
	}}
	r.agree("acme", "a2a", serve(t, s), "{budget: 1h, confirm: true}")
	p := r.start("p")
	id := p.send(asks("m1", "acme/do", "sell two")).GetTask().GetId()
	r.reviews.decide(t, "approved", map[string]any{"to": "acme/do", "parts": []any{map[string]any{"text": "sell one"}}})
	p.Nudge(id)
	p.comes(id, completed)
	equal(t, "what the partner got", got, "sell one")
}

func TestACancelEndsTheReviewToo(t *testing.T) {
	r := onSQLite(t)
	r.agree("acme", "a2a", "http://127.0.0.1:1", "{budget: 1h, confirm: true}")
	p := r.start("p")
	id := p.send(asks("m1", "acme/do", "sell")).GetTask().GetId()
	_, err := p.CancelTask(planner(t.Context()), &a2apb.CancelTaskRequest{Id: id})
	r.must(err)
	equal(t, "the report", said(p.comes(id, canceled)), "canceled; nobody needs to decide any more")
	for _, task := range r.reviews.tasks {
		equal(t, "the review", task.GetStatus().GetState().String(), canceled.String())
	}
}

// status503 is a partner that cannot answer.
func status503(string, map[string]any) any {
	return raw(func(w http.ResponseWriter, _ *http.Request, _ any) {
		http.Error(w, "down for today", http.StatusServiceUnavailable)
	})
}

func TestWhenAllFailsAPersonAnswers(t *testing.T) {
	onBothEngines(t, func(t *testing.T, r *rig) {
		s := &scripted{on: status503}
		r.agree("acme", "a2a", serve(t, s), "{budget: 1h, retries: {max: 1, backoff: 1ms, ratio: 1}, escalate: true}")
		p := r.start("p")
		id := p.send(asks("m1", "acme/do", "sell")).GetTask().GetId()
		p.comes(id, auth)
		q := r.reviews.question(t)
		equal(t, "the reason", shown(q["reasons"]), `["the partner failed (503); it says \"down for today\""]`)
		r.reviews.decide(t, "approved", map[string]any{"answer": "ask again tomorrow"})
		p.Nudge(id)
		task := p.comes(id, completed)
		parts := task.GetStatus().GetMessage().GetParts()
		equal(t, "the answer", agent.DataOf(parts).GetStringValue(), "ask again tomorrow")
		if l := label.Of(parts...); l.Integrity != label.Trusted {
			t.Errorf("a person's answer is labelled %+v", l)
		}
		if got := len(s.seen()); got != 2 {
			t.Errorf("the partner was asked %d times, want 2", got)
		}
	})
}

func TestAnotherPartnerStandsIn(t *testing.T) {
	r := onSQLite(t)
	down, up := &scripted{on: status503}, &scripted{on: func(string, map[string]any) any { return message("here") }}
	r.agree("acme", "a2a", serve(t, down), "{budget: 1h, retries: {max: 1, backoff: 1ms, ratio: 1}, fallback: other/do}")
	r.agree("other", "a2a", serve(t, up), lasting)
	p := r.start("p")
	task := p.send(asks("m1", "acme/do", "sell")).GetTask()
	equal(t, "the answer", said(task), "here")
	id := task.GetId()
	equal(t, "the calls", strings.Join(append(down.seen(), up.seen()...), ", "), "SendMessage "+id+"/0/0, SendMessage "+id+"/0/0, SendMessage "+id+"/1/0")
	equal(t, "the record", r.crossed(), "out sell; out sell; in")
}

func TestWhatThePartnerDecidesIsNotAskedAgain(t *testing.T) {
	r := onSQLite(t)
	cases := map[string]struct {
		answer any
		state  a2apb.TaskState
		said   string
	}{
		"refuses": {map[string]any{"task": job("REJECTED", "not for you")}, rejected, "not for you"},
		"fails":   {map[string]any{"task": job("FAILED", "no paper")}, failed, "the partner's task failed\nno paper"},
		"forbids": {raw(func(w http.ResponseWriter, _ *http.Request, _ any) { w.WriteHeader(http.StatusForbidden) }), failed, "the partner does not allow us this call (403)"},
		"locks":   {raw(func(w http.ResponseWriter, _ *http.Request, _ any) { w.WriteHeader(http.StatusUnauthorized) }), failed, "the partner does not take our credentials (401); look at credentials in the agreement"},
	}
	partners := map[string]*scripted{}
	for name, c := range cases {
		s := &scripted{on: func(string, map[string]any) any { return c.answer }}
		partners[name] = s
		r.agree(name, "a2a", serve(t, s), "{budget: 1h, retries: {max: 3, backoff: 1ms, ratio: 1}}")
	}
	p := r.start("p")
	for name, c := range cases {
		task := p.send(asks("m "+name, name+"/do", "sell")).GetTask()
		equal(t, "the end of "+name, task.GetStatus().GetState().String()+" "+said(task), c.state.String()+" "+c.said)
		if n := len(partners[name].seen()); n != 1 {
			t.Errorf("%s: the partner was asked %d times", name, n)
		}
	}
}

package a2aagent_test

import (
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"

	"sabha.dev/chassis/agent"
	"sabha.dev/chassis/fault"
	"sabha.dev/chassis/label"
	"sabha.dev/services/partners/internal/partner"
)

const (
	completed = a2apb.TaskState_TASK_STATE_COMPLETED
	rejected  = a2apb.TaskState_TASK_STATE_REJECTED
	failed    = a2apb.TaskState_TASK_STATE_FAILED
	canceled  = a2apb.TaskState_TASK_STATE_CANCELED
	input     = a2apb.TaskState_TASK_STATE_INPUT_REQUIRED
	auth      = a2apb.TaskState_TASK_STATE_AUTH_REQUIRED
)

const lasting = "{budget: 1h}"

func TestADirectAnswerCompletesTheTask(t *testing.T) {
	onBothEngines(t, func(t *testing.T, r *rig) {
		var got string
		s := &scripted{on: func(_ string, params map[string]any) any {
			got = wrote(params)
			return message("hello " + token)
		}}
		r.agree("acme", "a2a", serve(t, s), lasting)
		p := r.start("p")
		task := p.send(asks("m1", "acme/do", "greet Ada")).GetTask()
		equal(t, "the state", task.GetStatus().GetState().String(), completed.String())
		equal(t, "what the partner got", got, `greet `+token+` {"amount":5}`)
		equal(t, "the answer", said(task), "hello Ada")
		equal(t, "the record", r.crossed(), "out greet "+token+"; in")
		l := label.Of(task.GetStatus().GetMessage().GetParts()...)
		if l.Integrity != label.Untrusted || l.Confidentiality != label.Internal {
			t.Errorf("the answer is labelled %+v", l)
		}
		equal(t, "the version", s.heads[0].Get("A2a-Version"), "1.0")
		if !strings.HasPrefix(s.heads[0].Get("Traceparent"), "00-") {
			t.Errorf("the partner was told of the trace %q", s.heads[0].Get("Traceparent"))
		}
	})
}

func TestADirectSkillMakesNoTask(t *testing.T) {
	onBothEngines(t, func(t *testing.T, r *rig) {
		s := &scripted{on: func(_ string, params map[string]any) any {
			if strings.Contains(wrote(params), "slow") {
				return map[string]any{"task": job("WORKING", "")}
			}
			return message("hello " + token)
		}}
		r.agree("acme", "a2a", serve(t, s), "{direct: true}")
		p := r.start("p")
		res := p.send(asks("m1", "acme/do", "greet Ada"))
		equal(t, "the answer", agent.TextOf(res.GetMessage().GetParts()), "hello Ada")
		if l := label.Of(res.GetMessage().GetParts()...); l.Integrity != label.Untrusted {
			t.Errorf("the answer is labelled %+v", l)
		}
		r.soon("the record is written", func() bool { return strings.HasPrefix(r.crossed(), "out greet "+token+"; in") })
		_, err := p.SendMessage(planner(t.Context()), asks("m2", "acme/do", "a secret"))
		refused(t, err, fault.PermissionDenied, "it holds a secret")
		_, err = p.SendMessage(planner(t.Context()), asks("m3", "acme/do", "slow"))
		refused(t, err, fault.InvalidAgentResponse, "remove direct from the agreement")
		equal(t, "the last call", s.seen()[2], "CancelTask theirs")
	})
}

func refused(t *testing.T, err error, reason fault.Reason, says string) {
	t.Helper()
	if f := fault.As(err); f == nil || f.Reason != reason || !strings.Contains(f.Message, says) {
		t.Errorf("the error is %v, want %s with %q", err, reason, says)
	}
}

func TestWhatMayNotBeCalledIsRejected(t *testing.T) {
	r := onSQLite(t)
	s := &scripted{on: func(string, map[string]any) any { return message("no") }}
	url := serve(t, s)
	r.agree("suspended", "a2a", url, lasting).State = partner.Suspended
	r.agree("hidden", "a2a", url, lasting).Callable = false
	r.agree("changed", "a2a", url, lasting).Skills = nil
	r.agree("gone", "a2a", url, lasting)
	delete(r.partners, "gone")
	r.agree("acme", "a2a", url, lasting)
	p := r.start("p")
	for to, want := range map[string]string{
		"suspended/do": "partner suspended is suspended; an administrator approves it and makes it callable",
		"hidden/do":    "partner hidden is approved, but not callable; an administrator approves it and makes it callable",
		"changed/do":   "the card of partner changed has no skill do any more",
		"gone/do":      "partner gone is not registered; register its card first",
		"acme/other":   "no agreement allows acme/other; whoever runs the platform adds the skill to the partner's agreement",
	} {
		task := p.send(asks("m "+to, to, "hello")).GetTask()
		equal(t, "the end of "+to, task.GetStatus().GetState().String()+" "+said(task), rejected.String()+" "+want)
	}
	task := p.send(asks("m", "acme/do", "a secret")).GetTask()
	equal(t, "the end", said(task), "it holds a secret, which no rule of the agreement lets out")
	equal(t, "the record", r.crossed(), "out a secret")
	if len(s.seen()) > 0 {
		t.Errorf("partners were called: %v", s.seen())
	}
	card, err := p.GetExtendedAgentCard(planner(t.Context()), &a2apb.GetExtendedAgentCardRequest{})
	r.must(err)
	if len(card.GetSkills()) != 1 || card.GetSkills()[0].GetId() != "acme/do" {
		t.Errorf("the card lists %v", card.GetSkills())
	}
}

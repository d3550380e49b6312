package a2aagent_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"

	"sabha.dev/chassis/agent"
)

func TestATaskOfThePartnersIsMirrored(t *testing.T) {
	onBothEngines(t, func(t *testing.T, r *rig) {
		gate := make(chan struct{})
		s := &scripted{on: func(_ string, params map[string]any) any {
			return stream(map[string]any{"task": job("SUBMITTED", "")}, update("WORKING", "on it"), chunk("a", "one ", false, false), gate,
				chunk("a", "two", true, true), update("COMPLETED", "done"))
		}}
		r.agree("acme", "a2a stream", serve(t, s), lasting)
		p := r.start("p")
		id := p.begin(asks("m1", "acme/do", "work"))
		r.soon("the first chunk is there", func() bool { return strings.Contains(artifacts(p.task(id)), "a=one ") })
		equal(t, "the progress", said(p.task(id)), "on it")
		close(gate)
		task := p.comes(id, completed)
		equal(t, "the artifacts", artifacts(task), "a=one \ntwo")
		equal(t, "the last word", said(task), "done")
		equal(t, "the calls", strings.Join(s.seen(), ", "), "SendStreamingMessage "+id+"/0/0")
	})
}

// A replica that dies leaves a partner at work: another follows the same task.
func TestAnotherReplicaGoesOnWithThePartnersTask(t *testing.T) {
	onBothEngines(t, func(t *testing.T, r *rig) {
		var state atomic.Value
		state.Store(job("WORKING", "", "a", "first"))
		s := &scripted{on: func(method string, _ map[string]any) any {
			switch method {
			case "SendStreamingMessage":
				return stream(map[string]any{"task": job("WORKING", "")}, chunk("a", "first", false, true), make(chan struct{}))
			case "SubscribeToTask":
				return errors.New("no streams of old tasks here")
			}
			return state.Load()
		}}
		r.agree("acme", "a2a stream", serve(t, s), lasting)
		r.lease = 10 * time.Second
		p := r.start("p")
		id := p.begin(asks("m1", "acme/do", "work"))
		r.soon("the artifact is there", func() bool { return artifacts(p.task(id)) == "a=first" })
		p.die()
		r.jump(time.Minute) // its lease has run out
		q := r.start("q")
		state.Store(job("COMPLETED", "done", "a", "first", "b", "second"))
		task := q.comes(id, completed)
		equal(t, "the artifacts", artifacts(task), "a=first|b=second")
		sends := slices.DeleteFunc(s.seen(), func(c string) bool { return !strings.HasPrefix(c, "Send") })
		equal(t, "the messages that were sent", strings.Join(sends, ", "), "SendStreamingMessage "+id+"/0/0")
	})
}

// A crash before the partner's answer was stored: the message is sent again, and is the same.
func TestAMessageThatIsSentAgainIsTheSame(t *testing.T) {
	r := onSQLite(t)
	var ask sync.Once
	arrived := make(chan struct{})
	var bodies []string
	var mu sync.Mutex
	s := &scripted{}
	s.on = func(_ string, params map[string]any) any {
		mu.Lock()
		text, _ := json.Marshal(params["message"])
		bodies = append(bodies, string(text))
		mu.Unlock()
		first := false
		ask.Do(func() { first = true; close(arrived) })
		if first {
			return raw(func(_ http.ResponseWriter, req *http.Request, _ any) { <-req.Context().Done() })
		}
		return message("done")
	}
	r.agree("acme", "a2a", serve(t, s), lasting)
	r.lease = 10 * time.Second
	p := r.start("p")
	id := p.begin(asks("m1", "acme/do", "work"))
	<-arrived
	p.die()
	r.jump(time.Minute)
	q := r.start("q")
	equal(t, "the answer", said(q.comes(id, completed)), "done")
	if len(bodies) != 2 || bodies[0] != bodies[1] {
		t.Errorf("the partner got %q", bodies)
	}
}

func TestThePartnerAsksAndOurClientAnswers(t *testing.T) {
	onBothEngines(t, func(t *testing.T, r *rig) {
		s := &scripted{}
		s.on = func(method string, params map[string]any) any {
			m, _ := params["message"].(map[string]any)
			switch {
			case method == "GetTask":
				return job("INPUT_REQUIRED", "which colour?")
			case m["taskId"] == "theirs":
				return map[string]any{"task": job("COMPLETED", "took "+wrote(params))}
			}
			return map[string]any{"task": job("INPUT_REQUIRED", "which colour?")}
		}
		r.agree("acme", "a2a", serve(t, s), lasting)
		p := r.start("p")
		task := p.send(asks("m1", "acme/do", "sell a hat")).GetTask()
		equal(t, "the question", task.GetStatus().GetState().String()+" "+said(task), input.String()+" which colour?")
		answer := &a2apb.SendMessageRequest{Message: &a2apb.Message{MessageId: "m2", TaskId: task.GetId(), Role: a2apb.Role_ROLE_USER, Parts: []*a2apb.Part{agent.Text("red")}}}
		task = p.send(answer).GetTask()
		equal(t, "the end", task.GetStatus().GetState().String()+" "+said(task), completed.String()+" took red")
		equal(t, "the record", r.crossed(), "out sell a hat; in; out red; in")
	})
}

func TestAPartnerThatWaitsForAnAuthorisationGoesOnByItself(t *testing.T) {
	r := onSQLite(t)
	var allowed atomic.Bool
	s := &scripted{on: func(method string, _ map[string]any) any {
		if method != "GetTask" {
			return map[string]any{"task": job("AUTH_REQUIRED", "sign in at https://acme.example")}
		}
		if allowed.Load() {
			return job("COMPLETED", "done")
		}
		return job("AUTH_REQUIRED", "sign in at https://acme.example")
	}}
	r.agree("acme", "a2a", serve(t, s), lasting)
	p := r.start("p")
	id := p.begin(asks("m1", "acme/do", "work"))
	equal(t, "what it asks", said(p.comes(id, auth)), "sign in at https://acme.example")
	r.jump(time.Minute)
	r.soon("it was looked at", func() bool { return slices.Contains(s.seen(), "GetTask theirs") })
	equal(t, "what it asks still", said(p.comes(id, auth)), "sign in at https://acme.example")
	allowed.Store(true)
	r.jump(time.Minute)
	equal(t, "the end", said(p.comes(id, completed)), "done")
}

func TestATaskThatTakesLongIsParkedAndAskedFor(t *testing.T) {
	r := onSQLite(t)
	var done atomic.Bool
	s := &scripted{on: func(method string, params map[string]any) any {
		if method == "SendMessage" {
			return map[string]any{"task": job("SUBMITTED", "")}
		}
		if done.Load() {
			return job("COMPLETED", "", "a", "made")
		}
		return job("WORKING", "half way")
	}}
	r.agree("acme", "a2a", serve(t, s), "{budget: 24h}")
	p := r.start("p")
	id := p.begin(asks("m1", "acme/do", "work"))
	r.soon("the progress is told", func() bool { return said(p.task(id)) == "half way" })
	r.soon("the task rests", func() bool {
		rec, err := p.store.Get(t.Context(), id)
		r.must(err)
		return rec.RunOwner == "" && rec.WakeAt.After(r.Now().Add(time.Second))
	})
	done.Store(true)
	r.jump(time.Hour)
	equal(t, "the artifact", artifacts(p.comes(id, completed)), "a=made")
}

func TestACancelCancelsThePartnersTask(t *testing.T) {
	onBothEngines(t, func(t *testing.T, r *rig) {
		for name, answer := range map[string]any{
			"polled": job("CANCELED", ""), "streamed": job("CANCELED", ""), "too-late": job("COMPLETED", ""), "unwilling": job("WORKING", ""),
			"lost": errors.New("which task?"),
		} {
			s := &scripted{on: func(method string, _ map[string]any) any {
				switch method {
				case "CancelTask":
					return answer
				case "GetTask":
					return job("WORKING", "on it")
				case "SendMessage":
					return map[string]any{"task": job("WORKING", "on it")}
				}
				return stream(map[string]any{"task": job("WORKING", "on it")}, make(chan struct{}))
			}}
			protocol := "a2a"
			if name == "streamed" {
				protocol += " stream"
			}
			r.agree(name, protocol, serve(t, s), lasting)
		}
		p := r.start("p")
		for name, want := range map[string]string{
			"polled": "canceled, and with it the partner's task", "streamed": "canceled, and with it the partner's task",
			"too-late":  "canceled here; the partner's task had ended as TASK_STATE_COMPLETED",
			"unwilling": "canceled here; the partner was told to cancel its task, and has not yet",
			"lost":      `canceled here; the partner's task could not be canceled: the partner does not know its task any more; it says "which task?"`,
		} {
			id := p.begin(asks("m "+name, name+"/do", "work"))
			r.soon("the partner works", func() bool { return said(p.task(id)) == "on it" })
			_, err := p.CancelTask(planner(t.Context()), &a2apb.CancelTaskRequest{Id: id})
			r.must(err)
			equal(t, "the report of "+name, said(p.comes(id, canceled)), want)
		}
	})
}

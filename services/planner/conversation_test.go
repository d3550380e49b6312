package planner_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"

	"sabha.dev/chassis/agent"
	"sabha.dev/chassis/ext"
	"sabha.dev/testrig/clocktest"
)

const asksInput = `playbook: order
version: 1
description: Needs to know what and how many.
input:
  text: what
  schema:
    type: object
    required: [what, count]
    properties:
      what: {type: string}
      count: {type: integer, minimum: 1, description: How many are wanted.}
steps:
  - {id: a, agent: worker, skill: do, inputs: {what: "= input.what", count: "= input.count"}}
output: {text: "= steps.a.output.text", data: {what: "= steps.a.output.data.what", count: "= steps.a.output.data.count"}}
`

func TestMissingInputIsAskedFor(t *testing.T) {
	r := start(t, options{}, asksInput)
	task := r.run(message("order", agent.Text("pears")))
	r.is(task, needs)
	if !strings.Contains(note(task), `"count" is missing (How many are wanted.)`) || len(r.work.history()) != 0 {
		t.Fatalf("%q", note(task))
	}
	for name, reply := range map[string]func() *a2apb.Part{
		"text": func() *a2apb.Part { return agent.Text("12") },
		"data": func() *a2apb.Part {
			p, err := agent.Data(map[string]any{"count": 12})
			r.must(err)
			return p
		},
	} {
		t.Run(name, func(t *testing.T) {
			task := r.run(message("order", agent.Text("pears")))
			m := message("", agent.Text("many")) // not a number: asked again
			m.TaskId = task.GetId()
			task = r.run(m)
			if r.is(task, needs); !strings.Contains(note(task), "count") {
				t.Fatalf("%q", note(task))
			}
			m = message("", reply())
			m.TaskId = task.GetId()
			task = r.run(m)
			r.is(task, completed)
			if _, data := answer(task); data["what"] != "pears" || data["count"] != 12.0 {
				t.Fatalf("answer %v", data)
			}
		})
	}
}

func TestChildsQuestionReachesTheClientAndTheAnswerTheChildOnce(t *testing.T) {
	r := start(t, options{}, `playbook: talk
version: 1
description: A step that asks, and one that takes its time after it.
steps:
  - {id: a, agent: worker, skill: do}
  - {id: b, agent: worker, skill: do, needs: [a]}
output: {text: "= steps.a.output.data.heard"}
`)
	gate := make(chan struct{})
	r.work.on("a", r.work.asks("which one?"))
	r.work.on("b", r.work.gated(gate))
	task := r.run(message("talk"))
	r.is(task, needs)
	if note(task) != "which one?" || steps(task)["a"].WaitsFor != "input" {
		t.Fatalf("%s", show(task))
	}
	if named := task.GetStatus().GetMessage().GetMetadata().GetFields()[ext.Step].GetStringValue(); named != "a" {
		t.Fatalf("the question is of step %q", named)
	}
	r.say(task.GetId(), "the red one", "")
	r.await(func() bool { return r.work.did("b") == 1 }, func() string { return "b begun; " + show(r.get(task.GetId())) })
	r.say(task.GetId(), "thank you", "") // nobody waits for it
	close(gate)
	task = r.ends(task.GetId(), completed)
	if text, _ := answer(task); text != "the red one" {
		t.Fatalf("answer %q", text)
	}
	if got := r.work.heard("a"); !slices.Equal(got, []string{"", "the red one"}) {
		t.Fatalf("the child heard %q", got)
	}
	var said []string
	for _, m := range task.GetHistory() {
		said = append(said, agent.TextOf(m.GetParts()))
	}
	if want := []string{"go", "which one?", "the red one", "thank you"}; !slices.Equal(said, want) {
		t.Fatalf("history %q, want %q", said, want)
	}
}

func TestChildMayAskTwice(t *testing.T) {
	r := start(t, options{}, one(""))
	r.work.on("a", func(_ context.Context, run agent.Run, n int) (agent.Outcome, error) {
		if n < 3 {
			return agent.InputRequired(agent.Text([]string{"first?", "second?"}[n-1])), nil
		}
		return r.work.answer(run, nil)
	})
	task := r.run(message("one"))
	for _, turn := range []struct{ question, reply string }{{"first?", "1"}, {"second?", "2"}} {
		if r.is(task, needs); note(task) != turn.question {
			t.Fatalf("asked %q", note(task))
		}
		m := message("", agent.Text(turn.reply))
		m.TaskId = task.GetId()
		task = r.run(m)
	}
	r.is(task, completed)
	if got := r.work.heard("a"); !slices.Equal(got, []string{"", "1", "2"}) {
		t.Fatalf("the child heard %q", got)
	}
}

const pair = `playbook: pair
version: 1
description: Two steps that ask.
steps:
  - {id: a, agent: worker, skill: do}
  - {id: b, agent: worker, skill: do}
output: {text: "= steps.a.output.data.heard + ' ' + steps.b.output.data.heard"}
`

func TestAnswerGoesToTheStepItNamesElseToTheOldest(t *testing.T) {
	r := start(t, options{}, pair)
	r.work.on("a", r.work.asks("a?"))
	r.work.on("b", r.work.asks("b?"))
	task := r.run(message("pair"))
	r.is(task, needs)
	r.until(task.GetId(), "both waiting", func(t *a2apb.Task) bool {
		return steps(t)["a"].WaitsFor == "input" && steps(t)["b"].WaitsFor == "input"
	})
	r.say(task.GetId(), "for b", "b")
	task = r.until(task.GetId(), "asking for a only", func(t *a2apb.Task) bool {
		return t.GetStatus().GetState() == needs && note(t) == "a?" && steps(t)["b"].State == "COMPLETED"
	})
	r.say(task.GetId(), "for the other", "")
	task = r.ends(task.GetId(), completed)
	if text, _ := answer(task); text != "for the other for b" {
		t.Fatalf("answer %q", text)
	}
}

func TestQuestionIsShownWhileOtherStepsGoOn(t *testing.T) {
	r := start(t, options{}, pair)
	gate := make(chan struct{})
	r.work.on("a", r.work.asks("a?"))
	r.work.on("b", func(ctx context.Context, run agent.Run, n int) (agent.Outcome, error) {
		select {
		case <-gate:
		case <-ctx.Done():
			return agent.Outcome{}, ctx.Err()
		}
		return r.work.answer(run, map[string]any{"heard": "nothing"})
	})
	id := r.begin(message("pair"))
	task := r.until(id, "asking", func(t *a2apb.Task) bool { return t.GetStatus().GetState() == needs })
	if note(task) != "a?" || steps(task)["b"].State != "RUNNING" {
		t.Fatalf("%s", show(task))
	}
	r.say(id, "this", "")
	r.until(id, "a done", func(t *a2apb.Task) bool { return steps(t)["a"].State == "COMPLETED" })
	close(gate)
	task = r.ends(id, completed)
	if text, _ := answer(task); text != "this nothing" {
		t.Fatalf("answer %q", text)
	}
}

func TestTimeForTheClientIsNotTheSteps(t *testing.T) {
	c := clocktest.New(time.Now().UTC())
	r := start(t, options{clock: c}, one("    budget: 5s\n    retries: {max: 0}"))
	r.work.on("a", r.work.asks("which one?"))
	task := r.run(message("one"))
	r.is(task, needs)
	for range 20 { // four times the step's budget, in steps that leases outlive
		c.Advance(time.Second)
		r.get(task.GetId())
	}
	m := message("", agent.Text("that one"))
	m.TaskId = task.GetId()
	r.is(r.run(m), completed)
}

func TestAuthorisationOfAChildIsAwaited(t *testing.T) {
	r := start(t, options{}, one(""))
	granted := make(chan struct{})
	r.work.on("a", func(_ context.Context, run agent.Run, _ int) (agent.Outcome, error) {
		select {
		case <-granted:
			return r.work.answer(run, nil)
		default:
			return agent.AuthRequired(time.Now().Add(50*time.Millisecond), agent.Text("the owner must approve")), nil
		}
	})
	id := r.begin(message("one"))
	task := r.until(id, "waiting for an authorisation", func(t *a2apb.Task) bool { return t.GetStatus().GetState() == needsAuth })
	if note(task) != "the owner must approve" || steps(task)["a"].WaitsFor != "auth" {
		t.Fatalf("%s", show(task))
	}
	close(granted)
	r.ends(id, completed)
}

func TestFollowUpToARunningPlanIsKept(t *testing.T) {
	r := start(t, options{}, one(""))
	gate := make(chan struct{})
	r.work.on("a", r.work.gated(gate))
	id := r.begin(message("one"))
	r.await(func() bool { return r.work.did("a") == 1 }, func() string { return "a begun" })
	r.say(id, "and hurry", "")
	close(gate)
	task := r.ends(id, completed)
	if h := task.GetHistory(); len(h) != 2 || agent.TextOf(h[1].GetParts()) != "and hurry" {
		t.Fatalf("history %v", h)
	}
	if r.work.did("a") != 1 {
		t.Fatalf("executed %v", r.work.history())
	}
}

func TestChildThatGivesUpAskingFailsItsStep(t *testing.T) {
	r := start(t, options{}, one("    retries: {max: 0}"))
	r.work.on("a", func(_ context.Context, _ agent.Run, n int) (agent.Outcome, error) {
		if n == 1 {
			return agent.Outcome{State: needs, Message: agent.Message(agent.Text("which one?")), WakeAt: time.Now().Add(100 * time.Millisecond)}, nil
		}
		return agent.Failed(agent.Text("nobody answered")), nil
	})
	task := r.ends(r.begin(message("one")), failed)
	if note(task) != `step "a" failed: nobody answered` {
		t.Fatalf("%q", note(task))
	}
}

func TestStandingQuestionIsToldOnce(t *testing.T) {
	r := start(t, options{}, one(""))
	r.work.on("a", r.work.asks("which one?"))
	task := r.run(message("one"))
	r.is(task, needs)
	r.down("planner")
	r.up("planner")
	m := message("", agent.Text("that one"))
	m.TaskId = task.GetId()
	task = r.run(m)
	r.is(task, completed)
	var said []string
	for _, m := range task.GetHistory() {
		said = append(said, agent.TextOf(m.GetParts()))
	}
	if want := []string{"go", "which one?", "that one"}; !slices.Equal(said, want) {
		t.Fatalf("history %q, want %q", said, want)
	}
}

// The question is answered to the sender at once, not when the planner lets go of
// the other branch.
func TestAQuestionIsHeardWhileAnotherBranchWorks(t *testing.T) {
	r := start(t, options{onLine: time.Hour}, `playbook: talk
version: 1
description: A step that asks beside one that takes its time.
budget: 20m
steps:
  - {id: a, agent: worker, skill: do}
  - {id: b, agent: worker, skill: do}
output: {text: "= steps.a.output.data.heard"}
`)
	gate := make(chan struct{})
	r.work.on("a", r.work.asks("which one?"))
	r.work.on("b", r.work.gated(gate))
	task := r.run(message("talk"))
	r.is(task, needs)
	if note(task) != "which one?" || states(task)["b"] != "RUNNING" {
		t.Fatalf("%s", show(task))
	}
	r.say(task.GetId(), "the red one", "")
	close(gate)
	if text, _ := answer(r.ends(task.GetId(), completed)); text != "the red one" {
		t.Fatalf("answer %q", text)
	}
}

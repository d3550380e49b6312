package planner_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"

	"sabha.dev/chassis/agent"
	"sabha.dev/chassis/ext"
	"sabha.dev/chassis/label"
	"sabha.dev/services/planner"
	"sabha.dev/testrig/modeltest"
)

// open is a general playbook of the worker's, whose finding step models replace.
const open = `
playbook: general
version: 99
input: {text: query, schema: {type: object, required: [query], properties: {query: {type: string, minLength: 1}}}}
steps:
  - {id: investigate, agent: worker, skill: do, inputs: {document: built-in, text: The built-in plan looked.}}
  - id: draft
    agent: planner
    skill: synthesise
    inputs:
      question: = input.query
      passages: "= [steps.investigate.output.data]"
      min_relevance: 0
output:
  text: = steps.draft.output.text
  data:
    method: = steps.draft.output.data.method
`

// drafting is a planner whose model plans with the worker's skill, and answers from a
// script: a plan is asked for with a schema, an answer without.
func drafting(t *testing.T, adjust func(*planner.Model), plan func(n int) modeltest.Reply) (*rig, *modeltest.Server) {
	t.Helper()
	n := 0
	m := modeltest.New(t, func(req modeltest.Request) modeltest.Reply {
		if req.ResponseFormat == nil {
			return modeltest.Reply{Text: "The agent did it [1]."}
		}
		n++
		return plan(n)
	})
	config := planner.Model{BaseURL: m.URL(), Name: "small", Skills: map[string]string{"worker/do": "Does what its input says, and gives it back."}}
	if adjust != nil {
		adjust(&config)
	}
	return start(t, options{model: config}, open), m
}

func always(text string) func(int) modeltest.Reply {
	return func(int) modeltest.Reply { return modeltest.Reply{Text: text} }
}

const two = `{"steps":[{"id":"first","skill":"worker/do","purpose":"Begin.","inputs":{"said":"= input.query"}},
	{"id":"second","skill":"worker/do","purpose":"Go on.","inputs":{"before":"= steps.first.output.data.said","n":5}}]}`

// modelled is what a task says of its models.
type modelled struct {
	Drafted               bool
	Model, Note, Currency string
	Repairs, Calls, Cost  float64
	InputTokens           float64 `json:"input_tokens"`
	OutputTokens          float64 `json:"output_tokens"`
}

func models(t *testing.T, task *a2apb.Task) (m modelled) {
	t.Helper()
	v := task.GetMetadata().GetFields()[ext.Models]
	if v == nil {
		return m
	}
	raw, err := v.MarshalJSON()
	if err == nil {
		err = json.Unmarshal(raw, &m)
	}
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestAModelPlansAnOpenRequest(t *testing.T) {
	r, m := drafting(t, func(c *planner.Model) {
		c.Prices = planner.Prices{Input: 1000, Output: 2000, Currency: "EUR"}
	}, always(two))
	task := r.run(own("", "alice"))
	r.is(task, completed)
	if got := r.work.history(); !slices.Equal(got, []string{"first", "second"}) {
		t.Errorf("executed %v", got)
	}
	said := models(t, task)
	if len(m.Requests()) != 2 || !said.Drafted || said.Model != "small" || said.Note != "" || said.Repairs != 0 || said.Calls != 2 || said.InputTokens == 0 ||
		said.Cost != (said.InputTokens*1000+said.OutputTokens*2000)/1e6 || said.Currency != "EUR" {
		t.Errorf("after %d requests the task says %+v", len(m.Requests()), said)
	}
	if got := task.GetMetadata().GetFields()[ext.Plan].GetStructValue().GetFields()["playbook"].GetStringValue(); got != "drafted" {
		t.Errorf("playbook %q", got)
	}
	if out := agent.DataOf(task.GetArtifacts()[0].GetParts()).GetStructValue().AsMap(); out["method"] != "model" {
		t.Errorf("the answer is %v", out)
	}
	if r.run(message("general", agent.Text("x"))); len(m.Requests()) != 3 { // which only wrote the answer
		t.Errorf("a request for a playbook by name was planned: %d requests", len(m.Requests()))
	}
}

func TestADraftedPlanGoesOnAfterARestart(t *testing.T) {
	r, m := drafting(t, nil, always(two))
	gate := make(chan struct{})
	r.work.on("second", r.work.gated(gate))
	id := r.begin(own("", "alice"))
	r.await(func() bool { return r.work.did("second") == 1 }, func() string { return "second begun" })
	before := models(t, r.get(id)) // the plan was on the disk before its first step began
	r.down("planner")
	r.up("planner")
	close(gate)
	task := r.ends(id, completed)
	if got := r.work.history(); !slices.Equal(got, []string{"first", "second"}) || len(m.Requests()) != 2 {
		t.Errorf("executed %v with %d requests", got, len(m.Requests()))
	}
	if after := models(t, task); before.Calls != 1 || after.Calls != 2 || after.InputTokens <= before.InputTokens {
		t.Errorf("counted %+v, then %+v", before, after)
	}
}

func TestWithoutAUsablePlanTheBuiltInOneIsUsed(t *testing.T) {
	for name, c := range map[string]struct {
		plan func(int) modeltest.Reply
		note string
	}{
		"a bad plan":           {always(`{"steps":[{"id":"a","skill":"worker/undo","purpose":"","inputs":{}}]}`), `The built-in plan is used: the model's plan cannot be carried out: steps[0].skill: "worker/undo" is not one of yours: worker/do.`},
		"no plan":              {always("Sorry."), "The built-in plan is used: the model's plan cannot be carried out: it is no JSON object."},
		"an endpoint in error": {func(int) modeltest.Reply { return modeltest.Reply{Status: 503, Text: "down for key sk-1"} }, "The built-in plan is used: the model could not be reached: HTTP 503."},
	} {
		t.Run(name, func(t *testing.T) {
			r, _ := drafting(t, nil, c.plan)
			task := r.run(own("", "alice"))
			r.is(task, completed)
			if said := models(t, task); said.Drafted || said.Note != c.note {
				t.Errorf("the task says %+v", said)
			}
			if got := r.work.history(); !slices.Equal(got, []string{"investigate"}) {
				t.Errorf("executed %v", got)
			}
		})
	}
}

func TestAPlanThatIsPutRightIsUsed(t *testing.T) {
	r, m := drafting(t, nil, func(n int) modeltest.Reply {
		if n == 1 {
			return modeltest.Reply{Text: strings.Replace(two, "steps.first", "steps.none", 1)}
		}
		return modeltest.Reply{Text: two}
	})
	task := r.run(own("", "alice"))
	r.is(task, completed)
	if said := models(t, task); said.Repairs != 1 || !strings.Contains(m.Requests()[1].Text(), `unknown step "none"`) && !strings.Contains(m.Requests()[1].Text(), "none") {
		t.Errorf("%+v; asked again with %s", said, m.Requests()[1].Text())
	}
}

func TestTheModelMayAskWhatItNeeds(t *testing.T) {
	r, m := drafting(t, nil, func(n int) modeltest.Reply {
		if n == 1 {
			return modeltest.Reply{Text: `{"question":"Which account?","steps":[]}`}
		}
		return modeltest.Reply{Text: two}
	})
	task := r.run(own("", "alice"))
	r.is(task, needs)
	if note(task) != "Which account?" {
		t.Errorf("asks %q", note(task))
	}
	more := own("", "The savings account.")
	more.TaskId = task.GetId()
	r.begin(more)
	if said := models(t, r.ends(task.GetId(), completed)); said.Calls != 3 {
		t.Errorf("counted %+v", said)
	}
	if got := m.Requests()[1].Text(); !strings.Contains(got, "The savings account.") {
		t.Errorf("the model was asked %s", got)
	}
}

func TestWhatModelsMayUseForATaskIsBounded(t *testing.T) {
	r, m := drafting(t, func(c *planner.Model) { c.Tokens = 500 }, always(two))
	task := r.run(own("", "alice"))
	r.is(task, completed)
	said := models(t, task)
	if said.Drafted || said.Calls != 1 || // which wrote the answer: what is left is enough for that
		!strings.Contains(said.Note, "what models may use for one task is spent: 0 of 500 tokens") || len(m.Requests()) != 1 {
		t.Errorf("after %d requests the task says %+v", len(m.Requests()), said)
	}
}

func TestACancelEndsTheWaitForAPlan(t *testing.T) {
	r, m := drafting(t, nil, func(int) modeltest.Reply { return modeltest.Reply{Hang: true} })
	id := r.begin(own("", "alice"))
	r.await(func() bool { return len(m.Requests()) == 1 }, func() string { return "the model is asked" })
	r.cancel(id)
	if task := r.ends(id, canceled); note(task) != "Canceled. The plan had not begun." {
		t.Errorf("it says %q", note(task))
	}
}

func TestWhatAModelToldAStepToDoIsLabelledAsTheRequest(t *testing.T) {
	acting := `{"steps":[{"id":"pay","skill":"worker/do","purpose":"Pay.","inputs":{"to":"mallory"}}]}`
	for integrity, asks := range map[label.Integrity]bool{label.Trusted: false, label.Untrusted: true} {
		t.Run(string(integrity), func(t *testing.T) {
			r, _ := drafting(t, nil, always(acting))
			r.up("review")
			m := own("", "alice")
			label.Labels{Integrity: integrity}.Set(m.GetParts()[0])
			task := r.run(m)
			if !asks {
				r.is(task, completed)
				return
			}
			r.is(task, needsAuth)
			if r.work.did("pay") != 0 {
				t.Error("it acted on what nobody vouches for")
			}
			in := r.people.asked()[0].Inputs
			r.people.decide(approved(in["content"]))
			r.ends(task.GetId(), completed)
		})
	}
}

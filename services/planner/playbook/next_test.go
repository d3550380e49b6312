package playbook

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
)

const reviewed = `
playbook: reviewed
version: 1.2.0
input:
  text: query
  schema:
    type: object
    required: [query]
    properties:
      query: {type: string, description: What you want to know.}
      limit: {type: integer, default: 5, maximum: 5}
      remember: {type: boolean, default: false}
steps:
  - id: search
    agent: research
    skill: search
    inputs: {query: = input.query, limit: = input.limit, mode: plain, sign: "==", deep: [1, {flag: true, none: null, at: 2026-01-02}]}
  - id: recall
    agent: memory
    skill: recall
    optional: true
    inputs: {query: = input.query}
  - id: draft
    agent: planner
    skill: synthesise
    inputs:
      question: = input.query
      passages: = steps.search.output.data.?results.orValue([])
      memories: = steps.recall.output.data.?memories.orValue([])
      feedback: = revision.feedback.data.?reasons.orValue([])
      max_sentences: = 4 - revision.round
  - id: validate
    agent: validator
    skill: validate
    inputs: {answer: = steps.draft.output.text}
    revise: {step: draft, until: steps.validate.output.data.confidence >= 0.6, max: 2, exhausted: continue}
  - id: keep
    agent: memory
    skill: remember
    when: input.remember
    side_effects: true
    inputs: {text: = steps.draft.output.text}
    compensation: {agent: memory, skill: forget, inputs: {id: = steps.keep.output.data.id, was: = steps.draft.output.text}}
threshold:
  step: validate
  min_confidence: 0.6
  reasons: "= steps.draft.output.data.answered ? [] : [steps.draft.output.text]"
output:
  text: = steps.draft.output.text
  data:
    confidence: = steps.validate.output.data.confidence
    kept: = steps.keep.state == "COMPLETED"
`

func mustParse(t *testing.T, src string) *Playbook {
	t.Helper()
	p, err := Parse("test.yaml", []byte(src), Personas())
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// story drives a playbook as an interpreter would: it applies decisions and answers for steps.
type story struct {
	t    *testing.T
	book *Playbook
	run  Run
	last Next
}

func begin(t *testing.T, src, text string, data map[string]any) *story {
	p := mustParse(t, src)
	s := &story{t: t, book: p, run: Run{Input: p.Input.Prepare(text, data), Steps: map[string]StepRun{}, Loops: map[string]LoopRun{}}}
	if gaps := p.Input.Check(s.run.Input); gaps != nil {
		t.Fatalf("the input has gaps: %v", gaps)
	}
	s.step()
	return s
}

// step calls Next, applies it and keeps it.
func (s *story) step() {
	s.t.Helper()
	s.last = s.book.Next(s.run)
	for _, r := range s.last.Revise {
		for _, id := range r.Reset {
			s.run.Steps[id] = StepRun{}
		}
		s.run.Loops[r.Loop.Judge] = LoopRun{Round: r.Round, Feedback: r.Feedback}
	}
	for _, id := range s.last.Skip {
		s.run.Steps[id] = StepRun{State: Skipped}
	}
	for _, st := range s.last.Start {
		s.run.Steps[st.Step.ID] = StepRun{State: Running}
	}
}

func (s *story) completes(id, text string, data map[string]any) {
	s.t.Helper()
	s.settles(id, StepRun{State: Completed, Output: Output{Text: text, Data: data, State: "TASK_STATE_COMPLETED", Task: "t-" + id}})
}

func (s *story) settles(id string, r StepRun) {
	s.t.Helper()
	if s.run.Steps[id].State != Running {
		s.t.Fatalf("step %s is %q, not running", id, s.run.Steps[id].State)
	}
	s.run.Steps[id] = r
	s.step()
}

// expect compares the last decision, written in one line, with want.
func (s *story) expect(want string) {
	s.t.Helper()
	if got := describe(s.t, s.last); got != want {
		s.t.Fatalf("got\n  %s\nwant\n  %s", got, want)
	}
}

func describe(t *testing.T, n Next) string {
	t.Helper()
	var parts []string
	for _, r := range n.Revise {
		parts = append(parts, fmt.Sprintf("revise %s round %d [%s]", r.Loop.Judge, r.Round, strings.Join(r.Reset, " ")))
	}
	if len(n.Skip) > 0 {
		parts = append(parts, "skip "+strings.Join(n.Skip, " "))
	}
	for _, st := range n.Start {
		inputs, err := json.Marshal(st.Inputs)
		if err != nil {
			t.Fatal(err)
		}
		parts = append(parts, fmt.Sprintf("start %s@%d %s", st.Step.ID, st.Round, inputs))
	}
	if n.Failure != nil {
		parts = append(parts, fmt.Sprintf("fail %s %s: %s", n.Failure.Step, n.Failure.Kind, strings.Join(n.Failure.Reasons, " | ")))
	}
	if n.Done != nil {
		data, _ := json.Marshal(n.Done.Data)
		parts = append(parts, fmt.Sprintf("done %q %s", n.Done.Text, data))
	}
	return strings.Join(parts, "; ")
}

func TestPlanRunsInParallelAndAnswers(t *testing.T) {
	s := begin(t, reviewed, "why?", nil)
	s.expect(`start search@0 {"deep":[1,{"at":"2026-01-02","flag":true,"none":null}],"limit":5,"mode":"plain","query":"why?","sign":"="}; start recall@0 {"query":"why?"}`)
	s.completes("recall", "", nil)
	s.expect("")
	s.completes("search", "", map[string]any{"results": []any{map[string]any{"text": "because"}}})
	s.expect(`start draft@0 {"feedback":[],"max_sentences":4,"memories":[],"passages":[{"text":"because"}],"question":"why?"}`)
	s.completes("draft", "Because.", map[string]any{"answered": true})
	s.expect(`start validate@0 {"answer":"Because."}`)
	s.completes("validate", "", map[string]any{"confidence": 0.9, "verdict": "pass"})
	s.expect(`skip keep; done "Because." {"confidence":0.9,"kept":false}`)
}

func TestJudgeSendsWorkBackWithFeedback(t *testing.T) {
	s := begin(t, reviewed, "why?", map[string]any{"remember": true})
	s.completes("recall", "", nil)
	s.completes("search", "", nil)
	s.completes("draft", "Bad.", map[string]any{"answered": true})
	s.completes("validate", "", map[string]any{"confidence": 0.1, "reasons": []any{"no support"}})
	s.expect(`revise validate round 1 [draft validate]; start draft@1 {"feedback":["no support"],"max_sentences":3,"memories":[],"passages":[],"question":"why?"}`)
	s.completes("draft", "Better.", map[string]any{"answered": true})
	s.completes("validate", "", map[string]any{"confidence": 0.6})
	s.expect(`start keep@0 {"text":"Better."}`)
	s.completes("keep", "", map[string]any{"id": "m1"})
	s.expect(`done "Better." {"confidence":0.6,"kept":true}`)
	inputs, err := s.book.CompensationInputs(s.book.Step("keep"), s.run)
	if want := map[string]any{"id": "m1", "was": "Better."}; err != nil || !reflect.DeepEqual(inputs, want) {
		t.Errorf("compensation inputs are %v, %v; want %v", inputs, err, want)
	}
	if inputs, err := s.book.CompensationInputs(s.book.Step("search"), s.run); inputs != nil || err != nil {
		t.Errorf("a step without compensation gave %v, %v", inputs, err)
	}
}

func TestPlanFailsUnderTheThresholdBeforeSideEffects(t *testing.T) {
	s := begin(t, reviewed, "why?", map[string]any{"remember": true})
	s.completes("recall", "", nil)
	s.completes("search", "", nil)
	for range 3 {
		s.completes("draft", "No passage answers this.", map[string]any{"answered": false})
		s.completes("validate", "", map[string]any{"confidence": 0.2, "reasons": []any{"no claim is supported"}})
	}
	s.expect(`fail validate BELOW_THRESHOLD: the confidence of 0.20 is under the threshold of 0.60 | no claim is supported | No passage answers this.`)
	if v := s.last.Failure.Verdict; v == nil || v.Passed || v.Confidence != 0.2 || v.MinConfidence != 0.6 {
		t.Errorf("the verdict is %+v", v)
	}
}

func TestExhaustedLoopFailsThePlanUnlessItSaysContinue(t *testing.T) {
	s := begin(t, strings.Replace(reviewed, ", exhausted: continue", "", 1), "why?", nil)
	s.completes("recall", "", nil)
	s.completes("search", "", nil)
	for range 3 {
		s.completes("draft", "Bad.", map[string]any{"answered": true})
		s.completes("validate", "", map[string]any{"confidence": 0.2, "reasons": []any{"wrong sum"}})
	}
	s.expect(`fail validate UNREVISED: after 2 revisions step "validate" was still not satisfied | wrong sum`)
}

func TestFailedStepsFailThePlanUnlessOptional(t *testing.T) {
	s := begin(t, reviewed, "why?", nil)
	s.settles("recall", StepRun{State: Failed, Reason: "memory is not reachable"})
	s.expect("")
	s.settles("search", StepRun{State: Failed, Reason: "the index is empty"})
	s.expect(`fail search STEP_FAILED: step "search" failed: the index is empty`)

	s = begin(t, reviewed, "why?", nil)
	s.settles("recall", StepRun{State: Failed, Reason: "memory is not reachable"})
	s.completes("search", "", nil)
	s.expect(`start draft@0 {"feedback":[],"max_sentences":4,"memories":[],"passages":[],"question":"why?"}`)
	s.settles("draft", StepRun{State: Canceled})
	s.expect(`fail draft STEP_FAILED: step "draft" failed: it was cancelled`)
}

func TestExpressionThatFailsOnTheValuesNamesItsPlace(t *testing.T) {
	s := begin(t, reviewed, "why?", nil)
	s.completes("recall", "", nil)
	s.completes("search", "", nil)
	s.completes("draft", "Because.", nil)
	s.completes("validate", "", map[string]any{"verdict": "pass"})
	s.expect(`fail validate BAD_EXPRESSION: test.yaml:36: steps[3].revise.until: no such key: confidence`)
}

func TestChainOfSkippedStepsSettlesInOneDecision(t *testing.T) {
	s := begin(t, `
playbook: skips
version: 1
steps:
  - {id: a, agent: memory, skill: recall, when: "false"}
  - {id: b, agent: memory, skill: recall, when: steps.a.state == "COMPLETED"}
  - {id: c, agent: memory, skill: recall, needs: [b], inputs: {seen: "= [steps.a.state, steps.b.state]", text: "= steps.b.output.text"}}
output: {data: "= {'a': steps.a.state, 'c': steps.c.output.state}"}
`, "", nil)
	s.expect(`skip a b; start c@0 {"seen":["SKIPPED","SKIPPED"],"text":""}`)
	s.completes("c", "", nil)
	s.expect(`done "" {"a":"SKIPPED","c":"TASK_STATE_COMPLETED"}`)
}

func TestStepThatReadsALoopFromOutsideWaitsForItsEnd(t *testing.T) {
	s := begin(t, `
playbook: outside
version: 1
steps:
  - {id: draft, agent: research, skill: search, inputs: {round: = revision.round}}
  - {id: publish, agent: memory, skill: remember, inputs: {text: = steps.draft.output.text}}
  - id: judge
    agent: validator
    skill: judge
    inputs: {answer: = steps.draft.output.text}
    revise: {step: draft, until: steps.judge.output.data.ok, max: 1}
output: {text: = steps.draft.output.text}
`, "", nil)
	s.expect(`start draft@0 {"round":0}`)
	s.completes("draft", "one", nil)
	s.expect(`start judge@0 {"answer":"one"}`)
	s.completes("judge", "", map[string]any{"ok": false})
	s.expect(`revise judge round 1 [draft judge]; start draft@1 {"round":1}`)
	s.completes("draft", "two", nil)
	s.completes("judge", "", map[string]any{"ok": true})
	s.expect(`start publish@0 {"text":"two"}`)
	if got := s.book.Step("publish").Needs; !slices.Equal(got, []string{"draft", "judge"}) {
		t.Errorf("publish needs %v", got)
	}
}

func TestNextIsTheSameForTheSameRun(t *testing.T) {
	s := begin(t, reviewed, "why?", nil)
	s.completes("recall", "", nil)
	before := describe(t, s.book.Next(s.run))
	for range 20 {
		if got := describe(t, s.book.Next(s.run)); got != before {
			t.Fatalf("got %s, then %s", before, got)
		}
	}
	if s.run.Steps["search"].State != Running {
		t.Error("Next changed the run it was given")
	}
}

func TestMapsAreReadInTheOrderOfTheirKeys(t *testing.T) {
	data := map[string]any{"z": 1.0, "a": map[string]any{"y": 2.0, "b": 3.0}, "m": []any{"<x>"}, "k": nil, "q": true}
	for range 20 {
		s := begin(t, `
playbook: order
version: 1
steps:
  - {id: a, agent: memory, skill: recall, inputs: {keys: "= input.map(k, k)", inner: "= input.a.map(k, k)", json: = json(input)}}
output: {text: done}
`, "", data)
		s.expect(`start a@0 {"inner":["b","y"],"json":"{\"a\":{\"b\":3,\"y\":2},\"k\":null,\"m\":[\"\u003cx\u003e\"],\"q\":true,\"z\":1}","keys":["a","k","m","q","z"]}`)
	}
}

func TestReadyIgnoresConditions(t *testing.T) {
	p := mustParse(t, reviewed)
	if got := p.Ready(Run{}); !slices.Equal(got, []string{"search", "recall"}) {
		t.Errorf("ready: %v", got)
	}
	run := Run{Steps: map[string]StepRun{"search": {State: Completed}, "recall": {State: Failed}}}
	if got := p.Ready(run); !slices.Equal(got, []string{"draft"}) {
		t.Errorf("ready after an optional failure: %v", got)
	}
}

func TestThresholdNeedsACompletedValidationWithAConfidence(t *testing.T) {
	th := &Threshold{Step: "validate", MinConfidence: 0.5}
	data := func(kv ...any) map[string]any {
		m := map[string]any{}
		for i := 0; i < len(kv); i += 2 {
			m[kv[i].(string)] = kv[i+1]
		}
		return m
	}
	for _, tt := range []struct {
		name string
		step StepRun
		want string
	}{
		{"passes", StepRun{State: Completed, Output: Output{Data: data("confidence", 0.5)}}, ""},
		{"verdict", StepRun{State: Completed, Output: Output{Data: data("confidence", 0.8, "verdict", "fail", "reasons", []any{"sum is wrong"})}}, `step "validate" gave the verdict fail, at a confidence of 0.80 | sum is wrong`},
		{"low", StepRun{State: Completed, Output: Output{Data: data("confidence", 0.49, "reasons", "one")}}, "the confidence of 0.49 is under the threshold of 0.50 | one"},
		{"none", StepRun{State: Completed, Output: Output{Data: data("confidence", "high")}}, `step "validate" gave no confidence between 0 and 1`},
		{"out of range", StepRun{State: Completed, Output: Output{Data: data("confidence", 1.5)}}, `step "validate" gave no confidence between 0 and 1`},
		{"skipped", StepRun{State: Skipped}, `the answer was not validated: step "validate" was skipped`},
		{"failed", StepRun{State: Failed}, `the answer was not validated: step "validate" did not complete`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			v := th.Check(tt.step)
			if got := strings.Join(v.Reasons, " | "); got != tt.want || v.Passed != (tt.want == "") {
				t.Errorf("got %v %q, want %q", v.Passed, got, tt.want)
			}
		})
	}
}

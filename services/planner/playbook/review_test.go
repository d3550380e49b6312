package playbook

import (
	"slices"
	"strings"
	"testing"
)

// gated is a payment behind a threshold with a review.
const gated = `
playbook: gated
version: 1
steps:
  - {id: read, agent: research, skill: search}
  - {id: check, agent: validator, skill: validate, inputs: {answer: "= steps.read.output.text"}}
  - {id: note, agent: memory, skill: remember, inputs: {text: "= steps.read.output.text"}}
  - {id: person, agent: review, skill: review, when: "size(steps.read.output.text) > 0", inputs: {content: "= steps.read.output.text"}}
  - id: pay
    agent: executor
    skill: call-tool
    side_effects: true
    needs: [check]
    inputs: {text: "= steps.person.output.data.?content.orValue(steps.read.output.text)"}
threshold: {step: check, min_confidence: 0.7, review: person}
output: {text: = steps.pay.output.text}
`

func TestOverTheThresholdNobodyIsAsked(t *testing.T) {
	s := begin(t, gated, "", nil)
	s.completes("read", "40 euros", nil)
	s.completes("note", "", nil)
	s.completes("check", "", map[string]any{"confidence": 0.9})
	s.expect(`skip person; start pay@0 {"text":"40 euros"}`)
	s.completes("pay", "paid", nil)
	s.expect(`done "paid" null`)
}

// under brings the playbook under its threshold.
func under(t *testing.T) *story {
	s := begin(t, gated, "", nil)
	s.completes("read", "40 euros", nil)
	s.completes("check", "", map[string]any{"confidence": 0.4, "reasons": []any{"nobody said so"}})
	s.expect(`start person@0 {"content":"40 euros"}`)
	v := s.last.Start[0].Verdict
	if v == nil || v.Confidence != 0.4 || !slices.Equal(v.Reasons, []string{"the confidence of 0.40 is under the threshold of 0.70", "nobody said so"}) {
		t.Fatalf("verdict %+v", v)
	}
	s.completes("note", "", nil) // what does not need the check goes on
	s.expect("")
	return s
}

func TestUnderTheThresholdOnlyTheReviewStarts(t *testing.T) {
	s := under(t)
	s.completes("person", "", map[string]any{"decision": "approved", "content": "45 euros", "edited": true})
	s.expect(`start pay@0 {"text":"45 euros"}`)
	s.completes("pay", "paid", nil)
	s.expect(`done "paid" null`)
}

func TestWhatPeopleDoNotApproveEndsThePlan(t *testing.T) {
	no := func(reason string) []any {
		return []any{map[string]any{"approved": true, "reason": "fine"}, map[string]any{"approved": false, "reason": reason}}
	}
	for name, c := range map[string]struct {
		data map[string]any
		want string
	}{
		"rejected":    {map[string]any{"decision": "rejected", "decisions": no("it was 50")}, `fail person REJECTED: step "person": it was rejected: it was 50`},
		"by policy":   {map[string]any{"decision": "rejected", "decisions": []any{}, "reason": "too late"}, `fail person REJECTED: step "person": it was rejected: too late`},
		"no reason":   {map[string]any{"decision": "rejected"}, `fail person REJECTED: step "person": it was rejected`},
		"expired":     {map[string]any{"decision": "expired"}, `fail person REJECTED: step "person": nobody decided in time, which counts as a rejection`},
		"no decision": {map[string]any{}, `fail person STEP_FAILED: step "person" gave no decision`},
	} {
		t.Run(name, func(t *testing.T) {
			s := under(t)
			s.completes("person", "", c.data)
			s.expect(c.want)
		})
	}
}

func TestAReviewThatCannotBeHadFailsWithTheReasons(t *testing.T) {
	s := under(t)
	s.settles("person", StepRun{State: Failed, Reason: "agent review is not connected"})
	s.expect(`fail person STEP_FAILED: the confidence of 0.40 is under the threshold of 0.70 | nobody said so | step "person" failed: agent review is not connected`)
}

func TestWhatIsNotForPeopleFailsUnderTheThreshold(t *testing.T) {
	s := begin(t, gated, "", nil)
	s.completes("read", "", nil)
	s.completes("note", "", nil)
	s.completes("check", "", map[string]any{"confidence": 0.4})
	s.expect(`fail check BELOW_THRESHOLD: the confidence of 0.40 is under the threshold of 0.70`)
}

// A review step of the file's own, before an action.
const asked = `
playbook: asked
version: 1
steps:
  - {id: ask, agent: review, skill: review, inputs: {content: {amount: 40}}}
  - {id: pay, agent: executor, skill: call-tool, side_effects: true, needs: [ask]}
output: {text: = steps.pay.state}
`

func TestAnActionWaitsForItsReview(t *testing.T) {
	s := begin(t, asked, "", nil)
	s.expect(`start ask@0 {"content":{"amount":40}}`)
	s.completes("ask", "", map[string]any{"decision": "rejected", "decisions": []any{map[string]any{"approved": false, "reason": "too much"}}})
	s.expect(`fail ask REJECTED: step "ask": it was rejected: too much`)
	if book := mustParse(t, asked); book.Kind(book.Step("ask")) != KindAction {
		t.Fatalf("kind %q", book.Kind(book.Step("ask")))
	}
}

func TestAnOptionalReviewIsForTheFileToRead(t *testing.T) {
	s := begin(t, strings.Replace(strings.Replace(asked, "skill: review,", "skill: review, optional: true,", 1),
		"needs: [ask]", "when: 'steps.ask.output.data.decision == \"approved\"'", 1), "", nil)
	s.completes("ask", "", map[string]any{"decision": "rejected"})
	s.expect(`skip pay; done "SKIPPED" null`)
}

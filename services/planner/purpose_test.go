package planner_test

import (
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"

	"sabha.dev/chassis/agent"
	"sabha.dev/chassis/disclosure"
)

const grades = `playbook: grades
version: 1
description: Grades an application with the applicant's consent.
budget: 10m
defaults: {retries: {max: 0}}
input: {schema: {type: object, properties: {say: {type: string}}}, text: say}
steps:
  - {id: agreed, agent: worker, skill: do, when: input.say == "yes", inputs: {text: agreed}}
  - {id: grade, agent: worker, skill: do, purpose: mortgage-underwriting, consent: agreed, inputs: {n: 1}}
  - {id: told, agent: worker, skill: do, purpose: marketing, inputs: {n: 2}}
  - {id: plain, agent: worker, skill: do, inputs: {n: 3}}
output: {text: done}
`

// A step's message says what its data is used for, and which step of the plan has recorded
// the consent to that: none where that step was left out.
func TestAStepStatesItsPurposeAndTheConsentToIt(t *testing.T) {
	r := start(t, options{}, grades)
	for say, consent := range map[string]bool{"yes": true, "no": false} {
		task := r.run(message("grades", agent.Text(say)))
		r.is(task, a2apb.TaskState_TASK_STATE_COMPLETED)
		want := map[string]disclosure.Purpose{"grade": {Name: "mortgage-underwriting"}, "told": {Name: "marketing"}, "plain": {}}
		if consent {
			want["grade"] = disclosure.Purpose{Name: "mortgage-underwriting", Consent: task.GetId() + "/agreed"}
		}
		for step, of := range want {
			if got := disclosure.PurposeOf(r.work.sent(step)); got != of {
				t.Errorf("after %q step %s states %+v, want %+v", say, step, got, of)
			}
		}
		// Operators see what the playbook states.
		shown := r.plan(task.GetId())
		for step, want := range map[string][2]string{"grade": {"mortgage-underwriting", "agreed"}, "told": {"marketing", ""}, "plain": {}} {
			if got := [2]string{shown[step].GetPurpose(), shown[step].GetConsent()}; got != want {
				t.Errorf("step %s is shown with %q, want %q", step, got, want)
			}
		}
	}
}

package assembly_test

import (
	"strings"
	"testing"

	"sabha.dev/chassis/ext"
	"sabha.dev/cmd/sabha/platform"
	"sabha.dev/services/planner"
	"sabha.dev/testrig/modeltest"
)

// backups is a plan in which two agents work side by side and a third computes with what
// one of them found.
const backups = `{"question":"","steps":[
	{"id":"how_often","skill":"research/investigate","purpose":"How often backups are taken.","inputs":{"query":"How often are backups of the customer database taken?","limit":3}},
	{"id":"known","skill":"memory/recall","purpose":"What was said of it before.","inputs":{"query":"= input.query"}},
	{"id":"a_day","skill":"executor/run-code","purpose":"How many that is in a day.","inputs":{"code":"24 // inputs['hours'] if inputs['found'] else 0","inputs":{"hours":6,"found":"= steps.how_often.output.data.?results.orValue([]).size() > 0"}}}]}`

func TestAModelPlansWithTheRealAgents(t *testing.T) {
	m := modeltest.New(t, func(req modeltest.Request) modeltest.Reply {
		if req.ResponseFormat != nil {
			return modeltest.Reply{Text: backups}
		}
		passages := strings.Count(req.Text(), "<passage ")
		if !strings.Contains(req.Text(), `How many that is in a day.:  {"value":4}`) || passages < 2 {
			return modeltest.Reply{Status: 500, Text: req.Text()}
		}
		return modeltest.Reply{Text: "Backups of the customer database are taken every six hours [1]."}
	})
	r := start(t, func(o *platform.Options) { o.Model = planner.Model{BaseURL: m.URL(), Name: "scripted"} })
	task := r.grpc(question)
	text, data := answer(task)
	if task.GetStatus().GetState() != completed || !strings.Contains(text, "every six hours") || data["method"] != "model" {
		t.Fatalf("%v\n%v", task, data)
	}
	models := task.GetMetadata().GetFields()[ext.Models].GetStructValue().AsMap()
	if models["drafted"] != true || models["calls"] != 2.0 || models["model"] != "scripted" {
		t.Errorf("the task says %v", models)
	}
	agents := map[string]bool{}
	for _, s := range task.GetMetadata().GetFields()[ext.Plan].GetStructValue().GetFields()["steps"].GetListValue().GetValues() {
		f := s.GetStructValue().GetFields()
		agents[f["agent"].GetStringValue()+"/"+f["skill"].GetStringValue()] = true
	}
	for _, want := range []string{"research/investigate", "memory/recall", "executor/run-code", "validator/validate"} {
		if !agents[want] {
			t.Errorf("%s had no part in it: %v", want, agents)
		}
	}
}

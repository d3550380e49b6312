package planner_test

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"

	"sabha.dev/chassis/agent"
	adminv1 "sabha.dev/gen/sabha/admin/v1"
)

// Operators find requests by what their plans are, whatever engine keeps them.
func TestRequestsAreFoundByTheirPlans(t *testing.T) {
	for engine, database := range map[string]func(testing.TB) string{"sqlite": func(testing.TB) string { return "" }, "postgres": postgres.URL} {
		t.Run(engine, func(t *testing.T) { foundByPlans(t, start(t, options{database: database(t)}, filtered...)) })
	}
}

var filtered = []string{`playbook: plain
version: 1
description: One step.
steps:
  - {id: a, agent: worker, skill: do}
output: {text: done}
`, `playbook: lenient
version: 1
description: One step may fail.
defaults: {retries: {max: 0}}
steps:
  - {id: try, agent: worker, skill: do, optional: true}
  - {id: b, agent: spare, skill: do, needs: [try]}
output: {text: done}
`, `playbook: patient
version: 1
description: A step that is tried again much later.
defaults: {retries: {max: 3, backoff: 20s, max_backoff: 20s, jitter: 0}}
steps:
  - {id: later, agent: worker, skill: do}
output: {text: done}
`}

func foundByPlans(t *testing.T, r *rig) {
	r.up("spare")
	r.work.on("try", r.work.fails(9, "no luck"))
	r.work.on("later", r.work.fails(9, "no luck"))
	plain, lenient := r.run(message("plain")), r.run(message("lenient"))
	r.is(plain, completed)
	r.is(lenient, completed)
	patient := r.begin(message("patient"))
	r.until(patient, "waiting for a retry", func(t *a2apb.Task) bool { return steps(t)["later"].Attempt == 1 })
	names := map[string]string{plain.GetId(): "plain", lenient.GetId(): "lenient", patient: "patient"}
	admin := adminv1.NewAdminServiceClient(r.dial("gateway", "planner"))
	for name, c := range map[string]struct {
		q      *adminv1.ListTasksRequest
		want   string
		counts string
	}{
		"all":                           {&adminv1.ListTasksRequest{}, "patient lenient plain", "TASK_STATE_COMPLETED TASK_STATE_WORKING"},
		"by playbook":                   {&adminv1.ListTasksRequest{Playbook: "lenient"}, "lenient", "TASK_STATE_COMPLETED"},
		"by a playbook that has none":   {&adminv1.ListTasksRequest{Playbook: "leni"}, "", ""},
		"by agent":                      {&adminv1.ListTasksRequest{Agent: "worker"}, "patient lenient plain", "TASK_STATE_COMPLETED TASK_STATE_WORKING"},
		"by another agent":              {&adminv1.ListTasksRequest{Agent: "spare"}, "lenient", "TASK_STATE_COMPLETED"},
		"by playbook and agent":         {&adminv1.ListTasksRequest{Agent: "worker", Playbook: "plain"}, "plain", "TASK_STATE_COMPLETED"},
		"with a step that failed":       {&adminv1.ListTasksRequest{FailedStep: "*"}, "lenient", "TASK_STATE_COMPLETED"},
		"with this step failed":         {&adminv1.ListTasksRequest{FailedStep: "try", Agent: "spare"}, "lenient", "TASK_STATE_COMPLETED"},
		"with another step failed":      {&adminv1.ListTasksRequest{FailedStep: "b"}, "", ""},
		"that wait for a retry":         {&adminv1.ListTasksRequest{Retrying: true}, "patient", "TASK_STATE_WORKING"},
		"that wait, by all of it":       {&adminv1.ListTasksRequest{Retrying: true, Playbook: "patient", Agent: "worker", Principal: "service:caller"}, "patient", "TASK_STATE_WORKING"},
		"that wait and have failed":     {&adminv1.ListTasksRequest{Retrying: true, FailedStep: "*"}, "", ""},
		"that wait and are completed":   {&adminv1.ListTasksRequest{Retrying: true, States: []string{"TASK_STATE_COMPLETED"}}, "", "TASK_STATE_WORKING"},
		"of somebody, by playbook":      {&adminv1.ListTasksRequest{Principal: "acme/bob", Playbook: "plain"}, "", ""},
		"by words, of those by agent":   {&adminv1.ListTasksRequest{Agent: "spare", Query: "GO"}, "lenient", ""},
		"by words that nobody has said": {&adminv1.ListTasksRequest{Query: "go now"}, "", ""},
	} {
		res, err := admin.ListTasks(r.ctx(), c.q)
		r.must(err)
		var got []string
		for _, s := range res.GetTasks() {
			got = append(got, names[s.GetId()])
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: %q, want %q", name, strings.Join(got, " "), c.want)
		}
		if counts := strings.Join(slices.Sorted(maps.Keys(res.GetCounts())), " "); counts != c.counts || res.GetCountsMore() {
			t.Errorf("%s: counts %v, want of %q", name, res.GetCounts(), c.counts)
		}
	}
	r.cancel(patient)
	r.ends(patient, canceled)
}

// A cancel by an operator says why to the client, and who to the auditor.
func TestAnOperatorCancelsAPlan(t *testing.T) {
	r := start(t, options{}, trip)
	begun := make(chan struct{})
	r.work.on("hotel", func(ctx context.Context, run agent.Run, n int) (agent.Outcome, error) {
		close(begun)
		return r.work.hangs(ctx, run, n)
	})
	id := r.begin(message("trip"))
	<-begun
	admin := adminv1.NewAdminServiceClient(r.dial("gateway", "planner"))
	res, err := admin.CancelTasks(r.ctx(), &adminv1.CancelTasksRequest{TaskIds: []string{id, "nothing"}, Reason: " the hotel is full "})
	r.must(err)
	if o := res.GetOutcomes(); len(o) != 2 || o[0].GetState() != "TASK_STATE_WORKING" || o[0].GetError() != "" || !strings.Contains(o[1].GetError(), "nothing") {
		t.Fatalf("outcomes %v", o)
	}
	task := r.ends(id, canceled)
	if want := "Canceled by an operator: the hotel is full\nStopped: hotel.\nUndone: flight."; note(task) != want {
		t.Errorf("%q, want %q", note(task), want)
	}
	hops, err := admin.ListHops(r.ctx(), &adminv1.ListHopsRequest{TaskId: id})
	r.must(err)
	var rows []string
	for _, h := range hops.GetHops() {
		rows = append(rows, h.GetOutcome()+" by "+h.GetCaller()+" for "+h.GetPrincipal()+": "+h.GetReason())
	}
	if !slices.Contains(rows, "CANCEL_REQUESTED by gateway for acme/alice: the hotel is full") {
		t.Errorf("hops %q", rows)
	}
	again, err := admin.CancelTasks(r.ctx(), &adminv1.CancelTasksRequest{TaskIds: []string{id}, Reason: "twice"})
	r.must(err)
	if o := again.GetOutcomes()[0]; o.GetState() != "TASK_STATE_CANCELED" || o.GetError() != "" {
		t.Errorf("canceled twice: %v", o)
	}
	hops, err = admin.ListHops(r.ctx(), &adminv1.ListHopsRequest{TaskId: id})
	r.must(err)
	if len(hops.GetHops()) != len(rows) {
		t.Errorf("the second cancel left a row: %v", hops)
	}
}

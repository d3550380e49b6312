package planner_test

import (
	"encoding/json"
	"errors"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"

	"sabha.dev/chassis/agent"
	adminv1 "sabha.dev/gen/sabha/admin/v1"
	"sabha.dev/testrig/clocktest"
)

const sure = `playbook: sure
version: 3
description: Only sure answers, or approved ones.
product: loans
risk: medium
budget: 10m
defaults: {retries: {max: 0}}
steps:
  - {id: draft, agent: worker, skill: do, inputs: {n: 1}, compensation: {agent: worker, skill: undo}}
  - {id: check, agent: worker, skill: do, inputs: {of: "= steps.draft.output.text"}}
  - {id: person, agent: review, skill: review, budget: 5m, inputs: {content: "= steps.draft.output.text"}}
  - {id: send, agent: worker, skill: do, side_effects: true, needs: [check], inputs: {text: "= steps.person.output.data.?content.orValue(steps.draft.output.text)"}}
threshold: {step: check, min_confidence: 0.7, review: person}
output: {text: "= steps.send.output.data.text"}
`

// unsure runs the playbook until it waits for a person.
func unsure(t *testing.T, o options) (*rig, *a2apb.Task) { return unsureOf(t, o, sure) }

func unsureOf(t *testing.T, o options, book string) (*rig, *a2apb.Task) {
	t.Helper()
	r := start(t, o, book)
	r.up("review")
	r.work.on("draft", r.work.gives(map[string]any{"citations": []any{map[string]any{"document": "handbook.md", "text": "A loan is money lent.", "heading_path": []any{"Loans", "Terms"}}}}))
	r.work.on("check", r.work.gives(map[string]any{"confidence": 0.4, "reasons": []any{"nobody said so"}}))
	task := r.run(message("sure", agent.Text("How much is it?\nPlease.")))
	r.is(task, needsAuth)
	return r, task
}

func TestOverTheThresholdNoPersonIsAsked(t *testing.T) {
	r := start(t, options{}, sure)
	r.work.on("check", r.work.gives(map[string]any{"confidence": 0.9}))
	task := r.run(message("sure"))
	r.is(task, completed)
	if text, _ := answer(task); text != "did draft" || states(task)["person"] != "SKIPPED" {
		t.Fatalf("answer %q, %s", text, show(task))
	}
}

func TestUnderTheThresholdAPersonDecides(t *testing.T) {
	r := start(t, options{}, sure)
	r.up("review")
	r.work.on("check", r.work.gives(map[string]any{"confidence": 0.4, "reasons": []any{"nobody said so"}}))
	stream, err := r.client.SendStreamingMessage(r.ctx(), &a2apb.SendMessageRequest{Message: message("sure")})
	r.must(err)
	var seen []a2apb.TaskState
	var id, text string
	for {
		ev, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		r.must(err)
		if id == "" {
			id = ev.GetTask().GetId()
		}
		if a := ev.GetArtifactUpdate(); a != nil {
			text = agent.TextOf(a.GetArtifact().GetParts())
		}
		u := ev.GetStatusUpdate()
		if u == nil {
			continue
		}
		if state := u.GetStatus().GetState(); len(seen) == 0 || seen[len(seen)-1] != state {
			seen = append(seen, state)
		}
		if u.GetStatus().GetState() == needsAuth {
			want := `step "person" waits for a person to decide (queue answers), by 2 January 2030 10:00 UTC. It goes on by itself then; a message to this task is a comment.`
			if got := agent.TextOf(u.GetStatus().GetMessage().GetParts()); got != want {
				t.Fatalf("told %q", got)
			}
			if states(r.get(id))["send"] != "" || r.work.did("send") != 0 {
				t.Fatal("a step behind the threshold began before the decision")
			}
			r.people.decide(map[string]any{"decision": "approved", "content": "45 euros", "edited": true, "original": "did draft"})
		}
	}
	if want := []a2apb.TaskState{working, needsAuth, working, completed}; !slices.Equal(seen, want) {
		t.Fatalf("the stream told %v, want %v", seen, want)
	}
	if text != "45 euros" || len(r.people.asked()) != 1 {
		t.Fatalf("answer %q after %d items", text, len(r.people.asked()))
	}
}

func TestReviewersSeeWhatTheDecisionRestsOn(t *testing.T) {
	r, task := unsure(t, options{})
	in := r.people.asked()[0].Inputs
	plan := in["plan"].(map[string]any)
	delete(in, "plan")
	got, err := json.Marshal(in)
	r.must(err)
	want := `{"confidence":0.4,"content":"did draft","effect":"The plan goes on and carries out: send (worker/do).","kind":"action","labels":{"integrity":"trusted"},"playbook":"sure","product":"loans",` +
		`"reasons":["the confidence of 0.40 is under the threshold of 0.70","nobody said so"],"request":"How much is it?\nPlease.","risk":"medium",` +
		`"sources":[{"document":"handbook.md","location":"Loans › Terms","text":"A loan is money lent.","title":"handbook.md"}],"step":"person","title":"How much is it?…"}`
	if string(got) != want {
		t.Fatalf("people see\n%s\nwant\n%s", got, want)
	}
	var list []string
	for _, x := range plan["steps"].([]any) {
		s := x.(map[string]any)
		list = append(list, s["step"].(string)+" "+s["state"].(string))
	}
	if want := []string{"draft COMPLETED", "check COMPLETED", "person PENDING", "send PENDING"}; !slices.Equal(list, want) || plan["version"] != "3" {
		t.Fatalf("the plan shows %v", plan)
	}
	check := plan["steps"].([]any)[1].(map[string]any)
	if of := check["inputs"].(map[string]any)["of"]; of != "did draft" {
		t.Fatalf("inputs %v", check)
	}
	if data := check["output"].(map[string]any)["data"].(map[string]any); data["confidence"] != 0.4 {
		t.Fatalf("output %v", check)
	}
	r.people.decide(map[string]any{"decision": "approved", "content": "did draft"})
	r.ends(task.GetId(), completed)
}

func TestRejectionEndsThePlanAsRejectedAndUndoesIt(t *testing.T) {
	r, task := unsure(t, options{})
	r.people.decide(map[string]any{"decision": "rejected", "decisions": []any{map[string]any{"person": "acme/maria", "approved": false, "reason": "it was 50"}}})
	task = r.ends(task.GetId(), a2apb.TaskState_TASK_STATE_REJECTED)
	if want := "step \"person\": it was rejected: it was 50\nUndone: draft."; note(task) != want || r.work.did("send") != 0 {
		t.Fatalf("%q after %v", note(task), r.work.history())
	}
}

func TestACommentApprovesNothing(t *testing.T) {
	r, task := unsure(t, options{})
	m := message("", agent.Text("approved!"))
	m.TaskId = task.GetId()
	task = r.run(m)
	r.is(task, needsAuth)
	if r.work.did("send") != 0 || len(r.people.asked()) != 1 {
		t.Fatalf("%s", show(task))
	}
	r.cancel(task.GetId())
	task = r.ends(task.GetId(), canceled)
	if want := "Canceled.\nStopped: person.\nUndone: draft."; note(task) != want {
		t.Fatalf("%q", note(task))
	}
	r.await(func() bool { return r.people.asked()[0].Stopped }, func() string { return "the item withdrawn" })
}

func TestTimeForPeopleIsNotThePlans(t *testing.T) {
	c := clocktest.New(time.Now().UTC())
	r, task := unsureOf(t, options{clock: c}, strings.NewReplacer("budget: 10m", "budget: 5s", "budget: 5m", "budget: 2s").Replace(sure))
	for range 20 { // four times the plan's budget, in steps that leases outlive
		c.Advance(time.Second)
		r.is(r.get(task.GetId()), needsAuth)
	}
	r.people.decide(map[string]any{"decision": "approved", "content": "x"})
	r.ends(task.GetId(), completed)
}

func TestAQuestionOfPeopleIsThePlans(t *testing.T) {
	r, task := unsure(t, options{})
	r.people.ask("which currency?")
	task = r.until(task.GetId(), "asking", func(t *a2apb.Task) bool { return t.GetStatus().GetState() == needs })
	if note(task) != "which currency?" {
		t.Fatalf("asked %q", note(task))
	}
	m := message("", agent.Text("euros"))
	m.TaskId = task.GetId()
	task = r.run(m)
	r.is(task, needsAuth) // the answer is with them
	r.people.decide(map[string]any{"decision": "approved", "content": "45 euros"})
	task = r.ends(task.GetId(), completed)
	if text, _ := answer(task); text != "45 euros" || len(r.people.asked()) != 1 {
		t.Fatalf("answer %q after %d items", text, len(r.people.asked()))
	}
}

func TestWithoutAReviewAgentThePlanFailsWithItsReasons(t *testing.T) {
	r := start(t, options{}, strings.Replace(sure, "budget: 5m", "budget: 300ms", 1))
	r.work.on("check", r.work.gives(map[string]any{"confidence": 0.4, "reasons": []any{"nobody said so"}}))
	task := r.run(message("sure"))
	r.is(task, failed)
	want := "the confidence of 0.40 is under the threshold of 0.70\nnobody said so\nstep \"person\" failed: the agent cannot be reached within its budget\nUndone: draft."
	if note(task) != want {
		t.Fatalf("%q, want %q", note(task), want)
	}
}

// databases of the planner that a test is run on.
func databases(t *testing.T, test func(*testing.T, options)) {
	t.Run("SQLite", func(t *testing.T) { test(t, options{}) })
	t.Run("PostgreSQL", func(t *testing.T) { test(t, options{database: postgres.URL(t)}) })
}

func TestARestartedPlannerFindsTheSameItem(t *testing.T) {
	databases(t, func(t *testing.T, o options) {
		r, task := unsure(t, o)
		before := steps(task)["person"].Task
		r.down("planner")
		r.up("planner")
		r.is(r.get(task.GetId()), needsAuth)
		r.down("review")
		r.up("review")
		r.people.decide(map[string]any{"decision": "approved", "content": "x"})
		task = r.ends(task.GetId(), completed)
		if after := steps(task)["person"].Task; after != before || len(r.people.asked()) != 1 {
			t.Fatalf("item %s became %s; %d in all", before, after, len(r.people.asked()))
		}
	})
}

// What people are shown does not change when the planner dies on the way to them.
func TestAnItemThatMayHaveArrivedIsNotMadeTwice(t *testing.T) {
	r := start(t, options{}, sure)
	r.work.on("check", r.work.gives(map[string]any{"confidence": 0.4}))
	id := r.begin(message("sure"))
	r.until(id, "nobody there to ask", func(t *a2apb.Task) bool { return steps(t)["person"].Reason != "" })
	r.down("planner")
	r.up("review")
	r.up("planner")
	r.until(id, "waiting for a person", func(t *a2apb.Task) bool { return t.GetStatus().GetState() == needsAuth })
	r.down("planner")
	r.up("planner")
	r.people.decide(map[string]any{"decision": "approved", "content": "x"})
	r.ends(id, completed)
	if n := len(r.people.asked()); n != 1 {
		t.Fatalf("%d items", n)
	}
}

func TestAReplicaThatDidNotAskHearsTheDecision(t *testing.T) {
	databases(t, func(t *testing.T, o options) {
		o.replicas = 2
		r := start(t, o, sure)
		r.up("review")
		r.work.on("check", r.work.gives(map[string]any{"confidence": 0.4}))
		var ids []string
		for range 6 {
			ids = append(ids, r.begin(message("sure")))
		}
		for _, id := range ids {
			r.until(id, "waiting for a person", func(t *a2apb.Task) bool { return t.GetStatus().GetState() == needsAuth })
			r.await(func() bool { return r.owner(id) == "" }, func() string { return "parked: " + show(r.get(id)) })
		}
		r.down("planner") // the first one; the second goes on with all of them
		r.people.decide(map[string]any{"decision": "approved", "content": "x"})
		for _, id := range ids {
			r.ends(id, completed)
		}
		if n := len(r.people.asked()); n != len(ids) {
			t.Fatalf("%d items for %d plans", n, len(ids))
		}
	})
}

// The clock stands still, so nothing is looked at because of its time.
func TestADecisionThatAPlannerCouldNotHearIsSeenWhenItIsBack(t *testing.T) {
	decision := map[string]any{"decision": "approved", "content": "x"}
	for name, away := range map[string]func(r *rig, decide func()){
		"the planner was stopped": func(r *rig, decide func()) {
			r.down("planner")
			decide()
			r.up("planner")
		},
		"NATS was away": func(r *rig, decide func()) {
			r.nats.Stop()
			decide()
			r.must(r.nats.Start())
		},
	} {
		t.Run(name, func(t *testing.T) {
			databases(t, func(t *testing.T, o options) {
				c := clocktest.New(time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC))
				o.clock = c
				r := start(t, o, sure)
				r.up("review")
				r.work.on("check", r.work.gives(map[string]any{"confidence": 0.4}))
				id := r.begin(message("sure"))
				r.until(id, "waiting for a person", func(t *a2apb.Task) bool { return t.GetStatus().GetState() == needsAuth })
				r.await(func() bool { return r.owner(id) == "" }, func() string { return "parked: " + show(r.get(id)) })
				child := steps(r.get(id))["person"].Task
				r.seen("review", child)
				away(r, func() {
					r.people.decide(decision)
					r.await(func() bool { return r.seen("review", child).GetState() == completed.String() }, func() string { return "decided" })
				})
				r.ends(id, completed)
			})
		})
	}
}

func TestAServiceSeesTheStatesOfWhatItHasStartedAlone(t *testing.T) {
	databases(t, func(t *testing.T, o options) {
		r, task := unsure(t, o)
		child := steps(task)["person"].Task
		for who, want := range map[string]map[string]string{
			"planner": {child: working.String()},
			"worker":  {},
		} {
			admin := adminv1.NewAdminServiceClient(r.dial(who, "review"))
			res, err := admin.GetStates(t.Context(), &adminv1.GetStatesRequest{TaskIds: []string{child, "nobody's"}})
			r.must(err)
			if !maps.Equal(res.GetStates(), want) {
				t.Errorf("%s sees %v, want %v", who, res.GetStates(), want)
			}
			for problem, ids := range map[string][]string{"at most 500": make([]string, 501), "U+0000": {"a\x00"}} {
				if _, err := admin.GetStates(t.Context(), &adminv1.GetStatesRequest{TaskIds: ids}); err == nil || !strings.Contains(err.Error(), problem) {
					t.Errorf("%s of %d ids: %v", who, len(ids), err)
				}
			}
		}
	})
}

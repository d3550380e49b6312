package page_test

import (
	"context"
	"regexp"
	"strings"
	"testing"
	"time"

	"sabha.dev/chassis/identity"
	"sabha.dev/services/console/internal/page"
	"sabha.dev/services/console/internal/person"
	"sabha.dev/services/console/internal/request"
)

func planned() request.Task {
	t := task()
	t.Plan = request.Plan{
		Playbook: "leave", Version: "2", MayFork: true, ForkedFrom: "t-0", ForkedAt: "find", Reasons: []string{"step draft failed"},
		Steps: []request.Step{
			{Name: "find", Agent: "research", Skill: "investigate", State: request.StepCompleted, Started: noon, Ended: noon.Add(1500 * time.Millisecond), Inputs: `{"a": 1}`, Output: `"found"`},
			{Name: "draft", Agent: "planner", Skill: "synthesise", State: request.StepRunning, Needs: []string{"find"}, Attempt: 1, Allowed: 3, Reason: "no model", Retry: noon.Add(time.Minute), SideEffects: true, Risk: "high", Child: "c-1"},
			{Name: "check", Agent: "validator", State: request.StepPending, Needs: []string{"draft"}, WaitsFor: "auth"},
			{Name: "find", Agent: "research", Skill: "forget", State: request.StepFailed, Undo: true, Reason: "gone"},
		},
	}
	return t
}

func TestAPlanIsDrawnWithItsStatesAndLeadsToItsSteps(t *testing.T) {
	d := page.Detail{Task: planned(), Now: noon.Add(10 * time.Second), TraceURL: "https://traces.example/t/{trace_id}?x"}
	got := html(t, page.TaskPlan(d))
	nodes := regexp.MustCompile(`<a href="#step-([a-z]+)" id="node-[a-z]+" class="node state state-([a-z]+)"`).FindAllStringSubmatch(got, -1)
	var all []string
	for _, n := range nodes {
		all = append(all, n[1]+" "+n[2])
	}
	if s := strings.Join(all, ", "); s != "find completed, draft running, check pending" {
		t.Errorf("nodes %s", s)
	}
	if n := strings.Count(got, `<path d="M`) - strings.Count(got, `<path d="M1`); strings.Count(got, `class="edge `) != 2 || n < 0 {
		t.Errorf("%d edges, want 2", strings.Count(got, `class="edge `))
	}
	wants(t, got, `href="https://traces.example/t/0af7?x"`, `id="step-find"`, `href="/tasks/t-0"`, `href="/playbooks/leave?version=2"`, `action="/tasks/t-1/retry"`, `data-fill-step="find"`, `href="/tasks/t-1/timeline#hop-c-1"`, "edge state state-completed flows")
	wants(t, text(t, page.TaskPlan(d)), "|1 step done, draft running|", "|Completed|find|research · investigate|1.5 s|", "|attempt 2 of 3 · no model|next try|2026-03-01 12:01:00 UTC|", "|2 of 3|",
		"|Last failure:|no model|", "|high risk|side effects|", "waits for a person", "|step draft failed|", "|What was undone|0 of 1, 1 could not be undone|", "|undo find|", "{&#34;a&#34;: 1}")
}

func TestLabelsOfStepsAreShown(t *testing.T) {
	with := task()
	with.Plan.MayFork = true
	with.Plan.Steps = []request.Step{
		{Name: "read", Agent: "research", State: request.StepCompleted, Purpose: "mortgage-underwriting", Consent: "agreed", Sent: []string{"trusted"}, Answered: []string{"untrusted", "sensitive", "iban"}, Untrusted: true, Released: []string{"verdict by its schema"}},
		{Name: "pay.approval", Agent: "review", State: request.StepRunning, Needs: []string{"read"}, Question: true},
	}
	d := page.Detail{Task: with, Now: noon}
	wants(t, text(t, page.TaskPlan(d)), "|Used for|mortgage-underwriting|by consent in|agreed|", "|Inputs are|trusted|", "|Output is|untrusted|sensitive|iban|", "|Released|verdict by its schema|")
	got := html(t, page.TaskPlan(d))
	wants(t, got, `<title>read, Completed, untrusted. </title>`, `href="#step-agreed"`, `id="node-pay.approval"`, `data-fill-step="read"`)
	if strings.Contains(got, `data-fill-step="pay.approval"`) || strings.Count(got, "node-untrusted") != 1 {
		t.Error("a question is offered as a place to begin again, or a step that is not untrusted is marked")
	}
}

func TestOnlyOperatorsAreOfferedWhatTheyMayDo(t *testing.T) {
	for scope, offered := range map[string]bool{identity.Operator: true, identity.Admin: true, identity.Viewer: false, identity.Auditor: false} {
		ctx := person.With(context.Background(), person.Person{Principal: identity.Principal{Subject: "alma", Scopes: []string{scope}}, CSRF: "token-7"})
		var b strings.Builder
		if err := page.TaskPlan(page.Detail{Task: planned(), Now: noon}).Render(ctx, &b); err != nil {
			t.Fatal(err)
		}
		for _, what := range []string{`action="/tasks/t-1/retry"`, `data-open="fork"`, `data-open="cancel-task"`} {
			if strings.Contains(b.String(), what) != offered {
				t.Errorf("%s: %s offered: %t, want %t", scope, what, !offered, offered)
			}
		}
		if offered && !strings.Contains(b.String(), `name="csrf" value="token-7"`) {
			t.Error("forms do not carry the token")
		}
	}
}

func TestTheTimelineShowsCallsInOrderWithTheirAudit(t *testing.T) {
	d := page.Detail{
		Task: task(), Now: noon.Add(12 * time.Second), Missing: []string{"security", "validator"},
		Hops: []request.Hop{
			{Caller: "gateway", Agent: "planner", Skill: "plan-and-run", Outcome: request.Working, Started: noon, Admission: "allowed by policy p-1", Principal: "alma (acme)", RequestDigest: "9f86", TraceID: "0af7", AgentVersion: "1.2", TaskID: "t-1"},
			{Caller: "planner", Agent: "research", Skill: "investigate", Outcome: request.Failed, Reason: "no documents", Started: noon.Add(time.Second), Ended: noon.Add(3 * time.Second), Depth: 1},
			{Caller: "planner", Agent: "memory", Skill: "recall", Outcome: request.Answered, Started: noon.Add(time.Second), Ended: noon.Add(time.Second + 420*time.Microsecond), Depth: 1},
		},
	}
	wants(t, text(t, page.TaskTimeline(d)), "|3 calls|", "security, validator cannot be reached; calls to it are missing here.",
		"|gateway →|planner|plan-and-run|On behalf of|alma (acme)|Admission|allowed by policy p-1|Agent&#39;s version|1.2|", "|Request, SHA-256|9f86|", "|Working|+0.000 s|12 s|",
		"|no documents|Failed|+1.000 s|2 s|", "|inside the platform|", "|Answered|+1.000 s|0.42 ms|")
	wants(t, html(t, page.TaskTimeline(d)), `x="8.33" y="0" width="16.67"`, `id="hop-t-1"`)
}

func TestContentIsShownForWhatItIs(t *testing.T) {
	c := request.Content{
		Messages:  []request.Message{{Parts: []request.Part{{Text: "line one\nline \u202etwo"}, {File: []byte("%PDF"), Name: "pay\u202efdp.exe"}}}, {Agent: true, Parts: []request.Part{{Text: "on it"}}}},
		Artifacts: []request.Artifact{{Name: "answer", Step: "draft", Parts: []request.Part{{Data: `{"x": 1}`, Labels: []string{"untrusted"}}, {File: []byte("GIF"), Image: "image/gif", Name: "a.gif"}, {URL: "javascript:alert(1)"}}}},
	}
	got := html(t, page.TaskContent(task(), c, ""))
	wants(t, got, "line one\nline ⟦U+202E⟧two", `href="/tasks/t-1/files/m-0-1"`, "pay⟦U+202E⟧fdp.exe", `<img src="/tasks/t-1/files/a-0-1?show=1" alt="Image a.gif"`, "<code>javascript:alert(1)</code>", "of step draft", "untrusted")
	if strings.Contains(got, `href="javascript:`) {
		t.Error("a link leads to a script")
	}
}

func TestEventsAreShownWithTheirJSON(t *testing.T) {
	h := page.History{Task: task(), After: 1, Events: request.Events{Newest: 9, More: true, List: []request.Event{
		{Version: 2, At: noon, Kind: "status", State: request.Working, Text: "looking", Raw: []byte(`{"a":1}`)}, {Version: 3, At: noon, Kind: "artifact", Text: "answer", Raw: []byte(`{}`)},
	}}}
	wants(t, text(t, page.TaskEvents(h)), "|newest version 9|", "|2|Working|looking|", "|3|artifact|answer|", "{ &#34;a&#34;: 1 }")
	wants(t, html(t, page.TaskEvents(h)), `href="/tasks/t-1/events?after=3"`, `href="/tasks/t-1/events.ndjson"`)
}

func TestDurationsReadWell(t *testing.T) {
	for d, want := range map[time.Duration]string{
		time.Microsecond: "under 0.01 ms", 460 * time.Microsecond: "0.46 ms", 500 * time.Microsecond: "0.5 ms", 8 * time.Millisecond: "8 ms", 8750 * time.Microsecond: "8.8 ms",
		25 * time.Millisecond: "25 ms", 2 * time.Second: "2 s", 2500 * time.Millisecond: "2.5 s", 40 * time.Second: "40 s", 62 * time.Second: "1 min 02 s",
	} {
		d := page.Detail{Task: task(), Now: noon, Hops: []request.Hop{{Agent: "memory", Started: noon, Ended: noon.Add(d)}}}
		wants(t, text(t, page.TaskTimeline(d)), "|+0.000 s|"+want+"|")
	}
}

func TestATaskTellsWhatModelsDidForIt(t *testing.T) {
	d := page.Detail{Task: planned(), Now: noon.Add(10 * time.Second)}
	d.Task.Models = request.Models{Drafted: true, Name: "small", Repairs: 1, Calls: 3, Read: 12345, Wrote: 678, Cost: 0.001234, Currency: "USD"}
	got := regexp.MustCompile(`<[^>]*>`).ReplaceAllString(html(t, page.TaskPlan(d)), " ")
	got = strings.Join(strings.Fields(got), " ")
	for _, want := range []string{"Plan drafted by small 1 time put right", "Models used 3 calls, 12 345 tokens read, 678 written, 0.00123 USD"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in %.600s", want, got)
		}
	}
	d.Task.Models = request.Models{Note: "The built-in plan is used: the model could not be reached."}
	if got := html(t, page.TaskPlan(d)); !strings.Contains(got, d.Task.Models.Note) || strings.Contains(got, "Models used") {
		t.Error("why the built-in plan is used is not told")
	}
}

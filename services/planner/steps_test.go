package planner_test

import (
	"context"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/structpb"

	"sabha.dev/chassis/agent"
	"sabha.dev/chassis/engine"
	"sabha.dev/testrig/clocktest"
)

const (
	completed = a2apb.TaskState_TASK_STATE_COMPLETED
	failed    = a2apb.TaskState_TASK_STATE_FAILED
	canceled  = a2apb.TaskState_TASK_STATE_CANCELED
	working   = a2apb.TaskState_TASK_STATE_WORKING
	needs     = a2apb.TaskState_TASK_STATE_INPUT_REQUIRED
	needsAuth = a2apb.TaskState_TASK_STATE_AUTH_REQUIRED
)

func same(t *testing.T, what string, got, want map[string]string) {
	t.Helper()
	if !maps.Equal(got, want) {
		t.Fatalf("%s: %v, want %v", what, got, want)
	}
}

const chain = `playbook: chain
version: 1
description: Three steps, each on the one before.
steps:
  - {id: a, agent: worker, skill: do, inputs: {n: 1}}
  - {id: b, agent: worker, skill: do, inputs: {n: "= steps.a.output.data.n + 1.0"}}
  - {id: c, agent: worker, skill: say, inputs: {n: "= steps.b.output.data.n + 1.0"}}
output:
  text: "= steps.c.output.text"
  data: {n: "= steps.b.output.data.n", by: "= steps.b.output.data.step"}
`

func TestChainPassesOutputsOn(t *testing.T) {
	r := start(t, options{}, chain)
	m := message("chain")
	m.ContextId = "conversation-1"
	task := r.run(m)
	r.is(task, completed)
	text, data := answer(task)
	if text != "said C" || data["n"] != 2.0 || data["by"] != "b" {
		t.Fatalf("answer %q %v", text, data)
	}
	same(t, "steps", states(task), map[string]string{"a": "COMPLETED", "b": "COMPLETED", "c": "COMPLETED"})
	if got := r.work.history(); !slices.Equal(got, []string{"a", "b", "c"}) {
		t.Fatalf("executed %v", got)
	}
	if s := steps(task); s["a"].Task == "" || s["c"].Task != "" {
		t.Fatalf("only a step with a child task names one: %v", s)
	}
	for _, place := range r.work.places {
		if place != "conversation-1" {
			t.Fatalf("a child was told the context %q", place)
		}
	}
}

func TestStepsWhoseNeedsAreMetRunInParallel(t *testing.T) {
	r := start(t, options{}, `playbook: fan
version: 1
description: Two steps side by side, then one.
steps:
  - {id: left, agent: worker, skill: do}
  - {id: right, agent: worker, skill: do}
  - {id: join, agent: worker, skill: do, needs: [left, right]}
output: {text: "= steps.join.output.text"}
`)
	begun := make(chan struct{}, 2)
	both := make(chan struct{})
	meet := func(ctx context.Context, run agent.Run, _ int) (agent.Outcome, error) {
		begun <- struct{}{}
		return r.work.gated(both)(ctx, run, 1)
	}
	r.work.on("left", meet)
	r.work.on("right", meet)
	id := r.begin(message("fan"))
	<-begun // neither ends before both have begun
	<-begun
	if r.work.did("join") != 0 {
		t.Fatal("the step that needs both began before them")
	}
	close(both)
	task := r.ends(id, completed)
	if text, _ := answer(task); text != "did join" {
		t.Fatalf("answer %q", text)
	}
}

func TestFalseConditionSkipsAStep(t *testing.T) {
	r := start(t, options{}, `playbook: maybe
version: 1
description: One step runs only sometimes.
steps:
  - {id: a, agent: worker, skill: do, inputs: {n: 1}}
  - {id: b, agent: worker, skill: do, when: steps.a.output.data.n > 1.0}
  - {id: c, agent: worker, skill: do, needs: [b]}
output: {text: "= steps.b.state"}
`)
	task := r.run(message("maybe"))
	r.is(task, completed)
	same(t, "steps", states(task), map[string]string{"a": "COMPLETED", "b": "SKIPPED", "c": "COMPLETED"})
	if text, _ := answer(task); text != "SKIPPED" || r.work.did("b") != 0 {
		t.Fatalf("answer %q, executed %v", text, r.work.history())
	}
}

// one is a playbook of one step with more of its keys.
func one(more string) string {
	return `playbook: one
version: 1
description: One step.
steps:
  - id: a
    agent: worker
    skill: do
` + more + `
output: {text: "= steps.a.output.text"}
`
}

func TestFailedStepIsTriedAgain(t *testing.T) {
	r := start(t, options{}, one("    retries: {max: 3, backoff: 1ms, jitter: 0}"))
	r.work.on("a", r.work.fails(2, "no luck"))
	task := r.run(message("one"))
	r.is(task, completed)
	if s := steps(task)["a"]; s.Attempt != 2 || s.State != "COMPLETED" || s.Reason != "" || r.work.did("a") != 3 {
		t.Fatalf("%+v after %d executions", s, r.work.did("a"))
	}
}

func TestRetriesAreBounded(t *testing.T) {
	r := start(t, options{}, one("    retries: {max: 1, backoff: 1ms}"))
	r.work.on("a", r.work.fails(9, "no luck"))
	task := r.run(message("one"))
	r.is(task, failed)
	if note(task) != `step "a" failed: no luck` || r.work.did("a") != 2 {
		t.Fatalf("%s after %d executions", show(task), r.work.did("a"))
	}
}

func TestRetryWaitsForItsBackoff(t *testing.T) {
	c := clocktest.New(time.Now().UTC())
	r := start(t, options{clock: c}, one("    retries: {max: 3, backoff: 5s, max_backoff: 5s, jitter: 0}"))
	r.work.on("a", r.work.fails(1, "no luck"))
	begun := c.Now()
	id := r.begin(message("one"))
	task := r.until(id, "waiting for a retry", func(t *a2apb.Task) bool { return steps(t)["a"].Attempt == 1 })
	s := steps(task)["a"]
	if s.State != "RUNNING" || s.Reason != "no luck" || s.RetryAt != begun.Add(5*time.Second).Format(time.RFC3339Nano) {
		t.Fatalf("%+v, begun at %v", s, begun)
	}
	c.Advance(4 * time.Second)
	if task = r.get(id); task.GetStatus().GetState() != working || r.work.did("a") != 1 {
		t.Fatalf("tried again early: %s", show(task))
	}
	c.Advance(time.Second)
	r.ends(id, completed)
	if r.work.did("a") != 2 {
		t.Fatalf("executed %d times", r.work.did("a"))
	}
}

func TestWhatCannotSucceedIsNotTriedAgain(t *testing.T) {
	for name, c := range map[string]struct{ inputs, want string }{
		"refused": {"", `step "a" failed: not my work`},
		"invalid": {"    inputs: {bad: true}\n", `step "a" failed: message.parts[0].data.bad: is not taken`},
	} {
		t.Run(name, func(t *testing.T) {
			r := start(t, options{}, one(c.inputs+"    retries: {max: 3, backoff: 1ms}"))
			r.work.on("a", func(context.Context, agent.Run, int) (agent.Outcome, error) {
				return agent.Rejected(agent.Text("not my work")), nil
			})
			task := r.run(message("one"))
			r.is(task, failed)
			if note(task) != c.want || r.work.did("a") != 1 {
				t.Fatalf("%q after %d executions", note(task), r.work.did("a"))
			}
		})
	}
}

func TestStepOverItsBudgetIsStoppedAndTriedAgain(t *testing.T) {
	r := start(t, options{}, one("    budget: 500ms\n    retries: {max: 9, backoff: 1ms}"))
	stopped := make(chan struct{}, 10)
	r.work.on("a", func(ctx context.Context, run agent.Run, n int) (agent.Outcome, error) {
		if n == 1 {
			<-ctx.Done()
			stopped <- struct{}{}
			return agent.Outcome{}, ctx.Err()
		}
		return r.work.answer(run, nil)
	})
	task := r.run(message("one"))
	r.is(task, completed)
	if len(stopped) != 1 {
		t.Fatalf("the first attempt was not canceled: %s", show(task))
	}
	if s := steps(task)["a"]; s.Attempt < 1 || s.State != "COMPLETED" {
		t.Fatalf("%+v", s)
	}
}

func TestStepOverItsBudgetFailsItsPlan(t *testing.T) {
	for name, onLine := range map[string]time.Duration{"waited for": 0, "parked": 20 * time.Millisecond} {
		t.Run(name, func(t *testing.T) {
			r := start(t, options{onLine: onLine}, one("    budget: 200ms\n    retries: {max: 0}"))
			r.work.on("a", r.work.hangs)
			task := r.ends(r.begin(message("one")), failed)
			if note(task) != `step "a" failed: it took longer than its budget of 200ms` {
				t.Fatalf("%q", note(task))
			}
		})
	}
}

func TestPlanOverItsBudgetFailsAndIsUndone(t *testing.T) {
	c := clocktest.New(time.Now().UTC())
	r := start(t, options{clock: c}, `playbook: short
version: 1
description: Out of time.
budget: 5s
steps:
  - {id: a, agent: worker, skill: do, compensation: {agent: worker, skill: undo, inputs: {of: "= steps.a.output.data.step"}}}
  - {id: b, agent: worker, skill: do, needs: [a]}
output: {text: done}
`)
	gate := make(chan struct{})
	r.work.on("a", r.work.gated(gate))
	r.work.on("b", r.work.hangs)
	id := r.begin(message("short"))
	r.await(func() bool { return r.work.did("a") == 1 }, func() string { return "a begun" })
	c.Advance(time.Second) // so that the time of b, which begins now, is up after that of the plan
	close(gate)
	r.await(func() bool { return r.work.did("b") == 1 }, func() string { return "b begun" })
	c.Advance(4 * time.Second)
	task := r.endsOn(c, id, failed)
	if want := "the plan took longer than its budget of 5s\nStopped: b.\nUndone: a."; note(task) != want {
		t.Fatalf("%q, want %q", note(task), want)
	}
	same(t, "steps", states(task), map[string]string{"a": "COMPLETED", "b": "CANCELED", "compensation a": "COMPLETED"})
	if r.work.did("undo a") != 1 {
		t.Fatalf("executed %v", r.work.history())
	}
}

func TestCallersTimeBoundsAPlan(t *testing.T) {
	c := clocktest.New(time.Now().UTC())
	r := start(t, options{clock: c}, one(""))
	r.work.on("a", r.work.hangs)
	ctx := metadata.AppendToOutgoingContext(r.ctx(), engine.DeadlineHeader, strconv.FormatInt(c.Now().Add(5*time.Second).UnixMilli(), 10))
	res, err := r.client.SendMessage(ctx, &a2apb.SendMessageRequest{Message: message("one"), Configuration: &a2apb.SendMessageConfiguration{ReturnImmediately: true}})
	r.must(err)
	r.await(func() bool { return r.work.did("a") == 1 }, func() string { return "a begun" })
	c.Advance(5 * time.Second)
	task := r.endsOn(c, res.GetTask().GetId(), failed)
	if want := "the plan took longer than the time that its caller gave it\nStopped: a."; note(task) != want {
		t.Fatalf("%q, want %q", note(task), want)
	}
}

func TestNumbersThatJSONCannotHoldBecomeTheirNames(t *testing.T) {
	r := start(t, options{}, `playbook: odd
version: 1
description: A step with an odd answer.
steps:
  - {id: a, agent: worker, skill: do}
output: {text: done, data: {n: "= steps.a.output.data.n"}}
`)
	r.work.on("a", func(_ context.Context, run agent.Run, _ int) (agent.Outcome, error) {
		odd := structpb.NewStructValue(&structpb.Struct{Fields: map[string]*structpb.Value{"n": structpb.NewNumberValue(math.Inf(1))}})
		if err := run.Artifact(&a2apb.Artifact{Parts: []*a2apb.Part{{Content: &a2apb.Part_Data{Data: odd}, MediaType: "application/json"}}}); err != nil {
			return agent.Outcome{}, err
		}
		return agent.Completed(), nil
	})
	task := r.run(message("odd"))
	r.is(task, completed)
	if _, data := answer(task); data["n"] != "Infinity" {
		t.Fatalf("answer %v", data)
	}
}

const loop = `playbook: loop
version: 1
description: A judge sends work back.
steps:
  - {id: draft, agent: worker, skill: do, inputs: {round: "= revision.round", why: "= revision.feedback.data.?reasons.orValue([])"}}
  - id: judge
    agent: worker
    skill: do
    inputs: {of: "= steps.draft.output.data.round"}
    revise: {step: draft, until: steps.judge.output.data.good, max: 2}
output: {text: good, data: {round: "= steps.draft.output.data.round", why: "= steps.draft.output.data.why"}}
`

func TestJudgeSendsWorkBackUntilItIsGood(t *testing.T) {
	r := start(t, options{}, loop)
	r.work.on("judge", func(_ context.Context, run agent.Run, n int) (agent.Outcome, error) {
		return r.work.answer(run, map[string]any{"good": n == 2, "reasons": []any{"too short"}})
	})
	task := r.run(message("loop"))
	r.is(task, completed)
	_, data := answer(task)
	if why, _ := data["why"].([]any); data["round"] != 1.0 || len(why) != 1 || why[0] != "too short" {
		t.Fatalf("answer %v", data)
	}
	same(t, "steps", states(task), map[string]string{"draft": "COMPLETED", "judge": "COMPLETED", "draft 1": "COMPLETED", "judge 1": "COMPLETED"})
}

func TestRevisionsAreBounded(t *testing.T) {
	r := start(t, options{}, loop)
	r.work.on("judge", r.work.gives(map[string]any{"good": false, "reasons": []any{"too short", "too dull"}}))
	task := r.run(message("loop"))
	r.is(task, failed)
	want := "after 2 revisions step \"judge\" was still not satisfied\ntoo short\ntoo dull"
	if note(task) != want || r.work.did("draft") != 3 || r.work.did("judge") != 3 {
		t.Fatalf("%q after %v", note(task), r.work.history())
	}
}

func TestUnderTheThresholdAPlanNeverCompletes(t *testing.T) {
	r := start(t, options{}, `playbook: sure
version: 1
description: Only sure answers.
steps:
  - {id: check, agent: worker, skill: do}
threshold: {step: check, min_confidence: 0.7}
output: {text: sure}
`)
	r.work.on("check", r.work.gives(map[string]any{"confidence": 0.4, "reasons": []any{"nobody said so"}}))
	task := r.run(message("sure"))
	r.is(task, failed)
	if want := "the confidence of 0.40 is under the threshold of 0.70\nnobody said so"; note(task) != want || len(task.GetArtifacts()) != 0 {
		t.Fatalf("%q, artifacts %v", note(task), task.GetArtifacts())
	}
	r.work.on("check", r.work.gives(map[string]any{"confidence": 0.9}))
	r.is(r.run(message("sure")), completed)
}

func TestFailureOfAnOptionalStepIsPassedOver(t *testing.T) {
	r := start(t, options{}, `playbook: optional
version: 1
description: One step may fail.
steps:
  - {id: nice, agent: worker, skill: do, optional: true, retries: {max: 0}}
  - {id: must, agent: worker, skill: do, needs: [nice]}
output: {text: "= steps.nice.state + ' ' + steps.must.state"}
`)
	r.work.on("nice", r.work.fails(9, "not today"))
	task := r.run(message("optional"))
	r.is(task, completed)
	if text, _ := answer(task); text != "FAILED COMPLETED" || steps(task)["nice"].Reason != "not today" {
		t.Fatalf("answer %q, %s", text, show(task))
	}
}

func TestUnknownPlaybookIsRefusedBeforeAnythingIsStored(t *testing.T) {
	r := start(t, options{}, chain)
	_, err := r.client.SendMessage(r.ctx(), &a2apb.SendMessageRequest{Message: message("chian")})
	if status.Code(err) != codes.InvalidArgument || !strings.Contains(err.Error(), `"chian"`) || !strings.Contains(err.Error(), "chain") || !strings.Contains(err.Error(), "general") {
		t.Fatalf("%v", err)
	}
	list, err := r.client.ListTasks(r.ctx(), &a2apb.ListTasksRequest{})
	r.must(err)
	if list.GetTotalSize() != 0 {
		t.Fatalf("stored %v", list)
	}
}

func TestPlanIsWrittenDownAsItGoes(t *testing.T) {
	r := start(t, options{}, chain)
	stream, err := r.client.SendStreamingMessage(r.ctx(), &a2apb.SendMessageRequest{Message: message("chain")})
	r.must(err)
	seen := map[string]bool{}
	for {
		ev, err := stream.Recv()
		if err != nil {
			break
		}
		update := ev.GetStatusUpdate()
		for name, s := range steps(&a2apb.Task{Metadata: update.GetMetadata()}) {
			seen[name+" "+s.State] = true
		}
		for name, s := range steps(ev.GetTask()) {
			seen[name+" "+s.State] = true
		}
	}
	for _, want := range []string{"a COMPLETED", "b RUNNING", "b COMPLETED", "c COMPLETED"} {
		if !seen[want] {
			t.Errorf("the stream does not say %q: %v", want, seen)
		}
	}
}

// A direct answer exists on its line only: the agent is asked once, however long it
// takes within the step's budget.
func TestASlowDirectAnswerIsAskedForOnce(t *testing.T) {
	for name, c := range map[string]struct {
		then  func(*rig, string)
		state a2apb.TaskState
	}{
		"it comes":              {func(r *rig, _ string) { close(r.work.hold) }, completed},
		"the plan is cancelled": {func(r *rig, id string) { r.cancel(id) }, a2apb.TaskState_TASK_STATE_CANCELED},
		"its budget ends":       {func(*rig, string) {}, a2apb.TaskState_TASK_STATE_FAILED},
	} {
		t.Run(name, func(t *testing.T) {
			clock := clocktest.New(time.Now())
			r := start(t, options{clock: clock, onLine: 2 * time.Second}, `playbook: talk
version: 1
description: A step whose agent answers at once, but slowly.
budget: 20m
steps:
  - {id: a, agent: worker, skill: say, budget: 12s, retries: {max: 0}}
output: {text: "= steps.a.output.text"}
`)
			r.work.hold = make(chan struct{})
			id := r.begin(message("talk"))
			r.await(func() bool { return r.work.did("a") == 1 }, func() string { return "asked" })
			// The planner looks every 2 s whether it has become a task. Time goes by slowly
			// enough for leases to be renewed on a busy machine.
			for range 80 {
				clock.Advance(100 * time.Millisecond)
				time.Sleep(10 * time.Millisecond)
			}
			c.then(r, id)
			task := r.endsOn(clock, id, c.state)
			if text, _ := answer(task); c.state == completed && text != "said A" {
				t.Errorf("answer %q", text)
			}
			if n := r.work.did("a"); n != 1 {
				t.Errorf("asked %d times", n)
			}
		})
	}
}

package planner_test

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"sabha.dev/chassis/agent"
	"sabha.dev/chassis/ext"
	"sabha.dev/chassis/fault"
	"sabha.dev/chassis/identity"
	adminv1 "sabha.dev/gen/sabha/admin/v1"
	plannerv1 "sabha.dev/gen/sabha/planner/v1"
	"sabha.dev/services/planner/internal/plan"
	"sabha.dev/testrig/clocktest"
)

// operator is a client of the planner's own service, on behalf of omar.
type operator struct {
	*rig
	service plannerv1.PlannerServiceClient
}

func (r *rig) operator() operator {
	return operator{r, plannerv1.NewPlannerServiceClient(r.dial("gateway", "planner"))}
}

// as is a call of somebody with a scope.
func (o operator) as(subject, scope string) context.Context {
	grant, err := o.gateway.Grant(identity.Principal{Subject: subject, Organisation: "acme", Scopes: []string{scope}})
	o.must(err)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	o.tb.Cleanup(cancel)
	return metadata.AppendToOutgoingContext(identity.WithOutgoing(ctx, identity.Call{Grant: grant}), "a2a-version", "1.0")
}

func (o operator) ctx() context.Context { return o.as("omar", identity.Operator) }

func (o operator) plan(id string) *plannerv1.Plan {
	o.tb.Helper()
	res, err := o.service.GetPlan(o.as("vera", identity.Viewer), &plannerv1.GetPlanRequest{TaskId: id})
	o.must(err)
	return res.GetPlan()
}

func (o operator) fork(id, step string) *a2apb.Task {
	o.tb.Helper()
	res, err := o.service.ForkPlan(o.ctx(), &plannerv1.ForkPlanRequest{TaskId: id, Step: step})
	o.must(err)
	return o.until(res.GetTaskId(), "ended", ended) // read by the client, whose task it is
}

// refused wants an error of a sentence.
func refused(t *testing.T, err error, sentence string) {
	t.Helper()
	if f := fault.FromStatus(err); f == nil || !strings.Contains(f.Message, sentence) {
		t.Fatalf("%v, want %q", err, sentence)
	}
}

// acts are the audit rows of what operators did to a request.
func (o operator) acts(id string) []string {
	o.tb.Helper()
	res, err := adminv1.NewAdminServiceClient(o.dial("gateway", "planner")).ListHops(o.ctx(), &adminv1.ListHopsRequest{TaskId: id})
	o.must(err)
	var list []string
	for _, h := range res.GetHops() {
		if !strings.HasPrefix(h.GetOutcome(), "TASK_STATE") {
			list = append(list, h.GetOutcome()+" by "+h.GetPrincipal()+": "+h.GetReason())
		}
	}
	return list
}

const patient = `playbook: patient
version: 1
description: A step that is tried again much later.
steps:
  - {id: first, agent: worker, skill: do, inputs: {n: 1}}
  - {id: later, agent: worker, skill: do, needs: [first], retries: {max: 3, backoff: 1h, max_backoff: 1h, jitter: 0}}
  - {id: last, agent: worker, skill: do, needs: [later]}
budget: 5h
output: {text: done}
`

func TestAnOperatorHasAStepTriedAgainNow(t *testing.T) {
	databases(t, func(t *testing.T, o options) {
		o.clock, o.replicas = clocktest.New(time.Now().UTC()), 2 // the clock stands still
		r := start(t, o, patient).operator()
		for range 3 { // whichever replica runs it, and whichever is asked
			before := r.work.did("later")
			r.work.on("later", func(ctx context.Context, run agent.Run, n int) (agent.Outcome, error) {
				return r.work.fails(before+2, "no luck")(ctx, run, n)
			})
			id := r.begin(message("patient"))
			for attempt := range 2 {
				r.until(id, "waiting for its next try", func(t *a2apb.Task) bool { return steps(t)["later"].Attempt == attempt+1 })
				if s := r.plan(id).GetSteps()[1]; s.GetState() != "RUNNING" || s.GetReason() != "no luck" || s.GetAttemptsAllowed() != 4 || !s.GetRetryAt().AsTime().Equal(o.clock.Now().Add(time.Hour)) {
					t.Fatalf("%v", s)
				}
				_, err := r.service.RetryStep(r.ctx(), &plannerv1.RetryStepRequest{TaskId: id, Step: "later"})
				r.must(err)
			}
			r.ends(id, completed)
			if got := r.acts(id); !slices.Equal(got, []string{"STEP_RETRIED by acme/omar: step later", "STEP_RETRIED by acme/omar: step later"}) {
				t.Fatalf("acts %q", got)
			}
		}
	})
}

func TestOnlyWhatWaitsForItsNextTryIsHurried(t *testing.T) {
	r := start(t, options{}, chain).operator()
	gate := make(chan struct{})
	r.work.on("b", r.work.gated(gate))
	id := r.begin(message("chain"))
	r.await(func() bool { return r.work.did("b") == 1 }, func() string { return "b begun" })
	retry := func(task, step string) error {
		_, err := r.service.RetryStep(r.ctx(), &plannerv1.RetryStepRequest{TaskId: task, Step: step})
		return err
	}
	refused(t, retry(id, "a"), `step "a" does not wait for its next try: it is COMPLETED`)
	refused(t, retry(id, "b"), `step "b" is at work`)
	refused(t, retry(id, "c"), `step "c" does not wait for its next try: it is PENDING`)
	refused(t, retry(id, "d"), `"d" is no step of the plan; its steps: a, b, c`)
	refused(t, retry("nothing", "a"), "nothing")
	close(gate)
	r.ends(id, completed)
	refused(t, retry(id, "a"), "has ended; begin again")
	if got := r.acts(id); got != nil {
		t.Fatalf("what was refused left %q", got)
	}
}

func TestOperatorsSeeAPlan(t *testing.T) {
	r := start(t, options{}, trip).operator()
	r.work.on("hotel", r.work.fails(9, "full"))
	task := r.run(message("trip"))
	r.is(task, failed)
	p := r.plan(task.GetId())
	if p.GetPhase() != "ended" || !p.GetMayFork() || p.GetPlaybook() != "trip" || !slices.Equal(p.GetReasons(), []string{`step "hotel" failed: full`}) {
		t.Fatalf("%v", p)
	}
	var got []string
	for _, s := range p.GetSteps() {
		got = append(got, s.GetKind()+" "+s.GetStep()+" "+s.GetState()+" after "+strings.Join(s.GetNeeds(), ","))
	}
	want := []string{"step flight COMPLETED after ", "step hotel FAILED after flight", "step car SKIPPED after hotel", "compensation flight COMPLETED after "}
	if !slices.Equal(got, want) {
		t.Fatalf("steps %q, want %q", got, want)
	}
	flight := p.GetSteps()[0]
	if in := flight.GetInputs().GetStructValue().AsMap(); in["n"] != 1.0 || flight.GetChildTaskId() == "" || flight.GetEndedAt() == nil {
		t.Fatalf("%v", flight)
	}
	if out := flight.GetOutput().GetStructValue().AsMap(); out["text"] != "did flight" {
		t.Fatalf("output %v", out)
	}
	_, err := r.service.GetPlan(r.as("alice", "nothing"), &plannerv1.GetPlanRequest{TaskId: task.GetId()})
	if status.Code(err) != codes.PermissionDenied {
		t.Fatalf("a client sees plans: %v", err)
	}
	_, err = r.service.ForkPlan(r.as("vera", identity.Viewer), &plannerv1.ForkPlanRequest{TaskId: task.GetId(), Step: "car"})
	if status.Code(err) != codes.PermissionDenied {
		t.Fatalf("a viewer forks plans: %v", err)
	}
}

func TestAForkBeginsAgainAtAStep(t *testing.T) {
	databases(t, func(t *testing.T, o options) {
		r := start(t, o, strings.ReplaceAll(chain, "skill: say", "skill: do")).operator()
		r.work.on("c", r.work.fails(1, "no luck"))
		first := r.run(message("chain", agent.Text("three of it")))
		if r.is(first, completed); r.work.did("c") != 2 {
			t.Fatalf("executed %v", r.work.history())
		}
		fork := r.fork(first.GetId(), "c")
		r.is(fork, completed)
		if got := r.work.history(); !slices.Equal(got, []string{"a", "b", "c", "c", "c"}) {
			t.Fatalf("executed %v", got)
		}
		if text, data := answer(fork); text != "did c" || data["n"] != 2.0 || agent.TextOf(fork.GetHistory()[0].GetParts()) != "three of it" || fork.GetContextId() != first.GetContextId() {
			t.Fatalf("answer %q %v of %v", text, data, fork)
		}
		forked := fork.GetMetadata().GetFields()[ext.Forked].GetStructValue().AsMap()
		if !maps.Equal(forked, map[string]any{"from": first.GetId(), "step": "c"}) {
			t.Fatalf("metadata %v", forked)
		}
		if p := r.plan(fork.GetId()); p.GetForkedFrom() != first.GetId() || p.GetForkedAt() != "c" {
			t.Fatalf("%v", p)
		}
		if got := r.acts(first.GetId()); !slices.Equal(got, []string{"FORKED by acme/omar: at step c as task " + fork.GetId()}) {
			t.Fatalf("acts %q", got)
		}
		if got := r.acts(fork.GetId()); !slices.Equal(got, []string{"FORKED by acme/omar: at step c from task " + first.GetId()}) {
			t.Fatalf("acts %q", got)
		}
	})
}

// What was undone does not stand, so the fork does it again; what the former plan has
// kept is not the fork's to undo.
func TestAForkDoesAgainWhatWasUndone(t *testing.T) {
	r := start(t, options{}, trip).operator()
	r.work.on("car", r.work.fails(1, "no cars"))
	first := r.run(message("trip"))
	r.is(first, failed) // hotel and flight are given back
	second := r.fork(first.GetId(), "car")
	r.is(second, completed)
	if got, want := r.work.history()[5:], []string{"flight", "hotel", "car"}; !slices.Equal(got, want) {
		t.Fatalf("the fork executed %v, want %v", got, want)
	}
	r.work.on("car", r.work.fails(99, "no cars"))
	third := r.fork(second.GetId(), "car")
	r.is(third, failed)
	if note(third) != `step "car" failed: no cars` || r.work.did("undo hotel") != 1 {
		t.Fatalf("%q after %v", note(third), r.work.history())
	}
}

func TestALoopBeginsAnewInAFork(t *testing.T) {
	r := start(t, options{}, loop).operator()
	r.work.on("judge", func(_ context.Context, run agent.Run, n int) (agent.Outcome, error) {
		return r.work.answer(run, map[string]any{"good": n != 1, "reasons": []any{"too short"}})
	})
	first := r.run(message("loop"))
	r.is(first, completed)
	fork := r.fork(first.GetId(), "judge")
	r.is(fork, completed)
	same(t, "steps", states(fork), map[string]string{"draft": "COMPLETED", "judge": "COMPLETED"})
	if _, data := answer(fork); data["round"] != 1.0 { // the draft of the second round stands
		t.Fatalf("answer %v", data)
	}
	if r.work.did("draft") != 2 || r.work.did("judge") != 3 {
		t.Fatalf("executed %v", r.work.history())
	}
}

func TestWhatCannotBeForkedSaysWhy(t *testing.T) {
	r := start(t, options{}, chain, asksInput).operator()
	gate := make(chan struct{})
	r.work.on("a", r.work.gated(gate))
	fork := func(id, step string) error {
		_, err := r.service.ForkPlan(r.ctx(), &plannerv1.ForkPlanRequest{TaskId: id, Step: step})
		return err
	}
	id := r.begin(message("chain"))
	r.await(func() bool { return r.work.did("a") == 1 }, func() string { return "a begun" })
	refused(t, fork(id, "b"), "has not ended")
	close(gate)
	r.ends(id, completed)
	refused(t, fork(id, "d"), `"d" is no step of the plan; its steps: a, b, c`)
	refused(t, fork("nothing", "a"), "nothing")
	asking := r.run(message("order", agent.Text("pears")))
	r.is(asking, needs)
	refused(t, fork(asking.GetId(), "a"), "has not ended")
	r.cancel(asking.GetId())
	r.ends(asking.GetId(), canceled)
	refused(t, fork(asking.GetId(), "a"), "has no plan")
}

func TestOperatorsSeePlaybooks(t *testing.T) {
	databases(t, func(t *testing.T, o options) {
		r := start(t, o, trip, strings.Replace(trip, "version: 1", "version: 2", 1), chain).operator()
		before := time.Now().Add(-time.Minute)
		r.is(r.run(message("trip@1")), completed)
		r.is(r.run(message("trip")), completed)
		r.work.on("car", r.work.fails(9, "no cars"))
		r.is(r.run(message("trip")), failed)
		res, err := r.service.ListPlaybooks(r.ctx(), &plannerv1.ListPlaybooksRequest{})
		r.must(err)
		var names []string
		for _, p := range res.GetPlaybooks() {
			names = append(names, p.GetName()+"@"+p.GetVersion())
			if p.GetName() == "chain" && (len(p.GetRuns()) != 0 || p.GetLastRunAt() != nil) {
				t.Errorf("%v", p)
			}
			if p.GetName() != "trip" {
				continue
			}
			if want := map[string]int64{"TASK_STATE_COMPLETED": 2, "TASK_STATE_FAILED": 1}; !maps.Equal(p.GetRuns(), want) || p.GetSteps() != 3 || p.GetLastRunAt().AsTime().Before(before) || p.GetLastRunAt().AsTime().After(time.Now().Add(time.Minute)) {
				t.Errorf("%v", p)
			}
			if b := p.GetBudgets(); len(b) != 3 || b[0].GetStep() != "flight" || b[0].GetAgent() != "worker" || b[0].GetSeconds() != 60 {
				t.Errorf("budgets %v", b)
			}
		}
		if want := []string{"chain@1", "compute@1", "general@2", "trip@2"}; !slices.Equal(names, want) {
			t.Fatalf("playbooks %q, want %q", names, want)
		}
		book, err := r.service.GetPlaybook(r.ctx(), &plannerv1.GetPlaybookRequest{Name: "trip", Version: "1"})
		r.must(err)
		if book.GetSource() != trip || len(book.GetSteps()) != 3 || book.GetSteps()[2].GetState() != "PENDING" || len(book.GetProblems()) != 0 || !slices.Equal(book.GetVersions(), []string{"2", "1"}) {
			t.Fatalf("%v", book)
		}
		_, err = r.service.GetPlaybook(r.ctx(), &plannerv1.GetPlaybookRequest{Name: "tripp"})
		refused(t, err, `unknown playbook "tripp" (did you mean "trip"?)`)
	})
}

func TestEveryOperationHasItsRule(t *testing.T) {
	policy := plan.Policy()
	for _, m := range plannerv1.PlannerService_ServiceDesc.Methods {
		rule := policy["/"+plannerv1.PlannerService_ServiceDesc.ServiceName+"/"+m.MethodName]
		acts := m.MethodName == "RetryStep" || m.MethodName == "ForkPlan"
		if len(rule.Actors) == 0 || !slices.Contains(rule.Scopes, identity.Operator) || slices.Contains(rule.Scopes, identity.Viewer) == acts {
			t.Errorf("%s: %+v", m.MethodName, rule)
		}
	}
}

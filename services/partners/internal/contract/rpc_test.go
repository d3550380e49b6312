package contract

import (
	"context"
	"testing"

	"sabha.dev/chassis/fault"
	"sabha.dev/chassis/identity"
	partnersv1 "sabha.dev/gen/sabha/partners/v1"
)

func as(ctx context.Context, scopes ...string) context.Context {
	return identity.WithCall(ctx, identity.Call{Principal: identity.Principal{Organisation: "bank", Subject: "ada", Scopes: scopes}})
}

func TestPeopleRunSuitesAndReadWhatIsFound(t *testing.T) {
	onBothEngines(t, func(t *testing.T, open func() *Store) {
		suite := golden(t, "")
		r := newRig(t, open(), suite, nil)
		rpc := &RPC{Store: r.store, Suites: suites{suite}, Clock: r.clock}
		ctx := as(t.Context(), identity.Operator)
		asked, err := rpc.RunSuite(ctx, &partnersv1.RunSuiteRequest{Partner: "underwriter", Runs: 50, Reason: "approved today"})
		if err != nil || asked.GetFirst() != 1 || asked.GetLast() != 50 {
			t.Fatalf("asked is %v (%v)", asked, err)
		}
		if err := r.once(t.Context()); err != nil {
			t.Fatal(err)
		}
		v, err := rpc.GetVerdict(ctx, &partnersv1.GetVerdictRequest{Partner: "underwriter"})
		if err != nil || v.GetState() != "watching" || v.GetRecorded() != 50 || v.GetFigures() != nil {
			t.Fatalf("the verdict is %v (%v)", v, err)
		}
		r.agent.set(func(a *agent) { a.shift = 3 })
		r.hours(8)
		v, err = rpc.GetVerdict(ctx, &partnersv1.GetVerdictRequest{Partner: "underwriter"})
		if err != nil || v.GetState() != Drifted || len(v.GetFindings()) != 1 || v.GetFigures().GetAspects()[0].GetMeasure() != "rate" || v.GetFindings()[0].GetReason() == "" {
			t.Fatalf("the verdict is %v (%v)", v, err)
		}
		list, err := rpc.ListSuites(ctx, &partnersv1.ListSuitesRequest{})
		if err != nil || len(list.GetSuites()) != 1 || len(list.GetSuites()[0].GetOpen()) != 1 || list.GetSuites()[0].GetLatest().GetNumber() != 58 {
			t.Fatalf("the suites are %v (%v)", list, err)
		}
		first, err := rpc.ListRuns(ctx, &partnersv1.ListRunsRequest{Partner: "underwriter", PageSize: 30, Samples: true})
		if err != nil || len(first.GetRuns()) != 30 || first.GetNextBefore() != 29 || len(first.GetRuns()[0].GetSamples()) != 10 || first.GetRuns()[29].GetAskedBy() != "bank/ada" {
			t.Fatalf("the runs are %v (%v)", first, err)
		}
		done, err := rpc.Rebaseline(ctx, &partnersv1.RebaselineRequest{Partner: "underwriter", Reason: "a new model"})
		if err != nil || done.GetBaseline().GetNumber() != 2 || done.GetBaseline().GetBegunBy() != "bank/ada" {
			t.Fatalf("the baseline is %v (%v)", done, err)
		}
		v, err = rpc.GetVerdict(ctx, &partnersv1.GetVerdictRequest{Partner: "underwriter"})
		if err != nil || v.GetState() != "recording" || v.GetRecorded() != 0 || len(v.GetBaselines()) != 2 {
			t.Errorf("the verdict is %v (%v)", v, err)
		}
	})
}

func TestOnlyOperatorsRunSuites(t *testing.T) {
	suite := golden(t, "")
	r := newRig(t, opener(t, "sqlite:"+t.TempDir()+"/p.db")(), suite, nil)
	rpc := &RPC{Store: r.store, Suites: suites{suite}, Clock: r.clock}
	run := func(ctx context.Context) error {
		_, err := rpc.RunSuite(ctx, &partnersv1.RunSuiteRequest{Partner: "underwriter"})
		return err
	}
	rebaseline := func(ctx context.Context) error {
		_, err := rpc.Rebaseline(ctx, &partnersv1.RebaselineRequest{Partner: "underwriter", Reason: "why not"})
		return err
	}
	read := func(ctx context.Context) error {
		_, err := rpc.ListSuites(ctx, &partnersv1.ListSuitesRequest{})
		return err
	}
	for name, call := range map[string]func(context.Context) error{"run": run, "rebaseline": rebaseline, "read": read} {
		if err := call(t.Context()); !fault.Is(err, fault.Unauthenticated) {
			t.Errorf("%s by nobody: %v", name, err)
		}
		if err := call(as(t.Context(), "other")); !fault.Is(err, fault.PermissionDenied) {
			t.Errorf("%s without a role: %v", name, err)
		}
		err := call(as(t.Context(), identity.Viewer))
		if (name == "read") != (err == nil) {
			t.Errorf("%s by a viewer: %v", name, err)
		}
	}
	ctx := as(t.Context(), identity.Admin)
	for _, req := range []*partnersv1.RunSuiteRequest{{Partner: "underwriter", Runs: 1001}, {Partner: "underwriter", Runs: -1}} {
		if _, err := rpc.RunSuite(ctx, req); !fault.Is(err, fault.InvalidArgument) {
			t.Errorf("%v: %v", req, err)
		}
	}
	if _, err := rpc.RunSuite(ctx, &partnersv1.RunSuiteRequest{Partner: "nobody"}); !fault.Is(err, fault.PartnerNotFound) {
		t.Errorf("of nobody: %v", err)
	}
	if _, err := rpc.Rebaseline(ctx, &partnersv1.RebaselineRequest{Partner: "underwriter"}); !fault.Is(err, fault.InvalidArgument) {
		t.Errorf("without a reason: %v", err)
	}
}

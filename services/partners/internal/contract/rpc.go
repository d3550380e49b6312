package contract

import (
	"context"
	"slices"

	"sabha.dev/chassis/clock"
	"sabha.dev/chassis/fault"
	"sabha.dev/chassis/identity"
	partnersv1 "sabha.dev/gen/sabha/partners/v1"
	"sabha.dev/services/partners/internal/drift"
)

// RPC serves contract tests to front ends.
type RPC struct {
	partnersv1.UnimplementedContractServiceServer
	Store  *Store
	Suites Suites
	Clock  clock.Clock
}

// Bounds of requests.
const (
	defaultPage = 50
	maxPage     = 200
	maxRuns     = 1000
	maxReason   = 1000 // bytes
	maxFindings = 50
)

// acts are the scopes of those who may do more than read.
var acts = []string{identity.Operator, identity.Admin}

// caller gives who calls, when one of the scopes is theirs.
func caller(ctx context.Context, scopes ...string) (string, error) {
	call, ok := identity.CallOf(ctx)
	if !ok || call.Principal.Subject == "" {
		return "", fault.New(fault.Unauthenticated, "the call carries no identity")
	}
	if !slices.ContainsFunc(scopes, func(s string) bool { return slices.Contains(call.Principal.Scopes, s) }) {
		return "", fault.New(fault.PermissionDenied, "this needs one of the roles %v", scopes)
	}
	return call.Principal.Key(), nil
}

// suite finds the golden tasks of a partner.
func (r *RPC) suite(partner string) (*Suite, error) {
	if s := r.Suites.Suite(partner); s != nil {
		return s, nil
	}
	return nil, fault.New(fault.PartnerNotFound, "there are no golden tasks for %q; put a file for it into the folder of the key contracts", partner)
}

// ListSuites lists the golden tasks in force by partner.
func (r *RPC) ListSuites(ctx context.Context, _ *partnersv1.ListSuitesRequest) (*partnersv1.ListSuitesResponse, error) {
	if _, err := caller(ctx, identity.Roles()...); err != nil {
		return nil, err
	}
	res := &partnersv1.ListSuitesResponse{}
	for _, s := range r.Suites.Suites() {
		b, err := current(ctx, r.Store.db.Read, s.Partner)
		if err != nil {
			return nil, err
		}
		standing, err := open(ctx, r.Store.db.Read, s.Partner)
		if err != nil {
			return nil, err
		}
		runs, err := r.Store.Runs(ctx, s.Partner, 0, 1)
		if err != nil {
			return nil, err
		}
		one := suiteMessage(s)
		one.Baseline = baselineMessage(b)
		for _, v := range standing {
			one.Open = append(one.Open, findingMessage(v))
		}
		for _, run := range runs {
			one.Latest = runMessage(run, false)
		}
		res.Suites = append(res.Suites, one)
	}
	return res, nil
}

// RunSuite asks for runs now.
func (r *RPC) RunSuite(ctx context.Context, req *partnersv1.RunSuiteRequest) (*partnersv1.RunSuiteResponse, error) {
	who, err := caller(ctx, acts...)
	if err != nil {
		return nil, err
	}
	n := int(req.GetRuns())
	if n == 0 {
		n = 1
	}
	switch {
	case n < 1 || n > maxRuns:
		return nil, fault.Invalid("runs", "must be from 1 to %d", maxRuns)
	case len(req.GetReason()) > maxReason:
		return nil, fault.Invalid("reason", "must have at most %d bytes", maxReason)
	}
	if _, err := r.suite(req.GetPartner()); err != nil {
		return nil, err
	}
	now := r.Clock.Now()
	if err := r.Store.Ensure(ctx, req.GetPartner(), now); err != nil {
		return nil, err
	}
	last, err := r.Store.Request(ctx, req.GetPartner(), n, who, req.GetReason(), now)
	if err != nil {
		return nil, err
	}
	return &partnersv1.RunSuiteResponse{First: last - int64(n) + 1, Last: last}, nil
}

// ListRuns lists runs of a partner, the newest first.
func (r *RPC) ListRuns(ctx context.Context, req *partnersv1.ListRunsRequest) (*partnersv1.ListRunsResponse, error) {
	if _, err := caller(ctx, identity.Roles()...); err != nil {
		return nil, err
	}
	size := int(req.GetPageSize())
	if size == 0 {
		size = defaultPage
	}
	if size < 1 || size > maxPage {
		return nil, fault.Invalid("page_size", "must be from 1 to %d", maxPage)
	}
	runs, err := r.Store.Runs(ctx, req.GetPartner(), req.GetBefore(), size)
	if err != nil {
		return nil, err
	}
	res := &partnersv1.ListRunsResponse{}
	for _, run := range runs {
		res.Runs = append(res.Runs, runMessage(run, req.GetSamples()))
	}
	if len(runs) == size {
		res.NextBefore = runs[size-1].Number
	}
	return res, nil
}

// GetVerdict tells what the latest runs of a partner show.
func (r *RPC) GetVerdict(ctx context.Context, req *partnersv1.GetVerdictRequest) (*partnersv1.GetVerdictResponse, error) {
	if _, err := caller(ctx, identity.Roles()...); err != nil {
		return nil, err
	}
	s, err := r.suite(req.GetPartner())
	if err != nil {
		return nil, err
	}
	found, err := r.Store.Verdicts(ctx, s.Partner, maxFindings)
	if err != nil {
		return nil, err
	}
	history, err := r.Store.Baselines(ctx, s.Partner)
	if err != nil {
		return nil, err
	}
	res := &partnersv1.GetVerdictResponse{Partner: s.Partner, State: "recording"}
	for _, b := range history {
		res.Baselines = append(res.Baselines, baselineMessage(&b))
	}
	if len(history) > 0 && history[0].Digest == s.Digest {
		b := &history[0]
		baseline, now, err := compared(ctx, r.Store.db.Read, b, drift.Window)
		if err != nil {
			return nil, err
		}
		res.Baseline, res.Recorded = baselineMessage(b), count(len(baseline))
		if !b.CompleteAt.IsZero() {
			res.State = "watching"
		}
		if len(now) >= drift.LeastNow {
			f := s.figures(b, baseline, now, drift.Look(s.all(baseline), s.all(now)))
			f.count(s, latest(baseline, now))
			res.Figures = figuresMessage(f)
		}
	}
	for _, kind := range []string{Unsteady, Failing, Drifted} {
		if slices.ContainsFunc(found, func(v Verdict) bool { return v.Open() && v.Kind == kind }) {
			res.State = kind
		}
	}
	for _, v := range found {
		res.Findings = append(res.Findings, findingMessage(v))
	}
	return res, nil
}

// Rebaseline has the runs from now on be a new baseline.
func (r *RPC) Rebaseline(ctx context.Context, req *partnersv1.RebaselineRequest) (*partnersv1.RebaselineResponse, error) {
	who, err := caller(ctx, acts...)
	if err != nil {
		return nil, err
	}
	switch {
	case req.GetReason() == "":
		return nil, fault.Invalid("reason", "is empty; say why the behaviour of now is to be the measure")
	case len(req.GetReason()) > maxReason:
		return nil, fault.Invalid("reason", "must have at most %d bytes", maxReason)
	}
	s, err := r.suite(req.GetPartner())
	if err != nil {
		return nil, err
	}
	b := &Baseline{Partner: s.Partner, Digest: s.Digest, Size: s.Baseline, BegunAt: r.Clock.Now(), By: who, Reason: req.GetReason()}
	if err := r.Store.Rebaseline(ctx, b); err != nil {
		return nil, err
	}
	return &partnersv1.RebaselineResponse{Baseline: baselineMessage(b)}, nil
}

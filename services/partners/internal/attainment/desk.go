package attainment

import (
	"context"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"sabha.dev/chassis/fault"
	"sabha.dev/chassis/identity"
	partnersv1 "sabha.dev/gen/sabha/partners/v1"
	"sabha.dev/services/partners/internal/agreement"
)

// Book has the agreements in force.
type Book interface {
	Agreement(partner string) *agreement.Agreement
	All() []*agreement.Agreement
}

// Desk answers people who ask how partners stand.
type Desk struct {
	partnersv1.UnimplementedAttainmentServiceServer
	Ledger *Ledger
	Book   Book
}

// Policy says who may ask.
func Policy() identity.Policy {
	seen := identity.Rule{
		Actors: []string{identity.Gateway, identity.Console},
		Scopes: []string{identity.Viewer, identity.Reviewer, identity.Operator, identity.Auditor, identity.Admin},
	}
	return identity.Policy{
		partnersv1.AttainmentService_GetAttainment_FullMethodName: seen,
		partnersv1.AttainmentService_ListBreakers_FullMethodName:  seen,
	}
}

// GetAttainment implements the service.
func (d *Desk) GetAttainment(ctx context.Context, req *partnersv1.GetAttainmentRequest) (*partnersv1.GetAttainmentResponse, error) {
	if req.GetPartner() == "" {
		return nil, fault.Invalid("partner", "is missing; name the partner")
	}
	a := d.Book.Agreement(req.GetPartner())
	if a == nil {
		return nil, fault.New(fault.PartnerNotFound, "there is no agreement with %q", req.GetPartner())
	}
	return d.report(ctx, a, req)
}

func (d *Desk) report(ctx context.Context, a *agreement.Agreement, req *partnersv1.GetAttainmentRequest) (*partnersv1.GetAttainmentResponse, error) {
	res := &partnersv1.GetAttainmentResponse{
		Partner: a.Partner, Organisation: a.Organisation, AgreementVersion: a.Version, AgreementDigest: a.Digest, Window: req.GetWindow(), Month: req.GetMonth(),
	}
	var from, to time.Time
	switch {
	case res.Month != "" && res.Window != "":
		return nil, fault.Invalid("month", "comes instead of a window; leave one of them out")
	case res.Month != "":
		var err error
		if from, to, err = month(res.Month); err != nil {
			return nil, fault.Invalid("month", "%s", err)
		}
	default:
		if res.Window == "" {
			res.Window = string(LastMonth)
		}
		w := Window(res.Window)
		if w != LastHour && w != LastDay && w != LastMonth {
			return nil, fault.Invalid("window", "is unknown; use 1h, 24h or 30d")
		}
		from, to = w.Bounds(d.Ledger.clock.Now())
	}
	res.From, res.To = timestamppb.New(from), timestamppb.New(to)
	for _, t := range a.Skills {
		if req.GetSkill() != "" && req.GetSkill() != t.Address.Skill {
			continue
		}
		r, err := d.Ledger.Report(ctx, t, from, to)
		if err != nil {
			return nil, err
		}
		callers, err := d.Ledger.Callers(ctx, t.Address.Partner, t.Address.Skill, from, to)
		if err != nil {
			return nil, err
		}
		p := r.proto()
		for _, c := range callers {
			p.Callers = append(p.Callers, c.proto())
		}
		res.Skills = append(res.Skills, p)
	}
	if len(res.Skills) == 0 {
		return nil, fault.Invalid("skill", "is not allowed by the agreement with %s", a.Partner)
	}
	return res, nil
}

// ListBreakers implements the service.
func (d *Desk) ListBreakers(ctx context.Context, req *partnersv1.ListBreakersRequest) (*partnersv1.ListBreakersResponse, error) {
	if strings.ContainsRune(req.GetPartner(), 0) { // no database takes it
		return &partnersv1.ListBreakersResponse{}, nil
	}
	list, err := d.Ledger.Breakers(ctx, req.GetPartner())
	if err != nil {
		return nil, err
	}
	res := &partnersv1.ListBreakersResponse{}
	for _, b := range list {
		x := &partnersv1.Breaker{Partner: b.Partner, Skill: b.Skill, Replica: b.Replica, State: b.State, Why: b.Why, Since: timestamppb.New(b.Since)}
		if !b.RetryAt.IsZero() {
			x.RetryAt = timestamppb.New(b.RetryAt)
		}
		res.Breakers = append(res.Breakers, x)
	}
	return res, nil
}

var units = map[string]string{"p50": "seconds", "p95": "seconds", "p99": "seconds", "availability": "percent", "throughput": "calls per minute"}

var statuses = map[Status]partnersv1.Status{
	Attained: partnersv1.Status_STATUS_ATTAINED, Missed: partnersv1.Status_STATUS_MISSED, Unknown: partnersv1.Status_STATUS_UNKNOWN,
}

// statusName is the word for a status: attained, missed, unknown.
func statusName(s partnersv1.Status) string {
	return strings.ToLower(strings.TrimPrefix(s.String(), "STATUS_"))
}

func (r *Report) proto() *partnersv1.Attainment {
	f := r.Figures
	a := &partnersv1.Attainment{
		Skill: r.Terms.Address.Skill, MaintenanceSeconds: r.Maintenance.Seconds(),
		Calls: &partnersv1.Calls{
			Ok: f.OK, Failed: f.Failed, Invalid: f.Invalid, Throttled: f.Throttled, Abandoned: f.Abandoned, Slow: f.Slow, InMaintenance: f.Maintenance,
			HeldBack: map[string]int64{}, PeakPerMinute: f.Peak,
		},
	}
	for why, n := range f.Held {
		a.Calls.HeldBack[string(why)] = n
	}
	for _, t := range r.Targets {
		a.Targets = append(a.Targets, &partnersv1.Target{
			Name: t.Name, Unit: units[t.Name], Agreed: t.Agreed, Measured: t.Measured, Margin: t.Margin, Status: statuses[t.Status],
		})
	}
	if b := r.Budget; b != nil {
		a.ErrorBudget = &partnersv1.ErrorBudget{Allowed: b.Allowed, Used: b.Used, Left: b.Left}
	}
	return a
}

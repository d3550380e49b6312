package contract

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"slices"

	"sabha.dev/services/partners/internal/drift"
	"sabha.dev/services/partners/internal/partner"
	"sabha.dev/services/partners/internal/trust"
)

// errMoved says that a person began a new baseline while a run was looked at.
var errMoved = errors.New("a new baseline was begun")

// judgement is what the runs up to one show.
type judgement struct {
	baseline *Baseline
	complete bool // the run is the last one of its baseline
	looked   bool
	shown    map[string]*Figures // by kind
}

// settle writes a run that has ended, with all that follows from it, at once.
func (s *Store) settle(ctx context.Context, suite *Suite, p *partner.Partner, c *Claim) (found []Verdict, err error) {
	if c.State != Done {
		return nil, s.change(ctx, c.Partner, func(tx *sql.Tx) error { return end(ctx, tx, c) })
	}
	for {
		j, err := s.judge(ctx, suite, c)
		if err != nil {
			return nil, err
		}
		err = s.change(ctx, c.Partner, func(tx *sql.Tx) error {
			found, err = settled(ctx, tx, suite, p, c, j)
			return err
		})
		if !errors.Is(err, errMoved) {
			return found, err
		}
	}
}

// judge looks at the latest runs, without a transaction: a look may take a second. The
// claim keeps other runs of the partner away meanwhile.
func (s *Store) judge(ctx context.Context, suite *Suite, c *Claim) (judgement, error) {
	j := judgement{shown: map[string]*Figures{}}
	c.Look = 1
	b, err := current(ctx, s.db.Read, suite.Partner)
	if err != nil {
		return j, err
	}
	var baseline, now []Run
	switch {
	case b == nil || b.Digest != suite.Digest:
		reason := "the first runs"
		if b != nil {
			reason = "the golden tasks changed"
		}
		j.baseline = &Baseline{Partner: suite.Partner, Digest: suite.Digest, Size: suite.Baseline, BegunAt: c.StartedAt, Reason: reason}
	default:
		j.baseline = b
		if baseline, now, err = compared(ctx, s.db.Read, b, drift.Window-1); err != nil {
			return j, err
		}
	}
	if b = j.baseline; len(baseline) < b.Size {
		baseline = append(baseline, c.Run)
		j.complete = len(baseline) == b.Size
	} else {
		now = append(now, c.Run)
	}
	switch {
	case len(now) >= drift.LeastNow:
		look := drift.Look(suite.all(baseline), suite.all(now))
		j.looked, c.Look = true, look.P
		if look.Drift {
			f := suite.figures(b, baseline, now, look)
			j.shown[Drifted] = &f
		}
	case j.complete:
		if look := drift.Steady(suite.all(baseline)); look.Drift {
			half := len(baseline) / 2
			f := suite.figures(b, baseline[:half], baseline[half:], look)
			j.shown[Unsteady] = &f
		}
	}
	last := latest(baseline, now)
	bad := Figures{Baseline: b.Number, Runs: len(last), P: 1}
	bad.count(suite, last)
	if bad.Bad > bad.Allowed {
		j.shown[Failing] = &bad
	}
	for _, f := range j.shown {
		f.count(suite, last)
	}
	return j, nil
}

// latest are the last runs, of the baseline where there are few after it.
func latest(baseline, now []Run) []Run {
	all := slices.Concat(baseline, now)
	return all[max(0, len(all)-drift.Window):]
}

func (s *Suite) all(runs []Run) []drift.Run {
	list := make([]drift.Run, len(runs))
	for i, r := range runs {
		list[i] = s.measured(r.Samples)
	}
	return list
}

// settled writes the run, its baseline and its verdicts.
func settled(ctx context.Context, tx *sql.Tx, suite *Suite, p *partner.Partner, c *Claim, j judgement) ([]Verdict, error) {
	b := *j.baseline
	stands, err := current(ctx, tx, c.Partner)
	switch {
	case err != nil:
		return nil, err
	case b.Number == 0 && (stands == nil || stands.Digest != b.Digest):
		err = begin(ctx, tx, &b)
	case stands == nil || stands.Number != b.Number:
		return nil, errMoved
	case j.complete:
		_, err = tx.ExecContext(ctx, `UPDATE contract_baselines SET complete_at = $1 WHERE partner = $2 AND number = $3`, micros(c.EndedAt), b.Partner, b.Number)
	}
	if err != nil {
		return nil, err
	}
	c.Baseline = b.Number
	for _, f := range j.shown {
		f.Baseline = b.Number
	}
	if err := end(ctx, tx, c); err != nil {
		return nil, err
	}
	return record(ctx, tx, suite, p, c, j)
}

// record writes verdicts that are new, and notes of those that stand whether they were
// shown again.
func record(ctx context.Context, tx *sql.Tx, suite *Suite, p *partner.Partner, c *Claim, j judgement) (found []Verdict, err error) {
	standing, err := open(ctx, tx, c.Partner)
	if err != nil {
		return nil, err
	}
	stands := map[string]bool{}
	for i := range standing {
		v := &standing[i]
		stands[v.Kind] = true
		if v.Kind == Drifted && !j.looked {
			continue
		}
		if err := see(ctx, tx, v, j.shown[v.Kind] != nil, c.EndedAt); err != nil {
			return nil, err
		}
		if !v.Open() {
			if err := tell(ctx, tx, v, v.Kind+"-ended", c.EndedAt); err != nil {
				return nil, err
			}
		}
	}
	for _, kind := range []string{Drifted, Failing, Unsteady} {
		f := j.shown[kind]
		if f == nil || stands[kind] {
			continue
		}
		figures, err := json.Marshal(f)
		if err != nil {
			return nil, err
		}
		action := map[string]Action{Drifted: suite.OnDrift, Failing: suite.OnFailure, Unsteady: Tell}[kind]
		v := Verdict{
			Partner: c.Partner, Organisation: trust.Organisation(p.Organisation), Number: c.Number, Kind: kind, Action: action, FoundAt: c.EndedAt, Figures: figures,
		}
		if err := insertVerdict(ctx, tx, &v); err != nil {
			return nil, err
		}
		if err := tell(ctx, tx, &v, kind, c.EndedAt); err != nil {
			return nil, err
		}
		found = append(found, v)
	}
	return found, nil
}

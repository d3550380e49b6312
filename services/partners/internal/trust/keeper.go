package trust

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"strings"
	"time"

	"sabha.dev/chassis/clock"
	"sabha.dev/services/partners/internal/partner"
)

// every is how often scores are computed.
const every = time.Hour

// Registry holds partners and their scores.
type Registry interface {
	Partners(ctx context.Context) ([]*partner.Partner, error)
	// SetTrust stores a score and what it is made of.
	SetTrust(ctx context.Context, id string, score float64, parts json.RawMessage) error
}

// Ledger gives what the days of a partner showed.
type Ledger interface {
	// Days since a time, in any order, days on which nothing was left out. A day may be there
	// several times with different figures, which add up.
	Days(ctx context.Context, partner string, since time.Time) ([]Day, error)
}

// Record gives what counts against organisations.
type Record interface {
	// Marks since a time of all partners that there are or were, by their organisation as
	// [Organisation] writes it.
	Marks(ctx context.Context, since time.Time) (map[string][]Mark, error)
}

// Config of a keeper.
type Config struct {
	Registry Registry
	Ledgers  []Ledger
	Records  []Record
	Clock    clock.Clock
	Log      *slog.Logger
}

// Keeper keeps the scores of the registry. Every replica may have one: they write the same.
type Keeper struct{ Config }

// NewKeeper makes a keeper.
func NewKeeper(c Config) *Keeper { return &Keeper{c} }

// Run scores all partners now and every hour until ctx ends.
func (k *Keeper) Run(ctx context.Context) {
	for {
		if err := k.All(ctx); err != nil && ctx.Err() == nil {
			k.Log.Error("trust scores were not all computed; they are in an hour", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-k.Clock.After(every):
		}
	}
}

// All scores all partners.
func (k *Keeper) All(ctx context.Context) error {
	partners, err := k.Registry.Partners(ctx)
	if err != nil {
		return err
	}
	against, err := k.against(ctx)
	if err != nil {
		return err
	}
	var errs []error
	for _, p := range partners {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		s, err := k.score(ctx, p, against[Organisation(p.Organisation)])
		if err == nil && math.Abs(s.Score-p.Trust) >= 0.0005 {
			err = k.set(ctx, p.ID, s)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", p.ID, err))
		}
	}
	return errors.Join(errs...)
}

func (k *Keeper) set(ctx context.Context, id string, s Score) error {
	parts, err := json.Marshal(s)
	if err != nil {
		return err
	}
	return k.Registry.SetTrust(ctx, id, math.Round(s.Score*1000)/1000, parts)
}

// against are the marks of all organisations.
func (k *Keeper) against(ctx context.Context) (map[string][]Mark, error) {
	all := map[string][]Mark{}
	for _, r := range k.Records {
		marks, err := r.Marks(ctx, k.Clock.Now().Add(-Since))
		if err != nil {
			return nil, err
		}
		for organisation, list := range marks {
			all[organisation] = append(all[organisation], list...)
		}
	}
	return all, nil
}

// score of one partner now, with the marks of its organisation.
func (k *Keeper) score(ctx context.Context, p *partner.Partner, against []Mark) (Score, error) {
	now := k.Clock.Now()
	since := now.Add(-Since)
	byDay := map[int64]Day{}
	for _, l := range k.Ledgers {
		days, err := l.Days(ctx, p.ID, since)
		if err != nil {
			return Score{}, err
		}
		for _, d := range days {
			at := d.At.UTC().Truncate(24 * time.Hour)
			byDay[at.Unix()] = byDay[at.Unix()].plus(d, at)
		}
	}
	days := make([]Day, 0, len(byDay))
	for _, d := range byDay {
		days = append(days, d)
	}
	marks := slices.Clone(against)
	suspended := false
	for i := range marks {
		marks[i].Other = marks[i].Partner != p.ID
		suspended = suspended || !marks[i].Other && marks[i].Kind == Suspended && marks[i].Open
	}
	if p.State == partner.Suspended && !suspended {
		marks = append(marks, Mark{Kind: Suspended, Partner: p.ID, At: now, Open: true})
	}
	return Of(days, marks, now), nil
}

func (d Day) plus(o Day, at time.Time) Day {
	return Day{
		At: at, Calls: d.Calls + o.Calls, OK: d.OK + o.OK, Invalid: d.Invalid + o.Invalid, Failed: d.Failed + o.Failed, Callers: d.Callers + o.Callers,
		Probes: d.Probes + o.Probes, Answered: d.Answered + o.Answered, Tests: d.Tests + o.Tests, Good: d.Good + o.Good,
	}
}

// Organisation is the form in which organisations are compared.
func Organisation(name string) string {
	return strings.ToLower(strings.Join(strings.Fields(name), " "))
}

package service

import (
	"context"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"sabha.dev/chassis/fault"
	"sabha.dev/chassis/taskstore"
	adminv1 "sabha.dev/gen/sabha/admin/v1"
)

// Bounds of the span of figures, seconds, and its parts.
const (
	defaultSpan = 3600
	minSpan     = 60
	maxSpan     = 7 * 24 * 3600
	buckets     = 30
)

// GetFigures counts what a dashboard shows.
func (a *admin) GetFigures(ctx context.Context, req *adminv1.GetFiguresRequest) (*adminv1.GetFiguresResponse, error) {
	seconds := req.GetSeconds()
	if seconds == 0 {
		seconds = defaultSpan
	}
	if seconds < minSpan || seconds > maxSpan {
		return nil, fault.Invalid("seconds", "must be from %d to %d", minSpan, maxSpan)
	}
	span := time.Duration(seconds) * time.Second
	from := a.clock.Now().Add(-span)
	counts, err := a.store.Counts(ctx, taskstore.Search{})
	if err != nil {
		return nil, err
	}
	flow, err := a.store.Flow(ctx, from, span/buckets, buckets)
	if err != nil {
		return nil, err
	}
	skills, more, err := a.store.SkillFigures(ctx, from)
	if err != nil {
		return nil, err
	}
	res := &adminv1.GetFiguresResponse{Tasks: byName(counts.ByState), SkillsMore: more}
	for _, f := range flow {
		res.Buckets = append(res.Buckets, &adminv1.Bucket{
			From: timestamppb.New(f.From), Started: f.Started, Completed: f.Completed, Failed: f.Failed, Canceled: f.Canceled,
		})
	}
	for _, s := range skills {
		res.Skills = append(res.Skills, &adminv1.SkillFigures{
			Agent: s.Agent, Skill: s.Skill, Calls: s.Calls, Failures: s.Failures, P50: milliseconds(s.P50), P95: milliseconds(s.P95),
		})
	}
	return res, nil
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"sabha.dev/bench/server"
	"sabha.dev/chassis/sqldb"
	adminv1 "sabha.dev/gen/sabha/admin/v1"
	"sabha.dev/testrig/postgrestest"
)

// Of oversight: so many requests, of which an operator asks so often.
const (
	requests = 100_000
	asked    = 60
)

// oversight measures what operators ask of a planner with many requests, on both
// engines: the whole call, one after the other.
func (b *bench) oversight(ctx context.Context) (err error) {
	dir, err := os.MkdirTemp("", "sabha-bench-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	file := "sqlite:" + filepath.Join(dir, "planner.db") + "?sync=normal"
	if err := b.overseen(ctx, "SQLite", filepath.Join(dir, "sqlite"), file); err != nil {
		return err
	}
	database, err := postgrestest.Run()
	if errors.Is(err, postgrestest.ErrMissing) {
		b.line("left out: PostgreSQL, whose programs are missing")
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, database.Close()) }()
	url, err := database.Database(ctx)
	if err != nil {
		return err
	}
	return b.overseen(ctx, "PostgreSQL", filepath.Join(dir, "postgres"), url)
}

func (b *bench) overseen(ctx context.Context, engine, dir, url string) (err error) {
	admin, as, stop, err := server.Planner(ctx, dir, url)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()
	now := time.Now()
	if err := fill(ctx, url, now); err != nil {
		return fmt.Errorf("fill: %w", err)
	}
	b.line("%d requests on %s: %-26s %10s %10s %10s", requests, engine, "", "found", "p50", "p95")
	middle, err := admin.ListTasks(as, &adminv1.ListTasksRequest{CreatedBefore: timestamppb.New(now.Add(-requests / 2 * apart)), PageSize: 1})
	if err != nil {
		return err
	}
	for _, m := range []struct {
		name string
		q    *adminv1.ListTasksRequest
	}{
		{"first page", &adminv1.ListTasksRequest{}},
		{"page in the middle", &adminv1.ListTasksRequest{PageToken: middle.GetNextPageToken()}},
		{"state: working (10 %)", &adminv1.ListTasksRequest{States: []string{"TASK_STATE_WORKING"}}},
		{"state: failed (0.5 %)", &adminv1.ListTasksRequest{States: []string{"TASK_STATE_FAILED"}}},
		{"state: rejected (none)", &adminv1.ListTasksRequest{States: []string{"TASK_STATE_REJECTED"}}},
		{"state: completed (89 %)", &adminv1.ListTasksRequest{States: []string{"TASK_STATE_COMPLETED"}}},
		{"principal (2 %)", &adminv1.ListTasksRequest{Principal: "acme/user7"}},
		{"principal, state: failed", &adminv1.ListTasksRequest{Principal: "acme/user7", States: []string{"TASK_STATE_FAILED"}}},
		{"context (5)", &adminv1.ListTasksRequest{ContextId: "context-77"}},
		{"context that has none", &adminv1.ListTasksRequest{ContextId: "context-x"}},
		{"playbook (90 %)", &adminv1.ListTasksRequest{Playbook: "general"}},
		{"playbook (1 %)", &adminv1.ListTasksRequest{Playbook: "rare"}},
		{"playbook (1 %), state: failed", &adminv1.ListTasksRequest{Playbook: "rare", States: []string{"TASK_STATE_FAILED"}}},
		{"agent (all)", &adminv1.ListTasksRequest{Agent: "research"}},
		{"agent (1 %)", &adminv1.ListTasksRequest{Agent: "partner"}},
		{"agent (all), principal (2 %)", &adminv1.ListTasksRequest{Agent: "research", Principal: "acme/user7"}},
		{"any failed step (0.5 %)", &adminv1.ListTasksRequest{FailedStep: "*"}},
		{"one failed step", &adminv1.ListTasksRequest{FailedStep: "validate"}},
		{"retrying (1 %)", &adminv1.ListTasksRequest{Retrying: true}},
		{"last day", &adminv1.ListTasksRequest{CreatedAfter: timestamppb.New(now.Add(-24 * time.Hour))}},
		{"before the last six days", &adminv1.ListTasksRequest{CreatedBefore: timestamppb.New(now.Add(-6 * 24 * time.Hour))}},
		{"words that many have", &adminv1.ListTasksRequest{Query: "lighthouse keeper"}},
		{"words that none has", &adminv1.ListTasksRequest{Query: "submarine"}},
	} {
		found := 0
		if err := b.ask(m.name, &found, func() error {
			res, err := admin.ListTasks(as, m.q)
			found = len(res.GetTasks())
			return err
		}); err != nil {
			return fmt.Errorf("%s: %w", m.name, err)
		}
	}
	for _, span := range []time.Duration{time.Hour, 7 * 24 * time.Hour} {
		found := 0
		if err := b.ask(fmt.Sprintf("figures of %v", span), &found, func() error {
			res, err := admin.GetFigures(as, &adminv1.GetFiguresRequest{Seconds: int64(span.Seconds())})
			found = len(res.GetSkills())
			return err
		}); err != nil {
			return err
		}
	}
	return nil
}

// ask measures one question.
func (b *bench) ask(name string, found *int, call func() error) error {
	took := make([]time.Duration, 0, asked)
	for n := range asked + asked/10 {
		began := time.Now()
		if err := call(); err != nil {
			return err
		}
		if n >= asked/10 { // the first ones warm up
			took = append(took, time.Since(began))
		}
	}
	slices.Sort(took)
	ms := func(d time.Duration) string { return fmt.Sprintf("%.1f ms", float64(d)/float64(time.Millisecond)) }
	b.line("  %-52s %10d %10s %10s", name, *found, ms(took[len(took)/2]), ms(took[len(took)*95/100]))
	return nil
}

// fill stores the requests with their plans as planners would have left them.
func fill(ctx context.Context, url string, now time.Time) (err error) {
	db, err := sqldb.Open(ctx, url)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	const share = 1000
	for first := 0; first < requests; first += share {
		if err := fillSome(ctx, db, now, first, first+share); err != nil {
			return err
		}
	}
	if db.Dialect == sqldb.Postgres { // which the server does by itself, some minutes later
		_, err = db.Write.ExecContext(ctx, `VACUUM ANALYZE`)
	}
	return err
}

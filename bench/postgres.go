package main

import (
	"context"
	"errors"
	"fmt"

	"sabha.dev/testrig/postgrestest"
)

// postgres measures durable tasks of one replica on PostgreSQL, whose commits are
// synchronised to disk, against the same on SQLite FULL.
func (b *bench) postgres(ctx context.Context) (err error) {
	database, err := postgrestest.RunDurable()
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
	ours, err := b.start(ctx, "ours", url)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, ours.stop()) }()
	file, err := b.start(ctx, "ours", "full")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.stop()) }()
	p, s := &side{process: ours, call: sendTask(ours.client, "task")}, &side{process: file, call: sendTask(file.client, "task")}
	if err := b.turns(ctx, callers, p, s); err != nil {
		return err
	}
	b.compare(fmt.Sprintf("durable task, %d callers (PostgreSQL) / SQLite FULL", callers),
		fmt.Sprintf("%.0f", p.rate()), fmt.Sprintf("%.0f", s.rate()), "/s", p.rate()/s.rate())
	b.compare("  p99", fmt.Sprintf("%.1f", p.p(.99)), fmt.Sprintf("%.1f", s.p(.99)), "ms", s.p(.99)/p.p(.99))
	return nil
}

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/protobuf/types/known/structpb"

	"sabha.dev/chassis/ext"
	"sabha.dev/chassis/sqldb"
)

// parkedPlans wait for an answer that nobody gives.
const parkedPlans = 10_000

// parked measures what plans cost that wait for people.
func (b *bench) parked(ctx context.Context) (err error) {
	all, err := b.start(ctx, "platform", "full")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, all.stop()) }()
	raw, err := os.ReadFile(filepath.Join(all.dir, "key"))
	if err != nil {
		return err
	}
	key := []string{"x-api-key", string(raw)}
	park := func() error {
		req := request("")
		req.Message.Parts = []*a2apb.Part{{Content: &a2apb.Part_Text{Text: "go"}}}
		req.Message.Metadata = &structpb.Struct{Fields: map[string]*structpb.Value{ext.Playbook: structpb.NewStringValue("asking")}}
		res, err := all.client.SendMessage(versioned(ctx, key...), req)
		if err == nil && res.GetTask().GetStatus().GetState() != a2apb.TaskState_TASK_STATE_INPUT_REQUIRED {
			err = fmt.Errorf("the plan is %v", res.GetTask().GetStatus())
		}
		return err
	}
	if err := park(); err != nil { // what the first one brings to life is not counted
		return err
	}
	before, err := stats(ctx, all.client, "bench", key...)
	if err != nil {
		return err
	}
	rss := all.memory()
	if err := many(parkedPlans, callers, park); err != nil {
		return err
	}
	after, err := stats(ctx, all.client, "bench", key...)
	if err != nil {
		return err
	}
	grown := all.memory() - rss
	rows, size, err := kept(ctx, filepath.Join(all.dir, "data", "planner.db"))
	if err != nil {
		return err
	}
	used := all.cpu()
	const window = 10 * time.Second
	time.Sleep(window)
	used = all.cpu() - used
	b.line("%-52s %14s", fmt.Sprintf("%d parked plans: rows of the planner", parkedPlans), strconv.Itoa(rows))
	b.line("%-52s %14s", "  on disk a plan", fmt.Sprintf("%.1f KiB", float64(size)/parkedPlans/1024))
	b.line("%-52s %14s", "  goroutines, before and with them", fmt.Sprintf("%d, %d", before.Goroutines, after.Goroutines))
	b.line("%-52s %14s", "  heap and stacks, before and with them", fmt.Sprintf("%.1f, %.1f MiB", float64(before.Bytes)/(1<<20), float64(after.Bytes)/(1<<20)))
	b.line("%-52s %14s", "  resident memory grew by", fmt.Sprintf("%.0f MiB", grown))
	b.line("%-52s %14s", "  of one core while they wait", fmt.Sprintf("%.2f %%", 100*used.Seconds()/window.Seconds()))
	return nil
}

// many calls n times, so many at once.
func many(n, atOnce int, call func() error) error {
	var left atomic.Int64
	left.Store(int64(n))
	errs := make(chan error, atOnce)
	var wait sync.WaitGroup
	for range atOnce {
		wait.Go(func() {
			for left.Add(-1) >= 0 {
				if err := call(); err != nil {
					errs <- err
					return
				}
			}
		})
	}
	wait.Wait()
	close(errs)
	return <-errs
}

// kept counts the rows of tasks and steps in a planner's database, and its bytes.
func kept(ctx context.Context, path string) (rows int, size int64, err error) {
	db, err := sqldb.Open(ctx, "sqlite:"+path)
	if err != nil {
		return 0, 0, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	err = db.Read.QueryRowContext(ctx, `SELECT (SELECT COUNT(*) FROM tasks) + (SELECT COUNT(*) FROM plan_steps)`).Scan(&rows)
	if err != nil {
		return 0, 0, err
	}
	info, err := os.Stat(path)
	if err != nil {
		return 0, 0, err
	}
	return rows, info.Size(), nil
}

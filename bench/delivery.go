package main

import (
	"context"
	"fmt"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"sabha.dev/bench/server"
)

// delivery is how fast notifications arrived.
type delivery struct {
	// rate is notifications a second, used the processor time of each on both ends, µs.
	rate, used float64
}

// busyFor is how long a receiver that is too busy takes for each answer.
const busyFor = 200 * time.Millisecond

// owed tasks are the backlog: as many as a replica keeps the events of in memory.
const owed = 16384 / (server.Burst + 3)

// measure measures what arrives while f runs. p is the server that may have sent it.
func (r *receiver) measure(p *process, f func() error) (delivery, error) {
	count, used, began := r.count.Load(), processor(p), time.Now()
	err := f()
	n := float64(r.count.Load() - count)
	return delivery{n / time.Since(began).Seconds(), float64((processor(p) - used).Microseconds()) / n}, err
}

// processor time that this process, with the callers and the receiver, and a server have used.
func processor(p *process) time.Duration {
	var self syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &self)
	return p.cpu() + time.Duration(self.Utime.Nano()+self.Stime.Nano())
}

// backlog measures how fast notifications arrive that are there already: tasks end
// while the receiver is too busy to take more than a few.
func (r *receiver) backlog(ctx context.Context, p *process) (delivery, error) {
	free := make(chan struct{})
	r.busy.Store(&free)
	var ends []<-chan struct{}
	var making errgroup.Group
	making.SetLimit(callers)
	for range owed {
		done, url := r.expect()
		ends = append(ends, done)
		making.Go(func() error { return push(ctx, p.client, url, false) })
	}
	err := making.Wait()
	r.busy.Store(nil)
	if err != nil {
		close(free)
		return delivery{}, err
	}
	return r.measure(p, func() error {
		close(free)
		for _, done := range ends {
			if err := await(ctx, done); err != nil {
				return err
			}
		}
		return nil
	})
}

// versus prints the medians of ours beside those of a bare client.
func (b *bench) versus(name string, ours, bare []delivery) {
	rate := func(d delivery) float64 { return d.rate }
	used := func(d delivery) float64 { return d.used }
	r, p := middle(ours, rate), middle(bare, rate)
	b.compare(fmt.Sprintf("%s, %d at once / bare HTTP client", name, posts), fmt.Sprintf("%.0f", r), fmt.Sprintf("%.0f", p), "/s", r/p)
	r, p = middle(ours, used), middle(bare, used)
	b.compare("  processor time of both ends, a notification", fmt.Sprintf("%.0f", r), fmt.Sprintf("%.0f", p), "µs", p/r)
}

func middle(list []delivery, figure func(delivery) float64) float64 {
	var values []float64
	for _, d := range list {
		values = append(values, figure(d))
	}
	slices.Sort(values)
	return values[len(values)/2]
}

// Package load drives a number of callers against one operation for a bounded
// time and keeps how long each call took.
package load

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"
)

// Result of a run.
type Result struct {
	Callers int
	Calls   int
	// Warm calls came before those and do not count.
	Warm      int
	Elapsed   time.Duration
	latencies []time.Duration
}

// Run lets callers call for a time, after a warm-up of a fifth of it that does not
// count. The first error ends the run.
func Run(ctx context.Context, callers int, length time.Duration, call func(context.Context) error) (Result, error) {
	warm, err := phase(ctx, callers, length/5, call)
	if err != nil {
		return Result{}, err
	}
	r, err := phase(ctx, callers, length, call)
	r.Warm = warm.Calls
	return r, err
}

func phase(ctx context.Context, callers int, length time.Duration, call func(context.Context) error) (Result, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	each := make([][]time.Duration, callers)
	start := time.Now()
	end := start.Add(length)
	var wg sync.WaitGroup
	for i := range callers {
		wg.Go(func() {
			for now := time.Now(); now.Before(end) && ctx.Err() == nil; {
				if err := call(ctx); err != nil {
					cancel(fmt.Errorf("caller %d: %w", i, err))
					return
				}
				next := time.Now()
				each[i] = append(each[i], next.Sub(now))
				now = next
			}
		})
	}
	wg.Wait()
	if err := context.Cause(ctx); err != nil {
		return Result{}, err
	}
	r := Result{Callers: callers, Elapsed: time.Since(start)}
	for _, l := range each {
		r.latencies = append(r.latencies, l...)
	}
	r.Calls = len(r.latencies)
	slices.Sort(r.latencies)
	return r, nil
}

// Rate is calls per second.
func (r Result) Rate() float64 { return float64(r.Calls) / r.Elapsed.Seconds() }

// Quantile of the latencies, q in [0,1].
func (r Result) Quantile(q float64) time.Duration {
	if len(r.latencies) == 0 {
		return 0
	}
	return r.latencies[min(int(q*float64(len(r.latencies))), len(r.latencies)-1)]
}

// Median of a figure over runs.
func Median(runs []Result, figure func(Result) float64) float64 {
	values := make([]float64, len(runs))
	for i, r := range runs {
		values[i] = figure(r)
	}
	slices.Sort(values)
	return values[len(values)/2]
}

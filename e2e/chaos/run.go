package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"sabha.dev/chassis/eventlog"
	"sabha.dev/e2e/chaos/fleet"
	"sabha.dev/e2e/chaos/ledger"
	"sabha.dev/e2e/chaos/load"
)

const eventStream = eventlog.Stream

// Times of a run.
const (
	// calm is the time between two incidents.
	calm = 3 * time.Second
	// patience is how long the plans may take to end once everything is up again.
	patience = 4 * time.Minute
	// most bounds a run.
	most = 40 * time.Minute
)

func schedule(name string, seed uint64) ([]incident, error) {
	r := rand.New(rand.NewPCG(seed, 1))
	switch name {
	case "all":
		return append(all(r), rolling()...), nil
	case "few":
		return few(r), nil
	case "rolling":
		return rolling(), nil
	case "none":
		return nil, nil
	}
	return nil, fmt.Errorf("incidents are all, few, rolling or none, not %q", name)
}

// chaos runs plans while incidents happen, and prints the account. It is good when
// everything that was promised was kept.
func chaos(ctx context.Context, o options) (good bool, err error) {
	incidents, err := schedule(o.incidents, o.seed)
	if err != nil {
		return false, err
	}
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	f, book, end, err := deploy(ctx, o)
	if err != nil {
		return false, err
	}
	defer end()
	life, giveUp := context.WithCancel(ctx)
	defer giveUp()
	var gateways []load.Gateway
	for _, g := range f.Gateways {
		gateways = append(gateways, load.Gateway(g))
	}
	crowd, err := load.NewCrowd(life, gateways, f.Key, o.seed)
	if err != nil {
		return false, err
	}
	if err := happen(ctx, o, f, crowd, incidents); err != nil {
		return false, err
	}
	defer time.AfterFunc(patience, giveUp).Stop()
	plans := crowd.Wait()
	entries, err := ledger.Read(book)
	if err != nil {
		return false, err
	}
	account := load.NewAccount(plans, entries)
	fell(o, f)
	account.Print(o.out)
	return account.Good(), ctx.Err()
}

// happen sends plans evenly over the incidents.
func happen(ctx context.Context, o options, f *fleet.Fleet, crowd *load.Crowd, incidents []incident) error {
	begun := time.Now()
	pace := make(chan int, len(incidents)+1) // plans to be sent during each
	for n := range len(incidents) + 1 {
		pace <- o.plans*(n+1)/(len(incidents)+1) - o.plans*n/(len(incidents)+1)
	}
	close(pace)
	send := func(n int) {
		for range n {
			crowd.Send()
			pause(ctx, sendEvery)
		}
	}
	for n, i := range incidents {
		sent := make(chan struct{})
		go func() {
			defer close(sent)
			send(<-pace)
		}()
		at := time.Since(begun)
		if err := i.do(ctx, f); err != nil {
			return fmt.Errorf("%s: %w", i.name, err)
		}
		<-sent
		pause(ctx, calm)
		total, accepted, ended := crowd.Sent()
		_, _ = fmt.Fprintf(o.out, "%5s  %2d/%d %-40s back after %-7s sent %d, accepted %d, ended %d\n",
			at.Round(time.Second), n+1, len(incidents), i.name, short(time.Since(begun)-at-calm), total, accepted, ended)
	}
	send(<-pace)
	return ctx.Err()
}

// sendEvery is the time between two plans.
const sendEvery = 100 * time.Millisecond

// fell tells of processes that ended though nobody had ended them.
func fell(o options, f *fleet.Fleet) {
	n := 0
	for _, p := range append(f.Processes(), f.NATS...) {
		for _, s := range p.Fell() {
			_, _ = fmt.Fprintln(o.out, s)
			n++
		}
	}
	_, _ = fmt.Fprintf(o.out, "Processes  %d ended by themselves and were started again\n", n)
}

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
	calm = 2 * time.Second
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
	crowd, receiver, err := clients(life, f, o.seed)
	if err != nil {
		return false, err
	}
	defer receiver.Close()
	if err := happen(ctx, o, f, crowd, incidents); err != nil {
		return false, err
	}
	fell(o, f)
	account, err := reckon(ctx, crowd, receiver, book, giveUp)
	if err != nil {
		return false, err
	}
	account.Print(o.out)
	return account.Good(), ctx.Err()
}

// reckon waits until every plan has ended and every webhook has come, and reckons up.
func reckon(ctx context.Context, crowd *load.Crowd, receiver *load.Receiver, book string, giveUp func()) (*load.Account, error) {
	defer time.AfterFunc(patience, giveUp).Stop()
	plans := crowd.Wait()
	receiver.Await(ctx, plans, patience)
	entries, err := ledger.Read(book)
	if err != nil {
		return nil, err
	}
	return load.NewAccount(plans, entries, receiver), nil
}

// clients of a deployment, until life ends, with a receiver of their webhooks.
func clients(life context.Context, f *fleet.Fleet, seed uint64) (*load.Crowd, *load.Receiver, error) {
	var gateways []load.Gateway
	for _, g := range f.Gateways {
		gateways = append(gateways, load.Gateway(g))
	}
	keys, err := load.Keys(life, gateways[0].HTTP)
	if err != nil {
		return nil, nil, err
	}
	receiver, err := load.Listen(keys)
	if err != nil {
		return nil, nil, err
	}
	crowd, err := load.NewCrowd(life, gateways, f.Key, seed, receiver)
	if err != nil {
		receiver.Close()
		return nil, nil, err
	}
	return crowd, receiver, nil
}

// happen sends plans evenly over the incidents: half of its share before each, the
// other half while it lasts.
func happen(ctx context.Context, o options, f *fleet.Fleet, crowd *load.Crowd, incidents []incident) error {
	begun := time.Now()
	parts := len(incidents) + 1
	share := func(n int) int { return o.plans*(n+1)/parts - o.plans*n/parts }
	send := func(n int, every time.Duration) {
		for range n {
			crowd.Send()
			pause(ctx, every)
		}
	}
	for n, i := range incidents {
		first := (share(n) + 1) / 2
		send(first, sendEvery)
		rest := make(chan struct{})
		go func() {
			defer close(rest)
			left := share(n) - first
			send(left, max(sendEvery, i.lasts/time.Duration(left+1)))
		}()
		at := time.Now()
		if err := i.do(ctx, f); err != nil {
			return fmt.Errorf("%s: %w", i.name, err)
		}
		back := time.Since(at)
		<-rest
		pause(ctx, calm)
		sent, accepted, ended := crowd.Sent()
		_, _ = fmt.Fprintf(o.out, "%6s  %2d/%d  %-36s back after %-6s  sent %d, accepted %d, ended %d\n",
			at.Sub(begun).Round(time.Second), n+1, len(incidents), i.name, short(back), sent, accepted, ended)
	}
	send(share(parts-1), sendEvery)
	return ctx.Err()
}

// sendEvery is the time between two plans.
const sendEvery = 60 * time.Millisecond

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

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"sabha.dev/bench/server"
	"sabha.dev/chassis/agent"
)

// Of the fan-out: each task tells the time so often to its share of subscribers.
const (
	subscribers = 5000
	watched     = 50
	ticks       = 10
	tickEvery   = 2 * time.Second
	// conns carry the subscriptions of all.
	conns = 10
)

// stats asks a server what it holds.
func stats(ctx context.Context, client a2apb.A2AServiceClient, tenant string, md ...string) (server.Stats, error) {
	var s server.Stats
	req := request("stats")
	req.Tenant = tenant
	res, err := client.SendMessage(versioned(ctx, md...), req)
	if err != nil {
		return s, err
	}
	return s, json.Unmarshal([]byte(agent.TextOf(res.GetMessage().GetParts())), &s)
}

// fanout measures one replica with many subscribers.
func (b *bench) fanout(ctx context.Context) (err error) {
	ours, err := b.start(ctx, "ours", "full")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, ours.stop()) }()
	begin := time.Now().Add(20 * time.Second)
	var ids []string
	for i := range watched {
		start := begin.Add(tickEvery * time.Duration(i) / watched) // one after the other
		data, err := agent.Data(map[string]any{"count": ticks, "every_ms": tickEvery.Milliseconds(), "start_ms": start.UnixMilli()})
		if err != nil {
			return err
		}
		req := request("tick")
		req.Message.Parts = []*a2apb.Part{data}
		req.Configuration = &a2apb.SendMessageConfiguration{ReturnImmediately: true}
		res, err := ours.client.SendMessage(versioned(ctx), req)
		if err != nil {
			return err
		}
		ids = append(ids, res.GetTask().GetId())
	}
	before, err := stats(ctx, ours.client, "")
	if err != nil {
		return err
	}
	rss := ours.memory()
	f := &fan{}
	if err := f.subscribe(ctx, ours, ids); err != nil {
		return err
	}
	if late := time.Since(begin); late > 0 {
		return fmt.Errorf("the subscriptions took %v longer than they may", late)
	}
	with, err := stats(ctx, ours.client, "")
	if err != nil {
		return err
	}
	grown, used := ours.memory()-rss, ours.cpu()
	if err := f.await(); err != nil {
		return err
	}
	used = ours.cpu() - used
	slices.Sort(f.latencies)
	at := func(q float64) float64 {
		return float64(f.latencies[int(q*float64(len(f.latencies)-1))]) / float64(time.Millisecond)
	}
	b.line("%-52s %14s", fmt.Sprintf("%d subscribers to %d tasks: events delivered", subscribers, watched), strconv.Itoa(len(f.latencies)))
	b.line("%-52s %14s", "  missed", strconv.Itoa(subscribers*ticks-len(f.latencies)))
	b.line("%-52s %14s", fmt.Sprintf("  p50 at %d a second", int(subscribers/tickEvery.Seconds())), fmt.Sprintf("%.1f ms", at(.5)))
	b.line("%-52s %14s", "  p99", fmt.Sprintf("%.1f ms", at(.99)))
	b.line("%-52s %14s", "  processor time a delivery", fmt.Sprintf("%.0f µs", used.Seconds()*1e6/float64(len(f.latencies))))
	b.line("%-52s %14s", "  heap and stacks a subscriber", fmt.Sprintf("%.1f KiB", float64(with.Bytes-before.Bytes)/subscribers/1024))
	b.line("%-52s %14s", "  resident memory a subscriber", fmt.Sprintf("%.1f KiB", grown*1024/subscribers))
	b.line("%-52s %14s", "  JetStream consumers, before and with them", fmt.Sprintf("%d, %d", before.Consumers, with.Consumers))
	b.line("%-52s %14s", "  NATS subscriptions, before and with them", fmt.Sprintf("%d, %d", before.Subscriptions, with.Subscriptions))
	return nil
}

// fan is many subscribers.
type fan struct {
	readers   sync.WaitGroup
	mu        sync.Mutex
	latencies []time.Duration
	errs      []error
}

// subscribe returns when every subscriber has its task.
func (f *fan) subscribe(ctx context.Context, p *process, ids []string) error {
	signer, err := p.signer("caller")
	if err != nil {
		return err
	}
	var ready sync.WaitGroup
	var clients []a2apb.A2AServiceClient
	for range conns {
		conn, err := grpc.NewClient(p.address, append(signer.Dial("bench"), grpc.WithTransportCredentials(insecure.NewCredentials()))...)
		if err != nil {
			return err
		}
		context.AfterFunc(ctx, func() { _ = conn.Close() })
		clients = append(clients, a2apb.NewA2AServiceClient(conn))
	}
	for i := range subscribers {
		ready.Add(1)
		f.readers.Go(func() {
			var once sync.Once
			got, err := read(ctx, clients[i%conns], ids[i%len(ids)], func() { once.Do(ready.Done) })
			once.Do(ready.Done)
			f.mu.Lock()
			defer f.mu.Unlock()
			f.latencies = append(f.latencies, got...)
			if err != nil {
				f.errs = append(f.errs, err)
			}
		})
		if i%100 == 99 {
			time.Sleep(10 * time.Millisecond) // the subscriptions are not what is measured
		}
	}
	ready.Wait()
	return nil
}

func (f *fan) await() error {
	f.readers.Wait()
	if len(f.errs) > 0 {
		return fmt.Errorf("%d of the subscribers failed: %w", len(f.errs), f.errs[0])
	}
	if len(f.latencies) == 0 {
		return errors.New("no event was delivered")
	}
	return nil
}

// read takes a task's ticks and gives how old each was on arrival.
func read(ctx context.Context, client a2apb.A2AServiceClient, id string, begun func()) ([]time.Duration, error) {
	stream, err := client.SubscribeToTask(versioned(ctx), &a2apb.SubscribeToTaskRequest{Id: id})
	if err != nil {
		return nil, err
	}
	var latencies []time.Duration
	for {
		ev, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return latencies, nil
		}
		if err != nil {
			return latencies, err
		}
		begun()
		if told, err := strconv.ParseInt(agent.TextOf(ev.GetStatusUpdate().GetStatus().GetMessage().GetParts()), 10, 64); err == nil {
			latencies = append(latencies, time.Since(time.Unix(0, told)))
		}
	}
}

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/protobuf/types/known/structpb"

	"sabha.dev/bench/load"
	"sabha.dev/chassis/ext"
)

// machine prints what the figures were measured on.
func (b *bench) machine() {
	cpu := "unknown"
	if raw, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		for line := range strings.Lines(string(raw)) {
			if name, ok := strings.CutPrefix(line, "model name\t: "); ok {
				cpu = strings.TrimSpace(name)
				break
			}
		}
	}
	loadavg, _ := os.ReadFile("/proc/loadavg")
	b.line("machine: %s, %d cores, %s, load before %s", cpu, runtime.NumCPU(), runtime.Version(), strings.Join(strings.Fields(string(loadavg))[:1], ""))
	b.line("%-52s %14s %14s %8s", "measure", "ours", "peer", "ratio")
}

func (b *bench) compare(name string, ours, peer, unit string, ratio float64) {
	b.line("%-52s %14s %14s %7.2fx", name, ours+" "+unit, peer+" "+unit, ratio)
}

// tasks measures durable tasks against the Go SDK's server in memory, and against
// the JavaScript SDK's on SQLite.
func (b *bench) tasks(ctx context.Context) error {
	for _, sync := range []string{"full", "normal"} {
		if err := b.tasksIn(ctx, sync); err != nil {
			return err
		}
	}
	return nil
}

func (b *bench) tasksIn(ctx context.Context, sync string) (err error) {
	ours, err := b.start(ctx, "ours", sync)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, ours.stop()) }()
	sdk, err := b.start(ctx, "sdk", sync)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, sdk.stop()) }()
	a, s := &side{process: ours, call: sendTask(ours.client, "task")}, &side{process: sdk, call: sendTask(sdk.client, "")}
	sides := []*side{a, s}
	var j *side
	if b.js != "" {
		peer, err := startJS(ctx, b.js, sync)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, peer.stop()) }()
		j = &side{process: peer, call: sendJSON(peer.address)}
		sides = append(sides, j)
	}
	if err := b.turns(ctx, callers, sides...); err != nil {
		return err
	}
	rss := ours.memory()
	b.compare(fmt.Sprintf("durable task, %d callers (SQLite %s) / Go SDK memory", callers, strings.ToUpper(sync)),
		fmt.Sprintf("%.0f", a.rate()), fmt.Sprintf("%.0f", s.rate()), "/s", a.rate()/s.rate())
	b.compare("  p50", fmt.Sprintf("%.1f", a.p(.5)), fmt.Sprintf("%.1f", s.p(.5)), "ms", s.p(.5)/a.p(.5))
	b.compare("  p99", fmt.Sprintf("%.1f", a.p(.99)), fmt.Sprintf("%.1f", s.p(.99)), "ms", s.p(.99)/a.p(.99))
	b.compare("  processor time of the server, a task", fmt.Sprintf("%.0f", a.cost()), fmt.Sprintf("%.0f", s.cost()), "µs", s.cost()/a.cost())
	if j != nil {
		b.compare(fmt.Sprintf("durable task, %d callers (SQLite %s) / JS SDK SQLite", callers, strings.ToUpper(sync)),
			fmt.Sprintf("%.0f", a.rate()), fmt.Sprintf("%.0f", j.rate()), "/s", a.rate()/j.rate())
		b.compare("  p99", fmt.Sprintf("%.1f", a.p(.99)), fmt.Sprintf("%.1f", j.p(.99)), "ms", j.p(.99)/a.p(.99))
	}
	b.line("%-52s %14s", "  resident memory of ours after it", fmt.Sprintf("%.0f MiB", rss))
	return nil
}

// messages measures direct answers at the persona's port against a raw echo, and
// what the gateway adds.
func (b *bench) messages(ctx context.Context) (err error) {
	ours, err := b.start(ctx, "ours", "full")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, ours.stop()) }()
	echo, err := b.start(ctx, "echo", "full")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, echo.stop()) }()
	all, err := b.start(ctx, "platform", "full")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, all.stop()) }()
	key, err := os.ReadFile(filepath.Join(all.dir, "key"))
	if err != nil {
		return err
	}
	a, e := &side{call: sendMessage(ours.client, "", "message")}, &side{call: sendMessage(echo.client, "", "")}
	g := &side{call: sendMessage(all.client, "bench", "message", "x-api-key", string(key))}
	s := &side{call: sendMessage(all.client, "research", "search", "x-api-key", string(key))}
	if err := b.turns(ctx, callers, a, e, g, s); err != nil {
		return err
	}
	b.compare(fmt.Sprintf("direct message, %d callers / raw gRPC echo", callers), fmt.Sprintf("%.0f", a.rate()), fmt.Sprintf("%.0f", e.rate()), "/s", a.rate()/e.rate())
	b.compare("  p99", fmt.Sprintf("%.1f", a.p(.99)), fmt.Sprintf("%.1f", e.p(.99)), "ms", e.p(.99)/a.p(.99))
	b.compare("  through the gateway / at the persona's port", fmt.Sprintf("%.0f", g.rate()), fmt.Sprintf("%.0f", a.rate()), "/s", g.rate()/a.rate())
	b.compare("  gateway, screening and a search / at the port", fmt.Sprintf("%.0f", s.rate()), fmt.Sprintf("%.0f", a.rate()), "/s", s.rate()/a.rate())
	return nil
}

// plans measures a chain of five durable steps through the whole platform.
func (b *bench) plans(ctx context.Context) error {
	for _, sync := range []string{"full", "normal"} {
		if err := b.plansIn(ctx, sync); err != nil {
			return err
		}
	}
	return nil
}

func (b *bench) plansIn(ctx context.Context, sync string) (err error) {
	all, err := b.start(ctx, "platform", sync)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, all.stop()) }()
	key, err := os.ReadFile(filepath.Join(all.dir, "key"))
	if err != nil {
		return err
	}
	call := func(ctx context.Context) error {
		req := request("")
		req.Message.Parts = []*a2apb.Part{{Content: &a2apb.Part_Text{Text: "go"}}}
		req.Message.Metadata = &structpb.Struct{Fields: map[string]*structpb.Value{ext.Playbook: structpb.NewStringValue("chain")}}
		res, err := all.client.SendMessage(versioned(ctx, "x-api-key", string(key)), req)
		if err != nil {
			return err
		}
		if t := res.GetTask(); t.GetStatus().GetState() != a2apb.TaskState_TASK_STATE_COMPLETED {
			return fmt.Errorf("the plan did not complete: %v", t.GetStatus())
		}
		return nil
	}
	many, one := &side{process: all, call: call}, &side{process: all, call: call}
	if err := b.turns(ctx, callers, many); err != nil {
		return err
	}
	if err := b.turns(ctx, 1, one); err != nil {
		return err
	}
	b.line("%-52s %14s", fmt.Sprintf("plan of five durable steps, %d callers (SQLite %s)", callers, strings.ToUpper(sync)), fmt.Sprintf("%.0f /s", many.rate()))
	b.line("%-52s %14s", "  p50", fmt.Sprintf("%.1f ms", many.p(.5)))
	b.line("%-52s %14s", "  p99", fmt.Sprintf("%.1f ms", many.p(.99)))
	b.line("%-52s %14s", "  processor time of the platform, a plan", fmt.Sprintf("%.1f ms", many.cost()/1e3))
	b.line("%-52s %14s", "  one caller, median", fmt.Sprintf("%.1f ms", load.Median(one.runs, func(r load.Result) float64 { return float64(r.Quantile(.5)) / 1e6 })))
	return nil
}

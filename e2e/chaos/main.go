// Command chaos runs real plans on a deployment of processes while it kills each
// of them in turn, and accounts for every plan, step and event afterwards.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"sabha.dev/chassis/service"
	"sabha.dev/e2e/chaos/fleet"
	"sabha.dev/e2e/chaos/ledger"
	"sabha.dev/e2e/chaos/load"
)

// agent, as the first argument, has the program be the ledger's agent.
const agent = "agent"

func main() {
	if len(os.Args) > 1 && os.Args[1] == agent {
		os.Exit(service.Main(os.Args[1:], ledger.New))
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	o := options{out: os.Stdout}
	flag.IntVar(&o.plans, "plans", 500, "plans to run")
	flag.Uint64Var(&o.seed, "seed", 1, "what is killed when")
	flag.StringVar(&o.bin, "bin", "bin", "programs that make build has built, and nats-server")
	flag.StringVar(&o.root, "root", ".", "the repository")
	flag.StringVar(&o.keep, "keep", "", "folder for logs and data, which are kept; a throwaway one unless stated")
	flag.StringVar(&o.incidents, "incidents", "all", "all, few, rolling or none")
	flag.IntVar(&o.trials, "trials", 5, "of each kind of recovery")
	flag.DurationVar(&o.soak, "for", 20*time.Minute, "how long a soak takes")
	flag.Usage = func() {
		fmt.Fprintln(os.Stderr, "usage: chaos [options] [incidents|recovery|soak]")
		flag.PrintDefaults()
	}
	flag.Parse()
	os.Exit(run(ctx, flag.Arg(0), o))
}

// run does what is asked for and gives the exit code.
func run(ctx context.Context, what string, o options) int {
	if o.plans < 1 || o.trials < 1 || o.soak < time.Minute {
		fmt.Fprintln(os.Stderr, "chaos: a run without plans, without trials or of less than a minute shows nothing; want -plans and -trials of at least 1, -for of at least 1m")
		return 2
	}
	good, err := true, error(nil)
	switch what {
	case "", "incidents":
		good, err = chaos(ctx, o)
	case "recovery":
		err = recovery(ctx, o)
	case "soak":
		good, err = soak(ctx, o)
	default:
		flag.Usage()
		return 2
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "chaos:", err)
	}
	if err != nil || !good {
		return 1
	}
	return 0
}

type options struct {
	plans           int
	seed            uint64
	bin, root, keep string
	incidents       string
	trials          int
	soak            time.Duration
	out             io.Writer
}

// deploy brings the deployment up. The function that it returns ends it.
func deploy(ctx context.Context, o options) (f *fleet.Fleet, book string, end func(), err error) {
	dir := o.keep
	if dir == "" {
		if dir, err = os.MkdirTemp("", "sabha-chaos-"); err != nil {
			return nil, "", nil, err
		}
	} else if err = os.MkdirAll(dir, 0o750); err != nil {
		return nil, "", nil, err
	}
	remove := func() {
		if o.keep == "" {
			_ = os.RemoveAll(dir)
		}
	}
	defer func() {
		if err != nil {
			remove()
		}
	}()
	books, err := load.Playbooks()
	if err != nil {
		return nil, "", nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, "", nil, err
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return nil, "", nil, err
	}
	docs, err := filepath.Abs(filepath.Join(o.root, "docs"))
	if err != nil {
		return nil, "", nil, err
	}
	book = filepath.Join(dir, "ledger")
	begun := time.Now()
	f, err = fleet.Start(ctx, fleet.Options{
		Dir: dir, Bin: o.bin, Shipped: filepath.Join(o.root, "deploy", "config"), Docs: docs, Playbooks: books,
		Agents:   []fleet.Agent{{Name: ledger.Name, Command: []string{self, agent}, Skills: ledger.Skills, Settings: map[string]any{"file": book}}},
		Settings: map[string]map[string]any{"planner": {"push": map[string]any{"allow": []string{"127.0.0.0/8"}}}},
	})
	if err != nil {
		return nil, "", nil, err
	}
	_, _ = fmt.Fprintf(o.out, "%d processes, 3 NATS nodes and PostgreSQL are up after %s; logs in %s/log\n", len(f.Processes()), time.Since(begun).Round(time.Second), dir)
	return f, book, func() { f.Stop(); remove() }, nil
}

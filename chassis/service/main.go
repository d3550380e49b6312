package service

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"sabha.dev/chassis/clock"
)

// Exit codes of a service's command.
const (
	exitOK     = 0
	exitFailed = 1
	exitUsage  = 2
)

// stopWithin bounds a graceful stop.
const stopWithin = 15 * time.Second

// Main is the command of a service: serve, migrate, restored, check-config or health, each
// with -config FILE. It returns the exit code: 0, 1 for a failure, 2 for wrong usage.
func Main[C any](args []string, define func(C) Definition) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	return run(ctx, args, os.Stderr, define)
}

func run[C any](ctx context.Context, args []string, out io.Writer, define func(C) Definition) int {
	if len(args) < 2 {
		_, _ = fmt.Fprintln(out, "usage: serve|migrate|restored|check-config|health -config FILE")
		return exitUsage
	}
	flags := flag.NewFlagSet(args[1], flag.ContinueOnError)
	flags.SetOutput(out)
	file := flags.String("config", "", "configuration file (YAML)")
	if err := flags.Parse(args[2:]); err != nil {
		return exitUsage
	}
	var c C
	if err := Load(*file, &c); err != nil {
		_, _ = fmt.Fprintln(out, "configuration:", err)
		return exitUsage
	}
	d := define(c)
	if err := d.Config.Check(); err != nil {
		_, _ = fmt.Fprintf(out, "configuration: %s: %v\n", *file, err)
		return exitUsage
	}
	var err error
	switch args[1] {
	case "check-config":
		_, _ = fmt.Fprintln(out, "configuration is good")
	case "migrate":
		err = Migrate(ctx, d)
	case "restored":
		if err = Restored(ctx, d); err == nil {
			_, _ = fmt.Fprintln(out, "the restore is recorded: readers begin with a snapshot")
		}
	case "serve":
		err = serve(ctx, d)
	case "health":
		err = Health(ctx, d.Config.HTTP)
	default:
		_, _ = fmt.Fprintf(out, "unknown command %q; want serve, migrate, restored, check-config or health\n", args[1])
		return exitUsage
	}
	if err != nil {
		_, _ = fmt.Fprintln(out, err)
		return exitFailed
	}
	return exitOK
}

// Tune sets the garbage collector of a process that serves: it keeps little and
// makes much, so a heap three times what lives halves the collector's work for
// some tens of MiB. GOGC in the environment has the last word.
func Tune() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(300)
	}
}

func serve(ctx context.Context, d Definition) error {
	Tune()
	env := Process()
	r, err := Start(ctx, d, env)
	if err != nil {
		return err
	}
	debug.FreeOSMemory() // a start needs more than what follows, and would keep it
	env.Log.Info("serving", "service", d.Name, "grpc", d.Config.GRPC, "http", d.Config.HTTP)
	select {
	case <-ctx.Done():
	case err = <-r.Failed():
	}
	stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopWithin)
	defer cancel()
	if serr := r.Stop(stop); err == nil {
		err = serr
	}
	return err
}

// Process is the environment of a process that holds one service.
func Process() Env {
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return Env{
		Clock: clock.System{}, Log: slog.New(slog.NewJSONHandler(os.Stderr, nil)), Registry: registry, Network: TCP{}, CheckSchema: true, Release: Release(),
	}
}

// Release is the version of the build, from its module or its commit.
func Release() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && len(s.Value) >= 12 {
			return s.Value[:12]
		}
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	return "development"
}

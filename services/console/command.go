package console

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"sabha.dev/chassis/service"
)

// Exit codes of the command.
const (
	exitOK     = 0
	exitFailed = 1
	exitUsage  = 2
)

// stopWithin bounds a graceful stop.
const stopWithin = 15 * time.Second

const usage = "usage: console serve|check-config|health -config FILE"

// Main is the console's command. It returns the exit code: 0, 1 for a failure, 2
// for wrong usage.
func Main(args []string) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	return run(ctx, args, os.Stderr, service.Process)
}

func run(ctx context.Context, args []string, out io.Writer, env func() service.Env) int {
	if len(args) < 2 || !slices.Contains([]string{"serve", "check-config", "health"}, args[1]) {
		_, _ = fmt.Fprintln(out, usage)
		return exitUsage
	}
	flags := flag.NewFlagSet("console "+args[1], flag.ContinueOnError)
	flags.SetOutput(out)
	file := flags.String("config", "", "configuration file (YAML)")
	if err := flags.Parse(args[2:]); err != nil {
		return exitUsage
	}
	if *file == "" || flags.NArg() > 0 {
		_, _ = fmt.Fprintln(out, usage)
		return exitUsage
	}
	var c Config
	if err := service.Load(*file, &c); err != nil {
		_, _ = fmt.Fprintln(out, "configuration:", err)
		return exitUsage
	}
	if err := c.Check(); err != nil {
		_, _ = fmt.Fprintf(out, "configuration: %s: %v\n", *file, err)
		return exitUsage
	}
	if args[1] == "check-config" {
		_, _ = fmt.Fprintln(out, "configuration is good")
		return exitOK
	}
	var err error
	if args[1] == "health" {
		err = service.Health(ctx, c.HTTP)
	} else {
		err = serve(ctx, c, env())
	}
	if err != nil {
		_, _ = fmt.Fprintln(out, err)
		return exitFailed
	}
	return exitOK
}

func serve(ctx context.Context, c Config, env service.Env) error {
	service.Tune()
	r, err := Start(ctx, c, env)
	if err != nil {
		return err
	}
	env.Log.Info("serving", "service", name, "address", r.Addr())
	select {
	case <-ctx.Done():
	case err = <-r.Failed():
	}
	stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopWithin)
	defer cancel()
	return errors.Join(err, r.Stop(stop))
}

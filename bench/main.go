// Command bench measures speed and memory side by side with the peers and prints
// one line a measure: name, ours, peer, ratio.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime/pprof"
	"syscall"
	"time"

	"sabha.dev/bench/server"
	"sabha.dev/chassis/service"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) > 0 && args[0] == "serve" {
		return serve(ctx, args[1:])
	}
	if len(args) > 0 && args[0] == "post" {
		return post(ctx, args[1:])
	}
	if len(args) > 0 && args[0] == "tools" {
		return serveTools(ctx)
	}
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	length := flags.Duration("length", 5*time.Second, "of one run of one measure")
	rounds := flags.Int("rounds", 3, "runs of each side, in turn; the median counts")
	only := flags.String("only", "", "measure only those whose name contains this")
	sabha := flags.String("sabha", "bin/sabha", "the program for the measures of the whole platform")
	js := flags.String("js", "bench/js", "folder of the JavaScript peer, installed; empty leaves it out")
	profile := flags.String("profile", "", "folder for processor profiles of the servers, which cost a little; empty takes none")
	if err := flags.Parse(args); err != nil {
		return err
	}
	b := &bench{length: *length, rounds: *rounds, only: *only, sabha: *sabha, js: *js, profile: *profile, out: os.Stdout}
	return b.run(ctx)
}

// serve is the server side, in a process of its own.
func serve(ctx context.Context, args []string) error {
	if len(args) == 0 {
		return fmt.Errorf("serve what? ours, partner, partners, sdk, echo or platform")
	}
	flags := flag.NewFlagSet("serve", flag.ContinueOnError)
	address := flags.String("address", "127.0.0.1:0", "to serve")
	dir := flags.String("dir", "", "for data")
	sync := flags.String("sync", "full", "durability of SQLite commits: full or normal; or the URL of a PostgreSQL database (ours) or of the partner (partners)")
	profile := flags.String("profile", "", "file for a processor profile")
	if err := flags.Parse(args[1:]); err != nil {
		return err
	}
	if *profile != "" {
		f, err := os.Create(*profile)
		if err != nil {
			return err
		}
		if err := pprof.StartCPUProfile(f); err != nil {
			return err
		}
		defer func() { pprof.StopCPUProfile(); _ = f.Close() }()
	}
	ready := func() { fmt.Println("ready") }
	if args[0] == "ours" || args[0] == "platform" || args[0] == "partners" {
		service.Tune() // as our programs do
	}
	switch args[0] {
	case "ours":
		return server.Ours(ctx, *dir, *address, *sync, ready)
	case "partner":
		return server.Partner(ctx, *dir, *address, ready)
	case "partners":
		return server.Partners(ctx, *dir, *address, *sync, ready)
	case "sdk":
		return server.SDK(ctx, *address, ready)
	case "echo":
		return server.Echo(ctx, *address, ready)
	case "platform":
		return server.Platform(ctx, *dir, *address, *sync, ready)
	}
	return fmt.Errorf("no server %q", args[0])
}

// Command agent is the system under test for the public A2A test kit
// (github.com/a2aproject/a2a-tck): a persona on the chassis, behind the gateway,
// which does what the prefix of a message's id asks for. docs/conformance.md says
// how to run the kit against it. It is no part of the product.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"sabha.dev/chassis/clock"
)

// stopWithin bounds a graceful stop.
const stopWithin = 5 * time.Second

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := serve(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "agent:", err)
		os.Exit(1)
	}
}

// serve runs the agent until ctx ends.
func serve(ctx context.Context, args []string) (err error) {
	flags := flag.NewFlagSet("agent", flag.ContinueOnError)
	http := flags.String("http", "127.0.0.1:9999", "the address of HTTP+JSON, JSON-RPC and the card")
	grpc := flags.String("grpc", "127.0.0.1:10000", "the address of gRPC")
	card := flags.String("card", cardPlain, "the card of the agent: "+cardPlain+", "+cardExtended+" or "+cardStrict)
	if err := flags.Parse(args); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "sabha-tck-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	s, err := start(ctx, options{
		http: *http, grpc: *grpc, dir: dir, card: *card, clock: clock.System{},
		log: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})),
	})
	if err != nil {
		return err
	}
	fmt.Printf("serving %s and gRPC at %s\n", s.http, s.grpc)
	select {
	case <-ctx.Done():
	case err = <-s.failed:
	}
	within, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopWithin)
	defer cancel()
	return errors.Join(err, s.stop(within))
}

// Package interop drives a running platform with clients that are not ours: the
// JavaScript SDK of A2A, the command of its Go SDK, and curl. What each of them
// does differently from the specification is in docs/interop.md.
package interop

import (
	"bytes"
	"context"
	"log/slog"
	"os/exec"
	"strings"
	"testing"
	"time"

	"sabha.dev/cmd/sabha/platform"
)

// clientWithin bounds one run of a foreign client.
const clientWithin = time.Minute

// target is a running platform as clients see it.
type target struct {
	url, grpc, key string
}

// start runs a platform over testdata/docs until the test ends.
func start(t *testing.T) target {
	t.Helper()
	p, err := platform.Start(t.Context(), platform.Options{
		Data: t.TempDir(), Docs: "testdata/docs", HTTP: "127.0.0.1:0", GRPC: "127.0.0.1:0", Console: "127.0.0.1:0",
		PushAllow: []string{"127.0.0.0/8"},
		Log:       slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelWarn})),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return target{url: "http://" + p.HTTPAddr(), grpc: p.GRPCAddr(), key: p.FirstKey}
}

// run runs a program and gives what it printed and, when it failed, what it said
// last on standard error.
func run(t *testing.T, program string, args ...string) (output, failure string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), clientWithin)
	defer cancel()
	c := exec.CommandContext(ctx, program, args...)
	var out, said bytes.Buffer
	c.Stdout, c.Stderr = &out, &said
	if err := c.Run(); err != nil {
		if failure = strings.TrimSpace(said.String()); failure == "" {
			failure = err.Error()
		}
	}
	return out.String(), failure
}

// must runs a program that is to succeed.
func must(t *testing.T, program string, args ...string) string {
	t.Helper()
	out, failure := run(t, program, args...)
	if failure != "" {
		t.Fatalf("%s %s: %s\n%s", program, strings.Join(args, " "), failure, out)
	}
	return out
}

// equal compares what a client made of an answer with what was sent.
func equal[T comparable](t *testing.T, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

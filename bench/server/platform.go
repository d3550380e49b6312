package server

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"

	"sabha.dev/chassis/service"
	"sabha.dev/cmd/sabha/platform"
	"sabha.dev/services/gateway"
)

// Chain is the playbook of five instant steps, each a durable child task.
const Chain = `playbook: chain
version: 1
description: Five instant steps, one after the other.
budget: 1m
defaults:
  budget: 30s
steps:
  - {id: s1, agent: bench, skill: step, inputs: {n: 0}}
  - {id: s2, agent: bench, skill: step, inputs: {n: "= steps.s1.output.data.n"}}
  - {id: s3, agent: bench, skill: step, inputs: {n: "= steps.s2.output.data.n"}}
  - {id: s4, agent: bench, skill: step, inputs: {n: "= steps.s3.output.data.n"}}
  - {id: s5, agent: bench, skill: step, inputs: {n: "= steps.s4.output.data.n"}}
output:
  text: done
  data: {n: "= steps.s5.output.data.n"}
`

// Asking is the playbook of a step that asks.
const Asking = `playbook: asking
version: 1
description: A step that waits for an answer.
steps:
  - {id: s1, agent: bench, skill: ask}
output:
  text: done
`

// Platform serves the whole platform with the bench agent beside its personas and
// without rate limits. The first API key is written to <dir>/key.
func Platform(ctx context.Context, dir, address, sync string, ready func()) error {
	books := filepath.Join(dir, "playbooks")
	if err := os.MkdirAll(books, 0o750); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(books, "chain.yaml"), []byte(Chain), 0o600); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(books, "asking.yaml"), []byte(Asking), 0o600); err != nil {
		return err
	}
	unlimited := gateway.Limit{PerSecond: 1e6, Burst: 1e6}
	p, err := platform.Start(ctx, platform.Options{
		Data: filepath.Join(dir, "data"), Playbooks: books, GRPC: address, HTTP: "127.0.0.1:0", Console: "127.0.0.1:0", Sync: sync,
		RateLimit: gateway.RateLimit{Caller: unlimited, Anonymous: unlimited},
		Agents:    map[string][]string{"bench": {"task", "step", "message", "ask"}},
		Tenants:   []string{"bench"},
		Extra:     []service.Definition{Definition("bench", service.Config{}, nil)},
		Log:       slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})),
	})
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "key"), []byte(p.FirstKey), 0o600); err != nil {
		return err
	}
	ready()
	<-ctx.Done()
	return p.Stop(context.WithoutCancel(ctx))
}

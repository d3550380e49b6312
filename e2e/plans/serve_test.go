package plans_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"sabha.dev/chassis/agent"
	"sabha.dev/chassis/service"
	"sabha.dev/cmd/sabha/platform"
	"sabha.dev/services/gateway"
)

// serveIn, when set, has the test program serve a platform in that folder instead
// of testing: the process that is killed.
const serveIn = "SABHA_E2E_PLANS_SERVE"

func TestMain(m *testing.M) {
	if dir := os.Getenv(serveIn); dir != "" {
		if err := serve(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// Files of a folder that is served from.
const (
	addressFile = "address" // of the gRPC port, once it serves
	keyFile     = "key"     // the first API key
	workFile    = "work"    // one line an execution of a step
	gateFile    = "gate"    // gated steps go on once it exists
	booksDir    = "playbooks"
)

// serve runs a platform whose agent scribe writes down what it executes, until it
// is told to stop or killed.
func serve(dir string) error {
	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer cancel()
	work, err := os.OpenFile(filepath.Join(dir, workFile), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	s := &scribe{dir: dir, work: work}
	unlimited := gateway.Limit{PerSecond: 1e6, Burst: 1e6}
	p, err := platform.Start(ctx, platform.Options{
		Data: filepath.Join(dir, "data"), Playbooks: filepath.Join(dir, booksDir), GRPC: "127.0.0.1:0", HTTP: "127.0.0.1:0", Console: "127.0.0.1:0",
		RateLimit: gateway.RateLimit{Caller: unlimited, Anonymous: unlimited},
		Agents:    map[string][]string{"scribe": {"do"}},
		Extra:     []service.Definition{s.definition()},
		Log:       slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})),
	})
	if err != nil {
		return err
	}
	if p.FirstKey != "" {
		if err := write(dir, keyFile, p.FirstKey); err != nil {
			return err
		}
	}
	if err := write(dir, addressFile, p.GRPCAddr()); err != nil {
		return err
	}
	<-ctx.Done()
	return p.Stop(context.Background())
}

// write makes a file whole or not at all.
func write(dir, name, text string) error {
	tmp := filepath.Join(dir, name+".new")
	if err := os.WriteFile(tmp, []byte(text), 0o600); err != nil {
		return err
	}
	return os.Rename(tmp, filepath.Join(dir, name))
}

// scribe is an agent whose every execution is on disk before its work begins.
type scribe struct {
	dir  string
	work *os.File
}

func (s *scribe) definition() service.Definition {
	return service.Definition{Name: "scribe", Build: func(context.Context, *service.Base) (*service.Persona, error) {
		return &service.Persona{Unscreened: true, Agent: agent.Agent{
			Tenant: "scribe", Name: "scribe", Version: "1", Skills: []agent.Skill{{ID: "do", Run: s.do}},
		}}, nil
	}}
}

// do works for inputs.ms milliseconds, or until the gate is open. The id of its
// message names the plan, the step, its round and its attempt.
func (s *scribe) do(ctx context.Context, run agent.Run) (agent.Outcome, error) {
	first := run.Task().GetHistory()[0]
	if _, err := fmt.Fprintf(s.work, "%d %s\n", os.Getpid(), first.GetMessageId()); err != nil {
		return agent.Outcome{}, err
	}
	if err := s.work.Sync(); err != nil {
		return agent.Outcome{}, err
	}
	in := agent.DataOf(first.GetParts()).GetStructValue().GetFields()
	end := time.Now().Add(time.Duration(in["ms"].GetNumberValue()) * time.Millisecond)
	for {
		_, err := os.Stat(filepath.Join(s.dir, gateFile))
		gated := in["gated"].GetBoolValue() && err != nil
		switch {
		case in["fails"].GetBoolValue():
			return agent.Failed(agent.Text("as it should")), nil
		case !gated && !time.Now().Before(end):
			return agent.Completed(agent.Text("done")), nil
		}
		select {
		case <-ctx.Done():
			return agent.Outcome{}, ctx.Err()
		case <-time.After(5 * time.Millisecond):
		}
	}
}

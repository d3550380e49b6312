package assembly_test

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"sabha.dev/chassis/bus"
	"sabha.dev/chassis/clock"
	"sabha.dev/chassis/eventlog"
	"sabha.dev/chassis/identity"
	"sabha.dev/chassis/service"
	"sabha.dev/cmd/sabha/platform"
	"sabha.dev/services/executor"
	"sabha.dev/services/gateway"
	"sabha.dev/services/memory"
	"sabha.dev/services/partners"
	"sabha.dev/services/planner"
	"sabha.dev/services/research"
	"sabha.dev/services/review"
	"sabha.dev/services/security"
	"sabha.dev/services/validator"
	"sabha.dev/testrig/natstest"
)

// pair is two of each service in one process, over the same databases.
type pair struct {
	t        *testing.T
	dir      string
	database func(service string) string
	nats     *natstest.Server
	network  *service.Memory
	ring     identity.Keyring
	replicas [2][]*service.Running
	gateways [2]*gateway.Running
	clients  [2]a2apb.A2AServiceClient
	conns    [2]*grpc.ClientConn
	key      string
}

// pairOptions of a pair beside the ordinary.
type pairOptions struct {
	database func(service string) string
	// playbooks is a folder of further playbooks, for the agents of more.
	playbooks string
	more      []service.Definition
	agents    map[string][]string
	// natsAway says that the services start while NATS does not run.
	natsAway bool
}

// startPair starts two of each on SQLite files.
func startPair(t *testing.T) *pair {
	t.Helper()
	dir := t.TempDir()
	return startPairOn(t, pairOptions{database: func(name string) string {
		return "sqlite:" + filepath.Join(dir, name+".db") + "?sync=normal"
	}})
}

func startPairOn(t *testing.T, o pairOptions) *pair {
	t.Helper()
	p := &pair{t: t, dir: t.TempDir(), database: o.database, nats: natstest.New(t), network: service.NewMemory()}
	if o.natsAway {
		p.nats.Stop()
	}
	names := slices.Clone(platform.Services)
	for _, d := range o.more {
		names = append(names, d.Name)
	}
	if err := identity.MakeKeys(filepath.Join(p.dir, "keys"), names...); err != nil {
		t.Fatal(err)
	}
	var err error
	if p.ring, err = identity.LoadKeyring(filepath.Join(p.dir, "keys")); err != nil {
		t.Fatal(err)
	}
	for n := range p.replicas {
		for _, d := range append(slices.Clone(o.more), []service.Definition{
			security.New(security.Config{Config: p.config(security.Name)}),
			memory.New(memory.Config{Config: p.config(memory.Name)}),
			executor.New(executor.Config{Config: p.config(executor.Name)}),
			validator.New(validator.Config{Config: p.config(validator.Name)}),
			research.New(research.Config{Config: p.config(research.Name), Documents: "testdata/docs"}),
			review.New(review.Config{Config: p.config(review.Name)}),
			partners.New(partners.Config{Config: p.config(partners.Name)}),
			planner.New(planner.Config{Config: p.config(planner.Name), Playbooks: o.playbooks, Agents: o.agents}),
		}...) {
			if d.Config.Database == "" {
				d.Config.Database = p.database(d.Name)
			}
			r, err := service.Start(t.Context(), d, p.env(d.Name, n))
			if err != nil {
				t.Fatal(err)
			}
			p.replicas[n] = append(p.replicas[n], r)
		}
	}
	for n := range p.gateways {
		g, err := gateway.Start(t.Context(), gateway.Config{Config: p.config("gateway"), PublicGRPC: "127.0.0.1:0", PublicHTTP: "127.0.0.1:0"}, p.env("gateway", n))
		if err != nil {
			t.Fatal(err)
		}
		p.gateways[n] = g
		if key, err := g.FirstKey(t.Context()); err != nil {
			t.Fatal(err)
		} else if key != "" {
			p.key = key
		}
		conn, err := grpc.NewClient(g.GRPCAddr(), grpc.WithTransportCredentials(insecure.NewCredentials()))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		p.conns[n], p.clients[n] = conn, a2apb.NewA2AServiceClient(conn)
	}
	t.Cleanup(func() {
		p.stop(0)
		p.stop(1)
	})
	return p
}

func (p *pair) config(name string) service.Config {
	return service.Config{Database: p.database(name)}
}

func (p *pair) env(name string, n int) service.Env {
	p.t.Helper()
	key, err := identity.LoadKey(filepath.Join(p.dir, "keys", name+".key"))
	if err != nil {
		p.t.Fatal(err)
	}
	nc, err := nats.Connect(p.nats.URL(), nats.RetryOnFailedConnect(true), nats.MaxReconnects(-1), nats.ReconnectWait(20*time.Millisecond))
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(nc.Close)
	return service.Env{
		Clock: clock.System{}, NATS: nc, Key: key, Keys: p.ring, Network: p.network, Release: "test",
		Log: slog.New(slog.NewTextHandler(p.t.Output(), &slog.HandlerOptions{Level: slog.LevelWarn})).With("replica", n),
	}
}

// stop ends one replica of each service, its gateway first.
func (p *pair) stop(n int) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if g := p.gateways[n]; g != nil {
		p.gateways[n] = nil
		if err := g.Stop(ctx); err != nil {
			p.t.Error(err)
		}
	}
	for i := len(p.replicas[n]) - 1; i >= 0; i-- {
		if err := p.replicas[n][i].Stop(ctx); err != nil {
			p.t.Error(err)
		}
	}
	p.replicas[n] = nil
}

func (p *pair) ctx() context.Context {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	p.t.Cleanup(cancel)
	return metadata.AppendToOutgoingContext(ctx, "a2a-version", "1.0", "x-api-key", p.key)
}

// finish reads a task at one gateway until it has ended.
func (p *pair) finish(n int, id string) *a2apb.Task {
	p.t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		task, err := p.clients[n].GetTask(p.ctx(), &a2apb.GetTaskRequest{Id: id})
		if err != nil && status.Code(err) != codes.Unavailable {
			p.t.Fatal(err)
		}
		switch task.GetStatus().GetState() {
		case completed, failed, rejected, a2apb.TaskState_TASK_STATE_CANCELED:
			return task
		}
		if time.Now().After(end) {
			p.t.Fatalf("not ended: %v", task)
		}
	}
}

func TestTwoOfEachServiceAreOnePlatform(t *testing.T) {
	p := startPair(t)
	send := func(n int, m *a2apb.SendMessageRequest) string {
		t.Helper()
		m.Configuration = &a2apb.SendMessageConfiguration{ReturnImmediately: true}
		res, err := p.clients[n].SendMessage(p.ctx(), m)
		if err != nil {
			t.Fatal(err)
		}
		return res.GetTask().GetId()
	}
	for n := range p.clients {
		t.Run(fmt.Sprintf("sent to %d, read at %d", n, 1-n), func(t *testing.T) {
			m := ask(question)
			id := send(n, m)
			task := p.finish(1-n, id)
			text, _ := answer(task)
			if task.GetStatus().GetState() != completed || !strings.Contains(text, "every six hours") {
				t.Fatalf("%v", task)
			}
			if again := send(1-n, m); again != id {
				t.Fatalf("the same message sent to the other replica made task %s; it was %s", again, id)
			}
		})
	}
	// One of each leaves while questions are on their way; the others carry them on.
	var ids []string
	for range 10 {
		ids = append(ids, send(0, ask(question)))
	}
	p.stop(0)
	for _, id := range ids {
		if task := p.finish(1, id); task.GetStatus().GetState() != completed {
			t.Errorf("%v", task)
		}
	}
	if task := p.finish(1, send(1, ask(question))); task.GetStatus().GetState() != completed {
		t.Errorf("%v", task)
	}
}

// A process that is started again during an outage of NATS works as those do that ran before.
func TestServicesStartWhileNATSIsAway(t *testing.T) {
	dir := t.TempDir()
	p := startPairOn(t, pairOptions{natsAway: true, database: func(name string) string {
		return "sqlite:" + filepath.Join(dir, name+".db") + "?sync=normal"
	}})
	task := calling(t, func() (*a2apb.SendMessageResponse, error) { return p.clients[0].SendMessage(p.ctx(), ask(question)) }).GetTask()
	if text, _ := answer(task); task.GetStatus().GetState() != completed || !strings.Contains(text, "every six hours") {
		t.Errorf("while NATS was away: %v", task)
	}
	if err := p.nats.Start(); err != nil {
		t.Fatal(err)
	}
	js, err := jetstream.New(p.nats.Connect(t))
	if err != nil {
		t.Fatal(err)
	}
	held := func(stream string) bool {
		s, err := js.Stream(t.Context(), stream)
		return err == nil && s.CachedInfo().State.Msgs+uint64(s.CachedInfo().State.Consumers) > 0
	}
	for _, stream := range []string{eventlog.Stream, bus.WorkStream} { // the events that waited, and the personas that take work
		for end := time.Now().Add(long); !held(stream); time.Sleep(20 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("when NATS is back, nothing comes into %s", stream)
			}
		}
	}
}

package replicas

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/protobuf/types/known/structpb"

	"sabha.dev/chassis/agent"
	"sabha.dev/chassis/ext"
	"sabha.dev/testrig/freeport"
	"sabha.dev/testrig/natstest"
	"sabha.dev/testrig/postgrestest"
)

// patience bounds every wait. It is reached only when something is broken.
const patience = time.Minute

var postgres postgrestest.Shared

// fleet is several nodes over the same databases and NATS.
type fleet struct {
	*testing.T
	dir   string
	plans []plan
	nodes []*node
	key   string
}

// onBothEngines runs a test with two nodes over SQLite and three over PostgreSQL.
func onBothEngines(t *testing.T, test func(*testing.T, *fleet)) {
	t.Run("two over sqlite", func(t *testing.T) { test(t, newFleet(t, 2, natstest.New(t).URL(), sqlite(t)).up()) })
	t.Run("three over postgres", func(t *testing.T) {
		test(t, newFleet(t, 3, natstest.New(t).URL(), func(string) string { return postgres.URL(t) }).up())
	})
}

func sqlite(t *testing.T) func(string) string {
	dir := t.TempDir()
	return func(name string) string { return "sqlite:" + filepath.Join(dir, name+".db") + "?sync=normal" }
}

// newFleet plans nodes.
func newFleet(t *testing.T, nodes int, nats string, database func(service string) string) *fleet {
	t.Helper()
	f := &fleet{T: t, dir: t.TempDir(), nodes: make([]*node, nodes)}
	f.must(makeKeys(f.dir))
	f.must(writePlaybooks(f.dir))
	names := append([]string{"GRPC", "HTTP"}, personas...)
	ports, err := freeport.Find(nodes * len(names))
	f.must(err)
	databases, addresses := map[string]string{}, map[string][]string{}
	for _, name := range append([]string{"gateway"}, personas...) {
		databases[name] = database(name)
	}
	for i, name := range names {
		for n := range nodes {
			addresses[name] = append(addresses[name], address(ports[i*nodes+n]))
		}
	}
	for n := range nodes {
		f.plans = append(f.plans, plan{Index: n, Dir: f.dir, NATS: nats, Databases: databases, Addresses: addresses})
	}
	return f
}

// up starts every node in this process. They leave with the test.
func (f *fleet) up() *fleet {
	f.Helper()
	f.Cleanup(func() {
		for n := range f.nodes {
			f.stop(n)
		}
	})
	for n := range f.plans {
		f.start(n)
	}
	return f
}

func (f *fleet) start(n int) {
	f.Helper()
	started, err := f.plans[n].start(context.Background(), f.Output())
	f.must(err)
	f.nodes[n] = started
	f.readKey()
}

func (f *fleet) readKey() {
	f.Helper()
	raw, err := os.ReadFile(filepath.Join(f.dir, "key"))
	f.must(err)
	f.key = string(raw)
}

// stop has a node leave in order.
func (f *fleet) stop(n int) {
	f.Helper()
	if f.nodes[n] == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 15*time.Second)
	defer cancel()
	if err := f.nodes[n].stop(ctx); err != nil {
		f.Error(err)
	}
	f.nodes[n] = nil
}

func (f *fleet) must(err error) {
	f.Helper()
	if err != nil {
		f.Fatal(err)
	}
}

// client speaks to the gateway of a node over a binding.
func (f *fleet) client(n int, binding string) client {
	f.Helper()
	if binding != "grpc" {
		return &overHTTP{f.plans[n].Addresses["HTTP"][n], f.key, binding == "jsonrpc"}
	}
	c, err := newGRPC(f.plans[n].Addresses["GRPC"][n], f.key)
	f.must(err)
	f.Cleanup(func() { _ = c.conn.Close() })
	return c
}

// ctx of one call.
func (f *fleet) ctx() context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	f.Cleanup(cancel)
	return ctx
}

// planned asks the planner for a playbook.
func planned(book string) *a2apb.SendMessageRequest {
	req := say("go")
	req.Message.Metadata = &structpb.Struct{Fields: map[string]*structpb.Value{ext.Playbook: structpb.NewStringValue(book)}}
	return req
}

// told asks the worker itself for something.
func told(verb string) *a2apb.SendMessageRequest {
	data, err := agent.Data(map[string]any{"do": verb})
	if err != nil {
		panic(err)
	}
	req := say("")
	req.Tenant, req.Message.Parts = workerName, []*a2apb.Part{data}
	return req
}

func say(text string) *a2apb.SendMessageRequest {
	return &a2apb.SendMessageRequest{Message: &a2apb.Message{
		MessageId: rand.Text(), Role: a2apb.Role_ROLE_USER, Parts: []*a2apb.Part{agent.Text(text)},
	}}
}

func atOnce(req *a2apb.SendMessageRequest) *a2apb.SendMessageRequest {
	req.Configuration = &a2apb.SendMessageConfiguration{ReturnImmediately: true}
	return req
}

func (f *fleet) send(c client, req *a2apb.SendMessageRequest) *a2apb.Task {
	f.Helper()
	res := &a2apb.SendMessageResponse{}
	f.must(c.call(f.ctx(), "SendMessage", req, res))
	return res.GetTask()
}

func (f *fleet) get(c client, tenant, id string) *a2apb.Task {
	f.Helper()
	task := &a2apb.Task{}
	f.must(c.call(f.ctx(), "GetTask", &a2apb.GetTaskRequest{Tenant: tenant, Id: id}, task))
	return task
}

// soon waits for a condition.
func (f *fleet) soon(what string, holds func() bool) {
	f.Helper()
	for limit := time.Now().Add(patience); !holds(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(limit) {
			f.Fatalf("it never came about that %s", what)
		}
	}
}

// begun waits until the worker has begun something so many times.
func (f *fleet) begun(verb string, times int) {
	f.Helper()
	f.soon(fmt.Sprintf("the worker begins to %s", verb), func() bool {
		n := 0
		for _, e := range executions(f.dir) {
			if e[1] == verb {
				n++
			}
		}
		return n >= times
	})
}

// openGate lets work go on that holds.
func (f *fleet) openGate() { f.must(os.WriteFile(filepath.Join(f.dir, "gate"), nil, 0o600)) }

func (f *fleet) closeGate() { _ = os.Remove(filepath.Join(f.dir, "gate")) }

func note(t *a2apb.Task) string { return agent.TextOf(t.GetStatus().GetMessage().GetParts()) }

func state(t *a2apb.Task) string {
	return strings.TrimPrefix(t.GetStatus().GetState().String(), "TASK_STATE_")
}

package planner_test

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/types/known/structpb"

	"sabha.dev/chassis/agent"
	"sabha.dev/chassis/clock"
	"sabha.dev/chassis/ext"
	"sabha.dev/chassis/identity"
	"sabha.dev/chassis/service"
	adminv1 "sabha.dev/gen/sabha/admin/v1"
	"sabha.dev/services/planner"
	"sabha.dev/testrig/clocktest"
	"sabha.dev/testrig/natstest"
)

// patience bounds every wait for something that must happen. It is reached only
// when something is broken.
const patience = 30 * time.Second

// rig is a planner with its workers, as their clients see them.
type rig struct {
	tb      testing.TB
	options options
	nats    *natstest.Server
	network *service.Memory
	ring    identity.Keyring
	private map[string]ed25519.PrivateKey
	dir     string
	books   string
	running map[string]*service.Running
	conn    grpc.ClientConnInterface
	client  a2apb.A2AServiceClient
	gateway *identity.Signer
	work    *worker
	people  *people
	admin   map[string]adminv1.AdminServiceClient
}

type options struct {
	// onLine replaces the time for which a step is waited for.
	onLine time.Duration
	clock  clock.Clock
	// database of the planner; SQLite in a folder of the test unless it is set.
	database string
	// model of the planner; none unless it is set.
	model planner.Model
	// replicas of the planner; one unless it is set.
	replicas int
}

// services with keys; spare is a second worker.
var names = []string{"planner", "worker", "spare", "review", "caller", "gateway"}

// start runs a planner over playbooks and a worker.
func start(tb testing.TB, o options, playbooks ...string) *rig {
	tb.Helper()
	if o.clock == nil {
		o.clock = clock.System{}
	}
	dir := tb.TempDir()
	r := &rig{
		tb: tb, options: o, nats: natstest.New(tb), network: service.NewMemory(), private: map[string]ed25519.PrivateKey{},
		dir: dir, books: filepath.Join(dir, "playbooks"), running: map[string]*service.Running{}, work: newWorker(tb), people: newPeople(tb),
		admin: map[string]adminv1.AdminServiceClient{},
	}
	r.must(identity.MakeKeys(filepath.Join(dir, "keys"), names...))
	var err error
	r.ring, err = identity.LoadKeyring(filepath.Join(dir, "keys"))
	r.must(err)
	for _, n := range names {
		r.private[n], err = identity.LoadKey(filepath.Join(dir, "keys", n+".key"))
		r.must(err)
	}
	r.must(os.Mkdir(r.books, 0o750))
	for i, b := range playbooks {
		r.must(os.WriteFile(filepath.Join(r.books, string(rune('a'+i))+".yaml"), []byte(b), 0o600))
	}
	r.gateway, err = identity.NewSigner("gateway", r.private["gateway"], o.clock)
	r.must(err)
	tb.Cleanup(r.stopAll)
	r.up("worker")
	r.up("planner")
	for n := 1; n < o.replicas; n++ {
		r.up(fmt.Sprint("planner ", n))
	}
	r.conn = r.dial("caller", "planner")
	r.client = a2apb.NewA2AServiceClient(r.conn)
	return r
}

func (r *rig) must(err error) {
	r.tb.Helper()
	if err != nil {
		r.tb.Fatal(err)
	}
}

func (r *rig) env(name string) service.Env {
	return service.Env{
		Clock: r.options.clock, Log: slog.New(slog.NewTextHandler(r.tb.Output(), nil)), NATS: r.nats.Connect(r.tb), Keys: r.ring,
		Key: r.private[name], Network: r.network, Exclusive: true,
	}
}

// up starts a service over its data; "planner 1" is a further replica of the planner.
func (r *rig) up(replica string) {
	r.tb.Helper()
	name, _, _ := strings.Cut(replica, " ")
	c := service.Config{Database: "sqlite:" + filepath.Join(r.dir, name+".db") + "?sync=normal"}
	var d service.Definition
	if name == "planner" {
		if r.options.database != "" {
			c.Database = r.options.database
		}
		pc := planner.Config{
			Config: c, Playbooks: r.books,
			Agents: map[string][]string{"worker": {"do", "undo", "careful", "say"}, "spare": {"do", "undo"}}, Model: r.options.model,
		}
		if d = planner.New(pc); r.options.onLine != 0 {
			d = planner.NewOnLine(pc, r.options.onLine)
		}
	} else if d = r.work.definition(name, c); name == "review" {
		d = r.people.definition(c)
	}
	env := r.env(name)
	env.Exclusive = r.options.replicas < 2
	running, err := service.Start(context.Background(), d, env)
	r.must(err)
	r.running[replica] = running
}

// down stops a service; its data stays.
func (r *rig) down(name string) {
	r.tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	r.must(r.running[name].Stop(ctx))
	delete(r.running, name)
}

func (r *rig) stopAll() {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for _, name := range slices.Sorted(maps.Keys(r.running)) { // the planner before the workers
		if err := r.running[name].Stop(ctx); err != nil {
			r.tb.Error(err)
		}
	}
}

func (r *rig) dial(as, to string) grpc.ClientConnInterface {
	r.tb.Helper()
	base, done, err := service.OpenBase(context.Background(), service.Definition{Name: as}, r.env(as))
	r.must(err)
	r.tb.Cleanup(done)
	conn, err := base.Peer(to)
	r.must(err)
	return conn
}

// ctx is that of a call of alice.
func (r *rig) ctx() context.Context {
	r.tb.Helper()
	grant, err := r.gateway.Grant(identity.Principal{Subject: "alice", Organisation: "acme", Scopes: []string{identity.Operator}})
	r.must(err)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	r.tb.Cleanup(cancel)
	return metadata.AppendToOutgoingContext(identity.WithOutgoing(ctx, identity.Call{Grant: grant}), "a2a-version", "1.0")
}

// message to the planner that names a playbook, with text or data.
func message(book string, parts ...*a2apb.Part) *a2apb.Message {
	m := &a2apb.Message{MessageId: rand.Text(), Role: a2apb.Role_ROLE_USER, Parts: parts}
	if len(parts) == 0 {
		m.Parts = []*a2apb.Part{agent.Text("go")}
	}
	if book != "" {
		m.Metadata = &structpb.Struct{Fields: map[string]*structpb.Value{ext.Playbook: structpb.NewStringValue(book)}}
	}
	return m
}

// run sends a message and waits for its task.
func (r *rig) run(m *a2apb.Message) *a2apb.Task {
	r.tb.Helper()
	res, err := r.client.SendMessage(r.ctx(), &a2apb.SendMessageRequest{Message: m})
	r.must(err)
	return res.GetTask()
}

// begin sends a message and does not wait.
func (r *rig) begin(m *a2apb.Message) string {
	r.tb.Helper()
	res, err := r.client.SendMessage(r.ctx(), &a2apb.SendMessageRequest{Message: m, Configuration: &a2apb.SendMessageConfiguration{ReturnImmediately: true}})
	r.must(err)
	return res.GetTask().GetId()
}

// say sends a follow-up and does not wait.
func (r *rig) say(task, text string, step string) {
	r.tb.Helper()
	m := &a2apb.Message{MessageId: rand.Text(), TaskId: task, Role: a2apb.Role_ROLE_USER, Parts: []*a2apb.Part{agent.Text(text)}}
	if step != "" {
		m.Metadata = &structpb.Struct{Fields: map[string]*structpb.Value{ext.Step: structpb.NewStringValue(step)}}
	}
	r.begin(m)
}

func (r *rig) get(id string) *a2apb.Task {
	r.tb.Helper()
	t, err := r.client.GetTask(r.ctx(), &a2apb.GetTaskRequest{Id: id})
	r.must(err)
	return t
}

func (r *rig) cancel(id string) *a2apb.Task {
	r.tb.Helper()
	t, err := r.client.CancelTask(r.ctx(), &a2apb.CancelTaskRequest{Id: id})
	r.must(err)
	return t
}

// until reads a task until it is as it must become.
func (r *rig) until(id, what string, is func(*a2apb.Task) bool) *a2apb.Task {
	r.tb.Helper()
	var t *a2apb.Task
	r.await(func() bool { t = r.get(id); return is(t) }, func() string { return what + "; it is " + show(t) })
	return t
}

func (r *rig) await(is func() bool, what func() string) {
	r.tb.Helper()
	for end := time.Now().Add(patience); !is(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			r.tb.Fatal("still not: " + what())
		}
	}
}

// ends waits for a task's end in a state.
func (r *rig) ends(id string, state a2apb.TaskState) *a2apb.Task {
	r.tb.Helper()
	t := r.until(id, "ended", func(t *a2apb.Task) bool { return t.GetStatus().GetState() == state || ended(t) })
	r.is(t, state)
	return t
}

// endsOn is ends on a clock that the test owns: time goes by meanwhile.
func (r *rig) endsOn(c *clocktest.Clock, id string, state a2apb.TaskState) *a2apb.Task {
	r.tb.Helper()
	r.await(func() bool { c.Advance(100 * time.Millisecond); return ended(r.get(id)) }, func() string { return show(r.get(id)) })
	return r.ends(id, state)
}

func (r *rig) is(t *a2apb.Task, state a2apb.TaskState) {
	r.tb.Helper()
	if t.GetStatus().GetState() != state {
		r.tb.Fatalf("want %s, it is %s", state, show(t))
	}
}

func ended(t *a2apb.Task) bool {
	switch t.GetStatus().GetState() {
	case a2apb.TaskState_TASK_STATE_COMPLETED, a2apb.TaskState_TASK_STATE_FAILED, a2apb.TaskState_TASK_STATE_CANCELED, a2apb.TaskState_TASK_STATE_REJECTED:
		return true
	}
	return false
}

func show(t *a2apb.Task) string {
	return t.GetStatus().GetState().String() + " " + note(t) + " " + t.GetMetadata().String()
}

func note(t *a2apb.Task) string { return agent.TextOf(t.GetStatus().GetMessage().GetParts()) }

// stepView is a step as the plan's metadata shows it.
type stepView struct {
	State, Reason, WaitsFor, Kind, Task, RetryAt string
	Attempt, Round                               int
}

func steps(t *a2apb.Task) map[string]stepView {
	views := map[string]stepView{}
	for _, v := range t.GetMetadata().GetFields()[ext.Plan].GetStructValue().GetFields()["steps"].GetListValue().GetValues() {
		f := v.GetStructValue().GetFields()
		s := stepView{
			State: f["state"].GetStringValue(), Reason: f["reason"].GetStringValue(), WaitsFor: f["waits_for"].GetStringValue(), Kind: f["kind"].GetStringValue(),
			Task: f["task"].GetStringValue(), RetryAt: f["retry_at"].GetStringValue(),
			Attempt: int(f["attempt"].GetNumberValue()), Round: int(f["round"].GetNumberValue()),
		}
		name := f["step"].GetStringValue()
		if s.Kind != "" {
			name = s.Kind + " " + name
		}
		if s.Round > 0 {
			name += " " + string(rune('0'+s.Round))
		}
		views[name] = s
	}
	return views
}

// states are those of the steps by name, for comparison.
func states(t *a2apb.Task) map[string]string {
	out := map[string]string{}
	for name, s := range steps(t) {
		out[name] = s.State
	}
	return out
}

func answer(t *a2apb.Task) (string, map[string]any) {
	for _, a := range t.GetArtifacts() {
		if a.GetName() == "answer" {
			data, _ := agent.DataOf(a.GetParts()).AsInterface().(map[string]any)
			return agent.TextOf(a.GetParts()), data
		}
	}
	return "", nil
}

// report is the data of the closing message.
func report(t *a2apb.Task) map[string]any {
	data, _ := agent.DataOf(t.GetStatus().GetMessage().GetParts()).AsInterface().(map[string]any)
	return data
}

// owner is the replica that runs a task, as operators see it.
func (r *rig) owner(id string) string { return r.seen("planner", id).GetOwner() }

// seen is a task as an operator sees it at its service.
func (r *rig) seen(service, id string) *adminv1.TaskSummary {
	r.tb.Helper()
	if r.admin[service] == nil {
		r.admin[service] = adminv1.NewAdminServiceClient(r.dial("gateway", service))
	}
	res, err := r.admin[service].ListTasks(r.ctx(), &adminv1.ListTasksRequest{})
	r.must(err)
	i := slices.IndexFunc(res.GetTasks(), func(t *adminv1.TaskSummary) bool { return t.GetId() == id })
	if i < 0 {
		r.tb.Fatalf("task %s is not listed", id)
	}
	return res.GetTasks()[i]
}

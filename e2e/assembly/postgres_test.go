package assembly_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/structpb"

	"sabha.dev/chassis/agent"
	"sabha.dev/chassis/ext"
	"sabha.dev/chassis/service"
	adminv1 "sabha.dev/gen/sabha/admin/v1"
	"sabha.dev/services/research"
	"sabha.dev/testrig/postgrestest"
)

// reversible is a plan whose first step can be undone and whose second waits.
const reversible = `playbook: reversible
version: 1
description: A step that can be undone, then one that waits.
input: {schema: {type: object}}
steps:
  - {id: first, agent: scribe, skill: do, compensation: {agent: scribe, skill: do}}
  - {id: second, agent: scribe, skill: do, needs: [first], inputs: {gated: true}}
output: {text: done}
`

// ledger is what an agent has done, by the ids of the messages that asked for it.
type ledger struct {
	mu   sync.Mutex
	done map[string]int
	gate chan struct{}
}

func (l *ledger) of(suffix string) map[string]int {
	l.mu.Lock()
	defer l.mu.Unlock()
	found := map[string]int{}
	for id, n := range l.done {
		if strings.Contains(id, suffix) {
			found[id] = n
		}
	}
	return found
}

func (l *ledger) scribe() service.Definition {
	do := func(ctx context.Context, run agent.Run) (agent.Outcome, error) {
		first := run.Task().GetHistory()[0]
		l.mu.Lock()
		l.done[first.GetMessageId()]++
		l.mu.Unlock()
		if agent.DataOf(first.GetParts()).GetStructValue().GetFields()["gated"].GetBoolValue() {
			select {
			case <-l.gate:
			case <-ctx.Done():
				return agent.Outcome{}, ctx.Err()
			}
		}
		return agent.Completed(agent.Text("done")), nil
	}
	return service.Definition{Name: "scribe", Build: func(context.Context, *service.Base) (*service.Persona, error) {
		return &service.Persona{Unscreened: true, Agent: agent.Agent{
			Tenant: "scribe", Name: "scribe", Version: "1", Skills: []agent.Skill{{ID: "do", Run: do}},
		}}, nil
	}}
}

// long bounds waits in which a server starts on a busy machine.
const long = 4 * time.Minute

// calling repeats a call while its service cannot use the database, as a client does.
func calling[T any](t *testing.T, call func() (T, error)) T {
	t.Helper()
	for end := time.Now().Add(long); ; time.Sleep(50 * time.Millisecond) {
		got, err := call()
		if err == nil {
			return got
		}
		if code := status.Code(err); (code != codes.Unavailable && code != codes.DeadlineExceeded) || time.Now().After(end) {
			t.Fatal(err)
		}
	}
}

func (p *pair) plan(n int, playbook, messageID string) string {
	m := ask("go")
	m.Message.MessageId = messageID
	m.Message.Metadata = naming(ext.Playbook, playbook)
	m.Configuration = &a2apb.SendMessageConfiguration{ReturnImmediately: true}
	return calling(p.t, func() (*a2apb.SendMessageResponse, error) { return p.clients[n].SendMessage(p.ctx(), m) }).GetTask().GetId()
}

func (p *pair) read(n int, id string) *a2apb.Task {
	return calling(p.t, func() (*a2apb.Task, error) { return p.clients[n].GetTask(p.ctx(), &a2apb.GetTaskRequest{Id: id}) })
}

// until reads a task until it is as wanted.
func (p *pair) until(n int, id, what string, reached func(*a2apb.Task) bool) *a2apb.Task {
	p.t.Helper()
	for end := time.Now().Add(long); ; time.Sleep(50 * time.Millisecond) {
		task := p.read(n, id)
		if reached(task) {
			return task
		}
		if time.Now().After(end) {
			p.t.Fatalf("waited in vain until %s: %v", what, task)
		}
	}
}

func stepIs(step, state string) func(*a2apb.Task) bool {
	return func(task *a2apb.Task) bool {
		for _, s := range task.GetMetadata().GetFields()[ext.Plan].GetStructValue().GetFields()["steps"].GetListValue().GetValues() {
			fields := s.GetStructValue().GetFields()
			if fields["step"].GetStringValue() == step && fields["state"].GetStringValue() == state {
				return true
			}
		}
		return false
	}
}

// naming is metadata with one of our extensions.
func naming(extension, name string) *structpb.Struct {
	return &structpb.Struct{Fields: map[string]*structpb.Value{extension: structpb.NewStringValue(name)}}
}

func TestThePlatformOnPostgreSQL(t *testing.T) {
	var shared postgrestest.Shared // of this test, which crashes it
	t.Cleanup(func() { _ = shared.Close() })
	server, url := shared.Server(t), shared.URL(t)
	books := t.TempDir()
	if err := os.WriteFile(filepath.Join(books, "reversible.yaml"), []byte(reversible), 0o600); err != nil {
		t.Fatal(err)
	}
	work := &ledger{done: map[string]int{}, gate: make(chan struct{})}
	p := startPairOn(t, pairOptions{
		database: func(name string) string { return url + "&search_path=" + name }, playbooks: books,
		more: []service.Definition{work.scribe()}, agents: map[string][]string{"scribe": {"do"}},
	})

	t.Run("answers with sources from either replica", p.answersFromEither)
	t.Run("what is ingested beside it is found by both", p.findsWhatIsIngested)
	t.Run("what one replica remembers the other recalls", p.recalls)
	t.Run("plans outlive crashes of the server", func(t *testing.T) { p.outlivesCrashes(t, server, work) })
}

func (p *pair) answersFromEither(t *testing.T) {
	for n := range p.clients {
		m := ask(question)
		first := calling(t, func() (*a2apb.SendMessageResponse, error) { return p.clients[n].SendMessage(p.ctx(), m) }).GetTask()
		text, data := answer(first)
		if first.GetStatus().GetState() != completed || !strings.Contains(text, "every six hours") || data["citations"] == nil {
			t.Errorf("%v with %v", first, data)
		}
		again := calling(t, func() (*a2apb.SendMessageResponse, error) { return p.clients[1-n].SendMessage(p.ctx(), m) }).GetTask()
		if again.GetId() != first.GetId() {
			t.Errorf("the other replica made the task %s of the same message; it was %s", again.GetId(), first.GetId())
		}
		hops := calling(t, func() (*adminv1.ListHopsResponse, error) {
			return adminv1.NewAdminServiceClient(p.conns[1-n]).ListHops(p.ctx(), &adminv1.ListHopsRequest{TaskId: first.GetId()})
		}).GetHops()
		agents := map[string]bool{}
		for _, h := range hops {
			agents[h.GetAgent()] = true
		}
		if !agents["planner"] || !agents["research"] || !agents["validator"] {
			t.Errorf("the audit names %v", agents)
		}
	}
}

func (p *pair) direct(n int, tenant, text string) string {
	m := ask(text)
	m.Tenant = tenant
	return agent.TextOf(calling(p.t, func() (*a2apb.SendMessageResponse, error) { return p.clients[n].SendMessage(p.ctx(), m) }).GetMessage().GetParts())
}

// Research looks before every search whether its rows have changed, so there is no
// time in which a replica does not see what another ingested.
func (p *pair) findsWhatIsIngested(t *testing.T) {
	docs := t.TempDir()
	if err := os.CopyFS(docs, os.DirFS("testdata/docs")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(docs, "kites.md"), []byte("# Kites\n\nThe red kite nests in the old quarry since April.\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := research.Ingest(t.Context(), research.Config{Config: p.config(research.Name)}, docs); err != nil {
		t.Fatal(err)
	}
	for i := range 6 { // connections go to the replicas in turn
		if got := p.direct(i%2, research.Name, "Where does the red kite nest?"); !strings.Contains(got, "old quarry") {
			t.Errorf("search %d finds %q", i, got)
		}
	}
}

func (p *pair) recalls(t *testing.T) {
	m := ask("the heron comes at dawn")
	m.Tenant, m.Message.Metadata = "memory", naming(ext.Skill, "remember")
	calling(t, func() (*a2apb.SendMessageResponse, error) { return p.clients[0].SendMessage(p.ctx(), m) })
	for n := range p.clients {
		m := ask("heron")
		m.Tenant, m.Message.Metadata = "memory", naming(ext.Skill, "recall")
		res := calling(t, func() (*a2apb.SendMessageResponse, error) { return p.clients[n].SendMessage(p.ctx(), m) })
		if got := fmt.Sprint(agent.DataOf(res.GetMessage().GetParts()).AsInterface()); !strings.Contains(got, "the heron comes at dawn") {
			t.Errorf("gateway %d recalls %s", n, got)
		}
	}
}

func (p *pair) outlivesCrashes(t *testing.T, server *postgrestest.Server, work *ledger) {
	var ids []string
	for i := range 8 {
		ids = append(ids, p.plan(i%2, "reversible", fmt.Sprintf("plan-%d", i)))
	}
	for i, id := range ids {
		p.until(i%2, id, "its first step is done", stepIs("first", "COMPLETED"))
	}
	before := work.of("/first/")
	for n := range 2 {
		server.Stop()
		if err := server.Start(); err != nil {
			t.Fatal(err)
		}
		ids = append(ids, p.plan(n, "reversible", fmt.Sprintf("plan-after-%d", n))) // accepted by whom the crash has hit
	}
	calling(t, func() (*a2apb.Task, error) {
		return p.clients[1].CancelTask(p.ctx(), &a2apb.CancelTaskRequest{Id: ids[0]})
	})
	canceled := p.until(0, ids[0], "it is canceled", func(task *a2apb.Task) bool {
		return task.GetStatus().GetState() == a2apb.TaskState_TASK_STATE_CANCELED
	})
	if got := work.of(ids[0] + "/first"); len(got) != 2 { // done and undone
		t.Errorf("of the canceled plan was done %v; it says %q", got, note(canceled))
	}
	close(work.gate)
	for i, id := range ids[1:] {
		task := p.until(i%2, id, "it has ended", func(task *a2apb.Task) bool {
			return task.GetStatus().GetState() >= completed && task.GetStatus().GetState() <= a2apb.TaskState_TASK_STATE_CANCELED
		})
		if task.GetStatus().GetState() != completed {
			t.Errorf("plan %s: %v", id, task.GetStatus())
		}
		if again := p.plan(1-i%2, "reversible", fmt.Sprintf("plan-%d", i+1)); i+1 < 8 && again != id {
			t.Errorf("after all the same message gives %s, was %s", again, id)
		}
	}
	after := work.of("/first/")
	for id, n := range before {
		if after[id] != n {
			t.Errorf("a finished step ran again: %s %d times", id, after[id])
		}
	}
}

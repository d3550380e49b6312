package replicas

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/protobuf/proto"

	"sabha.dev/chassis/agent"
	adminv1 "sabha.dev/gen/sabha/admin/v1"
)

func TestMain(m *testing.M) {
	if file := os.Getenv(nodeFile); file != "" {
		if err := serve(file); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	code := m.Run()
	if err := postgres.Close(); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	os.Exit(code)
}

func TestAnyReplicaServesAnyCall(t *testing.T) {
	onBothEngines(t, func(t *testing.T, f *fleet) {
		for _, binding := range bindings {
			here, there := f.client(0, binding), f.client(len(f.nodes)-1, binding)
			t.Run(binding, func(t *testing.T) {
				g := *f
				g.T = t
				g.canceledElsewhere(here, there)
				g.continuedElsewhere(here, there)
				g.sentTwice(here, there)
			})
		}
		f.watchedOnAll()
	})
}

// canceledElsewhere sends to one and has the other do all the rest.
func (f *fleet) canceledElsewhere(here, there client) {
	f.Helper()
	before := len(executions(f.dir))
	req := planned(hold)
	id := f.send(here, atOnce(req)).GetId()
	f.soon("the step runs", func() bool { return len(executions(f.dir)) > before && state(f.get(there, "", id)) == "WORKING" })
	watches := []*watch{f.subscribe(here, "", id), f.subscribe(there, "", id)}
	list := &a2apb.ListTasksResponse{}
	f.must(there.call(f.ctx(), "ListTasks", &a2apb.ListTasksRequest{ContextId: f.get(there, "", id).GetContextId()}, list))
	if len(list.GetTasks()) != 1 || list.GetTasks()[0].GetId() != id || state(list.GetTasks()[0]) != "WORKING" {
		f.Errorf("listed on the other: %v", list)
	}
	blocked := make(chan *a2apb.Task, 2)
	for _, c := range []client{here, there} {
		again := proto.CloneOf(req)
		again.Configuration = nil
		go func() {
			res := &a2apb.SendMessageResponse{}
			if err := c.call(f.ctx(), "SendMessage", again, res); err != nil {
				f.Errorf("the same message, waiting: %v", err)
			}
			blocked <- res.GetTask()
		}()
	}
	canceled := &a2apb.Task{}
	f.must(there.call(f.ctx(), "CancelTask", &a2apb.CancelTaskRequest{Id: id}, canceled))
	for _, w := range watches {
		if got := w.seen(); got != "CANCELED" {
			f.Errorf("a subscriber saw %s", got)
		}
	}
	for range 2 {
		if got := <-blocked; got.GetId() != id || state(got) != "CANCELED" {
			f.Errorf("a waiting sender got %s %s", got.GetId(), state(got))
		}
	}
	for _, c := range []client{here, there} {
		if got := f.get(c, "", id); state(got) != "CANCELED" {
			f.Errorf("it is %s", state(got))
		}
	}
	f.audited(id, "TASK_STATE_CANCELED")
}

// audited checks that a task has one audit row of its own, which says how it ended.
func (f *fleet) audited(id, outcome string) {
	f.Helper()
	g, ok := f.client(0, "grpc").(*overGRPC)
	if !ok {
		f.Fatal("no gRPC")
	}
	var own []string
	f.soon("its audit row is there", func() bool {
		res := &adminv1.ListHopsResponse{}
		f.must(reasoned(g.conn.Invoke(g.context(f.ctx(), ""), adminv1.AdminService_ListHops_FullMethodName, &adminv1.ListHopsRequest{TaskId: id}, res)))
		own = nil
		for _, h := range res.GetHops() {
			if h.GetTaskId() == id && h.GetAgent() == "planner" {
				own = append(own, h.GetOutcome())
			}
		}
		return len(own) > 0
	})
	if len(own) != 1 || own[0] != outcome && "TASK_STATE_"+own[0] != outcome {
		f.Errorf("audit rows of its end: %v, want one %s", own, outcome)
	}
}

// continuedElsewhere answers a question on the other replica.
func (f *fleet) continuedElsewhere(here, there client) {
	f.Helper()
	asked := f.send(here, planned(ask))
	if state(asked) != "INPUT_REQUIRED" || note(asked) != "which one?" {
		f.Fatalf("asked: %s %q", state(asked), note(asked))
	}
	watches := []*watch{f.subscribe(here, "", asked.GetId()), f.subscribe(there, "", asked.GetId())}
	answer := say("the red one")
	answer.Message.TaskId = asked.GetId()
	done := f.send(there, answer)
	if state(done) != "COMPLETED" || agent.TextOf(done.GetArtifacts()[0].GetParts()) != "you said the red one" {
		f.Errorf("answered on the other: %v", done)
	}
	for _, w := range watches {
		if got := w.seen(); got != "COMPLETED" {
			f.Errorf("a subscriber saw %s", got)
		}
	}
	f.audited(asked.GetId(), "TASK_STATE_COMPLETED")
}

// sentTwice sends one message to all at once.
func (f *fleet) sentTwice(here, there client) {
	f.Helper()
	const times = 6
	req := planned(quick)
	ids := make([]string, times)
	var wait sync.WaitGroup
	for i := range times {
		c := []client{here, there}[i%2]
		wait.Go(func() {
			res := &a2apb.SendMessageResponse{}
			if err := c.call(f.ctx(), "SendMessage", req, res); err != nil {
				f.Errorf("sent again: %v", err)
			}
			ids[i] = res.GetTask().GetId()
		})
	}
	wait.Wait()
	for _, id := range ids {
		if id != ids[0] || id == "" {
			f.Errorf("one message made tasks %v", ids)
			break
		}
	}
	changed := proto.CloneOf(req)
	changed.Message.Parts = []*a2apb.Part{agent.Text("something else")}
	for _, c := range []client{here, there} {
		if err := c.call(f.ctx(), "SendMessage", changed, &a2apb.SendMessageResponse{}); err == nil || !strings.Contains(err.Error(), "MESSAGE_ID_CONFLICT") {
			f.Errorf("another body under its id: %v", err)
		}
	}
}

// watchedOnAll follows one task on every replica and binding: all see the same
// events, and a cursor of one continues on another.
func (f *fleet) watchedOnAll() {
	f.Helper()
	first := f.client(0, "grpc")
	id := f.send(first, atOnce(told(count))).GetId()
	var watches []*watch
	for n := range f.nodes {
		for _, b := range bindings {
			watches = append(watches, f.subscribe(f.client(n, b), workerName, id))
		}
	}
	turns := 0
	watches = append(watches, f.follow(f.ctx(), workerName, id, func() client {
		turns++
		// Each stream is left after a moment and taken up at the next replica and binding.
		return &leaving{f.client(turns%len(f.nodes), bindings[turns%len(bindings)]), 5}
	}, 1000))
	for i, w := range watches {
		if got := w.seen(); got != "COMPLETED" {
			f.Errorf("subscriber %d saw %s", i, got)
		}
		for at, ev := range w.events {
			if other, ok := watches[0].events[at]; ok && other != ev {
				f.Errorf("at %s subscriber %d saw %s, another %s", at, i, ev, other)
			}
		}
	}
	if got := f.get(first, workerName, id); len(got.GetArtifacts()[0].GetParts()) != pieces {
		f.Errorf("%d pieces", len(got.GetArtifacts()[0].GetParts()))
	}
}

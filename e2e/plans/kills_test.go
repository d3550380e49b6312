//go:build slow

package plans_test

import (
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
)

const wide = `playbook: wide
version: 1
description: Three steps side by side, twice.
defaults: {retries: {max: 0}}
steps:
  - {id: a1, agent: scribe, skill: do, inputs: {ms: 50}}
  - {id: a2, agent: scribe, skill: do, inputs: {ms: 150}}
  - {id: a3, agent: scribe, skill: do, inputs: {ms: 300}}
  - {id: b1, agent: scribe, skill: do, needs: [a1, a2, a3], inputs: {ms: 50}}
  - {id: b2, agent: scribe, skill: do, needs: [a1], inputs: {ms: 200}}
  - {id: end, agent: scribe, skill: do, needs: [b1, b2], inputs: {ms: 100}}
output: {text: "= steps.end.output.text"}
`

// note writes down how often the steps that a client sees finished were executed.
func note(p *process, client a2apb.A2AServiceClient, finished map[string]int) {
	ctx, cancel := p.ctx()
	defer cancel()
	size := int32(100)
	list, err := client.ListTasks(ctx, &a2apb.ListTasksRequest{PageSize: &size})
	if err != nil {
		return // it was not asked in time to know anything
	}
	n := p.executions()
	for _, task := range list.GetTasks() {
		for step, state := range stepStates(task) {
			if key := task.GetId() + "/" + step; state == "COMPLETED" {
				if _, known := finished[key]; !known {
					finished[key] = n[key]
				}
			}
		}
	}
}

// Kills of one run of the test, and plans sent before each.
const (
	kills  = 12
	burst  = 5
	mostMs = 900
)

func TestPlansOutliveManyKills(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	p := newProcess(t, map[string]string{"wide": wide})
	plans := map[string]string{} // by message id: task id, empty until accepted
	finished := map[string]int{} // executions of steps that were seen finished, by task/step
	var watchers sync.WaitGroup
	watched := map[string]*watcher{}
	follow := func(id string) {
		w := &watcher{p: p, task: id}
		watched[id] = w
		watchers.Go(w.run)
	}
	submit := func(client a2apb.A2AServiceClient) {
		for m, task := range plans {
			if task != "" {
				continue
			}
			if id, err := p.send(client, "wide", m); err == nil {
				plans[m] = id
				follow(id)
			}
		}
	}
	for range kills {
		p.start()
		client, hangUp := p.client()
		for range burst {
			plans[newID()] = ""
		}
		wait := time.After(time.Duration(random.IntN(mostMs)) * time.Millisecond)
		var sending sync.WaitGroup
		sending.Go(func() { submit(client) })
		<-wait // then in the middle of whatever goes on
		note(p, client, finished)
		p.kill()
		sending.Wait()
		hangUp()
	}
	p.start()
	client, hangUp := p.client()
	defer hangUp()
	submit(client)
	if len(plans) != kills*burst {
		t.Fatalf("%d plans", len(plans))
	}
	for m, id := range plans {
		if id == "" {
			t.Fatalf("plan %s was not accepted by a platform that runs", m)
		}
		task := p.finish(client, id)
		if task.GetStatus().GetState() != a2apb.TaskState_TASK_STATE_COMPLETED {
			t.Errorf("plan %s: %v", id, task)
		}
	}
	n := p.executions()
	for step, was := range finished {
		if n[step] != was {
			t.Errorf("finished step %s was executed again: %d times, it was %d", step, n[step], was)
		}
	}
	// What was in flight at a kill ran again, once for each process.
	perProcess := map[[2]string]int{}
	again := 0
	for _, w := range p.work() {
		if perProcess[w]++; perProcess[w] > 1 {
			t.Errorf("message %s was executed %d times by one process", w[1], perProcess[w])
		}
	}
	for _, k := range n {
		again += k - 1
	}
	watchers.Wait()
	events, gaps := 0, 0
	for id, w := range watched {
		if w.err != nil {
			t.Errorf("events of plan %s: %v", id, w.err)
		}
		events, gaps = events+w.events, gaps+w.gaps
	}
	t.Logf("%d kills, %d plans, %d steps seen finished before a kill, %d executions again, %d events, %d explicit gaps", kills, len(plans), len(finished), again, events, gaps)
}

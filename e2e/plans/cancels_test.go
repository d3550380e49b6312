//go:build slow

package plans_test

import (
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"

	"sabha.dev/chassis/agent"
)

const reversible = `playbook: reversible
version: 1
description: Three steps that can be undone, then one that takes its time or fails.
input:
  schema: {type: object, properties: {fails: {type: boolean, default: false}}}
defaults: {retries: {max: 0}}
steps:
  - {id: a, agent: scribe, skill: do, inputs: {ms: 20}, compensation: {agent: scribe, skill: do, inputs: {ms: 30}}}
  - {id: b, agent: scribe, skill: do, needs: [a], inputs: {ms: 60}, compensation: {agent: scribe, skill: do, inputs: {ms: 30}}}
  - {id: c, agent: scribe, skill: do, needs: [b], inputs: {ms: 60}, compensation: {agent: scribe, skill: do, inputs: {ms: 30}}}
  - {id: end, agent: scribe, skill: do, needs: [c], inputs: {ms: 5000, fails: "= input.fails"}}
output: {text: done}
`

// undone lists the steps that were undone, in the order in which that began, each
// as often as it was begun by a call of its own.
func (p *process) undone(task string) []string {
	var list []string
	seen := map[string]bool{}
	for _, w := range p.work() {
		if id := w[1]; strings.HasPrefix(id, task+"/") && strings.HasSuffix(id, "/undo") && !seen[id] {
			seen[id] = true
			list = append(list, strings.Split(id, "/")[1])
		}
	}
	return list
}

func TestCancelsAndFailuresOutliveKills(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	p := newProcess(t, map[string]string{"reversible": reversible})
	fails, err := agent.Data(map[string]any{"fails": true})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]a2apb.TaskState{}
	canceled := map[string]bool{}
	for range 8 {
		p.start()
		client, hangUp := p.client()
		for n := range 4 {
			state, parts := a2apb.TaskState_TASK_STATE_CANCELED, []*a2apb.Part(nil)
			if n == 0 {
				state, parts = a2apb.TaskState_TASK_STATE_FAILED, []*a2apb.Part{fails}
			}
			id, err := p.send(client, "reversible", newID(), parts...)
			if err != nil {
				t.Fatal(err)
			}
			want[id] = state
		}
		time.Sleep(time.Duration(random.IntN(250)) * time.Millisecond)
		p.cancel(client, want, canceled)
		time.Sleep(time.Duration(random.IntN(200)) * time.Millisecond)
		p.kill()
		hangUp()
	}
	p.start()
	client, hangUp := p.client()
	defer hangUp()
	p.cancel(client, want, canceled)
	undone := 0
	for id, state := range want {
		task := p.finish(client, id)
		if task.GetStatus().GetState() != state {
			t.Errorf("want %s: %v", state, task)
		}
		var done []string
		for step, s := range stepStates(task) {
			if s == "COMPLETED" && step != "end" {
				done = append(done, step)
			}
		}
		slices.Sort(done)
		slices.Reverse(done)
		if got := p.undone(id); !slices.Equal(got, done) {
			t.Errorf("done %v, undone %v: %v", done, got, task)
		}
		report, _ := agent.DataOf(task.GetStatus().GetMessage().GetParts()).AsInterface().(map[string]any)
		if told, _ := report["undone"].([]any); len(told) != len(done) {
			t.Errorf("the report says %v, undone was %v", report, done)
		}
		undone += len(done)
	}
	t.Logf("%d plans, %d steps undone", len(want), undone)
}

// cancel asks for the cancel of every plan that is to be canceled, once each.
func (p *process) cancel(client a2apb.A2AServiceClient, want map[string]a2apb.TaskState, canceled map[string]bool) {
	p.t.Helper()
	for _, id := range slices.Sorted(maps.Keys(want)) {
		if want[id] != a2apb.TaskState_TASK_STATE_CANCELED || canceled[id] {
			continue
		}
		ctx, stop := p.ctx()
		_, err := client.CancelTask(ctx, &a2apb.CancelTaskRequest{Id: id})
		stop()
		if err != nil {
			p.t.Fatal(err)
		}
		canceled[id] = true
	}
}

package plans_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
)

const gated = `playbook: gated
version: 1
description: A step in the middle that waits.
steps:
  - {id: before, agent: scribe, skill: do}
  - {id: during, agent: scribe, skill: do, needs: [before], inputs: {gated: true}}
  - {id: beside, agent: scribe, skill: do, needs: [before], inputs: {gated: true}}
  - {id: after, agent: scribe, skill: do, needs: [during, beside]}
output: {text: "= steps.after.output.text"}
`

func TestPlanOutlivesItsProcess(t *testing.T) {
	for name, end := range map[string]func(*process){"killed": (*process).kill, "stopped": (*process).stop} {
		t.Run(name, func(t *testing.T) { outlives(t, end) })
	}
}

func outlives(t *testing.T, end func(*process)) {
	p := newProcess(t, map[string]string{"gated": gated})
	p.start()
	client, hangUp := p.client()
	id, err := p.send(client, "gated", "only-one")
	if err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		n := p.executions()
		task, err := p.get(client, id)
		if err != nil {
			t.Fatal(err)
		}
		if stepStates(task)["before"] == "COMPLETED" && n[id+"/during"] == 1 && n[id+"/beside"] == 1 {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("the plan does not come to its middle: %v", n)
		}
	}
	hangUp()
	end(p)
	if err := os.WriteFile(filepath.Join(p.dir, gateFile), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	p.start()
	client, hangUp = p.client()
	defer hangUp()
	task := p.finish(client, id)
	if got := task.GetStatus().GetState(); got != a2apb.TaskState_TASK_STATE_COMPLETED {
		t.Fatalf("%v", task)
	}
	n := p.executions()
	for step, want := range map[string]int{"before": 1, "during": 2, "beside": 2, "after": 1} { // what was in flight ran again
		if n[id+"/"+step] != want {
			t.Errorf("step %s was executed %d times, want %d: %v", step, n[id+"/"+step], want, p.work())
		}
	}
	if again, err := p.send(client, "gated", "only-one"); err != nil || again != id {
		t.Fatalf("the message sent again gives task %q, %v; it was %q", again, err, id)
	}
}

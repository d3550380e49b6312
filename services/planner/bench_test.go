package planner_test

import (
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
)

const five = `playbook: five
version: 1
description: Five instant steps, one after the other.
steps:
  - {id: s1, agent: worker, skill: do, inputs: {n: 1}}
  - {id: s2, agent: worker, skill: do, inputs: {n: "= steps.s1.output.data.n"}}
  - {id: s3, agent: worker, skill: do, inputs: {n: "= steps.s2.output.data.n"}}
  - {id: s4, agent: worker, skill: do, inputs: {n: "= steps.s3.output.data.n"}}
  - {id: s5, agent: worker, skill: do, inputs: {n: "= steps.s4.output.data.n"}}
output: {text: done}
`

// BenchmarkPlan is a plan of five instant steps, each a durable child task, with
// SQLite in mode NORMAL.
func BenchmarkPlan(b *testing.B) {
	r := start(b, options{}, five)
	b.SetParallelism(16)
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			res, err := r.client.SendMessage(r.ctx(), &a2apb.SendMessageRequest{Message: message("five")})
			if err != nil || res.GetTask().GetStatus().GetState() != completed {
				b.Error(err, res)
				return
			}
		}
	})
}

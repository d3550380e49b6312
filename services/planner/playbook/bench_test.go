package playbook

import "testing"

// BenchmarkNext is one decision of a five-step chain with one step running: what an interpreter pays each time a step settles.
func BenchmarkNext(b *testing.B) {
	p, err := Parse("chain.yaml", []byte(`
playbook: chain
version: 1
steps:
  - {id: s1, agent: memory, skill: recall, inputs: {text: = input.text}}
  - {id: s2, agent: memory, skill: recall, inputs: {text: = steps.s1.output.text}}
  - {id: s3, agent: memory, skill: recall, inputs: {text: = steps.s2.output.text}}
  - {id: s4, agent: memory, skill: recall, inputs: {text: = steps.s3.output.text}}
  - {id: s5, agent: memory, skill: recall, inputs: {text: = steps.s4.output.text}}
output: {text: = steps.s5.output.text}
`), nil)
	if err != nil {
		b.Fatal(err)
	}
	done := StepRun{State: Completed, Output: Output{Text: "hello"}}
	run := Run{Input: map[string]any{"text": "hello"}, Steps: map[string]StepRun{"s1": done, "s2": done}}
	b.ReportAllocs()
	for b.Loop() {
		if n := p.Next(run); len(n.Start) != 1 {
			b.Fatal(n)
		}
	}
}

// BenchmarkParse is one file read and checked.
func BenchmarkParse(b *testing.B) {
	for b.Loop() {
		if _, err := Parse("reviewed.yaml", []byte(reviewed), Personas()); err != nil {
			b.Fatal(err)
		}
	}
}

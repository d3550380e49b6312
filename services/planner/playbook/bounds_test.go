package playbook

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestTooManyStepsAndTooLargeFilesAreRefused(t *testing.T) {
	var b strings.Builder
	b.WriteString("playbook: many\nversion: 1\nsteps:\n")
	for i := range MaxSteps + 1 {
		fmt.Fprintf(&b, "  - {id: s%d, agent: memory, skill: recall}\n", i)
	}
	b.WriteString("output: {text: done}\n")
	for _, tt := range []struct{ name, data, want string }{
		{"steps", b.String(), "x.yaml:4: steps: a playbook has at most 100 steps; this one has 101"},
		{"size", strings.Repeat("#", MaxFileSize+1), "x.yaml: the file has 262145 bytes; a playbook has at most 262144"},
		{"encoding", "playbook: \xff", "x.yaml: the file is not UTF-8 text"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Parse("x.yaml", []byte(tt.data), Personas())
			if err == nil || err.Error() != tt.want {
				t.Errorf("got %v, want %s", err, tt.want)
			}
		})
	}
}

func TestLongExpressionsAreRefused(t *testing.T) {
	src := strings.Replace(reviewed, "mode: plain", `mode: "= '`+strings.Repeat("x", MaxExpression)+`'"`, 1)
	_, err := Parse("x.yaml", []byte(src), Personas())
	if err == nil || !strings.HasPrefix(err.Error(), "x.yaml:17: steps[0].inputs.mode: ") || !strings.Contains(err.Error(), "size") {
		t.Errorf("got %v", err)
	}
}

func TestExpressionsThatExplodeAreStopped(t *testing.T) {
	for name, expr := range map[string]string{
		"work":    "input.list.all(a, input.list.all(b, input.list.all(c, input.list.all(d, true))))",
		"lists":   "[[1,2,3,4,5,6,7,8]]" + strings.Repeat(".map(x, [x, x, x, x, x, x, x, x])", 8),
		"doubled": "[['aaaaaaaa']]" + strings.Repeat(".map(x, x + x)", 40),
		"json":    "input.list.map(a, json(input.list.map(b, json(input.list))))",
		"text":    "['aaaaaaaaaaaaaaaa']" + strings.Repeat(".map(x, x + x + x + x)", 20),
	} {
		t.Run(name, func(t *testing.T) {
			p := mustParse(t, fmt.Sprintf(`
playbook: explode
version: 1
input: {schema: {type: object, properties: {list: {type: array}}}}
steps:
  - {id: a, agent: memory, skill: recall, inputs: {x: %q}}
output: {text: done}
`, "= "+expr))
			list := make([]any, 200)
			for i := range list {
				list[i] = float64(i)
			}
			n := p.Next(Run{Input: map[string]any{"list": list}})
			if n.Failure == nil || n.Failure.Kind != BadExpression || !strings.HasPrefix(n.Failure.Reasons[0], "test.yaml:6: steps[0].inputs.x: ") {
				t.Errorf("it was not stopped: %+v", n.Failure)
			}
		})
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(reviewed))
	files, _ := filepath.Glob("testdata/bad/*.yaml")
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := Parse("fuzz.yaml", data, Personas())
		if err != nil {
			problems, ok := err.(Problems)
			if !ok || len(problems) == 0 || len(problems) > 100 {
				t.Fatalf("the error is not a bounded list of problems: %v", err)
			}
			for _, x := range problems {
				if x.Message == "" || strings.Contains(x.String(), "\n") {
					t.Errorf("a problem is not one line: %q", x)
				}
			}
			return
		}
		if len(p.Steps) == 0 || len(p.Steps) > MaxSteps {
			t.Fatalf("%d steps were accepted", len(p.Steps))
		}
		for _, format := range []Format{TextFormat, DOTFormat, MermaidFormat} {
			if err := p.Graph(&strings.Builder{}, format); err != nil {
				t.Fatal(err)
			}
		}
		// Any accepted plan comes to an end when every step completes.
		run := Run{Input: p.Input.Prepare("text", nil), Steps: map[string]StepRun{}, Loops: map[string]LoopRun{}}
		for range (MaxRevisions + 2) * (MaxSteps + 1) {
			n := p.Next(run)
			if n.Failure != nil || n.Done != nil {
				return
			}
			for _, r := range n.Revise {
				run.Loops[r.Loop.Judge] = LoopRun{Round: r.Round, Feedback: r.Feedback}
				for _, id := range r.Reset {
					delete(run.Steps, id)
				}
			}
			for _, id := range n.Skip {
				run.Steps[id] = StepRun{State: Skipped}
			}
			if len(n.Start) == 0 {
				t.Fatalf("the plan stands still: %+v", run)
			}
			for _, s := range n.Start {
				run.Steps[s.Step.ID] = StepRun{State: Completed}
			}
		}
		t.Fatal("the plan does not end")
	})
}

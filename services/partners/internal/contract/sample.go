package contract

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"sabha.dev/services/partners/internal/drift"
	"sabha.dev/services/partners/internal/partner"
	"sabha.dev/services/partners/internal/remote"
)

// Asker calls a partner with its credentials. A call is marked as a contract test in what
// is kept here of it, never towards the partner: one that knew could behave for the test.
type Asker interface {
	// Ask calls a skill. An error is that of a call which failed.
	Ask(ctx context.Context, p *partner.Partner, skill string, parts []*a2apb.Part) (remote.Answer, error)
}

// Outcomes of an answer.
const (
	Good    = "ok"
	Invalid = "invalid" // does not fit the schema, or lacks what is measured
	Wrong   = "wrong"   // an assertion does not hold
	Failed  = "failed"  // there was no answer
)

// Sample is what is kept of one answer: its digest and what was measured, never what it says.
type Sample struct {
	Task    string `json:"task"`
	Outcome string `json:"outcome"`
	// Problem says why the outcome is not good. It names the rule, not the value.
	Problem string `json:"problem,omitempty"`
	// Digest is the SHA-256 of the answer's parts.
	Digest     string             `json:"digest,omitempty"`
	Took       float64            `json:"took"` // seconds
	Numbers    map[string]float64 `json:"numbers,omitempty"`
	Categories map[string]string  `json:"categories,omitempty"`
}

// reply is an answer as expressions see it.
type reply struct {
	text string
	data any
	took time.Duration
}

// parts are what a task sends: its text, then its data.
func (t *Task) parts() ([]*a2apb.Part, error) {
	var list []*a2apb.Part
	if t.Text != "" {
		list = append(list, &a2apb.Part{Content: &a2apb.Part_Text{Text: t.Text}})
	}
	if t.Data != nil {
		v, err := structpb.NewValue(t.Data)
		if err != nil {
			return nil, err
		}
		list = append(list, &a2apb.Part{Content: &a2apb.Part_Data{Data: v}})
	}
	return list, nil
}

// read gives texts one below the other, and data: that of the one part that has some, or a
// list of all.
func read(a remote.Answer) (*reply, string) {
	r := &reply{took: a.Took, data: map[string]any{}}
	var texts []string
	var data []any
	sum := sha256.New()
	for _, p := range a.Parts {
		switch c := p.GetContent().(type) {
		case *a2apb.Part_Text:
			texts = append(texts, c.Text)
		case *a2apb.Part_Data:
			data = append(data, c.Data.AsInterface())
		}
		raw, _ := proto.MarshalOptions{Deterministic: true}.Marshal(p)
		_, _ = fmt.Fprintf(sum, "%d:", len(raw))
		_, _ = sum.Write(raw)
	}
	r.text = strings.Join(texts, "\n")
	switch {
	case len(data) == 1:
		r.data = data[0]
	case len(data) > 1:
		r.data = data
	case json.Valid([]byte(r.text)): // agents without data parts answer with JSON as text
		var v any
		if json.Unmarshal([]byte(r.text), &v) == nil {
			r.data = v
		}
	}
	return r, hex.EncodeToString(sum.Sum(nil))
}

// ask asks a task once.
func (s *Suite) ask(ctx context.Context, by Asker, p *partner.Partner, t *Task) Sample {
	out := Sample{Task: t.Name, Outcome: Failed}
	parts, err := t.parts()
	if err != nil {
		out.Problem = err.Error()
		return out
	}
	a, err := by.Ask(ctx, p, t.Skill, parts)
	out.Took = a.Took.Seconds()
	switch {
	case err != nil:
		out.Problem = "the call failed: " + err.Error()
		return out
	case a.State != a2apb.TaskState_TASK_STATE_COMPLETED && a.State != a2apb.TaskState_TASK_STATE_UNSPECIFIED:
		out.Problem = "the task ended as " + a.State.String()
		return out
	}
	r, digest := read(a)
	out.Digest = digest
	out.Outcome, out.Problem = s.check(ctx, t, r, &out)
	return out
}

// check takes the measures and tells how an answer fares.
func (s *Suite) check(ctx context.Context, t *Task, r *reply, out *Sample) (outcome, problem string) {
	out.Numbers, out.Categories = map[string]float64{}, map[string]string{}
	outcome = Good
	if t.schema != nil {
		if err := t.schema.Validate(r.data); err != nil {
			outcome, problem = Invalid, "the answer's data do not fit the schema: "+place(err)
		}
	}
	for _, e := range t.asserts {
		v, err := e.evaluate(ctx, r)
		switch {
		case err != nil && outcome == Good:
			outcome, problem = Wrong, e.text+": "+err.Error()
		case err == nil && v.Value() != true && outcome == Good:
			outcome, problem = Wrong, e.text+" does not hold"
		}
	}
	for _, name := range t.measures {
		m := s.Measure(name)
		v, err := m.of.evaluate(ctx, r)
		if err == nil && m.Kind == drift.Category {
			var c string
			if c, err = category(v); err == nil {
				out.Categories[name] = c
			}
		} else if err == nil {
			var x float64
			if x, err = number(v, m.Kind); err == nil {
				out.Numbers[name] = x
			}
		}
		if err != nil && outcome == Good {
			outcome, problem = Invalid, fmt.Sprintf("the measure %s: %v", name, err)
		}
	}
	return outcome, problem
}

// measured turns the samples of a run into what is compared.
func (s *Suite) measured(samples []Sample) drift.Run {
	r := drift.Run{Numbers: map[drift.Key][]float64{}, Categories: map[drift.Key][]string{}}
	for _, x := range samples {
		k := drift.Key{Measure: Outcome, Task: x.Task}
		r.Categories[k] = append(r.Categories[k], x.Outcome)
		if x.Outcome == Failed {
			continue
		}
		k.Measure = Took
		r.Numbers[k] = append(r.Numbers[k], math.Log(max(x.Took, 1e-6)))
		for name, v := range x.Numbers {
			k.Measure = name
			if m := s.Measure(name); m != nil && m.Kind == drift.Length {
				v = math.Log1p(v)
			}
			r.Numbers[k] = append(r.Numbers[k], v)
		}
		for name, v := range x.Categories {
			k.Measure = name
			r.Categories[k] = append(r.Categories[k], v)
		}
	}
	return r
}

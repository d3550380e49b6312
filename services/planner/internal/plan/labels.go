package plan

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"

	"sabha.dev/chassis/disclosure"
	"sabha.dev/chassis/identity"
	"sabha.dev/chassis/label"
	"sabha.dev/services/planner/playbook"
)

// Whom or what a release is by.
const (
	bySchema   = "schema"   // a field keeps to the closed schema that the playbook gives
	byApproval = "approval" // a person approved exactly these bytes
)

// marks are what is known of the data of a row.
type marks struct {
	// In are the labels of what it was sent, joined with those of what it depended on
	// whether and how often it ran; Out those of what it answered.
	In  label.Labels `json:"in,omitzero"`
	Out label.Labels `json:"out,omitzero"`
	// Released is what may be believed in spite of the labels.
	Released []release `json:"released,omitempty"`
	// For is what its data is used for.
	For disclosure.Purpose `json:"for,omitzero"`
}

// release is one field that may be believed: of the output's data, or with the name
// inputs all that the step was sent.
type release struct {
	Field string `json:"field"`
	By    string `json:"by"`
}

// of tells whether it is about what stands at a path.
func (rel release) of(path []string) bool {
	names := strings.Split(rel.Field, ".")
	return rel.Field != sent && len(names) <= len(path) && slices.Equal(names, path[:len(names)])
}

// sent is the field of a release of a step's inputs.
const sent = "inputs"

var (
	trusted   = label.Labels{Integrity: label.Trusted}
	untrusted = label.Labels{Integrity: label.Untrusted}
)

// encode gives the marks as they are stored; nothing for none.
func (m marks) encode() (string, error) {
	if m.In.IsZero() && m.Out.IsZero() && len(m.Released) == 0 && m.For.IsZero() {
		return "", nil
	}
	raw, err := json.Marshal(m)
	return string(raw), err
}

func decode(raw string, into any) error {
	if raw == "" {
		return nil
	}
	return json.Unmarshal([]byte(raw), into)
}

// known puts the worst in the place of an integrity that nobody has stated.
func known(l label.Labels) label.Labels {
	if l.Integrity == "" {
		l.Integrity = label.Untrusted
	}
	return l
}

// field gives the labels of a field of what a row answered.
func (r *row) field(path []string) label.Labels {
	l := known(r.Out)
	if !l.Trusts() && slices.ContainsFunc(r.Released, func(rel release) bool { return rel.of(path) }) {
		l.Integrity = label.Trusted
	}
	return l
}

// labels joins those of sources as they were in a round of a loop; without a loop they
// are those of the present. What the playbook itself says is trusted.
func (p *plan) labels(src playbook.Sources, loop string, round int) label.Labels {
	l := trusted
	if src.Input {
		l = label.Join(l, known(p.inputLabels))
	}
	if src.Feedback && round > 0 {
		if r := p.rows[rowKey{stepKind, loop, round - 1}]; r != nil {
			l = label.Join(l, r.field(nil))
		}
	}
	for _, f := range src.Fields {
		s := p.book.Step(f.Step)
		at := p.loops[s.Loop].Round
		if loop != "" && s.Loop == loop {
			at = round
		}
		if r := p.rows[rowKey{stepKind, f.Step, at}]; r != nil {
			l = label.Join(l, r.field(f.Path))
		}
	}
	return l
}

// verdict is what the labels are of that had the loop around a step go on to a round.
func (p *plan) verdict(s *playbook.Step, round int) label.Labels {
	if s.Loop == "" || round == 0 {
		return trusted
	}
	return p.labels(p.book.Step(s.Loop).Revise.Sources, s.Loop, round-1)
}

// came is what the labels of a row's output are, now that it has answered.
func (r *row) came(s *playbook.Step, reply label.Labels) {
	r.Out = label.Join(r.In, known(reply))
	if s != nil {
		for _, rel := range s.Releases {
			if rel.Keeps(r.Output.Data) {
				r.Released = append(r.Released, release{Field: rel.Field, By: bySchema})
			}
		}
	}
	if r.Agent != playbook.ReviewAgent || r.Skill != playbook.SkillReview {
		return
	}
	if playbook.Decision("", r.Output) == nil {
		r.Released = append(r.Released, release{Field: "content", By: byApproval})
	}
	if _, decided := r.Output.Data["decision"]; decided {
		r.Released = append(r.Released, release{Field: "decision", By: byApproval})
	}
}

// asked gives the labels of what the client has said: a client's own text and data are
// trusted where an edge has let them in. Another service says itself what it sends.
func asked(messages []*a2apb.Message, caller string) label.Labels {
	l := label.Labels{}
	for _, m := range messages {
		for _, p := range m.GetParts() {
			own := label.Of(p)
			if own.Integrity == "" && identity.IsEdge(caller) {
				own.Integrity = label.Trusted
			}
			l = label.Join(l, known(own))
		}
	}
	return l
}

// purpose is what the data of a step is used for. There is consent to it where the step
// that records it has completed.
func (p *plan) purpose(s *playbook.Step) disclosure.Purpose {
	of := disclosure.Purpose{Name: s.Purpose}
	if c := p.book.Step(s.Consent); c != nil {
		if r := p.current(c); r != nil && r.State == playbook.Completed {
			of.Consent = p.task + "/" + c.ID
		}
	}
	return of
}

// why says of each untrusted input what it rests on.
func (p *plan) why(st playbook.Start) []any {
	var out []any
	of := func(what string, src playbook.Sources) {
		if l := p.labels(src, st.Step.Loop, st.Round); l.Trusts() {
			return
		}
		var on []string
		if src.Input && !known(p.inputLabels).Trusts() {
			on = append(on, "the request")
		}
		for _, f := range src.Fields {
			one := playbook.Sources{Fields: []playbook.Field{f}}
			if name := fmt.Sprintf("step %q", f.Step); !p.labels(one, st.Step.Loop, st.Round).Trusts() && !slices.Contains(on, name) {
				on = append(on, name)
			}
		}
		if len(on) == 0 {
			on = []string{"the round before"} // of a loop
		}
		out = append(out, fmt.Sprintf("%s comes from %s, which holds content that is not trusted", what, strings.Join(on, " and ")))
	}
	for _, name := range slices.Sorted(maps.Keys(st.Step.InputSources)) {
		of(fmt.Sprintf("input %q", name), st.Step.InputSources[name])
	}
	of("whether it runs", st.Step.Condition)
	return out
}

// asObject gives labels as people are shown them.
func asObject(l label.Labels) map[string]any { return l.Value().GetStructValue().AsMap() }

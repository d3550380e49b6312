package a2aagent

import (
	"fmt"
	"math"
	"strconv"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"

	"sabha.dev/chassis/fault"

	"sabha.dev/services/validator/internal/arithmetic"
	"sabha.dev/services/validator/internal/assertion"
	"sabha.dev/services/validator/internal/grounding"
	"sabha.dev/services/validator/internal/judgement"
)

// Bounds of one request. They keep a judgement within seconds.
const (
	maxAnswer   = 32 << 10 // bytes
	maxPassages = 100
	maxEvidence = 256 << 10 // bytes, all passages together
	maxRules    = 50        // assertions, and computations
)

// maxProblems is how many faults of a request are listed.
const maxProblems = 20

// decode reads the request out of the message's data part. Faults are listed
// together, each with the path of its field.
func decode(m *a2apb.Message) (judgement.Request, string, error) {
	for i, p := range m.GetParts() {
		if p.GetData() == nil {
			continue
		}
		path := fmt.Sprintf("message.parts[%d].data", i)
		object, ok := p.GetData().AsInterface().(map[string]any)
		if !ok {
			return judgement.Request{}, path, fault.Invalid(path, "must be an object with answer and passages")
		}
		r := &reader{}
		request := r.request(path, object)
		return request, path, r.err()
	}
	return judgement.Request{}, "", fault.Invalid("message.parts", "add a data part {\"answer\": \"…\", \"passages\": [{\"id\", \"document\", \"text\"}]}")
}

// reader collects the faults of a request while it is read.
type reader struct {
	fields []fault.Field
}

func (r *reader) problem(path, format string, args ...any) {
	if len(r.fields) < maxProblems {
		r.fields = append(r.fields, fault.Field{Path: path, Problem: fmt.Sprintf(format, args...)})
	}
}

func (r *reader) err() error {
	if len(r.fields) == 0 {
		return nil
	}
	e := fault.Invalid(r.fields[0].Path, "%s", r.fields[0].Problem)
	if n := len(r.fields) - 1; n > 0 {
		e.Message += fmt.Sprintf(" (and %d more)", n)
	}
	e.Fields = r.fields
	return e
}

func (r *reader) request(path string, o map[string]any) judgement.Request {
	r.only(path, o, "answer", "passages", "citations", "schema", "data", "assertions", "computations", "product", "risk")
	out := judgement.Request{
		Answer:  r.text(path, o, "answer"),
		Data:    o["data"],
		Product: r.text(path, o, "product"),
		Risk:    r.text(path, o, "risk"),
	}
	out.Schema, out.HasSchema = o["schema"]
	_, hasData := o["data"]
	_, hasAnswer := o["answer"]
	switch {
	case !hasAnswer && !hasData:
		r.problem(path+".answer", "is missing: give the text that is to be judged, or data")
	case out.HasSchema && !hasData:
		r.problem(path+".data", "is missing: there is a schema but nothing to check against it")
	case len(out.Answer) > maxAnswer:
		r.problem(path+".answer", "has %d bytes, at most %d are judged at once", len(out.Answer), maxAnswer)
	}
	out.Passages = r.passages(path, o)
	out.Citations = r.citations(path+".citations", o["citations"], out.Passages)
	for i, a := range r.objects(path, o, "assertions", maxRules) {
		at := fmt.Sprintf("%s.assertions[%d]", path, i)
		r.only(at, a, "name", "expression")
		r.require(at, a, "expression")
		out.Assertions = append(out.Assertions, assertion.Expression{Name: r.text(at, a, "name"), Expression: r.text(at, a, "expression")})
	}
	for i, c := range r.objects(path, o, "computations", maxRules) {
		at := fmt.Sprintf("%s.computations[%d]", path, i)
		r.only(at, c, "name", "expression", "value")
		r.require(at, c, "expression")
		r.require(at, c, "value")
		out.Computations = append(out.Computations, arithmetic.Declared{Name: r.text(at, c, "name"), Expression: r.text(at, c, "expression"), Value: c["value"]})
	}
	return out
}

// passages reads the evidence. Keys beyond ours are left alone, so that results
// of a search can be handed over as they are.
func (r *reader) passages(path string, o map[string]any) []grounding.Passage {
	var out []grounding.Passage
	ids := map[string]int{}
	size := 0
	for i, p := range r.objects(path, o, "passages", maxPassages) {
		at := fmt.Sprintf("%s.passages[%d]", path, i)
		r.require(at, p, "text")
		passage := grounding.Passage{
			ID: r.text(at, p, "id"), Document: r.text(at, p, "document"), Text: r.text(at, p, "text"),
			Start: r.offset(at, p, "start"), End: r.offset(at, p, "end"),
		}
		if passage.ID == "" {
			passage.ID = strconv.Itoa(i + 1)
		}
		if first, taken := ids[passage.ID]; taken {
			r.problem(at+".id", "%q is the id of passages[%d], too", passage.ID, first)
		}
		ids[passage.ID] = i
		list, ok := p["heading_path"].([]any)
		if !ok && p["heading_path"] != nil {
			r.problem(at+".heading_path", "must be a list of texts")
		}
		for k, h := range list {
			text, ok := h.(string)
			if !ok {
				r.problem(fmt.Sprintf("%s.heading_path[%d]", at, k), "must be a text")
			}
			passage.HeadingPath = append(passage.HeadingPath, text)
		}
		if passage.End < passage.Start {
			r.problem(at+".end", "is before start")
		}
		size += len(passage.Text)
		out = append(out, passage)
	}
	if size > maxEvidence {
		r.problem(path+".passages", "have %d bytes of text, at most %d are compared at once", size, maxEvidence)
	}
	return out
}

// citations reads the declared markers: a list of {"marker", "passage"}, or of
// passage ids of which the n-th is marker n.
func (r *reader) citations(path string, v any, passages []grounding.Passage) []grounding.Citation {
	if v == nil {
		return nil
	}
	list, ok := v.([]any)
	if !ok {
		r.problem(path, "must be a list of {\"marker\", \"passage\"} or of passage ids")
		return nil
	}
	ids := map[string]bool{}
	for _, p := range passages {
		ids[p.ID] = true
	}
	var out []grounding.Citation
	for i, entry := range list {
		at := fmt.Sprintf("%s[%d]", path, i)
		c := grounding.Citation{Marker: strconv.Itoa(i + 1)}
		switch e := entry.(type) {
		case string:
			c.Passage = e
		case map[string]any:
			r.only(at, e, "marker", "passage")
			r.require(at, e, "passage")
			c.Passage = r.text(at, e, "passage")
			switch m := e["marker"].(type) {
			case string:
				c.Marker = m
			case float64:
				c.Marker = strconv.FormatFloat(m, 'f', -1, 64)
			default:
				r.problem(at+".marker", "must be the text between the brackets, for example \"1\"")
			}
		default:
			r.problem(at, "must be {\"marker\", \"passage\"} or the id of a passage")
			continue
		}
		if c.Passage != "" && !ids[c.Passage] {
			r.problem(at, "%q is not the id of a passage", c.Passage)
		}
		out = append(out, c)
	}
	return out
}

func (r *reader) only(path string, o map[string]any, known ...string) {
	for key := range o {
		found := false
		for _, k := range known {
			found = found || k == key
		}
		if !found {
			r.problem(path+"."+key, "is not known here; known are %v", known)
		}
	}
}

func (r *reader) require(path string, o map[string]any, key string) {
	if v, ok := o[key]; !ok || v == "" {
		r.problem(path+"."+key, "is missing")
	}
}

func (r *reader) text(path string, o map[string]any, key string) string {
	v, ok := o[key]
	if !ok || v == nil {
		return ""
	}
	text, ok := v.(string)
	if !ok {
		r.problem(path+"."+key, "must be a text")
	}
	return text
}

func (r *reader) offset(path string, o map[string]any, key string) int {
	v, ok := o[key]
	if !ok || v == nil {
		return 0
	}
	n, ok := v.(float64)
	if !ok || n != math.Trunc(n) || n < 0 || n > 1<<53 {
		r.problem(path+"."+key, "must be a byte offset, a whole number from 0")
		return 0
	}
	return int(n)
}

func (r *reader) objects(path string, o map[string]any, key string, most int) []map[string]any {
	v, ok := o[key]
	if !ok || v == nil {
		return nil
	}
	list, ok := v.([]any)
	if !ok {
		r.problem(path+"."+key, "must be a list")
		return nil
	}
	if len(list) > most {
		r.problem(path+"."+key, "has %d entries, at most %d are judged at once", len(list), most)
		return nil
	}
	var out []map[string]any
	for i, entry := range list {
		object, ok := entry.(map[string]any)
		if !ok {
			r.problem(fmt.Sprintf("%s.%s[%d]", path, key, i), "must be an object")
			object = nil
		}
		out = append(out, object)
	}
	return out
}

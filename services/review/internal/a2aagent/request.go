package a2aagent

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"

	"sabha.dev/chassis/agent"
	"sabha.dev/chassis/fault"
	"sabha.dev/services/review/internal/item"
)

// request is the data part that asks for a review.
type request struct {
	Kind       string          `json:"kind"`
	Title      string          `json:"title"`
	Content    json.RawMessage `json:"content"`
	Schema     json.RawMessage `json:"schema"`
	Effect     string          `json:"effect"`
	Reasons    []string        `json:"reasons"`
	Confidence *float64        `json:"confidence"`
	Sources    []item.Source   `json:"sources"`
	Labels     json.RawMessage `json:"labels"`
	Request    string          `json:"request"`
	Plan       json.RawMessage `json:"plan"`
	Context    json.RawMessage `json:"context"`
	Product    string          `json:"product"`
	Risk       string          `json:"risk"`
	Playbook   string          `json:"playbook"`
	Step       string          `json:"step"`
}

// maxName bounds the names of products, playbooks and steps, bytes.
const maxName = 200

// read makes the snapshot of a message, or says what is wrong with it.
func read(m *a2apb.Message) (*item.Snapshot, error) {
	path := "message.parts"
	for n, p := range m.GetParts() {
		if p.GetData() != nil {
			path = fmt.Sprintf("message.parts[%d].data", n)
			break
		}
	}
	var in request
	found, err := agent.Decode(m.GetParts(), &in)
	if err != nil {
		return nil, err
	}
	if !found {
		return nil, fault.Invalid(path, "has no data part; a review takes {kind, title, content, effect, product, risk, …}")
	}
	if in.Risk == "" {
		in.Risk = "medium" // what nobody has judged is not harmless
	}
	s := &item.Snapshot{
		Title: clip(strings.Join(strings.Fields(in.Title), " "), item.MaxTitle), Kind: in.Kind, Effect: in.Effect, Reasons: in.Reasons,
		Confidence: in.Confidence, Sources: in.Sources, Request: in.Request,
		Product: in.Product, Risk: in.Risk, Playbook: in.Playbook, Step: in.Step,
	}
	for _, name := range []struct{ field, value string }{{"product", s.Product}, {"playbook", s.Playbook}, {"step", s.Step}, {"title", s.Title}} {
		if len(name.value) > max(maxName, item.MaxTitle) || strings.ContainsFunc(name.value, unicode.IsControl) {
			return nil, fault.Invalid(path+"."+name.field, "must have at most %d bytes and no control characters", maxName)
		}
	}
	switch {
	case item.Kinds[s.Kind] == 0:
		return nil, fault.Invalid(path+".kind", "must be one of result, action and confirmation")
	case s.Risk != "low" && s.Risk != "medium" && s.Risk != "high":
		return nil, fault.Invalid(path+".risk", "must be one of low, medium and high")
	case s.Title == "":
		return nil, fault.Invalid(path+".title", "is missing; say in a line what is decided on")
	case in.Content == nil:
		return nil, fault.Invalid(path+".content", "is missing; it is what is decided on")
	case s.Effect == "" && s.Kind != "result":
		return nil, fault.Invalid(path+".effect", "is missing; say what approval will do")
	case s.Confidence != nil && !(*s.Confidence >= 0 && *s.Confidence <= 1):
		return nil, fault.Invalid(path+".confidence", "must be from 0 to 1")
	case len(s.Reasons) > item.MaxReasons:
		return nil, fault.Invalid(path+".reasons", "there are %d; at most %d are kept", len(s.Reasons), item.MaxReasons)
	case len(s.Sources) > item.MaxSources:
		return nil, fault.Invalid(path+".sources", "there are %d; at most %d are kept", len(s.Sources), item.MaxSources)
	}
	if s.Content, err = item.Deterministic(in.Content); err != nil {
		return nil, fault.Invalid(path+".content", "cannot be read as JSON")
	}
	for _, f := range []struct {
		field string
		from  json.RawMessage
		to    *json.RawMessage
	}{{"schema", in.Schema, &s.Schema}, {"labels", in.Labels, &s.Labels}, {"plan", in.Plan, &s.Plan}, {"context", in.Context, &s.Context}} {
		if err := object(f.from, f.to); err != nil {
			return nil, fault.Invalid(path+"."+f.field, "must be an object")
		}
	}
	if s.Schema != nil {
		if err := item.CheckSchema(s.Schema); err != nil {
			return nil, fault.Invalid(path+".schema", "is no JSON Schema that can be used: %v", err)
		}
	}
	body, _, err := s.Encode()
	if err != nil {
		return nil, err
	}
	if len(body) > item.MaxSnapshot {
		return nil, fault.New(fault.TooLarge, "what is to be reviewed has %d bytes with all that it rests on; at most %d are kept", len(body), item.MaxSnapshot)
	}
	return s, nil
}

// object reads an object that may be absent or null.
func object(from json.RawMessage, to *json.RawMessage) error {
	if from == nil || string(from) == "null" {
		return nil
	}
	var fields map[string]any
	if err := json.Unmarshal(from, &fields); err != nil {
		return err
	}
	var err error
	*to, err = item.Deterministic(from)
	return err
}

// clip shortens a text to at most so many bytes.
func clip(s string, most int) string {
	if len(s) <= most {
		return s
	}
	cut := most - len("…")
	for cut > 0 && s[cut]&0xC0 == 0x80 {
		cut--
	}
	return s[:cut] + "…"
}

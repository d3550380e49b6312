package a2aagent

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"

	"sabha.dev/chassis/agent"
	"sabha.dev/chassis/fault"
	"sabha.dev/services/memory/internal/memory"
)

type rememberRequest struct {
	Text       string          `json:"text"`
	Kind       string          `json:"kind"`
	TTLSeconds *float64        `json:"ttl_seconds"`
	Tags       []string        `json:"tags"`
	Scope      string          `json:"scope"`
	Fact       *factRequest    `json:"fact"`
	Episode    *memory.Episode `json:"episode"`
}

type factRequest struct {
	Subject    string   `json:"subject"`
	Predicate  string   `json:"predicate"`
	Value      string   `json:"value"`
	Source     string   `json:"source"`
	Confidence *float64 `json:"confidence"`
	At         string   `json:"at"`
}

// organisation is the scope of what everybody of an organisation recalls.
const organisation = "organisation"

// scoped is the owner of what a request of a scope is about: the caller, or the
// caller's organisation, which the credential has to be allowed.
func scoped(req *agent.Request, own, scope, prefix string) (string, error) {
	switch {
	case scope == "" || scope == "caller":
		return own, nil
	case scope != organisation:
		return "", fault.Invalid(prefix+".scope", "is %q; it must be caller or organisation", clip(scope))
	case req.Principal.Organisation == "":
		return "", fault.Invalid(prefix+".scope", "is organisation, and the credential belongs to none")
	case !req.Principal.Has(OrganisationScope):
		return "", fault.New(fault.PermissionDenied, "what a whole organisation remembers needs a credential with the scope %s", OrganisationScope)
	}
	return shared(req), nil
}

// shared is the owner of what the caller's organisation remembers. A caller's own has a subject behind the slash.
func shared(req *agent.Request) string { return req.Principal.Organisation + "/" }

func (p persona) remember(ctx context.Context, req *agent.Request) (*a2apb.Message, error) {
	r, err := receipt(req)
	if err != nil {
		return nil, err
	}
	m, lifetime, scope, err := readMemory(req.Message)
	if err != nil {
		return nil, err
	}
	_, prefix := fields(req.Message.GetParts())
	if r.Owner, err = scoped(req, r.Owner, scope, prefix); err != nil {
		return nil, err
	}
	if scope == organisation && m.Kind == memory.Context {
		return nil, fault.Invalid(prefix+".kind", "is context; an organisation remembers for long, facts and episodes")
	}
	m.Labels = said(req)
	added, err := p.keeper.Remember(ctx, r, m, lifetime)
	if err != nil {
		return nil, told(req, err)
	}
	out := map[string]any{"id": added.ID, "kind": m.Kind}
	if added.Merged {
		out["merged"] = true
	}
	if added.Superseded > 0 {
		out["superseded"] = added.Superseded
	}
	if added.SupersededBy != "" {
		out["superseded_by"] = added.SupersededBy
	}
	if added.Dropped > 0 {
		out["dropped"] = added.Dropped
	}
	return answer(out, trusted)
}

// readMemory reads what is to be remembered, for how long (0 is for ever) and in which scope.
func readMemory(msg *a2apb.Message) (memory.Memory, time.Duration, string, error) {
	none := memory.Memory{}
	parts := msg.GetParts()
	var in rememberRequest
	found, err := agent.Decode(parts, &in)
	if err != nil {
		return none, 0, "", err
	}
	path, prefix := fields(parts)
	if !found {
		in.Text = agent.TextOf(parts)
	}
	m := memory.Memory{Tags: in.Tags, Episode: in.Episode}
	if m.Kind, err = readKind(in.Kind, prefix); err != nil {
		return none, 0, "", err
	}
	if err := in.structured(&m, prefix); err != nil {
		return none, 0, "", err
	}
	if m.Text == "" {
		m.Text = in.Text
	}
	switch {
	case m.Text == "":
		return none, 0, "", fault.Invalid(path("text"), "is missing; give the text to remember")
	case len(m.Text) > memory.MaxText:
		return none, 0, "", fault.Invalid(path("text"), "has %d bytes; at most %d are kept in one memory", len(m.Text), memory.MaxText)
	case storable("", m.Text+msg.GetContextId()) != nil:
		return none, 0, "", errors.Join(storable(path("text"), m.Text), storable("message.contextId", msg.GetContextId()))
	case m.Kind == memory.Context && msg.GetContextId() == "":
		return none, 0, "", fault.Invalid("message.contextId", "is missing; a memory of kind context needs one")
	case m.Kind == "" && msg.GetContextId() != "" && in.Scope != organisation:
		m.Kind = memory.Context
	case m.Kind == "":
		m.Kind = memory.LongTerm
	}
	if len(in.Tags) > memory.MaxTags {
		return none, 0, "", fault.Invalid(prefix+".tags", "there are %d; at most %d are kept", len(in.Tags), memory.MaxTags)
	}
	for i, tag := range in.Tags {
		if tag == "" || len(tag) > memory.MaxTag {
			return none, 0, "", fault.Invalid(fmt.Sprintf("%s.tags[%d]", prefix, i), "must have 1 to %d bytes", memory.MaxTag)
		}
	}
	var lifetime time.Duration
	if in.TTLSeconds != nil {
		longest := memory.MaxLifetime.Seconds()
		if !(*in.TTLSeconds >= 1 && *in.TTLSeconds <= longest) || *in.TTLSeconds != math.Trunc(*in.TTLSeconds) {
			return none, 0, "", fault.Invalid(prefix+".ttl_seconds", "must be a whole number from 1 to %.0f", longest)
		}
		lifetime = time.Duration(*in.TTLSeconds) * time.Second
	}
	if m.Kind == memory.Context {
		m.Context = msg.GetContextId()
	}
	return m, lifetime, in.Scope, nil
}

// structured reads a fact or an episode into m, and settles its kind and text.
func (in rememberRequest) structured(m *memory.Memory, prefix string) error {
	given, kind := 0, memory.Kind("")
	if in.Text != "" {
		given++
	}
	if in.Fact != nil {
		given, kind = given+1, memory.FactKind
		f, err := in.Fact.read(prefix + ".fact")
		if err != nil {
			return err
		}
		m.Fact, m.Text = &f, f.Text()
	}
	if in.Episode != nil {
		given, kind = given+1, memory.EpisodeKind
		if in.Episode.Plan == "" || in.Episode.Outcome == "" {
			return fault.Invalid(prefix+".episode", "must have a plan and an outcome")
		}
		m.Text = in.Episode.Text()
	}
	switch {
	case given > 1:
		return fault.Invalid(prefix, "must have one of text, fact and episode")
	case kind == "" && (m.Kind == memory.FactKind || m.Kind == memory.EpisodeKind):
		return fault.Invalid(prefix+"."+string(m.Kind), "is missing; a memory of kind %s needs one", m.Kind)
	case kind != "" && m.Kind != "" && m.Kind != kind:
		return fault.Invalid(prefix+".kind", "is %q; what is given is of kind %s", m.Kind, kind)
	case kind != "":
		m.Kind = kind
	}
	return nil
}

func (in factRequest) read(prefix string) (memory.Fact, error) {
	f := memory.Fact{Subject: in.Subject, Predicate: in.Predicate, Value: in.Value, Source: in.Source, Confidence: 1}
	for _, field := range [][2]string{{"subject", in.Subject}, {"predicate", in.Predicate}, {"value", in.Value}} {
		if field[1] == "" {
			return f, fault.Invalid(prefix+"."+field[0], "is missing; a fact has subject, predicate and value")
		}
	}
	if err := storable(prefix+".source", in.Source); err != nil {
		return f, err
	}
	if in.Confidence != nil {
		if f.Confidence = *in.Confidence; !(f.Confidence >= 0 && f.Confidence <= 1) {
			return f, fault.Invalid(prefix+".confidence", "must be a number from 0 to 1")
		}
	}
	if in.At != "" {
		at, err := time.Parse(time.RFC3339, in.At)
		if err != nil {
			return f, fault.Invalid(prefix+".at", "is no time such as 2026-05-04T12:00:00Z")
		}
		f.At = at.UTC()
	}
	return f, nil
}

// Package a2aagent is the memory as an A2A agent. Its skills answer with direct
// Messages.
package a2aagent

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"

	"sabha.dev/chassis/agent"
	"sabha.dev/chassis/fault"
	"sabha.dev/chassis/identity"
	"sabha.dev/chassis/label"
	"sabha.dev/services/memory/internal/memory"
)

// Skill ids.
const (
	Remember = "remember"
	Recall   = "recall"
	Forget   = "forget"
)

// Keeper is what the agent speaks for.
type Keeper interface {
	Remember(ctx context.Context, r memory.Receipt, m memory.Memory, lifetime time.Duration) (string, error)
	Recall(ctx context.Context, owner, contextID, query string, kind memory.Kind, limit int) ([]memory.Hit, error)
	Forget(ctx context.Context, r memory.Receipt, s memory.Selector) (int, error)
}

var _ Keeper = (*memory.Keeper)(nil)

// New makes the agent.
func New(keeper Keeper, version string) agent.Agent {
	a := persona{keeper}
	return agent.Agent{
		Tenant: "memory", Name: "Memory", Version: version,
		Description: "Remembers for a caller, in a context or for long, and recalls and forgets it. Nobody sees what another caller had remembered.",
		Skills: []agent.Skill{
			{
				ID: Remember, Name: "Remember",
				Description: "Data part {text, kind?, ttl_seconds?, tags?}, or a text part. kind is context (seen in the message's context only) or long_term; " +
					"without it a message with a contextId is kept for that context, any other for long. Answers {id, kind}.",
				Tags: []string{"memory"}, Examples: []string{`{"text": "The customer prefers letters to calls.", "kind": "long_term", "tags": ["contact"]}`},
				Answer: a.remember,
			},
			{
				ID: Recall, Name: "Recall",
				Description: "Data part {query, limit?, kind?}, or a text part with the query. Finds memories that share words with the query, newer ones first among equals; " +
					"an empty query gives the newest. limit is 1 to 50, 5 without. Answers {memories: [{id, text, kind, created_at, score}]}.",
				Tags: []string{"memory"}, Examples: []string{`{"query": "how does the customer like to be contacted?", "limit": 3}`},
				Answer: a.recall,
			},
			{
				ID: Forget, Name: "Forget",
				Description: "Data part with exactly one of id (one memory), context (the memories of a context) and all: true (everything remembered for the caller). Answers {forgotten}, the number.",
				Tags:        []string{"memory"}, Examples: []string{`{"all": true}`}, InputModes: []string{"application/json"},
				Answer: a.forget,
			},
		},
		Route: route,
	}
}

// route finds the skill of a message that names none by the keys of its data.
// Text alone is a query: a guess must not change anything.
func route(req *a2apb.SendMessageRequest) string {
	fields := agent.DataOf(req.GetMessage().GetParts()).GetStructValue().GetFields()
	switch {
	case fields["text"] != nil:
		return Remember
	case fields["id"] != nil, fields["context"] != nil, fields["all"] != nil:
		return Forget
	}
	return Recall
}

type persona struct{ keeper Keeper }

// owner is whose memories a request is about.
func owner(req *agent.Request) (string, error) {
	if req.Principal.Anonymous() {
		return "", fault.New(fault.Unauthenticated, "memories belong to a caller who is known; send an API key or a token")
	}
	return req.Principal.Key(), nil
}

// storable says what is wrong with a text that no database takes.
func storable(path, s string) error {
	if strings.ContainsRune(s, 0) {
		return fault.Invalid(path, "must not contain the character U+0000")
	}
	return nil
}

func receipt(req *agent.Request) (memory.Receipt, error) {
	key, err := owner(req)
	if err == nil {
		err = storable("message.messageId", req.Message.GetMessageId())
	}
	return memory.Receipt{Owner: key, MessageID: req.Message.GetMessageId(), Digest: req.Digest}, err
}

type rememberRequest struct {
	Text       string   `json:"text"`
	Kind       string   `json:"kind"`
	TTLSeconds *float64 `json:"ttl_seconds"`
	Tags       []string `json:"tags"`
}

func (p persona) remember(ctx context.Context, req *agent.Request) (*a2apb.Message, error) {
	r, err := receipt(req)
	if err != nil {
		return nil, err
	}
	m, lifetime, err := readMemory(req.Message)
	if err != nil {
		return nil, err
	}
	m.Labels = said(req)
	id, err := p.keeper.Remember(ctx, r, m, lifetime)
	if err != nil {
		return nil, told(req, err)
	}
	return answer(map[string]any{"id": id, "kind": m.Kind}, trusted)
}

// readMemory reads what is to be remembered and for how long; 0 is for ever.
func readMemory(msg *a2apb.Message) (memory.Memory, time.Duration, error) {
	none := memory.Memory{}
	parts := msg.GetParts()
	var in rememberRequest
	found, err := agent.Decode(parts, &in)
	if err != nil {
		return none, 0, err
	}
	path, prefix := fields(parts)
	if !found {
		in.Text = agent.TextOf(parts)
	}
	kind, err := readKind(in.Kind, prefix)
	switch {
	case in.Text == "":
		return none, 0, fault.Invalid(path("text"), "is missing; give the text to remember")
	case len(in.Text) > memory.MaxText:
		return none, 0, fault.Invalid(path("text"), "has %d bytes; at most %d are kept in one memory", len(in.Text), memory.MaxText)
	case err != nil:
		return none, 0, err
	case storable("", in.Text+msg.GetContextId()) != nil:
		return none, 0, errors.Join(storable(path("text"), in.Text), storable("message.contextId", msg.GetContextId()))
	case kind == memory.Context && msg.GetContextId() == "":
		return none, 0, fault.Invalid("message.contextId", "is missing; a memory of kind context needs one")
	case kind == "" && msg.GetContextId() != "":
		kind = memory.Context
	case kind == "":
		kind = memory.LongTerm
	}
	if len(in.Tags) > memory.MaxTags {
		return none, 0, fault.Invalid(prefix+".tags", "there are %d; at most %d are kept", len(in.Tags), memory.MaxTags)
	}
	for i, tag := range in.Tags {
		if tag == "" || len(tag) > memory.MaxTag {
			return none, 0, fault.Invalid(fmt.Sprintf("%s.tags[%d]", prefix, i), "must have 1 to %d bytes", memory.MaxTag)
		}
	}
	var lifetime time.Duration
	if in.TTLSeconds != nil {
		longest := memory.MaxLifetime.Seconds()
		if !(*in.TTLSeconds >= 1 && *in.TTLSeconds <= longest) || *in.TTLSeconds != math.Trunc(*in.TTLSeconds) {
			return none, 0, fault.Invalid(prefix+".ttl_seconds", "must be a whole number from 1 to %.0f", longest)
		}
		lifetime = time.Duration(*in.TTLSeconds) * time.Second
	}
	m := memory.Memory{Kind: kind, Text: in.Text, Tags: in.Tags}
	if kind == memory.Context {
		m.Context = msg.GetContextId()
	}
	return m, lifetime, nil
}

type recallRequest struct {
	Query string   `json:"query"`
	Limit *float64 `json:"limit"`
	Kind  string   `json:"kind"`
}

type recalled struct {
	ID        string        `json:"id"`
	Text      string        `json:"text"`
	Kind      memory.Kind   `json:"kind"`
	CreatedAt string        `json:"created_at"`
	Score     float64       `json:"score"`
	Tags      []string      `json:"tags,omitempty"`
	Labels    *label.Labels `json:"labels,omitempty"`
}

const defaultLimit = 5

func (p persona) recall(ctx context.Context, req *agent.Request) (*a2apb.Message, error) {
	key, err := owner(req)
	if err != nil {
		return nil, err
	}
	parts := req.Message.GetParts()
	var in recallRequest
	found, err := agent.Decode(parts, &in)
	if err != nil {
		return nil, err
	}
	_, prefix := fields(parts)
	if !found {
		in.Query = agent.TextOf(parts)
	}
	kind, err := readKind(in.Kind, prefix)
	if err == nil {
		err = storable("message.contextId", req.Message.GetContextId())
	}
	if err != nil {
		return nil, err
	}
	limit := defaultLimit
	if in.Limit != nil {
		if !(*in.Limit >= 1 && *in.Limit <= memory.MaxLimit) || *in.Limit != math.Trunc(*in.Limit) {
			return nil, fault.Invalid(prefix+".limit", "must be a whole number from 1 to %d", memory.MaxLimit)
		}
		limit = int(*in.Limit)
	}
	hits, err := p.keeper.Recall(ctx, key, req.Message.GetContextId(), in.Query, kind, limit)
	if err != nil {
		return nil, err
	}
	list := make([]recalled, 0, len(hits))
	joined := trusted // that nothing is remembered is our own word
	for _, h := range hits {
		item := recalled{
			ID: h.ID, Text: h.Text, Kind: h.Kind, Score: math.Round(h.Score*1e4) / 1e4, Tags: h.Tags,
			CreatedAt: h.CreatedAt.Format("2006-01-02T15:04:05.000000Z"),
		}
		if !h.Labels.IsZero() {
			item.Labels = &h.Labels
		}
		if h.Labels.Integrity == "" {
			h.Labels.Integrity = label.Untrusted // nobody has said that it may be believed
		}
		joined = label.Join(joined, h.Labels)
		list = append(list, item)
	}
	return answer(map[string]any{"memories": list}, joined)
}

type forgetRequest struct {
	ID      string `json:"id"`
	Context string `json:"context"`
	All     bool   `json:"all"`
}

func (p persona) forget(ctx context.Context, req *agent.Request) (*a2apb.Message, error) {
	r, err := receipt(req)
	if err != nil {
		return nil, err
	}
	parts := req.Message.GetParts()
	var in forgetRequest
	if _, err := agent.Decode(parts, &in); err != nil {
		return nil, err
	}
	_, prefix := fields(parts)
	chosen := 0
	for _, set := range []bool{in.ID != "", in.Context != "", in.All} {
		if set {
			chosen++
		}
	}
	if chosen != 1 {
		return nil, fault.Invalid(prefix, "must have exactly one of id, context and all: true")
	}
	if err := storable(prefix, in.ID+in.Context); err != nil {
		return nil, err
	}
	n, err := p.keeper.Forget(ctx, r, memory.Selector{ID: in.ID, Context: in.Context, All: in.All})
	if err != nil {
		return nil, told(req, err)
	}
	return answer(map[string]any{"forgotten": n}, trusted)
}

func readKind(kind, prefix string) (memory.Kind, error) {
	switch k := memory.Kind(kind); k {
	case "", memory.Context, memory.LongTerm:
		return k, nil
	}
	return "", fault.Invalid(prefix+".kind", "is %q; it must be context or long_term", clip(kind))
}

// clip shortens what a client sent before it is quoted.
func clip(s string) string {
	const most = 40
	for i := range s {
		if i >= most {
			return s[:i] + "…"
		}
	}
	if !utf8.ValidString(s) {
		return "not UTF-8"
	}
	return s
}

// fields gives the path of the first data part, and of a field in it; without a
// data part both name the parts of the message.
func fields(parts []*a2apb.Part) (of func(string) string, prefix string) {
	for i, p := range parts {
		if p.GetData() != nil {
			prefix := fmt.Sprintf("message.parts[%d].data", i)
			return func(name string) string { return prefix + "." + name }, prefix
		}
	}
	return func(string) string { return "message.parts" }, "message.parts"
}

// told turns an error of a change into one for the client.
func told(req *agent.Request, err error) error {
	switch {
	case errors.Is(err, memory.ErrConflict):
		return fault.New(fault.MessageIDConflict, "messageId %q was used before with another content; a new message needs a new id", clip(req.Message.GetMessageId()))
	case errors.Is(err, memory.ErrFull):
		return fault.New(fault.TooLarge, "%d memories are kept for one caller, and there are as many; forget some first", memory.MaxPerOwner)
	}
	return err
}

var trusted = label.Labels{Integrity: label.Trusted}

// said gives the labels of what is to be remembered. A client's own words, which an edge
// has let in, carry none: they are trusted.
func said(req *agent.Request) label.Labels {
	l := label.Of(req.Message.GetParts()...)
	if l.Integrity == "" && identity.IsEdge(req.Caller) {
		l.Integrity = label.Trusted
	}
	return l
}

func answer(v any, labels label.Labels) (*a2apb.Message, error) {
	part, err := agent.Data(v)
	if err != nil {
		return nil, err
	}
	return agent.Message(labels.Put(part)), nil
}

// Package a2aagent is the memory as an A2A agent. Its skills answer with direct
// Messages.
package a2aagent

import (
	"context"
	"errors"
	"fmt"
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
	Export   = "export"
)

// OrganisationScope is what a credential needs to remember for its whole organisation, and to forget that.
const OrganisationScope = "memory:organisation"

// Keeper is what the agent speaks for.
type Keeper interface {
	Remember(ctx context.Context, r memory.Receipt, m memory.Memory, lifetime time.Duration) (memory.Added, error)
	Recall(ctx context.Context, owners []string, contextID, query string, kind memory.Kind, limit int) ([]memory.Hit, error)
	Forget(ctx context.Context, r memory.Receipt, s memory.Selector) (int, error)
	Export(ctx context.Context, owner string) ([]memory.Memory, error)
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
				Description: "Data part {text, kind?, ttl_seconds?, tags?, scope?}, or a text part. kind is context (seen in the message's context only) or long_term; " +
					"without it a message with a contextId is kept for that context, any other for long. In place of text it has fact {subject, predicate, value, source?, confidence?, at?}, " +
					"of which one value holds at a time, or episode {plan, outcome, steps?, seconds?, approved?}. scope organisation needs the credential's scope " + OrganisationScope +
					". Answers {id, kind} and merged, superseded, superseded_by, dropped where they apply.",
				Tags: []string{"memory"}, Examples: []string{`{"text": "The customer prefers letters to calls.", "kind": "long_term", "tags": ["contact"]}`},
				Answer: a.remember,
			},
			{
				ID: Recall, Name: "Recall",
				Description: "Data part {query, limit?, kind?}, or a text part with the query. Finds memories that share words with the query, newer ones first among equals, " +
					"and for a fact those that it took the place of; kind episode finds how plans went. An empty query gives the newest. limit is 1 to 50, 5 without. Answers {memories: [{id, text, kind, created_at, score}]}.",
				Tags: []string{"memory"}, Examples: []string{`{"query": "how does the customer like to be contacted?", "limit": 3}`},
				Answer: a.recall,
			},
			{
				ID: Forget, Name: "Forget",
				Description: "Data part with exactly one of id (one memory), context (the memories of a context) and all: true (everything remembered for the caller). Answers {forgotten}, the number.",
				Tags:        []string{"memory"}, Examples: []string{`{"all": true}`}, InputModes: []string{"application/json"},
				Answer: a.forget,
			},
			{
				ID: Export, Name: "Export",
				Description: "Everything that is held about the caller, of all contexts, as {memories: [...]}, with where and when it was told.",
				Tags:        []string{"memory"}, Examples: []string{`{}`}, InputModes: []string{"application/json", "text/plain"},
				Answer: a.export,
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
	case fields["text"] != nil, fields["fact"] != nil, fields["episode"] != nil:
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

type forgetRequest struct {
	ID      string `json:"id"`
	Context string `json:"context"`
	All     bool   `json:"all"`
	Scope   string `json:"scope"`
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
	if r.Owner, err = scoped(req, r.Owner, in.Scope, prefix); err != nil {
		return nil, err
	}
	n, err := p.keeper.Forget(ctx, r, memory.Selector{ID: in.ID, Context: in.Context, All: in.All})
	if err != nil {
		return nil, told(req, err)
	}
	return answer(map[string]any{"forgotten": n}, trusted)
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

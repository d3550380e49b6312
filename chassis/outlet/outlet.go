// Package outlet is the way out to endpoints that are no partners: models, embeddings,
// tools of MCP servers, web pages, webhooks. Each is a named endpoint of a kind, with a
// policy of package disclosure from the service's configuration or the default of its
// kind. What leaves is inspected, gets the form that the policy gives it, and leaves a
// record by class and place, never with the value.
//
// A service has the key in its configuration
//
//	type Server struct {
//		URL        string        `yaml:"url"`
//		Disclosure outlet.Policy `yaml:"disclosure"` // the section, written where the endpoint is
//	}
//
// opens an outlet for each endpoint when it is built
//
//	files, err := base.Outlets.Open("mcp files", outlet.Tools, server.Disclosure)
//
// and asks it before each request. What the policy replaced by tokens comes back in the answer:
//
//	arguments, tokens, err := files.JSON(ctx, outlet.Use{Of: "read_file", Labels: labels}, raw)
//	if err != nil {
//		return err // a fault that says what was found where, fit for whoever asked
//	}
//	result := call(arguments)
//	parts := tokens.Restore(result.parts)
//
// A text, such as a prompt, leaves by [Outlet.Text]; what cannot be sent in another form,
// such as a URL, by [Outlet.Exact]; parts of messages by [Outlet.Parts].
package outlet

import (
	"context"
	"log/slog"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"github.com/prometheus/client_golang/prometheus"

	"sabha.dev/chassis/disclosure"
	"sabha.dev/chassis/fault"
	"sabha.dev/chassis/label"
)

// Outlets are the ways out of one service. They are made once, because they register
// what they count.
type Outlets struct {
	log                *slog.Logger
	messages, findings *prometheus.CounterVec
}

// New makes the ways out of a service.
func New(log *slog.Logger, r prometheus.Registerer) (*Outlets, error) {
	o := &Outlets{
		log: log,
		messages: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "sabha_outlet_messages_total", Help: "Inspected requests to endpoints outside by endpoint and outcome (unchanged, changed, refused).",
		}, []string{"outlet", "outcome"}),
		findings: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "sabha_outlet_findings_total", Help: "What was found in requests to endpoints outside, by endpoint, class and action.",
		}, []string{"outlet", "class", "action"}),
	}
	if err := r.Register(o.messages); err != nil {
		return nil, err
	}
	return o, r.Register(o.findings)
}

// Open gives the way out to one endpoint. Its name is what rules read as
// recipient.partner and what logs and metrics show; it holds no address and no secret.
func (o *Outlets) Open(name string, kind Kind, p Policy) (*Outlet, error) {
	by, err := p.of(kind)
	if err != nil {
		return nil, err
	}
	return &Outlet{outlets: o, name: name, kind: kind, policy: by}, nil
}

// Outlet is the way out to one endpoint. It is safe for concurrent use.
type Outlet struct {
	outlets *Outlets
	name    string
	kind    Kind
	policy  *disclosure.Policy
}

// Use says what a request is.
type Use struct {
	// Of is what is used of the endpoint, such as a tool's name; rules read it as
	// recipient.skill. It may be empty.
	Of string
	// Labels of what the request was made from; zero when nothing is known.
	Labels label.Labels
	// Task that asks, for the record; empty for none.
	Task string
}

// Parts decides about the parts of a message, by the labels of each joined with those
// of the use. The parts stay as they are; what leaves are copies. The error is a
// [fault.PermissionDenied] that says what was found where, or the cause of the context's end.
func (o *Outlet) Parts(ctx context.Context, use Use, parts []*a2apb.Part) ([]*a2apb.Part, disclosure.Tokens, error) {
	r, err := o.decide(ctx, use, parts)
	if err != nil {
		return nil, nil, err
	}
	return r.Parts, r.Tokens, o.record(ctx, use, parts, r)
}

// Text decides about a text. A label that calls the whole of it more confidential than
// may leave, without anything that can be replaced, refuses it. Errors as of [Outlet.Parts].
func (o *Outlet) Text(ctx context.Context, use Use, text string) (string, disclosure.Tokens, error) {
	parts := []*a2apb.Part{{Content: &a2apb.Part_Text{Text: text}}}
	r, err := o.whole(ctx, use, parts)
	if err != nil {
		return "", nil, err
	}
	return r.Parts[0].GetText(), r.Tokens, nil
}

// JSON decides about a JSON document, field by field. One in which nothing changes is
// given back byte for byte. A document that would change and holds a number that a
// float64 does not is refused: it would change too. Errors as of [Outlet.Parts].
func (o *Outlet) JSON(ctx context.Context, use Use, raw []byte) ([]byte, disclosure.Tokens, error) {
	parts := []*a2apb.Part{{Content: &a2apb.Part_Raw{Raw: raw}, MediaType: "application/json"}}
	r, err := o.whole(ctx, use, parts)
	if err != nil {
		return nil, nil, err
	}
	out := r.Parts[0].GetRaw()
	if string(out) != string(raw) && !exact(raw) {
		return nil, nil, fault.New(fault.PermissionDenied,
			"the disclosure policy for %s changes the form in which this leaves, and it holds a number with more digits than can be kept then; send the number as text", o.name)
	}
	return out, r.Tokens, nil
}

// Exact decides about a text that leaves as it is or not at all, such as a URL. Errors
// as of [Outlet.Parts].
func (o *Outlet) Exact(ctx context.Context, use Use, text string) error {
	parts := []*a2apb.Part{{Content: &a2apb.Part_Text{Text: text}}}
	r, err := o.decide(ctx, use, parts)
	if err != nil {
		return err
	}
	if r.Refused == "" && (len(r.Parts) == 0 || r.Parts[0].GetText() != text) {
		r.Refused = "the disclosure policy for " + o.name + " lets this leave in another form only, and it cannot be sent in one: " + places(r.Findings) + "; leave it out, or have the policy allow it"
	}
	return o.record(ctx, use, parts, r)
}

// whole decides about one part that has to leave as something of the same sense.
func (o *Outlet) whole(ctx context.Context, use Use, parts []*a2apb.Part) (disclosure.Result, error) {
	r, err := o.decide(ctx, use, parts)
	if err != nil {
		return r, err
	}
	if r.Refused == "" {
		for _, f := range r.Findings {
			if f.Path == "" && f.End == 0 && f.Action != disclosure.Allow {
				r.Refused = "the disclosure policy for " + o.name + " does not let this leave: its label calls it " + string(f.Class) + ", and nothing in it can be replaced; leave it out, or have the policy allow it"
			}
		}
	}
	if r.Refused == "" && len(r.Parts) == 0 {
		r.Refused = "the disclosure policy for " + o.name + " lets nothing of this leave: " + places(r.Findings) + "; leave it out, or have the policy say in which form it may leave"
	}
	return r, o.record(ctx, use, parts, r)
}

func (o *Outlet) decide(ctx context.Context, use Use, parts []*a2apb.Part) (disclosure.Result, error) {
	if !use.Labels.IsZero() {
		labelled := make([]*a2apb.Part, len(parts))
		for i, p := range parts {
			labelled[i] = use.Labels.Put(shallow(p))
		}
		parts = labelled
	}
	r, err := o.policy.Outbound(ctx, disclosure.Recipient{Partner: o.name, Skill: use.Of}, parts)
	if err != nil {
		return r, context.Cause(ctx)
	}
	return r, nil
}

package disclosure

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/protobuf/proto"

	"sabha.dev/chassis/ext"
	"sabha.dev/chassis/label"
	"sabha.dev/chassis/sensitive"
)

// Finding is one thing that was found in what is to leave, and what happens to it. It
// never holds the value.
type Finding struct {
	// Part counts from 0.
	Part int `json:"part"`
	// Path is where in the part: of data the keys, such as applicant.phones[0]; of a text
	// empty; "filename", "url" and "metadata…" for what stands beside the content.
	Path  string          `json:"path,omitempty"`
	Class sensitive.Class `json:"class"`
	Kind  string          `json:"kind,omitempty"`
	// Start and End are bytes of the text at the path. Both are 0 where the whole part is meant.
	Start  int64  `json:"start"`
	End    int64  `json:"end"`
	Action Action `json:"action"`
	// Rule that decided, "default" for none.
	Rule string `json:"rule"`
	// Why says more where a refusal is not by the rule's own word.
	Why string `json:"why,omitempty"`

	shown string // the value, masked, when it is to be explained
}

// Place names the part and the place in it for a person.
func (f Finding) Place() string {
	place := fmt.Sprintf("part %d", f.Part+1)
	if f.Path != "" {
		place += " " + f.Path
	}
	if f.End > 0 {
		place += fmt.Sprintf(" bytes %d-%d", f.Start, f.End)
	}
	return place
}

// Result is what may leave.
type Result struct {
	// Parts as they may leave: copies, without our labels. nil when refused.
	Parts []*a2apb.Part
	// Labels of what leaves, joined over the parts.
	Labels label.Labels
	// Findings in the order of the parts.
	Findings []Finding
	// Tokens resolve what was replaced; nil when nothing was.
	Tokens Tokens
	// Refused says why nothing may leave, for whoever asked for it; empty when it may.
	Refused string
}

// Restore puts the values of this crossing's tokens back into the parts of its answer.
func (r Result) Restore(parts []*a2apb.Part) []*a2apb.Part { return r.Tokens.Restore(parts) }

// Outbound decides about parts that are to leave. They are not changed. The error is that
// of the context; a refusal is in the result.
func (p *Policy) Outbound(ctx context.Context, to Recipient, parts []*a2apb.Part) (Result, error) {
	r, _, err := p.outbound(ctx, to, parts, false)
	return r, err
}

// Explain decides as Outbound does, and gives for each finding its value in the masked
// form, for whoever asks why. It is no part of a record.
func (p *Policy) Explain(ctx context.Context, to Recipient, parts []*a2apb.Part) (Result, []string, error) {
	return p.outbound(ctx, to, parts, true)
}

func (p *Policy) outbound(ctx context.Context, to Recipient, parts []*a2apb.Part, explain bool) (Result, []string, error) {
	c := crossing{policy: p.orStrict(), to: to, explain: explain}
	var out []*a2apb.Part
	for i, part := range parts {
		if err := ctx.Err(); err != nil {
			return Result{}, nil, err
		}
		c.part, c.labels = i, label.Of(part)
		if leaves := c.outbound(proto.CloneOf(part)); leaves != nil {
			out = append(out, leaves)
		}
	}
	r := Result{Findings: c.findings, Tokens: c.issuer.tokens, Refused: c.refusal()}
	if r.Refused == "" {
		r.Parts, r.Labels = out, c.left
	}
	var shown []string
	for _, f := range r.Findings {
		shown = append(shown, f.shown)
	}
	return r, shown, nil
}

// crossing is one decision under way.
type crossing struct {
	policy   *Policy
	to       Recipient
	issuer   issuer
	findings []Finding
	left     label.Labels // of what leaves
	explain  bool

	part   int // under way
	labels label.Labels
}

// decide notes a finding and gives what happens to it.
func (c *crossing) decide(path string, f sensitive.Finding, value string) Action {
	d := c.policy.decide(c.to, c.labels, f.Class, f.Kind, path)
	c.findings = append(c.findings, Finding{
		Part: c.part, Path: path, Class: f.Class, Kind: f.Kind, Start: f.Start, End: f.End,
		Action: d.action, Rule: d.rule, Why: d.problem,
	})
	if c.explain && value != "" {
		c.findings[len(c.findings)-1].shown = masked(f.Class, value)
	}
	if d.action == Allow {
		c.leaves(f.Class)
	}
	return d.action
}

func (c *crossing) leaves(class sensitive.Class) {
	l := label.Labels{Confidentiality: class.Confidentiality()}
	if class.Valid() {
		l.Classes = []string{string(class)}
	}
	c.left = label.Join(c.left, l)
}

// outbound gives the form in which a part leaves, or nil when it does not.
func (c *crossing) outbound(p *a2apb.Part) *a2apb.Part {
	delete(p.GetMetadata().GetFields(), ext.Labels)
	if len(p.GetMetadata().GetFields()) == 0 {
		p.Metadata = nil
	}
	c.left = label.Join(c.left, label.Labels{Integrity: c.labels.Integrity})
	before := len(c.findings)
	keep := true
	switch content := p.GetContent().(type) {
	case *a2apb.Part_Text:
		content.Text = c.document(content.Text)
	case *a2apb.Part_Data:
		keep = c.data("", content.Data)
	case *a2apb.Part_Raw:
		if readable(p) {
			content.Raw = []byte(c.document(string(content.Raw)))
		} else {
			keep = c.cannotBeRead("its content is no text that can be read")
		}
	case *a2apb.Part_Url:
		content.Url = c.text("url", content.Url)
		keep = c.cannotBeRead("what the URL leads to is not looked into")
	}
	if p.GetFilename() != "" {
		p.Filename = c.text("filename", p.GetFilename())
	}
	if p.GetMetadata() != nil {
		c.metadata(p)
	}
	return c.byLabel(p, keep, c.findings[before:])
}

// cannotBeRead decides about a file that cannot be looked into.
func (c *crossing) cannotBeRead(why string) bool {
	f := Finding{Part: c.part, Class: Unreadable, Action: c.policy.unreadable, Rule: "unreadable"}
	if f.Action == Refuse {
		f.Why = why
	}
	c.findings = append(c.findings, f)
	return f.Action != Drop
}

// formless are the classes that free text may hold in a form no detector knows, so that a
// label which names them counts even where nothing is found.
func formless(class sensitive.Class) bool {
	switch class {
	case sensitive.Email, sensitive.Phone, sensitive.Card, sensitive.IBAN, sensitive.NationalID, sensitive.Secret, sensitive.PrivateAddress:
		return false
	}
	return true
}

// byLabel decides about a part as a whole by its label: by each class that it names and
// no detector has found, or by its confidentiality alone.
func (c *crossing) byLabel(p *a2apb.Part, keep bool, found []Finding) *a2apb.Part {
	if !keep || p == nil {
		return nil
	}
	if label.Join(c.labels, label.Labels{Confidentiality: c.policy.greatest}).Confidentiality == c.policy.greatest {
		c.left = label.Join(c.left, label.Labels{Confidentiality: c.labels.Confidentiality})
		return p
	}
	var classes []sensitive.Class
	for _, name := range c.labels.Classes {
		class := sensitive.Class(name)
		seen := slices.ContainsFunc(found, func(f Finding) bool { return f.Class == class })
		if !seen && formless(class) {
			classes = append(classes, class)
		}
	}
	if len(c.labels.Classes) == 0 {
		classes = []sensitive.Class{Labelled}
	}
	for _, class := range classes {
		switch c.decide("", sensitive.Finding{Class: class}, "") {
		case Drop:
			return nil
		case Mask, Tokenise:
			c.whole(p, class, c.findings[len(c.findings)-1].Action)
			return p
		}
	}
	return p
}

// refusal puts into words what may not leave and what can be done.
func (c *crossing) refusal() string {
	var reasons []string
	more := 0
	for _, f := range c.findings {
		if f.Action != Refuse {
			continue
		}
		if len(reasons) == 5 {
			more++
			continue
		}
		reason := fmt.Sprintf("%s in %s", f.Class, f.Place())
		if f.Kind != "" {
			reason = fmt.Sprintf("%s (%s) in %s", f.Class, f.Kind, f.Place())
		}
		if f.Why != "" {
			reason += ": " + f.Why
		}
		reasons = append(reasons, reason)
	}
	if len(reasons) == 0 {
		return ""
	}
	if more > 0 {
		reasons = append(reasons, fmt.Sprintf("%d more", more))
	}
	return fmt.Sprintf("the disclosure policy for %s does not let this leave: %s; leave it out, or have the policy say in which form it may leave",
		c.recipient(), strings.Join(reasons, "; "))
}

func (c *crossing) recipient() string {
	if c.to.Partner == "" {
		return "this recipient"
	}
	if c.to.Skill != "" {
		return c.to.Partner + "/" + c.to.Skill
	}
	return c.to.Partner
}

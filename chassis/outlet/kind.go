package outlet

import (
	"fmt"

	"go.yaml.in/yaml/v3"

	"sabha.dev/chassis/disclosure"
	"sabha.dev/chassis/strictyaml"
)

// Kind of endpoint. It decides what may leave where the configuration says nothing.
type Kind string

// The kinds.
const (
	// Model writes answers. Values are replaced by tokens, which its answer may hold.
	Model Kind = "model"
	// Embeddings turn texts into vectors. Values are masked: nothing comes back.
	Embeddings Kind = "embeddings"
	// Tools are those of an MCP server elsewhere. Nothing sensitive leaves.
	Tools Kind = "tools"
	// Command is an MCP server that runs here as a process of ours. Everything may go there.
	Command Kind = "command"
	// Web is a page that is fetched: its URL leaves, to the host that it names. No values
	// leave in it; a private address does, which the guard of addresses decides about.
	Web Kind = "web"
	// Webhook is an address that a client named for what happens to its own task. It gets
	// everything: the client may read it anyway.
	Webhook Kind = "webhook"
)

// defaults are written as an operator would write them; docs/egress.md shows them.
func (k Kind) defaults() (string, error) {
	switch k {
	case Model:
		return "{default: tokenise, rules: [{name: no secrets, classes: secret, action: mask}]}", nil
	case Embeddings:
		return "{default: mask}", nil
	case Tools:
		return "{default: refuse}", nil
	case Command, Webhook:
		return "{confidentiality: sensitive, default: allow, unreadable: allow}", nil
	case Web:
		return "{default: refuse, rules: [{name: where it goes, classes: private-address, action: allow}]}", nil
	}
	return "", fmt.Errorf("outlet: no kind %q", string(k))
}

// Policy is the section of a configuration that says what may leave to an endpoint. The
// zero value leaves it to the endpoint's kind.
type Policy struct{ written *disclosure.Policy }

// IsZero tells whether the configuration has no such section.
func (p Policy) IsZero() bool { return p.written == nil }

// UnmarshalYAML reads the section; the error has the line of each problem.
func (p *Policy) UnmarshalYAML(n *yaml.Node) error {
	var written *disclosure.Policy
	if err := strictyaml.Section("disclosure", n, func(root strictyaml.Node) { written = disclosure.Parse(root) }); err != nil {
		return err
	}
	p.written = written
	return nil
}

// ParsePolicy reads the section from a file of its own; name is the file as problems
// should show it.
func ParsePolicy(name string, data []byte) (Policy, error) {
	var written *disclosure.Policy
	if err := strictyaml.Parse(name, data, func(root strictyaml.Node) { written = disclosure.Parse(root) }); err != nil {
		return Policy{}, err
	}
	return Policy{written}, nil
}

func (p Policy) of(k Kind) (*disclosure.Policy, error) {
	text, err := k.defaults()
	if err != nil || p.written != nil {
		return p.written, err
	}
	p, err = ParsePolicy("the default of "+string(k), []byte(text))
	return p.written, err
}

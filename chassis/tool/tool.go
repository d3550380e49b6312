// Package tool is the contract of a tool: a callable with a name, a JSON Schema
// of its arguments and, where it declares one, a schema of its structured result.
//
// The same contract holds for the tools of others that the platform calls
// (Contract, Set) and for its own that others call (Tool): names are unique,
// schemas are valid, arguments are checked before the call and results after it,
// numbers are kept as they were written. It knows nothing of how calls travel.
package tool

import (
	"bytes"
	"encoding/json"
	"fmt"
	"unicode"
	"unicode/utf8"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// maxName bounds a name, in characters (MCP 2025-11-25, tools, tool names).
const maxName = 128

// Definition is what is said of a tool.
type Definition struct {
	// Name is unique among the tools that are offered together, 1 to 128 characters.
	Name string
	// Title is for people, Description for whoever chooses among tools.
	Title, Description string
	// Input is the JSON Schema of the arguments; its type is object.
	Input json.RawMessage
	// Output is the JSON Schema of the structured result; nil declares none.
	Output json.RawMessage
	// Effects are what a call does beside answering.
	Effects Effects
}

// Effects say what a call of a tool does beside answering.
type Effects struct {
	// ReadOnly: nothing changes. Idempotent: a second call with the same arguments
	// changes nothing more. Destructive: something may be lost. OpenWorld: the tool
	// deals with things outside its server.
	ReadOnly, Idempotent, Destructive, OpenWorld bool
}

// Repeatable says that a call may be made again when its answer was lost.
func (e Effects) Repeatable() bool { return e.ReadOnly || e.Idempotent }

// Contract is a definition with its schemas compiled. It is safe for concurrent use.
type Contract struct {
	Definition
	input, output *jsonschema.Schema
}

// New makes a contract. A definition that cannot be one gives *InvalidName or
// *InvalidSchema. A schema is Draft 2020-12 unless its $schema names an older
// draft; what it refers to is within itself.
func New(d Definition) (*Contract, error) {
	if problem := nameProblem(d.Name); problem != "" {
		return nil, &InvalidName{Name: d.Name, Problem: problem}
	}
	c := &Contract{Definition: d}
	document, err := compile(d.Input, &c.input)
	if err == nil && !ofObject(document) {
		err = errNotObject
	}
	if err != nil {
		return nil, &InvalidSchema{Tool: d.Name, Which: "input", cause: err}
	}
	if len(d.Output) == 0 {
		return c, nil
	}
	if _, err := compile(d.Output, &c.output); err != nil {
		return nil, &InvalidSchema{Tool: d.Name, Which: "output", cause: err}
	}
	return c, nil
}

func nameProblem(name string) string {
	switch {
	case name == "":
		return "it is empty"
	case !utf8.ValidString(name):
		return "it is not UTF-8"
	case utf8.RuneCountInString(name) > maxName:
		return fmt.Sprintf("it is longer than %d characters", maxName)
	}
	for _, r := range name {
		if !unicode.IsGraphic(r) {
			return "it holds a character that cannot be seen"
		}
	}
	return ""
}

// ofObject tells whether a schema asks for an object at its root (MCP, Tool.inputSchema).
func ofObject(schema any) bool {
	fields, ok := schema.(map[string]any)
	return ok && fields["type"] == "object"
}

var (
	noArguments = json.RawMessage("{}")
	null        = []byte("null")
)

// Arguments checks the arguments of a call, a JSON object; none and null mean an
// empty one. It returns what is to be passed on. The error is *InvalidInput.
func (c *Contract) Arguments(raw json.RawMessage) (json.RawMessage, error) {
	if raw = bytes.TrimSpace(raw); len(raw) == 0 || bytes.Equal(raw, null) {
		raw = noArguments
	}
	value, err := Decode(raw)
	if err != nil {
		return nil, &InvalidInput{Tool: c.Name, Problems: []Problem{{Message: err.Error()}}}
	}
	if _, ok := value.(map[string]any); !ok {
		return nil, &InvalidInput{Tool: c.Name, Problems: []Problem{{Message: "the arguments must be a JSON object"}}}
	}
	if problems := problemsOf(c.input, value); problems != nil {
		return nil, &InvalidInput{Tool: c.Name, Problems: problems}
	}
	return raw, nil
}

// Result checks a structured result against the declared output schema; nil is no
// structured result. The error is *InvalidOutput.
func (c *Contract) Result(structured json.RawMessage) error {
	if structured == nil {
		if c.output == nil {
			return nil
		}
		return &InvalidOutput{Tool: c.Name, Problems: []Problem{{Message: "there is no structured result"}}}
	}
	value, err := Decode(structured)
	if err != nil {
		return &InvalidOutput{Tool: c.Name, Problems: []Problem{{Message: err.Error()}}}
	}
	if c.output == nil {
		return nil
	}
	if problems := problemsOf(c.output, value); problems != nil {
		return &InvalidOutput{Tool: c.Name, Problems: problems}
	}
	return nil
}

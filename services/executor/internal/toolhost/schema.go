package toolhost

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// checked is a tool with its compiled schemas.
type checked struct {
	Tool
	input, output *jsonschema.Schema
	err           error // why the tool cannot be called
}

// closedLoader refuses what a schema refers to outside itself: a server must not
// make us read files or open connections.
type closedLoader struct{}

func (closedLoader) Load(url string) (any, error) {
	return nil, fmt.Errorf("a reference to %s, outside the schema", url)
}

func compile(raw json.RawMessage) (*jsonschema.Schema, error) {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return nil, err
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.UseLoader(closedLoader{})
	const location = "urn:tool:schema"
	if err := c.AddResource(location, doc); err != nil {
		return nil, err
	}
	return c.Compile(location)
}

func check(t *mcp.Tool) *checked {
	c := &checked{Tool: Tool{Name: t.Name, Description: t.Description}}
	if a := t.Annotations; a != nil {
		c.Repeatable = a.ReadOnlyHint || a.IdempotentHint
	}
	var err error
	if c.Input, err = json.Marshal(t.InputSchema); err == nil {
		c.input, err = compile(c.Input)
	}
	if err != nil {
		c.err = &InvalidSchema{Tool: t.Name, Which: "input", cause: err}
		return c
	}
	if t.OutputSchema == nil {
		return c
	}
	if c.Output, err = json.Marshal(t.OutputSchema); err == nil {
		c.output, err = compile(c.Output)
	}
	if err != nil {
		c.err = &InvalidSchema{Tool: t.Name, Which: "output", cause: err}
	}
	return c
}

func (c *checked) checkInput(arguments json.RawMessage) error {
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(arguments))
	if err != nil {
		return &InvalidInput{Tool: c.Name, Problems: []Problem{{Message: "the arguments are not JSON"}}}
	}
	if _, ok := v.(map[string]any); !ok {
		return &InvalidInput{Tool: c.Name, Problems: []Problem{{Message: "the arguments must be a JSON object"}}}
	}
	if problems := problemsOf(c.input.Validate(v)); problems != nil {
		return &InvalidInput{Tool: c.Name, Problems: problems}
	}
	return nil
}

func (c *checked) checkOutput(structured json.RawMessage) error {
	if c.output == nil {
		return nil
	}
	if structured == nil {
		return &InvalidOutput{Tool: c.Name, Problems: []Problem{{Message: "there is no structured result"}}}
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(structured))
	if err != nil {
		return &InvalidOutput{Tool: c.Name, Problems: []Problem{{Message: "the structured result is not JSON"}}, cause: err}
	}
	if problems := problemsOf(c.output.Validate(v)); problems != nil {
		return &InvalidOutput{Tool: c.Name, Problems: problems}
	}
	return nil
}

// maxProblems bounds how many are told; the first ones are enough to go on.
const maxProblems = 10

// problemsOf lists the innermost problems of a validation.
func problemsOf(err error) []Problem {
	if err == nil {
		return nil
	}
	var invalid *jsonschema.ValidationError
	if !errors.As(err, &invalid) {
		return []Problem{{Message: "it cannot be checked"}}
	}
	var problems []Problem
	var walk func(u jsonschema.OutputUnit)
	walk = func(u jsonschema.OutputUnit) {
		for _, e := range u.Errors {
			walk(e)
		}
		if len(u.Errors) == 0 && u.Error != nil {
			problems = append(problems, Problem{Path: u.InstanceLocation, Message: u.Error.String()})
		}
	}
	walk(*invalid.DetailedOutput())
	slices.SortFunc(problems, func(a, b Problem) int {
		return cmp.Or(strings.Compare(a.Path, b.Path), strings.Compare(a.Message, b.Message))
	})
	return problems[:min(len(problems), maxProblems)]
}

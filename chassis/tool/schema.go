package tool

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// sealed refuses what a schema refers to outside itself. The library's own loader
// reads files, and whoever describes a tool must not make us read or call anything.
type sealed struct{}

func (sealed) Load(url string) (any, error) {
	return nil, fmt.Errorf("it refers to %s, outside itself", url)
}

var errNotObject = errors.New("its type must be object")

// location names a schema to the compiler; nothing is there, nor beside it.
const location = "tool://schema/itself"

// compile checks a schema against its meta-schema and gives it as a value too.
func compile(raw json.RawMessage, compiled **jsonschema.Schema) (any, error) {
	document, err := Decode(raw)
	if err != nil {
		return nil, err
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.AssertFormat()
	c.UseLoader(sealed{})
	if err := c.AddResource(location, document); err != nil {
		return nil, err
	}
	*compiled, err = c.Compile(location)
	return document, err
}

// maxProblems bounds how many are told; the first ones are enough to go on.
const maxProblems = 10

// problemsOf lists the innermost problems of a value, nil for none.
func problemsOf(schema *jsonschema.Schema, value any) []Problem {
	err := schema.Validate(value)
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
	return slices.Compact(problems)[:min(len(problems), maxProblems)]
}

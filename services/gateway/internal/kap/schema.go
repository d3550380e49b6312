package kap

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"sabha.dev/chassis/fault"
)

// parameters are where a request has what its capability's schema describes.
const parameters = "context.metadata"

// compile reads the schema of a capability's parameters; nil for none.
func compile(document map[string]any) (*jsonschema.Schema, error) {
	if document == nil {
		return nil, nil //nolint:nilnil // no schema is no error
	}
	if document["type"] != "object" {
		return nil, errors.New("the type must be object: it describes " + parameters)
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.AssertFormat()
	c.UseLoader(alone{})
	const id = "urn:sabha:kap:input"
	err := c.AddResource(id, plainOf(document))
	if err != nil {
		return nil, err
	}
	s, err := c.Compile(id)
	if err != nil {
		return nil, errors.New(strings.Join(strings.Fields(err.Error()), " "))
	}
	return s, nil
}

// plainOf gives a value of YAML as JSON has it, as far as the two differ.
func plainOf(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for name, one := range v {
			out[name] = plainOf(one)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, one := range v {
			out[i] = plainOf(one)
		}
		return out
	}
	return v
}

// alone refuses references out of the schema.
type alone struct{}

func (alone) Load(url string) (any, error) {
	return nil, fmt.Errorf("it refers to %s; a schema must stand for itself", url)
}

// maxProblems bounds what is told of parameters that do not fit.
const maxProblems = 16

// fits says how parameters differ from their schema, if they do.
func fits(s *jsonschema.Schema, metadata map[string]any) error {
	if s == nil {
		return nil
	}
	if metadata == nil {
		metadata = map[string]any{}
	}
	var v *jsonschema.ValidationError
	if err := s.Validate(metadata); err == nil {
		return nil
	} else if !errors.As(err, &v) {
		return fault.Invalid(parameters, "cannot be checked").Because(err)
	}
	e := &fault.Error{Reason: fault.InvalidArgument}
	for _, leaf := range leaves(v) {
		at := path(leaf.InstanceLocation)
		if absent, ok := leaf.ErrorKind.(*kind.Required); ok {
			for _, name := range absent.Missing {
				e.Fields = append(e.Fields, fault.Field{Path: below(at, name), Problem: "is missing; the capability needs it"})
			}
			continue
		}
		e.Fields = append(e.Fields, fault.Field{Path: at, Problem: leaf.ErrorKind.LocalizedString(message.NewPrinter(language.English))})
	}
	slices.SortStableFunc(e.Fields, func(a, b fault.Field) int { return strings.Compare(a.Path, b.Path) })
	e.Fields = e.Fields[:min(len(e.Fields), maxProblems)]
	said := make([]string, len(e.Fields))
	for i, f := range e.Fields {
		said[i] = f.Path + ": " + f.Problem
	}
	e.Message = strings.Join(said, "; ")
	return e
}

// leaves are the errors that have no causes: the precise ones.
func leaves(v *jsonschema.ValidationError) []*jsonschema.ValidationError {
	if len(v.Causes) == 0 {
		return []*jsonschema.ValidationError{v}
	}
	var out []*jsonschema.ValidationError
	for _, c := range v.Causes {
		out = append(out, leaves(c)...)
	}
	return out
}

func path(location []string) string {
	at := parameters
	for _, name := range location {
		at = below(at, name)
	}
	return at
}

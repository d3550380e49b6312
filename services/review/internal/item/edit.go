package item

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"sabha.dev/chassis/fault"
)

// sealed refuses every reference that leaves the schema: nothing is read from files or
// the network on behalf of whoever asked for a review.
type sealed struct{}

func (sealed) Load(url string) (any, error) {
	return nil, fmt.Errorf("references outside the schema are not followed: %s", url)
}

const schemaURL = "sabha://review/schema"

// compile reads a JSON Schema of Draft 2020-12, or of the draft that it names.
func compile(schema json.RawMessage) (*jsonschema.Schema, error) {
	var v any
	if err := json.Unmarshal(schema, &v); err != nil {
		return nil, err
	}
	c := jsonschema.NewCompiler()
	c.UseLoader(sealed{})
	c.AssertFormat()
	if err := c.AddResource(schemaURL, v); err != nil {
		return nil, err
	}
	return c.Compile(schemaURL)
}

// CheckSchema says what is wrong with a schema, in words without our addresses.
func CheckSchema(schema json.RawMessage) error {
	if _, err := compile(schema); err != nil {
		return errors.New(strings.ReplaceAll(strings.Join(strings.Fields(err.Error()), " "), schemaURL, "the schema"))
	}
	return nil
}

// CheckEdit tells whether an edited content may stand in for the content: it keeps to
// the schema, or without one to the type of JSON.
func (s *Snapshot) CheckEdit(edited json.RawMessage) error {
	var was, is any
	if err := errors.Join(json.Unmarshal(s.Content, &was), json.Unmarshal(edited, &is)); err != nil {
		return err
	}
	if len(s.Schema) == 0 {
		if want, got := kindOf(was), kindOf(is); want != got {
			return fault.Invalid("edited", "is %s; the content is %s, and an edit keeps the type", got, want)
		}
		return nil
	}
	schema, err := compile(s.Schema)
	if err != nil {
		return fmt.Errorf("a schema that was checked: %w", err)
	}
	err = schema.Validate(is)
	var invalid *jsonschema.ValidationError
	if !errors.As(err, &invalid) {
		return err
	}
	problems := violations(invalid, nil)
	first := &fault.Error{Reason: fault.InvalidArgument, Message: "the edited content does not keep to its schema: " + problems[0].Path + " " + problems[0].Problem}
	first.Fields = problems
	return first
}

// maxViolations bounds how many broken rules are listed.
const maxViolations = 20

// violations are the innermost broken rules, by the place in the edited content.
func violations(e *jsonschema.ValidationError, out []fault.Field) []fault.Field {
	if len(e.Causes) == 0 && len(out) < maxViolations {
		path := "edited"
		for _, t := range e.InstanceLocation {
			path += "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(t)
		}
		return append(out, fault.Field{Path: path, Problem: e.ErrorKind.LocalizedString(message.NewPrinter(language.English))})
	}
	for _, c := range e.Causes {
		out = violations(c, out)
	}
	return out
}

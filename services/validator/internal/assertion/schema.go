package assertion

import (
	"errors"
	"fmt"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
)

// SchemaError is a schema that cannot be used.
type SchemaError struct {
	// Path is the JSON pointer into the schema, empty where the whole is meant.
	Path    string
	Problem string
}

func (e *SchemaError) Error() string {
	if e.Path == "" {
		return e.Problem
	}
	return e.Path + ": " + e.Problem
}

// closed refuses every reference that leaves the schema: nothing is read from
// files or the network on behalf of a request.
type closed struct{}

func (closed) Load(url string) (any, error) {
	return nil, fmt.Errorf("references outside the schema are not followed: %s", url)
}

// schemaURL is hierarchical, so that a relative reference resolves to a place
// that is not the schema itself, and is refused.
const schemaURL = "sabha://validator/schema"

// Schema checks data, as encoding/json reads it, against a JSON Schema of Draft
// 2020-12 or the draft that it names. Every violated rule is a Result; data
// that conforms gives one passed Result. A schema that is invalid or refers to
// a file or an address is a *SchemaError.
func Schema(schema, data any) ([]Result, error) {
	compiler := jsonschema.NewCompiler()
	compiler.UseLoader(closed{})
	compiler.AssertFormat()
	if err := compiler.AddResource(schemaURL, schema); err != nil {
		return nil, &SchemaError{Problem: tell(err)}
	}
	compiled, err := compiler.Compile(schemaURL)
	if err != nil {
		return nil, compileError(err)
	}
	err = compiled.Validate(data)
	var invalid *jsonschema.ValidationError
	switch {
	case err == nil:
		return []Result{{Name: "schema", Passed: true, Reason: "the data conforms to the schema"}}, nil
	case !errors.As(err, &invalid):
		return nil, &SchemaError{Problem: tell(err)}
	}
	return leaves(invalid, nil), nil
}

func compileError(err error) error {
	var bad *jsonschema.SchemaValidationError
	if errors.As(err, &bad) {
		var invalid *jsonschema.ValidationError
		if errors.As(bad.Err, &invalid) {
			for len(invalid.Causes) > 0 {
				invalid = invalid.Causes[0]
			}
			return &SchemaError{Path: pointer(invalid.InstanceLocation), Problem: sentence(invalid)}
		}
	}
	var load *jsonschema.LoadURLError
	if errors.As(err, &load) {
		return &SchemaError{Problem: fmt.Sprintf("the schema refers to %q: references outside the schema are not followed", load.URL)}
	}
	return &SchemaError{Problem: tell(err)}
}

// maxViolations bounds how many broken rules are listed.
const maxViolations = 20

func leaves(e *jsonschema.ValidationError, out []Result) []Result {
	if len(out) >= maxViolations {
		return out
	}
	if len(e.Causes) == 0 {
		name := "schema"
		if p := pointer(e.InstanceLocation); p != "" {
			name += " " + p
		}
		return append(out, Result{Name: name, Reason: sentence(e)})
	}
	if _, choice := e.ErrorKind.(*kind.OneOf); choice || isAnyOf(e) {
		return append(out, Result{Name: strings.TrimSpace("schema " + pointer(e.InstanceLocation)), Reason: sentence(e)})
	}
	for _, c := range e.Causes {
		out = leaves(c, out)
	}
	return out
}

func isAnyOf(e *jsonschema.ValidationError) bool {
	_, ok := e.ErrorKind.(*kind.AnyOf)
	return ok
}

func sentence(e *jsonschema.ValidationError) string {
	return e.ErrorKind.LocalizedString(message.NewPrinter(language.English))
}

func pointer(tokens []string) string {
	var b strings.Builder
	for _, t := range tokens {
		b.WriteString("/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(t))
	}
	return b.String()
}

// tell makes one line of a library's error without the URL that we gave the schema.
func tell(err error) string {
	text := strings.Join(strings.Fields(err.Error()), " ")
	text = strings.ReplaceAll(text, schemaURL+"#", "")
	return strings.ReplaceAll(text, schemaURL, "the schema")
}

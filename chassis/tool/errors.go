package tool

import (
	"fmt"
	"strings"
)

// Problem is one way in which a value breaks a schema.
type Problem struct {
	Path    string // JSON pointer within the value; empty is the value itself
	Message string
}

func problemText(problems []Problem) string {
	texts := make([]string, len(problems))
	for i, p := range problems {
		if texts[i] = p.Message; p.Path != "" {
			texts[i] = p.Path + ": " + p.Message
		}
	}
	return strings.Join(texts, "; ")
}

// InvalidName says that a name cannot be one.
type InvalidName struct{ Name, Problem string }

func (e *InvalidName) Error() string { return fmt.Sprintf("the tool name %q: %s", e.Name, e.Problem) }

// Duplicate says that two tools of one set have the same name.
type Duplicate struct{ Name string }

func (e *Duplicate) Error() string { return fmt.Sprintf("two tools are called %q", e.Name) }

// Unknown says that there is no tool of the name.
type Unknown struct {
	Name  string
	Known []string // sorted
}

func (e *Unknown) Error() string {
	if len(e.Known) == 0 {
		return fmt.Sprintf("there is no tool %q, nor any other", e.Name)
	}
	return fmt.Sprintf("there is no tool %q; there are: %s", e.Name, strings.Join(e.Known, ", "))
}

// InvalidSchema says that a tool cannot be used because of how it is described.
type InvalidSchema struct {
	Tool, Which string // Which is input or output
	cause       error
}

func (e *InvalidSchema) Error() string {
	return fmt.Sprintf("the tool %q cannot be used: its %s schema is not valid JSON Schema 2020-12 of its own", e.Tool, e.Which)
}

// Unwrap gives what the schema compiler says, which is for logs.
func (e *InvalidSchema) Unwrap() error { return e.cause }

// InvalidInput says that arguments break the tool's input schema. The tool was not called.
type InvalidInput struct {
	Tool     string
	Problems []Problem
}

func (e *InvalidInput) Error() string {
	return fmt.Sprintf("the arguments of %q do not fit its input schema: %s", e.Tool, problemText(e.Problems))
}

// InvalidOutput says that a tool answered something that breaks its own output schema.
type InvalidOutput struct {
	Tool     string
	Problems []Problem
}

func (e *InvalidOutput) Error() string {
	return fmt.Sprintf("the answer of %q does not fit its output schema: %s", e.Tool, problemText(e.Problems))
}

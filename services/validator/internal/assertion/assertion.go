// Package assertion checks an answer and its data against rules that the
// request brings: a JSON Schema (Draft 2020-12) and CEL expressions.
package assertion

// Result is one checked rule.
type Result struct {
	// Name is the assertion's name, or "schema" with the path of the value that breaks it.
	Name   string
	Passed bool
	Reason string
}

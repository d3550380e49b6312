// Package playbook reads playbooks: versioned YAML files that say which agents work on a request,
// in which order, on which inputs, and within which bounds.
//
// Parse turns a file into a checked, compiled [Playbook], a directed acyclic graph of steps, or
// into [Problems], each with its file, line and path. A plan that a model writes passes the same
// checks as a file.
//
// A value in a playbook is a literal, unless it is a string that begins with "=": then the rest is
// a CEL expression. A string that must begin with "=" is written with two: "==x" is the text "=x".
// The rule holds at any depth of maps and lists. Conditions (`when`, `until`, `match.when`) are
// always CEL. Expressions see
//
//	input                  the request's input, as the input schema describes it
//	steps.ID.state         PENDING, RUNNING, COMPLETED, SKIPPED, FAILED or CANCELED
//	steps.ID.output.text   all text the step answered with, joined
//	steps.ID.output.data   the data it answered with, merged into one object
//	steps.ID.output.state  the A2A state of the child task; empty after a direct Message
//	steps.ID.output.task   the id of the child task; empty after a direct Message
//	revision.round         within a revision loop: 0 at first, then 1, 2, …
//	revision.feedback      within a revision loop: what the judging step answered in the round before
//
// A step runs when every step it needs has settled: completed, was skipped, or failed although it
// is optional. What an expression reads it needs; `needs` adds order where no data flows. A skipped
// step has an empty output, so readers use `has(…)` or `.?field.orValue(…)`.
//
// The package has no side effects and no clock. [Playbook.Next] is the whole decision of an
// interpreter as a pure function of what has happened so far.
package playbook

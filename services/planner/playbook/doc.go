// Package playbook reads playbooks: versioned YAML files that say which agents work on a request,
// in which order, on which inputs, and within which bounds.
//
// Parse turns a file into a checked, compiled [Playbook], a directed acyclic graph of steps, or
// into [Problems], each with its file, line and path. A plan that a model writes passes the same
// checks as a file.
//
// A file, with everything it may say (what has a default may be left out):
//
//	playbook: name                  # small letters, digits and -
//	version: 1                      # or a semantic version
//	description: …
//	product: …                      # with risk, selects the validator's threshold
//	risk: low                       # low, medium or high
//	budget: 5m                      # of the whole plan
//	defaults: {budget: 1m, retries: {max: 2, backoff: 200ms, max_backoff: 5s, jitter: 0.2}}
//	match: {skills: […], when: CEL, priority: 0}   # without it the playbook is taken by name only
//	input:
//	  schema: …                     # JSON Schema 2020-12 of an object
//	  text: query                   # the property that receives the request's text
//	steps:
//	  - id: draft                   # small letters, digits and _
//	    description: …
//	    agent: …                    # planner is the planner itself, with the skill synthesise
//	    skill: …
//	    inputs: {name: value}
//	    needs: [id]                 # beyond what expressions read
//	    when: CEL
//	    budget: 1m
//	    retries: …                  # as in defaults; none for a step with side effects
//	    revise: {step: id, until: CEL, max: 3, exhausted: fail}   # or continue
//	    compensation: {agent: …, skill: …, inputs: …}
//	    risk: low
//	    side_effects: false           # true: a person approves what it acts on, where that is not trusted
//	    optional: false
//	    release: {field: {enum: [a, b]}}   # fields of its data that may be believed; type number,
//	                                  # integer, boolean, or string with format date or date-time
//	threshold: {step: id, min_confidence: 0.7, reasons: value, review: id}
//	output: {text: value, data: {name: value}}
//
// A step with revise judges the work of the steps from revise.step to itself: while until is false
// they all run again, at most max times, and see what it answered as revision.feedback. Whoever
// reads them from outside waits until the loop has ended.
//
// A step of agent review and skill review asks people; its inputs are those of [ReviewInputs]. A
// plan that they do not approve is rejected, unless the step is optional. The one that
// threshold.review names runs only under the threshold, and then whatever needs the threshold's step
// waits for it; where its condition is false the plan fails as it does without review.
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
// Beside CEL's own functions there are those of its strings and math extensions, optional values
// (`x.?field.orValue(…)`), and json(x), a value as JSON text. Numbers are doubles, as in JSON.
//
// A step runs when every step it needs has settled: completed, was skipped, or failed although it
// is optional. What an expression reads it needs; `needs` adds order where no data flows. A skipped
// step has an empty output, so readers use `has(…)` or `.?field.orValue(…)`.
//
// The package has no side effects and no clock. [Playbook.Next] is the whole decision of an
// interpreter as a pure function of what has happened so far.
package playbook

// Package query reads what operators write into the query bar of tasks, such as
// "state:working agent:research age:>1h leave".
package query

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"sabha.dev/services/console/internal/request"
)

// MaxLength of a query, bytes.
const MaxLength = 500

// Query narrows the list of tasks; what is zero does not.
type Query struct {
	// States that are listed; any of them.
	States []request.State
	// Agent that a step calls.
	Agent string
	// Playbook by name.
	Playbook string
	// Caller is who asked: organisation/subject.
	Caller string
	// Context and Task by id.
	Context, Task string
	// Failed is a step that has failed; "*" is any.
	Failed string
	// Retrying says that a step waits for its next try.
	Retrying bool
	// Older and Younger bound the age of the request.
	Older, Younger time.Duration
	// Text that the request contains.
	Text string
}

// Key of a filter, with what it means.
type Key struct{ Name, Example, Meaning string }

// Keys are the filters that there are.
var Keys = []Key{
	{"state", "state:working", "is in this state; also open, ended, or several with commas"},
	{"agent", "agent:research", "has a step that calls this agent"},
	{"playbook", "playbook:general", "follows this playbook"},
	{"caller", "caller:acme/alma", "was asked by this person or key"},
	{"context", "context:ID", "belongs to this conversation"},
	{"task", "task:ID", "has this id"},
	{"age", "age:>1h", "began more (>) or less (<) than this ago: s, m, h, d or w"},
	{"failed", "failed:draft", "has this step failed; * is any"},
	{"retrying", "retrying", "waits for the next try of a step"},
}

// groups are names for several states.
var groups = map[string][]request.State{
	"open":  {request.Submitted, request.Working, request.InputRequired, request.AuthRequired},
	"ended": {request.Completed, request.Failed, request.Rejected, request.Canceled},
}

// Error says what is wrong with a query and what to write instead.
type Error struct {
	// Word is the part that is wrong.
	Word string
	// Help is a sentence for who wrote it.
	Help string
}

func (e *Error) Error() string { return e.Help }

func wrong(word, format string, args ...any) error {
	return &Error{word, fmt.Sprintf(format, args...)}
}

// Parse reads a query. The error is an *Error.
func Parse(s string) (Query, error) {
	var q Query
	if len(s) > MaxLength {
		return Query{}, wrong("", "The query is longer than %d bytes.", MaxLength)
	}
	words, err := split(s)
	if err != nil {
		return Query{}, err
	}
	var text []string
	for _, w := range words {
		switch {
		case w.key == "" && !w.quoted && strings.EqualFold(w.value, "retrying"):
			q.Retrying = true
		case w.key == "":
			text = append(text, w.value)
		case w.value == "":
			return Query{}, wrong(w.raw, "%s: needs a value, for example %s.", w.key, example(w.key))
		default:
			if err := q.set(w); err != nil {
				return Query{}, err
			}
		}
	}
	q.Text = strings.Join(text, " ")
	return q, nil
}

// set takes one filter.
func (q *Query) set(w word) error {
	one := func(field *string) error {
		if *field != "" && *field != w.value {
			return wrong(w.raw, "%s: stands twice; a task has only one.", w.key)
		}
		*field = w.value
		return nil
	}
	switch w.key {
	case "state":
		return q.state(w)
	case "agent":
		return one(&q.Agent)
	case "playbook":
		return one(&q.Playbook)
	case "caller":
		return one(&q.Caller)
	case "context":
		return one(&q.Context)
	case "task":
		return one(&q.Task)
	case "failed":
		return one(&q.Failed)
	case "age":
		return q.age(w)
	}
	return wrong(w.raw, "%s: is no filter. There are %s. To look for it as text, put it in quotes.", w.key, names())
}

func (q *Query) state(w word) error {
	for name := range strings.SplitSeq(strings.ToLower(w.value), ",") {
		states, ok := groups[name]
		if !ok {
			s, known := request.ParseState(strings.ReplaceAll(name, "_", "-"))
			if !known {
				return wrong(w.raw, "There is no state %q. States are %s; open and ended are several of them.", name, stateNames())
			}
			states = []request.State{s}
		}
		for _, s := range states {
			if !slices.Contains(q.States, s) {
				q.States = append(q.States, s)
			}
		}
	}
	slices.SortFunc(q.States, func(a, b request.State) int {
		return slices.Index(request.States, a) - slices.Index(request.States, b)
	})
	return nil
}

// units of an age; none longer than a week, whose lengths are not always the same.
var units = []struct {
	name string
	time time.Duration
}{{"w", 7 * 24 * time.Hour}, {"d", 24 * time.Hour}, {"h", time.Hour}, {"m", time.Minute}, {"s", time.Second}}

// maxAge keeps an age within what a time can be counted back.
const maxAge = 10 * 365 * 24 * time.Hour

func (q *Query) age(w word) error {
	bad := wrong(w.raw, "An age is > or <, a number and s, m, h, d or w: age:>1h began over an hour ago, age:<2d within two days.")
	if len(w.value) < 3 {
		return bad
	}
	field := &q.Older
	switch w.value[0] {
	case '>':
	case '<':
		field = &q.Younger
	default:
		return bad
	}
	number, unit := w.value[1:len(w.value)-1], w.value[len(w.value)-1:]
	n, err := strconv.ParseUint(number, 10, 32)
	if err != nil || n == 0 {
		return bad
	}
	for _, u := range units {
		if u.name != unit {
			continue
		}
		if n > uint64(maxAge/u.time) {
			return wrong(w.raw, "An age may be ten years at most.")
		}
		d := time.Duration(n) * u.time
		if *field != 0 && *field != d {
			return wrong(w.raw, "age:%c stands twice.", w.value[0])
		}
		*field = d
		return nil
	}
	return bad
}

// String is the query as it would be written.
func (q Query) String() string {
	var parts []string
	add := func(key, value string) {
		if value != "" {
			parts = append(parts, key+":"+quote(value))
		}
	}
	if len(q.States) > 0 {
		names := make([]string, len(q.States))
		for i, s := range q.States {
			names[i] = string(s)
		}
		add("state", strings.Join(names, ","))
	}
	add("agent", q.Agent)
	add("playbook", q.Playbook)
	add("caller", q.Caller)
	add("context", q.Context)
	add("task", q.Task)
	add("failed", q.Failed)
	if q.Older > 0 {
		add("age", ">"+age(q.Older))
	}
	if q.Younger > 0 {
		add("age", "<"+age(q.Younger))
	}
	if q.Retrying {
		parts = append(parts, "retrying")
	}
	if q.Text != "" {
		parts = append(parts, text(q.Text))
	}
	return strings.Join(parts, " ")
}

func age(d time.Duration) string {
	for _, u := range units {
		if d%u.time == 0 {
			return strconv.FormatInt(int64(d/u.time), 10) + u.name
		}
	}
	return d.String() // ages are whole seconds, so there is always a unit
}

// With is the query with other states.
func (q Query) With(states ...request.State) Query {
	q.States = states
	return q
}

func names() string {
	all := make([]string, len(Keys))
	for i, k := range Keys {
		all[i] = k.Name
	}
	return strings.Join(all, ", ")
}

func stateNames() string {
	all := make([]string, len(request.States))
	for i, s := range request.States {
		all[i] = string(s)
	}
	return strings.Join(all, ", ")
}

func example(key string) string {
	for _, k := range Keys {
		if k.Name == key {
			return k.Example
		}
	}
	return "state:working"
}

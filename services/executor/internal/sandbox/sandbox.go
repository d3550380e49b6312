// Package sandbox runs Starlark snippets that nobody has to trust: no files, no
// network, no load, no clock, no randomness, and hard bounds on steps, memory,
// wall time and output.
//
// # What is bounded
//
// Go's garbage collector cannot be asked what one snippet uses, so memory is
// bounded by accounting. Before compilation the syntax tree is rewritten: every
// operator, display, comprehension, attribute and index is routed through a
// meter, and every built-in function is replaced by one with a known cost.
//
//   - Memory counts the bytes that a snippet asks for over its whole run, whether
//     or not it lets go of them, by the size of Go's representation. An operation
//     that would go over the limit is refused before it allocates. What is alive
//     at any moment is therefore below the limit, times two for the slack of
//     growing lists and tables. Not counted: the compiled code, call frames and
//     small temporaries that no value keeps.
//   - Steps counts instructions, and for work done inside one built-in the elements
//     visited and each 256 bytes of text: sorted(range(10000000)) is refused
//     before it starts. So no operation is long, and a cancelled snippet stops soon.
//   - Integers have at most MaxIntBits bits. Functions may not recurse. Values that
//     are printed, compared or given back nest at most MaxDepth deep, expressions
//     at most MaxNesting. Source is at most MaxSource bytes.
//   - Output counts printed text and the result's JSON together.
//
// The counts depend on the snippet and its inputs only, so the same run gives the
// same answer on every machine, apart from the wall-time limit.
package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"
)

// Fixed bounds that no configuration changes.
const (
	// MaxIntBits is the size of the largest integer: about 19,700 digits.
	MaxIntBits = 1 << 16
	// MaxDepth is how deep a value may nest that is printed, compared or given back.
	MaxDepth = 64
	// MaxNesting is how deep expressions and blocks of the source may nest.
	MaxNesting = 200
	// MaxSource is the length of a snippet in bytes.
	MaxSource = 64 << 10
)

// Limits bound one run. Every field must be positive.
type Limits struct {
	Steps    int64         // instructions and elements visited
	Memory   int64         // bytes asked for over the whole run
	WallTime time.Duration // from the start of the run
	Output   int64         // bytes of printed text and result JSON together
}

// DefaultLimits suit a small computation over the results of other steps.
var DefaultLimits = Limits{Steps: 20_000_000, Memory: 64 << 20, WallTime: 10 * time.Second, Output: 256 << 10}

// Validate names the field that is not positive.
func (l Limits) Validate() error {
	for _, f := range []struct {
		name  string
		value int64
	}{
		{"steps", l.Steps}, {"memory", l.Memory}, {"wall time", int64(l.WallTime)}, {"output", l.Output},
	} {
		if f.value <= 0 {
			return fmt.Errorf("sandbox limit %s is %d; it must be positive", f.name, f.value)
		}
	}
	return nil
}

// Timer makes a channel that receives once after d.
type Timer interface {
	After(d time.Duration) <-chan time.Time
}

// Sandbox runs snippets within limits. It is safe for concurrent use.
type Sandbox struct {
	limits Limits
	timer  Timer
	slots  chan struct{}
}

// New makes a sandbox in which at most parallel snippets run at a time; others
// wait. So parallel × 2 × limits.Memory bounds the memory of them all.
func New(limits Limits, parallel int, timer Timer) (*Sandbox, error) {
	if err := limits.Validate(); err != nil {
		return nil, err
	}
	if parallel <= 0 {
		return nil, fmt.Errorf("sandbox: %d snippets in parallel; it must be positive", parallel)
	}
	return &Sandbox{limits: limits, timer: timer, slots: make(chan struct{}, parallel)}, nil
}

// Result is what a snippet gave.
type Result struct {
	// Value is the result as JSON, with the keys of objects sorted. Integers have all their digits.
	Value json.RawMessage
	// Printed is what print wrote, one line a call.
	Printed string
	// Steps and Memory were used, in the units of Limits.
	Steps, Memory int64
}

// Run runs a snippet. The name inputs holds the inputs, a JSON object (nil means
// an empty one). The result is the global variable result, or the value of the
// last line where that is an expression and result is not assigned.
//
// A snippet that fails or goes over a limit gives a *Failure. Where ctx ends
// first the error is the context's. Run returns then at once; the slot is free
// again when the snippet has noticed.
func (s *Sandbox) Run(ctx context.Context, code string, inputs json.RawMessage) (Result, error) {
	select {
	case s.slots <- struct{}{}:
	case <-ctx.Done():
		return Result{}, context.Cause(ctx)
	}
	type outcome struct {
		result Result
		err    error
	}
	m := newMeter(s.limits)
	done := make(chan outcome, 1)
	go func() {
		defer func() { <-s.slots }()
		defer func() {
			// The interpreter is someone else's code running a stranger's program:
			// a fault in it ends this run, not the service.
			if p := recover(); p != nil {
				done <- outcome{err: fmt.Errorf("starlark interpreter panicked: %v\n%s", p, debug.Stack())}
			}
		}()
		result, err := run(m, code, inputs)
		done <- outcome{result, err}
	}()
	select {
	case o := <-done:
		return o.result, o.err
	case <-s.timer.After(s.limits.WallTime):
		m.thread.Cancel("out of time")
		return Result{}, &Failure{Kind: Time, Message: fmt.Sprintf(
			"the snippet ran longer than %v; do less in one snippet", s.limits.WallTime)}
	case <-ctx.Done():
		m.thread.Cancel("canceled")
		return Result{}, context.Cause(ctx)
	}
}

// dialect is Starlark with the parts that a bound on steps makes harmless.
var dialect = &syntax.FileOptions{Set: true, While: true, TopLevelControl: true, GlobalReassign: true}

const resultName = "result"

func run(m *meter, code string, inputs json.RawMessage) (Result, error) {
	if len(code) > MaxSource {
		return Result{}, &Failure{Kind: Syntax, Message: fmt.Sprintf(
			"the snippet has %d bytes; at most %d are taken", len(code), MaxSource)}
	}
	file, err := dialect.Parse("snippet", []byte(code), 0)
	if err != nil {
		return Result{}, sourceFailure(err)
	}
	if err := instrument(file); err != nil {
		return Result{}, sourceFailure(err)
	}
	env, err := m.environment(inputs)
	if err != nil {
		return Result{}, err
	}
	program, err := starlark.FileProgram(file, env.Has)
	if err != nil {
		return Result{}, sourceFailure(err)
	}
	globals, err := program.Init(m.thread, env)
	if err != nil {
		return Result{}, m.runFailure(err)
	}
	value, ok := globals[resultName]
	if !ok {
		value, ok = globals[lastName]
	}
	if !ok {
		return Result{}, &Failure{Kind: Runtime, Message: "the snippet gave no result: assign the variable result, or end with an expression"}
	}
	raw, err := marshal(value, m.limits.Output-int64(len(m.printed)), m.tooMuchOutput())
	if err != nil {
		var f *Failure
		if errors.As(err, &f) {
			return Result{}, f
		}
		return Result{}, &Failure{Kind: Runtime, Message: "the result cannot be given back: " + err.Error()}
	}
	return Result{Value: raw, Printed: string(m.printed), Steps: int64(m.thread.ExecutionSteps()), Memory: m.used}, nil
}

package sandbox

import (
	"errors"
	"fmt"
	"strings"

	"go.starlark.net/resolve"
	"go.starlark.net/starlark"
	"go.starlark.net/syntax"
)

// Kind says why a snippet did not give a result.
type Kind string

// Kinds of failure.
const (
	Syntax  Kind = "syntax"  // it does not parse, or uses a name or construct that does not exist here
	Runtime Kind = "runtime" // it failed while it ran
	Steps   Kind = "steps"   // over the limit of steps
	Memory  Kind = "memory"  // over the limit of memory, or of the size of an integer
	Depth   Kind = "depth"   // nested too deeply
	Time    Kind = "time"    // over the limit of wall time
	Output  Kind = "output"  // printed text and result are too large
	Input   Kind = "input"   // the inputs are not a JSON object within the limits
)

// Failure is what a snippet did wrong, in words for its author.
type Failure struct {
	Kind    Kind
	Line    int // 1 is the first; 0 where no line is to blame
	Message string
}

// Error gives the line and the message.
func (f *Failure) Error() string {
	if f.Line == 0 {
		return f.Message
	}
	return fmt.Sprintf("line %d: %s", f.Line, f.Message)
}

// maxMessage bounds a message, since errors of the interpreter quote values.
const maxMessage = 500

func clip(s string) string {
	if len(s) <= maxMessage {
		return s
	}
	return strings.ToValidUTF8(s[:maxMessage], "") + "…"
}

// sourceFailure turns an error of the parser, the resolver or the rewriting into a failure.
func sourceFailure(err error) error {
	var failure *Failure
	if errors.As(err, &failure) {
		return failure
	}
	var parse syntax.Error
	if errors.As(err, &parse) {
		return &Failure{Kind: Syntax, Line: int(parse.Pos.Line), Message: clip(parse.Msg)}
	}
	var list resolve.ErrorList
	if errors.As(err, &list) && len(list) > 0 {
		return &Failure{Kind: Syntax, Line: int(list[0].Pos.Line), Message: clip(list[0].Msg)}
	}
	return &Failure{Kind: Syntax, Message: clip(err.Error())}
}

// runFailure turns an error of the interpreter into a failure at the innermost
// line of the snippet.
func (m *meter) runFailure(err error) error {
	failure := &Failure{Kind: Runtime, Message: clip(err.Error())}
	var limit *Failure
	switch {
	case m.outOfSteps:
		failure.Kind, failure.Message = Steps, m.stepsMessage()
	case errors.As(err, &limit):
		failure.Kind, failure.Message = limit.Kind, limit.Message
	}
	var eval *starlark.EvalError
	if errors.As(err, &eval) {
		for i := range eval.CallStack {
			if pos := eval.CallStack.At(i).Pos; pos.Filename() == "snippet" {
				failure.Line = int(pos.Line)
				break
			}
		}
	}
	return failure
}

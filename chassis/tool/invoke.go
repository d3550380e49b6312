package tool

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"

	"sabha.dev/chassis/fault"
)

// Tool is a callable behind its contract.
type Tool struct {
	*Contract
	call Func
	log  *slog.Logger
}

// Func is a callable. Its request's arguments conform to the input schema. Of its
// error a client learns what a fault says, and of any other only that there was one.
type Func func(ctx context.Context, r Request) (Answer, error)

// Request is one call.
type Request struct {
	Arguments json.RawMessage
	// Progress tells the caller how far the call is; nil when nobody listens.
	Progress func(Progress)
	// Asks says that the caller can be asked a Question.
	Asks bool
	// Reply is what the caller says to the question that an earlier call of the same
	// arguments was answered with; nil for a first call.
	Reply *Reply
}

// Progress is how far a call is.
type Progress struct {
	// Done grows from call to call; Total is 0 where it is not known.
	Done, Total float64
	Message     string
}

// Question is what a tool has to know before it can go on.
type Question struct {
	Message string
	// Schema of the content of the reply: a flat object.
	Schema json.RawMessage
	// State comes back with the reply. The caller sees it and may change it.
	State string
}

// Reply to a question.
type Reply struct {
	State string
	// Declined says that the caller does not want to say; Content is nil then.
	Declined bool
	Content  json.RawMessage
}

// Answer of a callable.
type Answer struct {
	// Sentence is for a reader; may be empty.
	Sentence string
	// Structured is the structured result, as anything that encodes to JSON; nil is
	// none, or null where the schema takes it.
	Structured any
	// Content is what comes beside them.
	Content []Content
	// Failed says that the tool did not do what it was asked.
	Failed bool
	// Question stands for an answer that is still to come.
	Question *Question
}

// Content is one block of an answer: a text, or data of a media type, or what is at an address.
type Content struct {
	Text      string
	Data      []byte
	URI       string
	MediaType string
}

// Outcome is what a caller is told. A call always has one.
type Outcome struct {
	// Content begins with the sentence, then the structured result serialised.
	Content []Content
	// Structured conforms to the output schema, if there is one.
	Structured json.RawMessage
	Failed     bool
	Question   *Question
}

// internalSentence is all that a caller learns of a failure that is ours.
const internalSentence = "The tool failed; the operator finds the reason in the log."

// Of makes a tool of a definition and a callable. Errors are those of New.
func Of(d Definition, call Func, log *slog.Logger) (*Tool, error) {
	c, err := New(d)
	if err != nil {
		return nil, err
	}
	return &Tool{Contract: c, call: call, log: log}, nil
}

// Invoke checks the arguments, calls, and checks the result. Whatever goes wrong, a
// panic of the callable too, is an outcome that has failed.
func (t *Tool) Invoke(ctx context.Context, r Request) Outcome {
	arguments, err := t.Arguments(r.Arguments)
	if err != nil {
		return t.failure(refused(err))
	}
	r.Arguments = arguments
	answer, err := t.guarded(ctx, r)
	if err != nil {
		return t.failure(t.fault(ctx, err))
	}
	if answer.Question != nil {
		return Outcome{Question: answer.Question}
	}
	outcome, err := t.outcome(answer)
	if err != nil {
		return t.failure(t.fault(ctx, err))
	}
	return outcome
}

func (t *Tool) guarded(ctx context.Context, r Request) (answer Answer, err error) {
	defer func() {
		if p := recover(); p != nil {
			t.log.ErrorContext(ctx, "a tool panicked", "tool", t.Name, "panic", p, "stack", string(debug.Stack()))
			answer, err = Answer{}, errPanicked
		}
	}()
	return t.call(ctx, r)
}

var errPanicked = errors.New("the callable panicked")

// outcome makes the answer what a caller is told, if it conforms.
func (t *Tool) outcome(a Answer) (Outcome, error) {
	outcome := Outcome{Failed: a.Failed}
	if a.Sentence != "" {
		outcome.Content = append(outcome.Content, Content{Text: a.Sentence})
	}
	if a.Structured != nil || (t.output != nil && !a.Failed) {
		raw, err := encode(a.Structured)
		if err != nil {
			return Outcome{}, fmt.Errorf("the result cannot be encoded: %w", err)
		}
		if err := t.Result(raw); err != nil {
			return Outcome{}, err
		}
		outcome.Structured = raw
		outcome.Content = append(outcome.Content, Content{Text: string(raw)})
	}
	outcome.Content = append(outcome.Content, a.Content...)
	return outcome, nil
}

// encode writes JSON for readers: < and & stay what they are.
func encode(value any) (json.RawMessage, error) {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	if err := e.Encode(value); err != nil {
		return nil, err
	}
	return bytes.TrimSpace(out.Bytes()), nil
}

// refused is what a caller is told of arguments that break the schema.
func refused(err error) *fault.Error {
	f := fault.New(fault.InvalidArgument, "%s", err)
	if invalid, ok := errors.AsType[*InvalidInput](err); ok {
		for _, p := range invalid.Problems {
			f.Fields = append(f.Fields, fault.Field{Path: p.Path, Problem: p.Message})
		}
	}
	return f
}

// fault is what a caller is told of an error; what it is not told is logged.
func (t *Tool) fault(ctx context.Context, err error) *fault.Error {
	if f := fault.As(err); f != nil {
		return f
	}
	if ctx.Err() != nil {
		return fault.New(fault.Unavailable, "The call was canceled before the tool had an answer.")
	}
	if !errors.Is(err, errPanicked) {
		t.log.ErrorContext(ctx, "a tool failed", "tool", t.Name, "error", err)
	}
	return fault.New(internal, internalSentence)
}

// internal is the reason of failures that are not the caller's. It is told, so that
// a program can branch on it as on the others.
const internal fault.Reason = "INTERNAL"

// failure tells an error in words and, where the output schema takes it, structured too.
func (t *Tool) failure(f *fault.Error) Outcome {
	type field struct {
		Path    string `json:"path"`
		Problem string `json:"problem"`
	}
	var told struct {
		Error struct {
			Reason  fault.Reason      `json:"reason"`
			Message string            `json:"message"`
			Fields  []field           `json:"fields,omitempty"`
			Meta    map[string]string `json:"metadata,omitempty"`
		} `json:"error"`
	}
	told.Error.Reason, told.Error.Message, told.Error.Meta = f.Reason, f.Message, f.Meta
	for _, p := range f.Fields {
		told.Error.Fields = append(told.Error.Fields, field(p))
	}
	if outcome, err := t.outcome(Answer{Sentence: f.Message, Structured: told, Failed: true}); err == nil {
		return outcome
	}
	return Outcome{Failed: true, Content: []Content{{Text: f.Message}}}
}

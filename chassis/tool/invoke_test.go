package tool

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"reflect"
	"strings"
	"testing"

	"sabha.dev/chassis/fault"
)

func of(t *testing.T, input, output string, call Func) (*Tool, *bytes.Buffer) {
	t.Helper()
	var logged bytes.Buffer
	made, err := Of(define("t", input, output), call, slog.New(slog.NewTextHandler(&logged, nil)))
	if err != nil {
		t.Fatal(err)
	}
	return made, &logged
}

// answering is a callable with one answer.
func answering(a Answer, err error) Func {
	return func(context.Context, Request) (Answer, error) { return a, err }
}

func texts(o Outcome) []string {
	var all []string
	for _, c := range o.Content {
		all = append(all, c.Text)
	}
	return all
}

func TestAnAnswerIsASentenceAndTheResultSerialised(t *testing.T) {
	made, _ := of(t, object, `{"type":"object","required":["n"],"properties":{"n":{"type":"integer"}}}`,
		answering(Answer{Sentence: "One found.", Structured: map[string]any{"n": json.Number("9007199254740993"), "of": "<a&b>"}, Content: []Content{{Data: []byte("png"), MediaType: "image/png"}}}, nil))
	got := made.Invoke(t.Context(), Request{})
	const structured = `{"n":9007199254740993,"of":"<a&b>"}`
	want := Outcome{Structured: json.RawMessage(structured), Content: []Content{{Text: "One found."}, {Text: structured}, {Data: []byte("png"), MediaType: "image/png"}}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v", got)
	}
}

func TestArgumentsAreCheckedBeforeTheCall(t *testing.T) {
	called := false
	made, _ := of(t, `{"type":"object","required":["q"]}`, "", func(context.Context, Request) (Answer, error) {
		called = true
		return Answer{}, nil
	})
	got := made.Invoke(t.Context(), Request{Arguments: json.RawMessage(`{"p":1}`)})
	if called || !got.Failed {
		t.Errorf("called %v, got %+v", called, got)
	}
	const sentence = `the arguments of "t" do not fit its input schema: missing property 'q'`
	if want := []string{sentence, `{"error":{"reason":"INVALID_ARGUMENT","message":"the arguments of \"t\" do not fit its input schema: missing property 'q'","fields":[{"path":"","problem":"missing property 'q'"}]}}`}; !reflect.DeepEqual(texts(got), want) {
		t.Errorf("told %q", texts(got))
	}
}

func TestWhateverGoesWrongIsAFailedOutcome(t *testing.T) {
	const strict = `{"type":"object","required":["a"],"additionalProperties":false}`
	for name, c := range map[string]struct {
		call   Func
		told   string
		logged string
	}{
		"a panic":                  {func(context.Context, Request) (Answer, error) { panic("secret") }, internalSentence, "a tool panicked"},
		"a nil dereference":        {func(context.Context, Request) (Answer, error) { var c *Contract; return Answer{Sentence: c.Name}, nil }, internalSentence, "a tool panicked"},
		"an error":                 {answering(Answer{}, errors.New("secret")), internalSentence, "a tool failed"},
		"a fault":                  {answering(Answer{}, fault.Invalid("q", "is odd").Because(errors.New("secret"))), "q: is odd", ""},
		"a broken result":          {answering(Answer{Structured: map[string]any{"b": "secret"}}, nil), internalSentence, "does not fit its output schema"},
		"no result":                {answering(Answer{Sentence: "done"}, nil), internalSentence, "does not fit its output schema"},
		"a result that is no JSON": {answering(Answer{Structured: func() {}}, nil), internalSentence, "cannot be encoded"},
	} {
		made, logged := of(t, object, strict, c.call)
		got := made.Invoke(t.Context(), Request{})
		if !got.Failed || got.Structured != nil || !reflect.DeepEqual(texts(got), []string{c.told}) {
			t.Errorf("%s: %+v", name, got)
		}
		if !strings.Contains(logged.String(), c.logged) || (c.logged == "") != (logged.Len() == 0) {
			t.Errorf("%s: logged %q", name, logged)
		}
	}
}

func TestAFailureIsStructuredWhereTheSchemaTakesIt(t *testing.T) {
	for output, want := range map[string]string{
		``: `{"error":{"reason":"RATE_LIMITED","message":"over the limit","metadata":{"limit":"3"}}}`,
		`{"type":"object","properties":{"error":{"type":"object"}}}`: `{"error":{"reason":"RATE_LIMITED","message":"over the limit","metadata":{"limit":"3"}}}`,
		`{"type":"object","required":["a"]}`:                         ``,
	} {
		made, _ := of(t, object, output, answering(Answer{}, fault.New(fault.RateLimited, "over the limit").With("limit", "3")))
		if got := made.Invoke(t.Context(), Request{}); !got.Failed || string(got.Structured) != want || got.Content[0].Text != "over the limit" {
			t.Errorf("%s: %+v", output, got)
		}
	}
}

func TestACanceledCallSaysSoAndIsNotLogged(t *testing.T) {
	made, logged := of(t, object, "", func(ctx context.Context, _ Request) (Answer, error) {
		<-ctx.Done()
		return Answer{}, ctx.Err()
	})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if got := made.Invoke(ctx, Request{}); !got.Failed || !strings.Contains(got.Content[0].Text, "canceled") || logged.Len() > 0 {
		t.Errorf("%+v, logged %q", got, logged)
	}
}

func TestAQuestionIsPassedOn(t *testing.T) {
	q := &Question{Message: "Which year?", Schema: json.RawMessage(object), State: "s"}
	made, _ := of(t, object, `{"type":"object","required":["a"]}`, answering(Answer{Question: q}, nil))
	if got := made.Invoke(t.Context(), Request{}); !reflect.DeepEqual(got, Outcome{Question: q}) {
		t.Errorf("%+v", got)
	}
}

func TestNullIsAResultWhereTheSchemaTakesIt(t *testing.T) {
	made, _ := of(t, object, `{"type":"null"}`, answering(Answer{}, nil))
	if got := made.Invoke(t.Context(), Request{}); got.Failed || string(got.Structured) != "null" {
		t.Errorf("%+v", got)
	}
}

package model

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

func openAnthropic(t *testing.T, s *script, cfg Config) Model {
	t.Helper()
	cfg.Provider = Anthropic
	return open(t, s, cfg)
}

func TestTheMessagesAPIIsAskedInItsOwnForm(t *testing.T) {
	key := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(key, []byte("secret-1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := &script{answers: []answer{
		{status: 200, body: `{"model":"large-2026","content":[{"type":"text","text":" Rows. "},{"type":"text","text":"[1]\n"}],"stop_reason":"max_tokens","usage":{"input_tokens":12,"output_tokens":4}}`},
		{status: 200, body: `{"content":[{"type":"text","text":"Here it is."},{"type":"tool_use","name":"answer","input":{"steps":[]}}],"stop_reason":"tool_use","usage":{"input_tokens":7,"output_tokens":3}}`},
	}}
	m := openAnthropic(t, s, Config{KeyFile: key})
	got, err := m.Complete(t.Context(), Request{System: "Rules.", Prompt: "What is a plan?", MaxTokens: 300})
	if want := (Response{Text: "Rows. [1]", Model: "large-2026", Truncated: true, InputTokens: 12, OutputTokens: 4}); err != nil || got != want {
		t.Errorf("got %+v, %v, want %+v", got, err, want)
	}
	form := map[string]any{"type": "object"}
	got, err = m.Complete(t.Context(), Request{Prompt: "Plan.", Schema: form})
	if want := (Response{Text: `{"steps":[]}`, Model: "small", InputTokens: 7, OutputTokens: 3}); err != nil || got != want {
		t.Errorf("got %+v, %v, want %+v", got, err, want)
	}
	say := func(text string) []any { return []any{map[string]any{"role": "user", "content": text}} }
	want := []map[string]any{
		{"model": "small", "max_tokens": 300.0, "system": "Rules.", "messages": say("What is a plan?")},
		{
			"model": "small", "max_tokens": 4096.0, "messages": say("Plan."), "tool_choice": map[string]any{"type": "tool", "name": "answer"},
			"tools": []any{map[string]any{"name": "answer", "description": "Gives the answer.", "input_schema": form}},
		},
	}
	for i, c := range s.asked() {
		if c.path != "/v1/v1/messages" || c.key != "secret-1" || c.version != "2023-06-01" || c.authorization != "" || !reflect.DeepEqual(c.body, want[i]) {
			t.Errorf("the endpoint was asked %+v, want %+v", c, want[i])
		}
	}
}

func TestFailuresOfTheMessagesAPIAreSorted(t *testing.T) {
	for _, tt := range []struct {
		name   string
		answer answer
		want   error
		text   string
	}{
		{"bad key", answer{status: 401, body: `{"error":{"message":"key sk-live-123 is wrong"}}`}, ErrRejected, "the model's endpoint refused the request: the key is not accepted (HTTP 401)"},
		{"busy", answer{status: 529, body: `{}`}, ErrUnavailable, "the model could not be reached: HTTP 529"},
		{"too large", answer{status: 413, body: `{}`}, ErrRejected, "the model's endpoint refused the request: HTTP 413"},
		{"not JSON", answer{status: 200, body: `<html>`}, ErrNoAnswer, "the model gave no answer: the endpoint's answer could not be read"},
		{"too long", answer{status: 200, body: `{"content":[{"type":"text","text":"` + strings.Repeat("x", maxResponse) + `"}]}`}, ErrNoAnswer, "the model gave no answer: the endpoint's answer could not be read"},
		{"empty", answer{status: 200, body: `{"content":[]}`}, ErrNoAnswer, "the model gave no answer: the text is empty"},
		{"refusal", answer{status: 200, body: `{"content":[{"type":"text","text":"some"}],"stop_reason":"refusal"}`}, ErrNoAnswer, "the model gave no answer: it declined"},
		{"redirect", answer{status: 307, header: map[string][]string{"Location": {"http://127.0.0.1:1/elsewhere"}}}, ErrUnavailable, "the model could not be reached"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := &script{answers: []answer{tt.answer}}
			_, err := openAnthropic(t, s, Config{}).Complete(t.Context(), Request{Prompt: "x"})
			if !errors.Is(err, tt.want) || err.Error() != tt.text || len(s.asked()) != 1 {
				t.Errorf("got %v after %d calls, want %s", err, len(s.asked()), tt.text)
			}
		})
	}
}

func TestAnEndpointThatKnowsNoSchemasIsAskedWithout(t *testing.T) {
	s := &script{answers: []answer{{status: 400, body: `{"error":{"message":"response_format is not supported"}}`}, {status: 200, body: good}}}
	m := open(t, s, Config{})
	for range 2 {
		if got, err := m.Complete(t.Context(), Request{Prompt: "x", Schema: map[string]any{"type": "object"}}); err != nil || got.Text != "Rows. [1]" {
			t.Errorf("got %+v, %v", got, err)
		}
	}
	var formats []bool
	for _, c := range s.asked() {
		formats = append(formats, c.body["response_format"] != nil)
	}
	if want := []bool{true, false, false}; !reflect.DeepEqual(formats, want) {
		t.Errorf("asked with a schema: %v, want %v", formats, want)
	}
}

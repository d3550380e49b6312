package model

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"sabha.dev/chassis/label"
)

// echo answers with the prompt that it was asked.
func echo(t *testing.T, policy string) (Model, *[]string) {
	t.Helper()
	var asked []string
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body struct {
			Messages []struct{ Content string }
		}
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			t.Error(err)
		}
		prompt := body.Messages[len(body.Messages)-1].Content
		asked = append(asked, prompt)
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]any{
			"model": "small", "choices": []any{map[string]any{"finish_reason": "stop", "message": map[string]any{"role": "assistant", "content": prompt}}},
		})
	}))
	t.Cleanup(srv.Close)
	m, err := Open(Config{BaseURL: srv.URL, Name: "small", Outlet: way(t, policy)})
	if err != nil {
		t.Fatal(err)
	}
	return m, &asked
}

const prompt = "Who answers? Write to anna.berg@example.com. [1]"

func TestTheModelSeesTokensAndTheAnswerHasTheValues(t *testing.T) {
	m, asked := echo(t, "")
	got, err := m.Complete(t.Context(), Request{Prompt: prompt})
	if err != nil || got.Text != prompt {
		t.Errorf("the answer is %q (%v)", got.Text, err)
	}
	if sent := (*asked)[0]; strings.Contains(sent, "anna") || !strings.Contains(sent, "Write to [[tok:email:") {
		t.Errorf("the model was asked %q", sent)
	}
}

func TestAPolicyMayKeepAPromptFromTheModel(t *testing.T) {
	m, asked := echo(t, "default: refuse")
	_, err := m.Complete(t.Context(), Request{Prompt: prompt})
	want := "it was not asked: the disclosure policy for model/small does not let this leave: email in part 1 bytes 22-43; leave it out, or have the policy say in which form it may leave"
	if !errors.Is(err, ErrWithheld) || err.Error() != want {
		t.Errorf("got %v", err)
	}
	_, err = m.Complete(t.Context(), Request{Prompt: "How is he?", Labels: label.Labels{Confidentiality: label.Sensitive, Classes: []string{"health"}}})
	if !errors.Is(err, ErrWithheld) {
		t.Errorf("a prompt about health leaves: %v", err)
	}
	if len(*asked) != 0 {
		t.Errorf("the model was asked %q", *asked)
	}
}

func TestAPolicyMayLetAllGoToTheModel(t *testing.T) {
	m, asked := echo(t, "{confidentiality: sensitive, default: allow}")
	if _, err := m.Complete(t.Context(), Request{Prompt: prompt}); err != nil || (*asked)[0] != prompt {
		t.Errorf("the model was asked %q (%v)", *asked, err)
	}
}

package modeltest_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"sabha.dev/testrig/modeltest"
)

const question = `{"model":"m","messages":[{"role":"system","content":"be brief"},{"role":"user","content":[{"type":"text","text":"what is "},{"type":"image_url","image_url":{"url":"x"}},{"type":"text","text":"a task?"}]}]}`

func post(t *testing.T, ctx context.Context, url, body string) (*http.Response, error) {
	t.Helper()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer sk-test")
	response, err := http.DefaultClient.Do(request)
	if err == nil {
		t.Cleanup(func() { _ = response.Body.Close() })
	}
	return response, err
}

// ask returns the status and the body of an answer.
func ask(t *testing.T, server *modeltest.Server, body string) (int, string) {
	t.Helper()
	response, err := post(t, t.Context(), server.URL()+"/chat/completions", body)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, strings.TrimSpace(string(text))
}

func TestCompletionIsWhatTheScriptSays(t *testing.T) {
	server := modeltest.New(t, modeltest.Sequence("a unit of work"))
	status, body := ask(t, server, question)
	want := `{"id":"chatcmpl-test","object":"chat.completion","created":1700000000,"model":"m",` +
		`"choices":[{"index":0,"message":{"role":"assistant","content":"a unit of work"},"finish_reason":"stop"}],` +
		`"usage":{"prompt_tokens":6,"completion_tokens":4,"total_tokens":10}}`
	if status != 200 || body != want {
		t.Errorf("got %d %s\nwant 200 %s", status, body, want)
	}
}

func TestRequestsAreRecordedAsSent(t *testing.T) {
	server := modeltest.New(t, modeltest.Always(modeltest.Reply{Text: "ok"}))
	ask(t, server, question)
	ask(t, server, `{"model":"n","messages":[{"role":"assistant","content":null}],"response_format":{"type":"json_object"}}`)
	got := server.Requests()
	if len(got) != 2 {
		t.Fatalf("%d requests recorded, want 2", len(got))
	}
	if got[0].Text() != "be brief\nwhat is a task?" || got[0].Messages[1].Role != "user" {
		t.Errorf("first request says %q as %q", got[0].Text(), got[0].Messages[1].Role)
	}
	if got[0].Authorization != "Bearer sk-test" || string(got[0].Body) != question {
		t.Errorf("first request has authorization %q and body %s", got[0].Authorization, got[0].Body)
	}
	if got[1].Model != "n" || got[1].Text() != "" || string(got[1].ResponseFormat) != `{"type":"json_object"}` {
		t.Errorf("second request: model %q, text %q, format %s", got[1].Model, got[1].Text(), got[1].ResponseFormat)
	}
}

func TestStreamArrivesWordByWordAndEndsWithDone(t *testing.T) {
	server := modeltest.New(t, modeltest.Sequence("a unit of work"))
	response, err := post(t, t.Context(), server.URL()+"/chat/completions", strings.Replace(question, "{", `{"stream":true,`, 1))
	if err != nil {
		t.Fatal(err)
	}
	if got := response.Header.Get("Content-Type"); got != "text/event-stream" {
		t.Errorf("content type %q", got)
	}
	var words []string
	finish, last := "", ""
	for lines := bufio.NewScanner(response.Body); lines.Scan(); {
		data, isData := strings.CutPrefix(lines.Text(), "data: ")
		if !isData {
			continue
		}
		last = data
		var chunk struct {
			Choices []struct {
				Delta  struct{ Content string }
				Finish string `json:"finish_reason"`
			}
		}
		if data != "[DONE]" {
			if err := json.Unmarshal([]byte(data), &chunk); err != nil {
				t.Fatalf("chunk %s: %v", data, err)
			}
			finish = chunk.Choices[0].Finish
			if text := chunk.Choices[0].Delta.Content; text != "" {
				words = append(words, text)
			}
		}
	}
	if got := strings.Join(words, "|"); got != "a |unit |of |work" || finish != "stop" || last != "[DONE]" {
		t.Errorf("words %q, finish %q, last %q", got, finish, last)
	}
}

func TestErrors(t *testing.T) {
	for _, c := range []struct {
		name, body, message string
		script              modeltest.Script
		status              int
	}{
		{"used-up script", question, "the script had 0 replies and all are used", modeltest.Sequence(), 500},
		{"scripted refusal", question, "slow down", modeltest.Always(modeltest.Reply{Status: 429, Text: "slow down"}), 429},
		{"no model", `{"messages":[{"role":"user","content":"x"}]}`, "model is missing", nil, 400},
		{"no messages", `{"model":"m","messages":[]}`, "messages is missing or empty", nil, 400},
		{"no role", `{"model":"m","messages":[{"content":"x"}]}`, "messages[0].role is missing", nil, 400},
		{"content of another type", `{"model":"m","messages":[{"role":"user","content":7}]}`, "messages[0].content: want a string or a list of parts", nil, 400},
		{"not JSON", `hello`, "the body is not a chat-completions request: invalid character 'h' looking for beginning of value", nil, 400},
	} {
		t.Run(c.name, func(t *testing.T) {
			status, body := ask(t, modeltest.New(t, c.script), c.body)
			var got struct{ Error struct{ Message string } }
			if err := json.Unmarshal([]byte(body), &got); err != nil {
				t.Fatalf("error body %s: %v", body, err)
			}
			if status != c.status || got.Error.Message != c.message {
				t.Errorf("got %d %q, want %d %q", status, got.Error.Message, c.status, c.message)
			}
		})
	}
}

func TestOtherPathsAreNotServed(t *testing.T) {
	server := modeltest.New(t, nil)
	response, err := post(t, t.Context(), server.URL()+"/embeddings", "{}")
	if err != nil {
		t.Fatal(err)
	}
	if response.StatusCode != http.StatusNotFound {
		t.Errorf("status %d, want 404", response.StatusCode)
	}
}

func TestMalformedAnswerIsSentAsItIs(t *testing.T) {
	server := modeltest.New(t, modeltest.Always(modeltest.Reply{Raw: `{"choices":`}))
	if status, body := ask(t, server, question); status != 200 || body != `{"choices":` {
		t.Errorf("got %d %s", status, body)
	}
}

func TestHangingModelEndsWithTheClientsPatience(t *testing.T) {
	asked := make(chan struct{})
	server := modeltest.New(t, func(modeltest.Request) modeltest.Reply {
		close(asked)
		return modeltest.Reply{Hang: true}
	})
	ctx, giveUp := context.WithCancel(t.Context())
	go func() {
		<-asked
		giveUp()
	}()
	if _, err := post(t, ctx, server.URL()+"/chat/completions", question); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want the client's own cancellation", err)
	}
}

func FuzzRequest(f *testing.F) {
	f.Add(question)
	f.Add(`{"model":"m","messages":[{"role":"user","content":[7]}]}`)
	f.Add(`[`)
	server := modeltest.New(f, modeltest.Always(modeltest.Reply{Text: "ok"}))
	f.Fuzz(func(t *testing.T, body string) {
		if status, answer := ask(t, server, body); status != 200 && status != 400 {
			t.Errorf("%q got %d %s", body, status, answer)
		}
	})
}

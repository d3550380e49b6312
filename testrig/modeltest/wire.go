package modeltest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// The answer's members as the API names them. Identifier and time are fixed: no
// test depends on them, and the same script gives the same bytes.
type (
	answer struct {
		ID      string   `json:"id"`
		Object  string   `json:"object"`
		Created int64    `json:"created"`
		Model   string   `json:"model"`
		Choices []choice `json:"choices"`
		Usage   *usage   `json:"usage,omitempty"`
	}
	choice struct {
		Index   int      `json:"index"`
		Message *content `json:"message,omitempty"`
		Delta   *content `json:"delta,omitempty"`
		Finish  *string  `json:"finish_reason"`
	}
	content struct {
		Role    string `json:"role,omitempty"`
		Content string `json:"content"`
	}
	usage struct {
		Prompt     int `json:"prompt_tokens"`
		Completion int `json:"completion_tokens"`
		Total      int `json:"total_tokens"`
	}
)

var stop = "stop"

func envelope(object string, request Request) answer {
	return answer{ID: "chatcmpl-test", Object: object, Created: 1_700_000_000, Model: request.Model}
}

// completion is the whole answer as one document. Its usage counts words, which
// stand in for tokens.
func completion(request Request, reply Reply) answer {
	a := envelope("chat.completion", request)
	a.Choices = []choice{{Message: &content{Role: "assistant", Content: reply.Text}, Finish: &stop}}
	prompt, completion := len(strings.Fields(request.Text())), len(strings.Fields(reply.Text))
	a.Usage = &usage{Prompt: prompt, Completion: completion, Total: prompt + completion}
	return a
}

// stream sends the answer word by word as server-sent events.
func stream(w http.ResponseWriter, request Request, reply Reply) {
	w.Header().Set("Content-Type", "text/event-stream")
	send := func(c choice) {
		a := envelope("chat.completion.chunk", request)
		a.Choices = []choice{c}
		data, err := json.Marshal(a)
		if err != nil {
			return // strings and numbers only: it cannot fail
		}
		_, _ = fmt.Fprintf(w, "data: %s\n\n", data)
		_ = http.NewResponseController(w).Flush()
	}
	send(choice{Delta: &content{Role: "assistant"}})
	for _, word := range strings.SplitAfter(reply.Text, " ") {
		send(choice{Delta: &content{Content: word}})
	}
	send(choice{Delta: &content{}, Finish: &stop})
	_, _ = fmt.Fprint(w, "data: [DONE]\n\n")
}

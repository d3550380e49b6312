package modeltest

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
)

// Request is a chat-completions request.
type Request struct {
	Model    string
	Messages []Message
	Stream   bool
	// ResponseFormat is the member response_format as it was sent, or nil.
	ResponseFormat json.RawMessage
	// Authorization is the header of that name.
	Authorization string
	// Body is the whole request, for members that have no field here.
	Body json.RawMessage
}

// Text is what all messages say, one after the other, each on a line.
func (r Request) Text() string {
	var texts []string
	for _, m := range r.Messages {
		texts = append(texts, m.Content)
	}
	return strings.Join(texts, "\n")
}

// Message is one message of the conversation. Content sent as a list of parts is
// the text of its text parts, joined.
type Message struct {
	Role    string
	Content string
}

// Reply is what the model answers. With a Status other than 200 the answer is an
// error whose message is Text.
type Reply struct {
	Text   string
	Status int    // 0 means 200
	Raw    string // when not empty, the whole body, valid or not
	Hang   bool   // no answer until the client gives up
}

// Script gives the reply to a request. It is called for one request at a time.
type Script func(Request) Reply

// Sequence replies with each text once, in order, then with status 500 and a
// message that says how many replies the script had.
func Sequence(texts ...string) Script {
	next := 0
	return func(Request) Reply {
		if next == len(texts) {
			return Reply{Status: http.StatusInternalServerError, Text: fmt.Sprintf("the script had %d replies and all are used", len(texts))}
		}
		next++
		return Reply{Text: texts[next-1]}
	}
}

// Always gives the same reply to every request.
func Always(reply Reply) Script {
	return func(Request) Reply { return reply }
}

// decode reads a request body. A body that the API would refuse is an error.
func decode(body []byte) (Request, error) {
	var wire struct {
		Model    string `json:"model"`
		Messages []struct {
			Role    string          `json:"role"`
			Content json.RawMessage `json:"content"`
		} `json:"messages"`
		Stream         bool            `json:"stream"`
		ResponseFormat json.RawMessage `json:"response_format"`
	}
	if err := json.Unmarshal(body, &wire); err != nil {
		return Request{}, fmt.Errorf("the body is not a chat-completions request: %w", err)
	}
	if wire.Model == "" {
		return Request{}, errors.New("model is missing")
	}
	if len(wire.Messages) == 0 {
		return Request{}, errors.New("messages is missing or empty")
	}
	request := Request{Model: wire.Model, Stream: wire.Stream, ResponseFormat: wire.ResponseFormat, Body: body}
	for i, m := range wire.Messages {
		if m.Role == "" {
			return Request{}, fmt.Errorf("messages[%d].role is missing", i)
		}
		text, err := contentText(m.Content)
		if err != nil {
			return Request{}, fmt.Errorf("messages[%d].content: %w", i, err)
		}
		request.Messages = append(request.Messages, Message{Role: m.Role, Content: text})
	}
	return request, nil
}

// contentText takes content as a string, as a list of parts, or absent.
func contentText(content json.RawMessage) (string, error) {
	if len(content) == 0 || string(content) == "null" {
		return "", nil
	}
	var text string
	if json.Unmarshal(content, &text) == nil {
		return text, nil
	}
	var parts []struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	if err := json.Unmarshal(content, &parts); err != nil {
		return "", errors.New("want a string or a list of parts")
	}
	var joined strings.Builder
	for _, p := range parts {
		if p.Type == "text" {
			joined.WriteString(p.Text)
		}
	}
	return joined.String(), nil
}

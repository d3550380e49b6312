package model

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"sabha.dev/chassis/trace"
)

// anthropicEndpoint is a Model behind the messages API. It is one POST: the official SDK
// takes as long to compile as the rest of the planner.
type anthropicEndpoint struct {
	client         *http.Client
	url, key, name string
	timeout        time.Duration
}

// anthropicVersion is that of the API, which each request names.
const anthropicVersion = "2023-06-01"

// anthropicTokens bounds an answer where the request does not: the API needs a bound.
const anthropicTokens = 4096

// answerTool is the tool whose input is the answer that a schema is asked of.
const answerTool = "answer"

type anthropicRequest struct {
	Model      string             `json:"model"`
	MaxTokens  int                `json:"max_tokens"`
	System     string             `json:"system,omitempty"`
	Messages   []anthropicMessage `json:"messages"`
	Tools      []anthropicTool    `json:"tools,omitempty"`
	ToolChoice map[string]string  `json:"tool_choice,omitempty"`
}

type anthropicMessage struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

type anthropicTool struct {
	Name        string         `json:"name"`
	Description string         `json:"description"`
	InputSchema map[string]any `json:"input_schema"`
}

type anthropicResponse struct {
	Model   string `json:"model"`
	Content []struct {
		Type  string          `json:"type"`
		Text  string          `json:"text"`
		Input json.RawMessage `json:"input"`
	} `json:"content"`
	StopReason string `json:"stop_reason"`
	Usage      struct {
		InputTokens  int64 `json:"input_tokens"`
		OutputTokens int64 `json:"output_tokens"`
	} `json:"usage"`
}

func (e *anthropicEndpoint) Complete(ctx context.Context, req Request) (Response, error) {
	bounded, cancel := context.WithTimeout(ctx, e.timeout)
	defer cancel()
	ask := anthropicRequest{Model: e.name, MaxTokens: req.MaxTokens, System: req.System, Messages: []anthropicMessage{{Role: "user", Content: req.Prompt}}}
	if ask.MaxTokens == 0 {
		ask.MaxTokens = anthropicTokens
	}
	if req.Schema != nil {
		ask.Tools = []anthropicTool{{Name: answerTool, Description: "Gives the answer.", InputSchema: req.Schema}}
		ask.ToolChoice = map[string]string{"type": "tool", "name": answerTool}
	}
	bounded, span := trace.Start(bounded, trace.Client, "chat "+e.name)
	defer span.End()
	answer, err := e.post(ctx, bounded, ask)
	describe(span, e.name, answer.Model, answer.Usage.InputTokens, answer.Usage.OutputTokens)
	if err != nil {
		return Response{}, err
	}
	var text strings.Builder
	for _, c := range answer.Content {
		switch c.Type {
		case "text":
			if req.Schema == nil {
				text.WriteString(c.Text)
			}
		case "tool_use":
			text.Write(c.Input)
		}
	}
	resp := Response{
		Text: strings.TrimSpace(text.String()), Model: answer.Model, Truncated: answer.StopReason == "max_tokens",
		InputTokens: answer.Usage.InputTokens, OutputTokens: answer.Usage.OutputTokens,
	}
	switch {
	case answer.StopReason == "refusal":
		return Response{}, fmt.Errorf("%w: it declined", ErrNoAnswer)
	case resp.Text == "":
		return Response{}, fmt.Errorf("%w: the text is empty", ErrNoAnswer)
	}
	return resp, nil
}

func (e *anthropicEndpoint) post(ctx, bounded context.Context, ask anthropicRequest) (anthropicResponse, error) {
	body, err := json.Marshal(ask)
	if err != nil {
		return anthropicResponse{}, err
	}
	r, err := http.NewRequestWithContext(bounded, http.MethodPost, e.url, bytes.NewReader(body))
	if err != nil {
		return anthropicResponse{}, err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Anthropic-Version", anthropicVersion)
	if e.key != "" {
		r.Header.Set("X-Api-Key", e.key)
	}
	res, err := e.client.Do(r)
	if err != nil {
		return anthropicResponse{}, lost(ctx, err)
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode != http.StatusOK {
		return anthropicResponse{}, statusFailure(res.StatusCode)
	}
	var answer anthropicResponse
	if err := json.NewDecoder(res.Body).Decode(&answer); err != nil {
		return anthropicResponse{}, lost(ctx, err)
	}
	if answer.Model == "" {
		answer.Model = e.name
	}
	return answer, nil
}

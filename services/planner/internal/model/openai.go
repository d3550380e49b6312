package model

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"sabha.dev/chassis/trace"
)

// openaiEndpoint is a Model behind the chat completions API.
type openaiEndpoint struct {
	chat    openai.ChatCompletionService
	name    string
	timeout time.Duration
	// prose is set once the endpoint has refused a schema that it was to keep to.
	prose atomic.Bool
}

func newOpenAI(cfg Config, client *http.Client, key string) *openaiEndpoint {
	opts := []option.RequestOption{
		option.WithBaseURL(cfg.BaseURL),
		option.WithMaxRetries(0), // the step that asks has retries of its own
		option.WithHTTPClient(client),
	}
	if key != "" {
		opts = append(opts, option.WithAPIKey(key))
	}
	// The service is made directly: the SDK's client also reads the process environment.
	return &openaiEndpoint{chat: openai.NewChatCompletionService(opts...), name: cfg.Name, timeout: cfg.Timeout}
}

func (e *openaiEndpoint) Complete(ctx context.Context, req Request) (Response, error) {
	bounded, cancel := context.WithTimeout(ctx, e.timeout)
	defer cancel()
	params := openai.ChatCompletionNewParams{
		Model:       e.name,
		Messages:    []openai.ChatCompletionMessageParamUnion{openai.UserMessage(req.Prompt)},
		Temperature: openai.Float(0),
	}
	if req.System != "" {
		params.Messages = append([]openai.ChatCompletionMessageParamUnion{openai.SystemMessage(req.System)}, params.Messages...)
	}
	if req.MaxTokens > 0 {
		params.MaxTokens = openai.Int(int64(req.MaxTokens)) // the field every compatible endpoint knows
	}
	if req.Schema != nil && !e.prose.Load() {
		params.ResponseFormat.OfJSONSchema = &openai.ResponseFormatJSONSchemaParam{
			JSONSchema: openai.ResponseFormatJSONSchemaJSONSchemaParam{Name: "answer", Schema: req.Schema},
		}
	}
	bounded, span := trace.Start(bounded, trace.Client, "chat "+e.name)
	defer span.End()
	completion, err := e.chat.New(bounded, params)
	if refused(err) && params.ResponseFormat.OfJSONSchema != nil {
		e.prose.Store(true) // it may know no schemas: the prompt says what is wanted, too
		params.ResponseFormat.OfJSONSchema = nil
		completion, err = e.chat.New(bounded, params)
	}
	if err == nil {
		describe(span, e.name, completion.Model, completion.Usage.PromptTokens, completion.Usage.CompletionTokens)
	} else {
		describe(span, e.name, "", 0, 0)
	}
	if err != nil {
		return Response{}, failure(ctx, err)
	}
	if len(completion.Choices) == 0 {
		return Response{}, fmt.Errorf("%w: the answer has no choices", ErrNoAnswer)
	}
	choice := completion.Choices[0]
	resp := Response{
		Text:         strings.TrimSpace(choice.Message.Content),
		Model:        completion.Model,
		Truncated:    choice.FinishReason == "length",
		InputTokens:  completion.Usage.PromptTokens,
		OutputTokens: completion.Usage.CompletionTokens,
	}
	if resp.Model == "" {
		resp.Model = e.name
	}
	switch {
	case choice.Message.Refusal != "", choice.FinishReason == "content_filter":
		return Response{}, fmt.Errorf("%w: it declined", ErrNoAnswer)
	case resp.Text == "":
		return Response{}, fmt.Errorf("%w: the text is empty", ErrNoAnswer)
	}
	return resp, nil
}

// refused tells whether the endpoint found fault with the request itself.
func refused(err error) bool {
	var api *openai.Error
	return errors.As(err, &api) && (api.StatusCode == http.StatusBadRequest || api.StatusCode == http.StatusUnprocessableEntity)
}

// failure sorts an error of the SDK.
func failure(ctx context.Context, err error) error {
	var api *openai.Error
	if ctx.Err() == nil && errors.As(err, &api) {
		return statusFailure(api.StatusCode)
	}
	return lost(ctx, err)
}

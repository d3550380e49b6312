package model

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"go.opentelemetry.io/otel/attribute"

	"sabha.dev/chassis/fault"
	"sabha.dev/chassis/outlet"
	"sabha.dev/chassis/trace"
)

// Config names an endpoint that speaks the OpenAI chat completions API, hosted or local.
type Config struct {
	BaseURL string        // such as http://127.0.0.1:11434/v1; empty with an empty Name: no model
	Name    string        // of the model, as the endpoint knows it
	KeyFile string        // holds the API key; empty for an endpoint that asks for none
	Timeout time.Duration // of one completion; 0 means DefaultTimeout
	// Outlet decides what leaves to the endpoint.
	Outlet *outlet.Outlet
}

// DefaultTimeout bounds a completion whose Config gives no timeout.
const DefaultTimeout = 60 * time.Second

// maxResponse bounds an endpoint's answer, in bytes.
const maxResponse = 4 << 20

// Open returns the configured model, or nil when none is configured. A configuration that cannot
// work is an error that says what to change; the endpoint is not called.
func Open(cfg Config) (Model, error) {
	if cfg.BaseURL == "" && cfg.Name == "" {
		if cfg.KeyFile != "" {
			return nil, errors.New("model: a key file is set, but neither a base URL nor a model name; set both or remove the key file")
		}
		return nil, nil
	}
	switch {
	case cfg.BaseURL == "":
		return nil, fmt.Errorf("model: the model %q needs a base URL, such as https://api.openai.com/v1", cfg.Name)
	case cfg.Name == "":
		return nil, errors.New("model: the base URL needs the name of a model")
	case cfg.Timeout < 0:
		return nil, fmt.Errorf("model: the timeout must not be negative; it is %s", cfg.Timeout)
	}
	u, err := url.Parse(cfg.BaseURL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.User != nil {
		return nil, errors.New("model: the base URL must be an http or https address without a user, such as https://api.openai.com/v1")
	}
	if cfg.Timeout == 0 {
		cfg.Timeout = DefaultTimeout
	}
	opts := []option.RequestOption{
		option.WithBaseURL(cfg.BaseURL),
		option.WithMaxRetries(0), // the step that asks has retries of its own
		option.WithHTTPClient(&http.Client{
			Transport: limited{http.DefaultTransport},
			CheckRedirect: func(*http.Request, []*http.Request) error {
				return errors.New("the endpoint redirects") // the key must not follow
			},
		}),
	}
	if cfg.KeyFile != "" {
		key, err := readKey(cfg.KeyFile)
		if err != nil {
			return nil, err
		}
		opts = append(opts, option.WithAPIKey(key))
	}
	// The service is made directly: the SDK's client also reads the process environment.
	return &endpoint{chat: openai.NewChatCompletionService(opts...), name: cfg.Name, timeout: cfg.Timeout, out: cfg.Outlet}, nil
}

func readKey(file string) (string, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return "", fmt.Errorf("model: the key file: %w", err)
	}
	key := strings.TrimSpace(string(data))
	if key == "" || strings.ContainsAny(key, " \t\r\n") {
		return "", fmt.Errorf("model: the key file %s must hold one key and nothing else", file)
	}
	return key, nil
}

// limited cuts an answer that is too long, so that it fails to parse instead of filling the memory.
type limited struct{ http.RoundTripper }

func (l limited) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := l.RoundTripper.RoundTrip(req)
	if err == nil {
		resp.Body = struct {
			io.Reader
			io.Closer
		}{io.LimitReader(resp.Body, maxResponse), resp.Body}
	}
	return resp, err
}

// endpoint is a Model behind the chat completions API.
type endpoint struct {
	chat    openai.ChatCompletionService
	name    string
	timeout time.Duration
	out     *outlet.Outlet
}

func (e *endpoint) Complete(ctx context.Context, req Request) (Response, error) {
	prompt, tokens, err := e.out.Text(ctx, outlet.Use{Of: e.name, Labels: req.Labels, Task: req.Task}, req.Prompt)
	if f := fault.As(err); f != nil {
		return Response{}, fmt.Errorf("%w: %s", ErrWithheld, f.Message)
	} else if err != nil {
		return Response{}, err
	}
	bounded, cancel := context.WithTimeout(ctx, e.timeout)
	defer cancel()
	params := openai.ChatCompletionNewParams{
		Model:       e.name,
		Messages:    []openai.ChatCompletionMessageParamUnion{openai.UserMessage(prompt)},
		Temperature: openai.Float(0),
	}
	if req.System != "" {
		params.Messages = append([]openai.ChatCompletionMessageParamUnion{openai.SystemMessage(req.System)}, params.Messages...)
	}
	if req.MaxTokens > 0 {
		params.MaxTokens = openai.Int(int64(req.MaxTokens)) // the field every compatible endpoint knows
	}
	bounded, span := trace.Start(bounded, trace.Client, "chat "+e.name)
	defer span.End()
	completion, err := e.chat.New(bounded, params)
	describe(span, e.name, completion, err)
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
	resp.Text, _ = tokens.Text(resp.Text)
	return resp, nil
}

// describe says in a span what was asked of which model, never with which words
// (OpenTelemetry semantic conventions for generative AI).
func describe(span *trace.Span, name string, completion *openai.ChatCompletion, err error) {
	if span == nil {
		return
	}
	span.Set(attribute.String("gen_ai.operation.name", "chat"), attribute.String("gen_ai.request.model", name))
	if err != nil {
		span.Fail("chat")
		return
	}
	span.Set(
		attribute.String("gen_ai.response.model", completion.Model),
		attribute.Int64("gen_ai.usage.input_tokens", completion.Usage.PromptTokens),
		attribute.Int64("gen_ai.usage.output_tokens", completion.Usage.CompletionTokens),
	)
}

// failure sorts an error of the SDK. Nothing the endpoint wrote goes into it.
func failure(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	var api *openai.Error
	if !errors.As(err, &api) {
		if errors.Is(err, context.DeadlineExceeded) {
			return fmt.Errorf("%w: it did not answer in time", ErrUnavailable)
		}
		var transport *url.Error
		if errors.As(err, &transport) {
			return ErrUnavailable
		}
		return fmt.Errorf("%w: the endpoint's answer could not be read", ErrNoAnswer)
	}
	switch {
	case api.StatusCode == http.StatusUnauthorized, api.StatusCode == http.StatusForbidden:
		return fmt.Errorf("%w: the key is not accepted (HTTP %d)", ErrRejected, api.StatusCode)
	case api.StatusCode == http.StatusNotFound:
		return fmt.Errorf("%w: it knows no such model or address (HTTP 404)", ErrRejected)
	case api.StatusCode == http.StatusTooManyRequests, api.StatusCode == http.StatusRequestTimeout, api.StatusCode >= 500:
		return fmt.Errorf("%w: HTTP %d", ErrUnavailable, api.StatusCode)
	}
	return fmt.Errorf("%w: HTTP %d", ErrRejected, api.StatusCode)
}

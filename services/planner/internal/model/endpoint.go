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

	"go.opentelemetry.io/otel/attribute"

	"sabha.dev/chassis/outlet"
	"sabha.dev/chassis/trace"
)

// Provider is whose API an endpoint speaks.
type Provider string

// The providers. Most endpoints, local ones too, speak the first.
const (
	OpenAI    Provider = "openai"
	Anthropic Provider = "anthropic"
)

// Config names an endpoint that speaks the OpenAI chat completions API, hosted or local, or
// the Anthropic messages API.
type Config struct {
	Provider Provider      // empty means OpenAI
	BaseURL  string        // such as http://127.0.0.1:11434/v1; empty with an empty Name: no model
	Name     string        // of the model, as the endpoint knows it
	KeyFile  string        // holds the API key; empty for an endpoint that asks for none
	Timeout  time.Duration // of one completion; 0 means DefaultTimeout
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
	if cfg.Provider == Anthropic && cfg.BaseURL == "" && cfg.Name != "" {
		cfg.BaseURL = "https://api.anthropic.com"
	}
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
	case cfg.Provider != "" && cfg.Provider != OpenAI && cfg.Provider != Anthropic:
		return nil, fmt.Errorf("model: the provider %q is not known; it is openai or anthropic", cfg.Provider)
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
	key := ""
	if cfg.KeyFile != "" {
		if key, err = readKey(cfg.KeyFile); err != nil {
			return nil, err
		}
	}
	client := &http.Client{
		Transport: limited{http.DefaultTransport},
		CheckRedirect: func(*http.Request, []*http.Request) error {
			return errors.New("the endpoint redirects") // the key must not follow
		},
	}
	if cfg.Provider == Anthropic {
		url := u.JoinPath("v1", "messages").String()
		return disclosed{&anthropicEndpoint{client: client, url: url, key: key, name: cfg.Name, timeout: cfg.Timeout}, cfg.Name, cfg.Outlet}, nil
	}
	return disclosed{newOpenAI(cfg, client, key), cfg.Name, cfg.Outlet}, nil
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

// describe says in a span what was asked of which model, never with which words
// (OpenTelemetry semantic conventions for generative AI). Without an answer the call failed.
func describe(span *trace.Span, name, answered string, input, output int64) {
	if span == nil {
		return
	}
	span.Set(attribute.String("gen_ai.operation.name", "chat"), attribute.String("gen_ai.request.model", name))
	if answered == "" {
		span.Fail("chat")
		return
	}
	span.Set(
		attribute.String("gen_ai.response.model", answered),
		attribute.Int64("gen_ai.usage.input_tokens", input),
		attribute.Int64("gen_ai.usage.output_tokens", output),
	)
}

// statusFailure sorts the HTTP status of a call that failed.
func statusFailure(status int) error {
	switch {
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return fmt.Errorf("%w: the key is not accepted (HTTP %d)", ErrRejected, status)
	case status == http.StatusNotFound:
		return fmt.Errorf("%w: it knows no such model or address (HTTP 404)", ErrRejected)
	case status == http.StatusTooManyRequests, status == http.StatusRequestTimeout, status >= 500:
		return fmt.Errorf("%w: HTTP %d", ErrUnavailable, status)
	}
	return fmt.Errorf("%w: HTTP %d", ErrRejected, status)
}

// lost sorts a failure to reach the endpoint, or to read what it said. Nothing that the
// endpoint wrote goes into it.
func lost(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("%w: it did not answer in time", ErrUnavailable)
	}
	var transport *url.Error
	if errors.As(err, &transport) {
		return ErrUnavailable
	}
	return fmt.Errorf("%w: the endpoint's answer could not be read", ErrNoAnswer)
}

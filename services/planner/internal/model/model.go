// Package model asks a language model for text. The platform runs without one: an unconfigured
// model is nil, and who would use it does its work without.
package model

import (
	"context"
	"errors"

	"sabha.dev/chassis/label"
)

// Model completes a prompt.
type Model interface {
	// Complete asks once; it never retries. Errors are ErrUnavailable, ErrRejected, ErrNoAnswer,
	// ErrWithheld and, of a metered model, ErrSpent, wrapped with what is known, or the context's error.
	Complete(ctx context.Context, req Request) (Response, error)
}

// Request is one prompt.
type Request struct {
	System    string // who the model is and what rules hold
	Prompt    string
	MaxTokens int // of the answer; 0 leaves it to the endpoint
	// Schema is a JSON Schema that the answer, a JSON text, is asked to keep to; nil for
	// prose. An endpoint that cannot enforce one gives what it gives: check it.
	Schema map[string]any
	// Labels of what the prompt was made from, and the task that asks.
	Labels label.Labels
	Task   string
}

// Response is the model's answer.
type Response struct {
	Text         string
	Model        string // as the endpoint reports it
	Truncated    bool   // the answer ended at MaxTokens
	InputTokens  int64
	OutputTokens int64
}

// The errors of Complete. Their texts name no addresses and no keys.
var (
	// ErrUnavailable says that the endpoint could not be reached, was too slow, or had trouble of its own.
	ErrUnavailable = errors.New("the model could not be reached")
	// ErrRejected says that the endpoint refused the request: the key, the model's name, the size.
	ErrRejected = errors.New("the model's endpoint refused the request")
	// ErrWithheld says that the disclosure policy lets the prompt not leave.
	ErrWithheld = errors.New("it was not asked")
	// ErrNoAnswer says that the endpoint answered without usable text.
	ErrNoAnswer = errors.New("the model gave no answer")
	// ErrSpent says that the call would go over what models may use for the task.
	ErrSpent = errors.New("what models may use for one task is spent")
)

package embed

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"sabha.dev/chassis/fault"
	"sabha.dev/chassis/label"
	"sabha.dev/chassis/outlet"
)

// Config names a model behind the OpenAI embeddings API, hosted or local.
type Config struct {
	// BaseURL such as http://127.0.0.1:11434/v1. Empty, as is all else: the built-in
	// embedder.
	BaseURL string `yaml:"base_url"`
	// Name of the model, as the endpoint knows it.
	Name string `yaml:"name"`
	// Dimensions of its vectors, 8–4096.
	Dimensions int `yaml:"dimensions"`
	// KeyFile holds the API key; empty for an endpoint that asks for none.
	KeyFile string `yaml:"key_file"`
	// Timeout of one request, some texts together; 0 means DefaultTimeout.
	Timeout time.Duration `yaml:"timeout"`
	// Disclosure says what may leave to it.
	Disclosure outlet.Policy `yaml:"disclosure"`
}

// DefaultTimeout of one request.
const DefaultTimeout = 30 * time.Second

// Bounds of an endpoint.
const (
	leastDimensions, mostDimensions = 8, 4096

	batch     = 32       // texts of one request
	mostBytes = 16 << 20 // of one answer
)

// Opener makes the way out to the endpoint (outlet.Outlets).
type Opener interface {
	Open(name string, kind outlet.Kind, p outlet.Policy) (*outlet.Outlet, error)
}

// Open gives the embedder of a configuration. One that cannot work is an error that says
// what to change; the endpoint is not called.
func (c Config) Open(outlets Opener) (Embedder, error) {
	if c.BaseURL == "" && c.Name == "" && c.Dimensions == 0 && c.KeyFile == "" && c.Timeout == 0 && c.Disclosure.IsZero() {
		return Builtin{}, nil
	}
	u, err := url.Parse(c.BaseURL)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.User != nil:
		return nil, errors.New("embeddings.base_url must be an http or https address without a user, such as http://127.0.0.1:11434/v1")
	case c.Name == "":
		return nil, errors.New("embeddings.name must name the model, as the endpoint knows it")
	case c.Dimensions < leastDimensions || c.Dimensions > mostDimensions:
		return nil, fmt.Errorf("embeddings.dimensions must be the length of the model's vectors, from %d to %d; it is %d", leastDimensions, mostDimensions, c.Dimensions)
	case c.Timeout < 0:
		return nil, fmt.Errorf("embeddings.timeout must not be negative; it is %s", c.Timeout)
	}
	e := &endpoint{
		url: u.JoinPath("embeddings").String(), model: c.Name, dimensions: c.Dimensions,
		client: &http.Client{
			Timeout: cmp.Or(c.Timeout, DefaultTimeout),
			CheckRedirect: func(*http.Request, []*http.Request) error {
				return errors.New("the endpoint redirects") // the key must not follow
			},
		},
	}
	if c.KeyFile != "" {
		key, err := os.ReadFile(c.KeyFile)
		if err != nil {
			return nil, fmt.Errorf("embeddings.key_file: %w", err)
		}
		if e.key = strings.TrimSpace(string(key)); e.key == "" || strings.ContainsAny(e.key, " \t\r\n") {
			return nil, fmt.Errorf("embeddings.key_file: %s must hold one key and nothing else", c.KeyFile)
		}
	}
	e.outlet, err = outlets.Open("embeddings", outlet.Embeddings, c.Disclosure)
	return e, err
}

// ErrAway says that an endpoint gives no vectors now: it cannot be reached, is too slow,
// or answers with an error. Nothing that it wrote, no address and no key is in the text.
var ErrAway = errors.New("the embeddings endpoint gives no vectors")

// endpoint is an embedder behind the OpenAI embeddings API.
type endpoint struct {
	client     *http.Client
	url        string
	key        string
	model      string
	dimensions int
	outlet     *outlet.Outlet
}

// Name is the model's with its dimensions: vectors of another length are others.
func (e *endpoint) Name() string { return fmt.Sprintf("endpoint/%s/%d", e.model, e.dimensions) }

func (e *endpoint) Dimensions() int { return e.dimensions }

// Embed asks for some texts at a time and never retries. A text that the disclosure
// policy does not let leave gets a vector of zeros, so it is found by its words.
func (e *endpoint) Embed(ctx context.Context, labels label.Labels, texts []string) ([][]float32, error) {
	out := make([][]float32, len(texts))
	var leaving []string
	var places []int
	ask := func() error {
		vectors, err := e.ask(ctx, leaving)
		for i, v := range vectors {
			out[places[i]] = Normal(v)
		}
		leaving, places = leaving[:0], places[:0]
		return err
	}
	for i, text := range texts {
		if strings.TrimSpace(text) == "" {
			continue
		}
		masked, _, err := e.outlet.Text(ctx, outlet.Use{Of: e.model, Labels: labels}, text)
		if fault.As(err) != nil {
			continue // withheld; the outlet has recorded why
		} else if err != nil {
			return nil, err
		}
		if leaving, places = append(leaving, masked), append(places, i); len(leaving) == batch {
			if err := ask(); err != nil {
				return nil, err
			}
		}
	}
	if len(leaving) > 0 {
		if err := ask(); err != nil {
			return nil, err
		}
	}
	for i := range out {
		if out[i] == nil {
			out[i] = make([]float32, e.dimensions)
		}
	}
	return out, nil
}

type question struct {
	Model  string   `json:"model"`
	Input  []string `json:"input"`
	Format string   `json:"encoding_format"`
}

type answer struct {
	Data []struct {
		Index     int       `json:"index"`
		Embedding []float32 `json:"embedding"`
	} `json:"data"`
}

// ask gives one vector for each text, in their order.
func (e *endpoint) ask(ctx context.Context, texts []string) ([][]float32, error) {
	body, err := json.Marshal(question{Model: e.model, Input: texts, Format: "float"})
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, e.url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	if e.key != "" {
		req.Header.Set("Authorization", "Bearer "+e.key)
	}
	res, err := e.client.Do(req)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	} else if err != nil {
		return nil, fmt.Errorf("%w: it cannot be reached or did not answer in time", ErrAway)
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%w: it answered HTTP %d to the model %q", ErrAway, res.StatusCode, e.model)
	}
	var a answer
	if err := json.NewDecoder(io.LimitReader(res.Body, mostBytes)).Decode(&a); err != nil {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, fmt.Errorf("%w: its answer is no JSON of the embeddings API, or longer than %d MiB", ErrAway, mostBytes>>20)
	}
	vectors := make([][]float32, len(texts))
	for _, d := range a.Data {
		switch {
		case d.Index < 0 || d.Index >= len(texts) || vectors[d.Index] != nil:
			return nil, fmt.Errorf("%w: it answered for a text that it was not asked about", ErrAway)
		case len(d.Embedding) != e.dimensions:
			return nil, fmt.Errorf("%w: its vectors have %d dimensions; set embeddings.dimensions to that", ErrAway, len(d.Embedding))
		}
		vectors[d.Index] = d.Embedding
	}
	if len(a.Data) != len(texts) {
		return nil, fmt.Errorf("%w: it gave %d vectors for %d texts", ErrAway, len(a.Data), len(texts))
	}
	return vectors, nil
}

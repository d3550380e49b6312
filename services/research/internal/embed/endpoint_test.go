package embed_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"sabha.dev/chassis/label"
	"sabha.dev/chassis/outlet"
	"sabha.dev/services/research/internal/embed"
)

// served is an embeddings endpoint on a socket. Its vector of a text says how long it is.
type served struct {
	*httptest.Server
	mu    sync.Mutex
	asked [][]string
	keys  []string
}

func serve(t *testing.T, spoil func(w http.ResponseWriter, texts []string) bool) *served {
	s := &served{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var q struct {
			Model  string
			Input  []string
			Format string `json:"encoding_format"`
		}
		if err := json.NewDecoder(r.Body).Decode(&q); err != nil || q.Model != "small" || q.Format != "float" || r.URL.Path != "/v1/embeddings" {
			t.Errorf("%s %+v %v", r.URL, q, err)
		}
		s.mu.Lock()
		s.asked, s.keys = append(s.asked, q.Input), append(s.keys, r.Header.Get("Authorization"))
		s.mu.Unlock()
		if spoil != nil && spoil(w, q.Input) {
			return
		}
		type one struct {
			Index     int       `json:"index"`
			Embedding []float32 `json:"embedding"`
		}
		var data []one
		for i, text := range q.Input {
			data = append(data, one{i, []float32{float32(len(text)), 0, 0, 0, 0, 0, 0, 1}})
		}
		slices.Reverse(data) // an order of its own
		_ = json.NewEncoder(w).Encode(map[string]any{"data": data})
	}))
	t.Cleanup(s.Close)
	return s
}

func outlets(t *testing.T) *outlet.Outlets {
	o, err := outlet.New(slog.New(slog.NewTextHandler(t.Output(), nil)), prometheus.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func open(t *testing.T, c embed.Config) embed.Embedder {
	t.Helper()
	c.Name, c.Dimensions = "small", 8
	e, err := c.Open(outlets(t))
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func TestVectorsOfAnEndpointComeInTheOrderOfTheTexts(t *testing.T) {
	s := serve(t, nil)
	key := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(key, []byte("k-1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	e := open(t, embed.Config{BaseURL: s.URL + "/v1", KeyFile: key})
	if e.Name() != "endpoint/small/8" || e.Dimensions() != 8 {
		t.Error(e.Name(), e.Dimensions())
	}
	texts := make([]string, 40)
	for i := range texts {
		texts[i] = strings.Repeat("x", i) // the first says nothing
	}
	got, err := e.Embed(t.Context(), label.Labels{}, texts)
	if err != nil {
		t.Fatal(err)
	}
	for i, v := range got {
		want := make([]float32, 8)
		if i > 0 {
			want[0], want[7] = float32(i), 1
		}
		if !reflect.DeepEqual(v, embed.Normal(want)) {
			t.Errorf("text %d: %v", i, v)
		}
	}
	if len(s.asked) != 2 || len(s.asked[0]) != 32 || len(s.asked[1]) != 7 || s.keys[0] != "Bearer k-1" {
		t.Errorf("%d requests, keys %q", len(s.asked), s.keys)
	}
}

func TestWhatLeavesToAnEndpointGoesByThePolicy(t *testing.T) {
	s := serve(t, nil)
	refuse, err := outlet.ParsePolicy("rules", []byte("{default: refuse}"))
	if err != nil {
		t.Fatal(err)
	}
	texts := []string{"write to anna@example.com", "write a letter"}
	if _, err := open(t, embed.Config{BaseURL: s.URL + "/v1"}).Embed(t.Context(), label.Labels{}, texts); err != nil {
		t.Fatal(err)
	}
	if got := s.asked[0]; strings.Contains(got[0], "anna@") || got[1] != texts[1] {
		t.Errorf("masked: %q", got)
	}
	got, err := open(t, embed.Config{BaseURL: s.URL + "/v1", Disclosure: refuse}).Embed(t.Context(), label.Labels{}, texts)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(s.asked[1], texts[1:]) || !reflect.DeepEqual(got[0], make([]float32, 8)) || got[1][0] == 0 {
		t.Errorf("refused: %q, %v", s.asked[1], got)
	}
	// A label says more than the words do.
	got, err = open(t, embed.Config{BaseURL: s.URL + "/v1"}).Embed(t.Context(), label.Labels{Confidentiality: label.Sensitive}, texts[1:])
	if err != nil || len(s.asked) != 2 || !reflect.DeepEqual(got[0], make([]float32, 8)) {
		t.Errorf("labelled sensitive: %v %v, asked %q", got, err, s.asked)
	}
}

func TestAnEndpointThatGivesNoVectorsSaysWhy(t *testing.T) {
	write := func(format string, args ...any) func(http.ResponseWriter, []string) bool {
		return func(w http.ResponseWriter, _ []string) bool {
			_, _ = fmt.Fprintf(w, format, args...)
			return true
		}
	}
	for _, c := range []struct {
		name  string
		spoil func(http.ResponseWriter, []string) bool
		want  string
	}{
		{"error", func(w http.ResponseWriter, _ []string) bool {
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = io.WriteString(w, "secret words")
			return true
		}, `it answered HTTP 401 to the model "small"`},
		{"no JSON", write("<html>"), "its answer is no JSON of the embeddings API"},
		{"endless", write(`{"data":[{"index":0,"embedding":[%s1]}]}`, strings.Repeat("1,", 9<<20)), "or longer than 16 MiB"},
		{"another length", write(`{"data":[{"index":0,"embedding":[1,2]}]}`), "its vectors have 2 dimensions; set embeddings.dimensions to that"},
		{"another text", write(`{"data":[{"index":1,"embedding":[1,2,3,4,5,6,7,8]}]}`), "a text that it was not asked about"},
		{"none", write(`{"data":[]}`), "it gave 0 vectors for 1 texts"},
		{"redirect", func(w http.ResponseWriter, _ []string) bool {
			w.Header().Set("Location", "http://127.0.0.1:1/")
			w.WriteHeader(http.StatusTemporaryRedirect)
			return true
		}, "it cannot be reached or did not answer in time"},
		{"silent", nil, "it cannot be reached or did not answer in time"},
	} {
		t.Run(c.name, func(t *testing.T) {
			timeout := time.Minute
			if c.spoil == nil {
				timeout = 50 * time.Millisecond
				held := make(chan struct{})
				c.spoil = func(http.ResponseWriter, []string) bool {
					<-held
					return true
				}
				defer close(held) // before the server waits for its answer
			}
			s := serve(t, c.spoil)
			_, err := open(t, embed.Config{BaseURL: s.URL + "/v1", Timeout: timeout}).Embed(t.Context(), label.Labels{}, []string{"text"})
			if !errors.Is(err, embed.ErrAway) || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "secret words") || strings.Contains(err.Error(), "127.0.0.1") {
				t.Errorf("%v", err)
			}
		})
	}
}

func TestAnEndpointThatCannotWorkIsRefused(t *testing.T) {
	for want, c := range map[string]embed.Config{
		"embeddings.base_url must be":          {Name: "m", Dimensions: 8},
		"embeddings.name must name the model":  {BaseURL: "http://h/v1", Dimensions: 8},
		"from 8 to 4096; it is 0":              {BaseURL: "http://h/v1", Name: "m"},
		"embeddings.timeout must not":          {BaseURL: "http://h/v1", Name: "m", Dimensions: 8, Timeout: -1},
		"embeddings.key_file: open ":           {BaseURL: "http://h/v1", Name: "m", Dimensions: 8, KeyFile: "nowhere"},
		"address without a user, such as http": {BaseURL: "http://u:p@h/v1", Name: "m", Dimensions: 8},
	} {
		if _, err := c.Open(outlets(t)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", c, err, want)
		}
	}
	if e, err := (embed.Config{}).Open(outlets(t)); err != nil || e.Name() != embed.BuiltinName {
		t.Error(e, err)
	}
}

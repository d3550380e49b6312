package binding_test

import (
	"context"
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"sabha.dev/chassis/binding"
	"sabha.dev/chassis/clock"
)

func TestCardsAreCacheable(t *testing.T) {
	r := serve(t, &agent{}, func(c *binding.Config) { c.CardMaxAge = 90 * time.Second })
	front := r.call(t, "GET", "/.well-known/agent-card.json", "")
	research := r.call(t, "GET", "/research/.well-known/agent-card.json", "", "Accept: application/a2a+json")
	if front.status != 200 || front.body != `{"name":"front","version":"1"}` {
		t.Errorf("front: %d %s", front.status, front.body)
	}
	if research.status != 200 || research.body != `{"name":"research","version":"2"}` {
		t.Errorf("research: %d %s", research.status, research.body)
	}
	etag := front.header.Get("ETag")
	if len(etag) != 34 || etag == research.header.Get("ETag") {
		t.Errorf("entity tags %s and %s", etag, research.header.Get("ETag"))
	}
	for _, c := range []struct {
		name, verb, match string
		status            int
	}{
		{"the same", "GET", etag, 304},
		{"weakly the same", "GET", "W/" + etag, 304},
		{"one of several", "GET", `"x", ` + etag, 304},
		{"any", "GET", "*", 304},
		{"another", "GET", research.header.Get("ETag"), 200},
		{"only the headers", "HEAD", `"x"`, 200},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := r.call(t, c.verb, "/.well-known/agent-card.json", "", "If-None-Match: "+c.match)
			if got.status != c.status || (got.body == "") != (c.status == 304 || c.verb == "HEAD") {
				t.Errorf("answer %d %q, want %d", got.status, got.body, c.status)
			}
			if got.header.Get("ETag") != etag || got.header.Get("Cache-Control") != "public, max-age=90" {
				t.Errorf("ETag %s Cache-Control %s", got.header.Get("ETag"), got.header.Get("Cache-Control"))
			}
		})
	}
}

func TestCardOfAnUnknownTenant(t *testing.T) {
	got := serve(t, &agent{}).call(t, "GET", "/nobody/.well-known/agent-card.json", "")
	want := `{"error":{"code":404,"status":"NOT_FOUND","message":"there is no agent \"nobody\" here","details":[` + sabhaInfo("UNKNOWN_TENANT") + `]}}`
	if got.status != 404 || got.body != want || got.header.Get("Cache-Control") != "" {
		t.Errorf("answer %d %s\nwant 404 %s", got.status, got.body, want)
	}
}

func TestPanicIsAnInternalErrorAndTheServerGoesOn(t *testing.T) {
	r := serve(t, &agent{}, func(c *binding.Config) {
		c.Cards = func(_ context.Context, tenant string) (*a2apb.AgentCard, error) {
			if tenant == "bad" {
				panic("secret of the process")
			}
			return nil, nil
		}
	})
	got := r.call(t, "GET", "/bad/.well-known/agent-card.json", "")
	if got.status != 500 || strings.Contains(got.body, "secret") || !strings.Contains(got.body, `"status":"INTERNAL","message":"internal error; the operator finds it in the log"`) {
		t.Errorf("answer %d %s", got.status, got.body)
	}
	if !strings.Contains(r.log.String(), "secret of the process") {
		t.Error("the panic is not in the log")
	}
	if got := r.call(t, "GET", "/.well-known/agent-card.json", ""); got.status != 404 {
		t.Errorf("the next request: %d %s, want 404", got.status, got.body)
	}
}

// breaking is a connection whose streams panic after the first event.
type breaking struct{ grpc.ClientConnInterface }

type breakingStream struct {
	grpc.ClientStream
	sent bool
}

func (breaking) NewStream(context.Context, *grpc.StreamDesc, string, ...grpc.CallOption) (grpc.ClientStream, error) {
	return &breakingStream{}, nil
}

func (s *breakingStream) SendMsg(any) error { return nil }
func (s *breakingStream) CloseSend() error  { return nil }
func (s *breakingStream) RecvMsg(any) error {
	if s.sent {
		panic("secret of the stream")
	}
	s.sent = true
	return nil
}
func (s *breakingStream) Header() (metadata.MD, error) { return nil, nil }

func TestPanicInAStreamCutsTheConnection(t *testing.T) {
	r := serveConn(t, breaking{})
	for _, c := range both {
		resp := r.open(t, "POST", c.path, c.body)
		text, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if err == nil || strings.Contains(string(text), "secret") {
			t.Errorf("%s: %q ended with %v, want a broken connection", c.name, text, err)
		}
	}
}

func TestWhatABindingNeeds(t *testing.T) {
	good := binding.Config{Cards: cards, Clock: clock.System{}, Log: slog.New(slog.DiscardHandler)}
	for name, change := range map[string]func(*binding.Config){
		"cards":         func(c *binding.Config) { c.Cards = nil },
		"clock":         func(c *binding.Config) { c.Clock = nil },
		"log":           func(c *binding.Config) { c.Log = nil },
		"positive size": func(c *binding.Config) { c.MaxBody = -1 },
		"positive beat": func(c *binding.Config) { c.Heartbeat = -1 },
	} {
		cfg := good
		change(&cfg)
		if h, err := binding.New(breaking{}, cfg); err == nil {
			t.Errorf("without %s: %T, want an error", name, h)
		}
	}
	if _, err := binding.New(nil, good); err == nil {
		t.Error("without a connection: no error")
	}
}

package kap

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"sabha.dev/chassis/clock"
	"sabha.dev/chassis/fault"
	"sabha.dev/chassis/identity"
	"sabha.dev/chassis/trace"
)

// Parts are what a server stands on.
type Parts struct {
	Agents Agents
	// Identify gives the caller of a request, or a fault; address is how a caller
	// without credentials is told from others.
	Identify func(r *http.Request) (call identity.Call, address string, err error)
	Usage    *Usage
	Clock    clock.Clock
	Log      *slog.Logger
	Metrics  prometheus.Registerer
	// URL is the base of the card's endpoint, without a slash at its end.
	URL string
	// Issuers whose tokens are taken.
	Issuers []string
	// MaxBody of a request, bytes.
	MaxBody int64
}

// Server answers requests of KAP.
type Server struct {
	Parts
	config       Config
	capabilities map[string]offered
	card         []byte
	tag          string
	counts       *prometheus.CounterVec
}

// offered is a capability with its compiled schema.
type offered struct {
	Capability
	schema *jsonschema.Schema
}

// RateOf is the limit that a configuration means.
func RateOf(c Config) Rate { return c.complete().RateLimit }

// New makes a server of a configuration that Check finds nothing wrong with.
func New(c Config, p Parts) (*Server, error) {
	s := &Server{Parts: p, config: c.complete(), capabilities: map[string]offered{}}
	for _, one := range s.config.Capabilities {
		schema, err := compile(one.InputSchema)
		if err != nil {
			return nil, err
		}
		s.capabilities[one.ID] = offered{one, schema}
	}
	var err error
	if s.card, err = json.Marshal(newCard(s.config, p.URL, p.Issuers)); err != nil {
		return nil, err
	}
	sum := sha256.Sum256(s.card)
	s.tag = `"` + hex.EncodeToString(sum[:8]) + `"`
	s.counts = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "sabha_kap_requests_total", Help: "Requests of KAP by capability, status of the answer and status of HTTP. The capability is none where no known one was named.",
	}, []string{"capability", "status", "code"})
	return s, p.Metrics.Register(s.counts)
}

// Card serves the card to everybody. It is none of A2A's, whose clients once looked
// for theirs here: they are told where it is.
func (s *Server) Card(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Cache-Control", "public, max-age=300")
	h.Set("ETag", s.tag)
	h.Set("Link", `</.well-known/agent-card.json>; rel="alternate"; type="application/json"; title="A2A agent card"`)
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(s.card))
}

// Ask answers a request.
func (s *Server) Ask(w http.ResponseWriter, r *http.Request) {
	began := s.Clock.Now()
	e := exchange{server: s, w: w, r: r}
	a := e.answer()
	a.RequestID, a.Protocol, a.Timestamp = e.id, Version, s.Clock.Now().UTC().Format(time.RFC3339)
	a.Metadata.DurationMs = s.Clock.Now().Sub(began).Milliseconds()
	a.Metadata.CapabilitiesUsed = []string{}
	if a.Status == success || a.Metadata.TaskID != "" {
		a.Metadata.CapabilitiesUsed = []string{e.capability.ID}
	}
	s.counts.WithLabelValues(cmp.Or(e.capability.ID, "none"), a.Status, strconv.Itoa(a.code)).Inc()
	a.write(w)
}

// exchange is one request on its way to its answer.
type exchange struct {
	server *Server
	w      http.ResponseWriter
	r      *http.Request
	// id of the request, as far as it can be told; capability once it is known.
	id         string
	capability offered
}

func (e *exchange) answer() answer {
	m, t, err := e.ask()
	switch {
	case m != nil:
		return answered(m)
	case t != nil:
		return told(t)
	}
	err = fault.Mapped(e.r.Context(), e.server.Log, AskPath, err)
	if f := fault.FromStatus(err); f != nil {
		return refused(f)
	}
	return refused(fault.New("INTERNAL", "%s", status.Convert(err).Message()))
}

// ask makes of a request what the agents make of it.
func (e *exchange) ask() (*a2apb.Message, *a2apb.Task, error) {
	s := e.server
	if e.r.Method != http.MethodPost {
		e.w.Header().Set("Allow", http.MethodPost)
		return nil, nil, fault.New(fault.UnsupportedOperation, "send requests with POST, not %s", e.r.Method)
	}
	call, address, err := s.Identify(e.r)
	if err == nil {
		err = s.allows(call.Principal)
	}
	if err != nil {
		return nil, nil, err
	}
	caller := cmp.Or(call.Principal.Key(), "address "+address)
	rest, err := s.Usage.take(e.r.Context(), caller)
	if err == nil || fault.Is(err, fault.RateLimited) {
		rest.tell(e.w.Header())
	}
	if err != nil {
		return nil, nil, err
	}
	body, err := e.read()
	if err != nil {
		return nil, nil, err
	}
	e.id = IDOf(body)
	q, err := Decode(body)
	if err != nil {
		return nil, nil, err
	}
	known, ok := s.capabilities[q.Capability]
	if !ok {
		return nil, nil, fault.New(unknownCapability, "there is no such capability; the card at %s names: %s", CardPath, strings.Join(s.names(), ", "))
	}
	e.capability = known
	if call.Principal.Anonymous() && !known.Anonymous {
		return nil, nil, fault.New(fault.Unauthenticated, "capability %s needs a caller who is known; send an API key or a token", known.ID)
	}
	if q.Task == "" {
		err = fits(known.schema, q.Metadata)
	}
	if err != nil {
		return nil, nil, err
	}
	send, err := known.message(q, call.Principal)
	if err != nil {
		return nil, nil, err
	}
	ctx := metadata.NewIncomingContext(traced(e.r), known.metadata(q))
	m, t, err := s.follow(identity.WithCall(ctx, call), send, q.Wait)
	return m, t, unanswerable(q, err)
}

// unanswerable says of an error about the task that a request answers what is wrong with
// the request.
func unanswerable(q Request, err error) error {
	reason := fault.Reason("")
	if f := fault.As(err); f != nil {
		reason = f.Reason
	} else if f := fault.FromStatus(err); f != nil {
		reason = f.Reason
	}
	switch {
	case q.Task == "":
		return err
	case reason == fault.TaskNotFound:
		return fault.Invalid("context.taskId", "names no task of yours; send the metadata.taskId of the answer that asks")
	case reason == fault.UnsupportedOperation:
		return fault.Invalid("context.taskId", "is of a task that does not wait for an answer; send a new request without it")
	}
	return err
}

// traced is the context of a request with its place in a trace, where no span has one.
func traced(r *http.Request) context.Context {
	if trace.Known(r.Context()) {
		return r.Context()
	}
	place, ok := trace.FromHeaders(r.Header.Values)
	if !ok {
		place = trace.New()
	}
	return trace.With(r.Context(), place)
}

func (s *Server) names() []string {
	names := make([]string, len(s.config.Capabilities))
	for i, c := range s.config.Capabilities {
		names[i] = c.ID
	}
	return names
}

// allows tells whether somebody may ask for anything at all.
func (s *Server) allows(p identity.Principal) error {
	switch {
	case p.Anonymous() && !slices.ContainsFunc(s.config.Capabilities, func(c Capability) bool { return c.Anonymous }):
		return fault.New(fault.Unauthenticated, "this needs a caller who is known; send an API key or a token")
	case len(s.config.AllowedOrgs) > 0 && !slices.Contains(s.config.AllowedOrgs, p.Organisation):
		return fault.New(fault.PermissionDenied, "callers of the organisation of your credentials may not ask here; the operator of this platform can allow it")
	}
	return nil
}

// read reads the body of a request.
func (e *exchange) read() ([]byte, error) {
	sent := e.r.Header.Get("Content-Type")
	if kind, _, err := mime.ParseMediaType(sent); err != nil || kind != "application/json" {
		return nil, fault.New(fault.ContentTypeNotSupported, "send requests as Content-Type: application/json")
	}
	body, err := io.ReadAll(http.MaxBytesReader(e.w, e.r.Body, e.server.MaxBody))
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return nil, fault.New(fault.TooLarge, "the request is larger than %d MiB; send large content by reference", e.server.MaxBody>>20)
	case err != nil:
		return nil, fault.Invalid("body", "could not be read to its end").Because(err)
	}
	return body, nil
}

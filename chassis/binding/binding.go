// Package binding is the HTTP side of an A2A agent: HTTP+JSON with server-sent
// events, JSON-RPC, and the agent card (specification sections 9, 11 and 8).
//
// Everything is transcoded to one gRPC connection, so the bindings cannot
// disagree: HTTP+JSON goes through the generated grpc-gateway handlers, and
// JSON-RPC carries the same messages in an envelope. Errors keep their
// google.rpc details on the way.
package binding

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"google.golang.org/grpc"

	"sabha.dev/chassis/clock"
	"sabha.dev/chassis/fault"
)

// CardSource gives the public card of a tenant; the empty tenant is the agent
// at the root. An unknown tenant is a fault.UnknownTenant error. The card is
// read, never changed.
type CardSource func(ctx context.Context, tenant string) (*a2apb.AgentCard, error)

// Config is what a binding needs. Cards, Clock and Log must be set.
type Config struct {
	Cards CardSource
	Clock clock.Clock
	Log   *slog.Logger
	// MaxBody bounds a request body, in bytes; 0 means 4 MiB.
	MaxBody int64
	// Heartbeat is how long a stream may be silent before a comment is sent to
	// keep proxies from closing it; 0 means 15 s.
	Heartbeat time.Duration
	// Older is an older version of the protocol that is served as well; nil means none.
	Older *Dialect
	// SignCard adds signatures to the JSON of a card as it is published; nil leaves it
	// unsigned. The same JSON must give the same, or clients fetch cards anew each time.
	SignCard func(card []byte) ([]byte, error)
	// CardMaxAge is how long clients may reuse a card without asking again; 0
	// means one minute.
	CardMaxAge time.Duration
}

const (
	defaultMaxBody    = 4 << 20
	defaultHeartbeat  = 15 * time.Second
	defaultCardMaxAge = time.Minute
)

type handler struct {
	Config
	conn    grpc.ClientConnInterface
	gateway *runtime.ServeMux
}

// New makes the handler that serves the A2A service behind conn. HTTP+JSON is
// at the root and under /{tenant}, JSON-RPC at /rpc and /{tenant}/rpc, cards at
// /.well-known/agent-card.json and /{tenant}/.well-known/agent-card.json. The paths
// and methods of an older version are at the same bases.
//
// Only credentials, the A2A service parameters and the W3C trace context of a
// request reach conn, as gRPC metadata; every other header stays outside.
func New(conn grpc.ClientConnInterface, cfg Config) (http.Handler, error) {
	switch {
	case conn == nil:
		return nil, errors.New("binding: a connection to the A2A service is needed")
	case cfg.Cards == nil || cfg.Clock == nil || cfg.Log == nil:
		return nil, errors.New("binding: Cards, Clock and Log must be set")
	case cfg.MaxBody < 0 || cfg.Heartbeat < 0 || cfg.CardMaxAge < 0:
		return nil, errors.New("binding: MaxBody, Heartbeat and CardMaxAge must not be negative")
	}
	if cfg.MaxBody == 0 {
		cfg.MaxBody = defaultMaxBody
	}
	if cfg.Heartbeat == 0 {
		cfg.Heartbeat = defaultHeartbeat
	}
	if cfg.CardMaxAge == 0 {
		cfg.CardMaxAge = defaultCardMaxAge
	}
	gateway, err := newGateway(conn)
	if err != nil {
		return nil, fmt.Errorf("binding: %w", err)
	}
	return &handler{Config: cfg, conn: conn, gateway: gateway}, nil
}

// ServeHTTP answers one request.
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("X-Content-Type-Options", "nosniff")
	x := &exchange{handler: h, w: &trackedWriter{ResponseWriter: w}, r: r, mediaType: answerType(r)}
	defer x.recover()

	target, ok := match(r.URL.Path, h.Older)
	if !ok {
		x.refuse(noSuchPath())
		return
	}
	op, ok := target.operation(r.Method)
	if !ok {
		w.Header().Set("Allow", target.allow())
		x.refuse(wrongVerb(r.Method, target.allow()))
		return
	}
	if op.kind == cardKind {
		x.card(target.tenant)
		return
	}
	// Answers depend on who asks, and not every cache knows X-API-Key.
	w.Header().Set("Cache-Control", "no-store")
	switch {
	case op.older != nil:
		x.older(op, target)
	case op.kind == rpcKind:
		x.rpc(target.tenant)
	default:
		x.rest(op)
	}
}

// exchange is one request on its way to an answer.
type exchange struct {
	*handler
	w *trackedWriter
	r *http.Request
	// mediaType is that of answers which are not streams.
	mediaType string
	// plain is set for JSON-RPC clients of an older version that do not state it. Those
	// of its time take the data of an error for an object; newer ones, which speak it to
	// old servers, for the list that 1.0 has.
	plain bool
	// call is what the gateway needs to know of this request.
	call restCall
}

// recover answers a panic with an internal error that reveals nothing. Once an
// answer has begun, all that is left is to cut the connection, so that the
// client does not take the part it has for the whole.
func (x *exchange) recover() {
	p := recover()
	if p == nil {
		return
	}
	if p == http.ErrAbortHandler {
		panic(p)
	}
	x.Log.ErrorContext(x.r.Context(), "panic while serving a request",
		"method", x.r.Method, "path", x.r.URL.Path, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
	if x.w.begun {
		panic(http.ErrAbortHandler)
	}
	x.refuse(diagnose(errInternal))
}

// errInternal stands for whatever a client must not see.
var errInternal = fault.New(fault.Reason("INTERNAL"), "%s", "internal error; the operator finds it in the log")

// trackedWriter knows whether the answer has begun.
type trackedWriter struct {
	http.ResponseWriter
	begun bool
}

func (w *trackedWriter) WriteHeader(code int) {
	w.begun = true
	w.ResponseWriter.WriteHeader(code)
}

func (w *trackedWriter) Write(b []byte) (int, error) {
	w.begun = true
	return w.ResponseWriter.Write(b)
}

// Unwrap lets http.ResponseController reach the server's writer.
func (w *trackedWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// answerType chooses between the two media types of A2A: what Accept names, else
// what the request itself is written in, else application/a2a+json
// (specification 11.1). A client that accepts only a stream gets an error in the
// type that every JSON reader knows.
func answerType(r *http.Request) string {
	accept := strings.Join(r.Header.Values("Accept"), ",")
	if named := acceptedType(accept); named != "" {
		return named
	}
	if mediaType(r.Header.Get("Content-Type")) == typeJSON || strings.Contains(accept, typeStream) {
		return typeJSON
	}
	return typeA2A
}

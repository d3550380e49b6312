package toolserver

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Endpoint configures MCP over HTTP.
type Endpoint struct {
	// Server gives the tools of the caller of a request.
	Server func(*http.Request) *mcp.Server
	// MaxBody bounds a request, bytes.
	MaxBody int64
	// Sessions of clients of older versions, those of the server's Config; nil serves
	// every request by itself, so that any replica answers any of them.
	Sessions *Sessions
	// Host is a name under which clients reach the endpoint; empty for none. Over an
	// address of the machine itself only this one and localhost are answered: a page
	// whose name has come to mean this machine is of its own origin there.
	Host string
	Log  *slog.Logger
}

// Handler serves MCP on one path, to browsers of its own origin only.
func (e Endpoint) Handler() http.Handler {
	options := func(json bool) *mcp.StreamableHTTPOptions {
		return &mcp.StreamableHTTPOptions{
			Stateless: true, JSONResponse: json, Logger: e.Log, MaxRequestBodyBytes: e.MaxBody, PropagateRequestCancellation: true,
			DisableLocalhostProtection: true, // see rebound
		}
	}
	h := &handlers{
		Endpoint: e,
		plain:    mcp.NewStreamableHTTPHandler(e.Server, options(true)),
		stream:   mcp.NewStreamableHTTPHandler(e.Server, options(false)),
	}
	if e.Sessions != nil {
		h.sessions = e.Sessions.handler(e.Server, e.MaxBody, e.Log)
	}
	return http.NewCrossOriginProtection().Handler(h)
}

// handlers prepare requests for the SDK's handlers and complete their answers.
type handlers struct {
	Endpoint
	plain, stream, sessions http.Handler
}

func (h *handlers) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if h.rebound(r) {
		refuse(w, http.StatusForbidden, nil, -32600, fmt.Sprintf("this server is not reached as %q; its operator sets the address that clients use (public_url)", r.Host))
		return
	}
	if r.Method != http.MethodPost {
		if h.Sessions.own(r.Header.Get(sessionHeader)) {
			h.sessions.ServeHTTP(w, r)
			return
		}
		h.plain.ServeHTTP(w, r)
		return
	}
	body, ok := h.body(w, r)
	if !ok {
		return
	}
	m, err := read(body)
	if err != nil {
		refuse(w, http.StatusBadRequest, nil, -32700, err.Error())
		return
	}
	r = r.Clone(r.Context())
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	out := &response{ResponseWriter: w}
	defer out.finish()
	switch {
	case m.bare(r.Header):
		if !m.check(w) {
			return
		}
		out.bare = &m
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		h.plain.ServeHTTP(out, r)
	case !m.modern(r.Header) && h.Sessions.takes(m, r):
		h.sessions.ServeHTTP(out, r)
	case m.streams():
		h.stream.ServeHTTP(out, r)
	default:
		h.plain.ServeHTTP(out, r)
	}
}

// body reads the request, or refuses it.
func (h *handlers) body(w http.ResponseWriter, r *http.Request) ([]byte, bool) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, h.MaxBody))
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		refuse(w, http.StatusRequestEntityTooLarge, nil, -32600, fmt.Sprintf("the request is larger than %d bytes", h.MaxBody))
	case err != nil:
		refuse(w, http.StatusBadRequest, nil, -32700, "the request could not be read to its end")
	default:
		return body, true
	}
	return nil, false
}

// rebound tells whether a request has come to this machine under a name that is not its own.
func (e Endpoint) rebound(r *http.Request) bool {
	local, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	return ok && loopback(local.String()) && !loopback(r.Host) && (e.Host == "" || !strings.EqualFold(hostname(r.Host), e.Host))
}

func hostname(address string) string {
	if host, _, err := net.SplitHostPort(address); err == nil {
		return host
	}
	return strings.Trim(address, "[]")
}

func loopback(address string) bool {
	host := hostname(address)
	ip, err := netip.ParseAddr(host)
	return strings.EqualFold(host, "localhost") || (err == nil && ip.Unmap().IsLoopback())
}

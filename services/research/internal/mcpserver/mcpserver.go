// Package mcpserver serves research's tools over the Model Context Protocol:
// version 2026-07-28, the older ones, and plain JSON-RPC from a client that
// sends no MCP header at all.
package mcpserver

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// maxBody bounds a request, bytes: a query and its envelope.
const maxBody = 256 << 10

// New makes the endpoint. Requests are served without sessions in every
// version, so that any replica answers any of them; GET and DELETE, which
// need a session, are refused with 405 as the protocol allows.
func New(engine Engine, release string, log *slog.Logger) (http.Handler, error) {
	return newHandler(release, log, searchTool(engine))
}

func newHandler(release string, log *slog.Logger, tools ...Tool) (http.Handler, error) {
	server := mcp.NewServer(
		&mcp.Implementation{Name: "sabha-research", Title: "Sabha research", Version: release},
		&mcp.ServerOptions{
			Instructions: "Search the ingested documents. Every passage names its document, headings and byte offsets; quote them.",
			Logger:       log,
			Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{}},
		})
	r := &registry{server: server, log: log, names: map[string]bool{}}
	for _, t := range tools {
		if err := r.register(t); err != nil {
			return nil, fmt.Errorf("mcp: %w", err)
		}
	}
	sdk := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &mcp.StreamableHTTPOptions{
		Stateless: true, JSONResponse: true, Logger: log, MaxRequestBodyBytes: maxBody, PropagateRequestCancellation: true,
	})
	return http.NewCrossOriginProtection().Handler(&endpoint{sdk: sdk}), nil
}

// endpoint prepares requests for the SDK's handler and completes its answers.
type endpoint struct{ sdk http.Handler }

func (e *endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	out := &response{ResponseWriter: w}
	if r.Method == http.MethodPost {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
		var large *http.MaxBytesError
		switch {
		case errors.As(err, &large):
			refuse(w, http.StatusRequestEntityTooLarge, nil, -32600, fmt.Sprintf("the request is larger than %d bytes", maxBody))
			return
		case err != nil:
			refuse(w, http.StatusBadRequest, nil, -32700, "the request could not be read to its end")
			return
		case !json.Valid(body):
			refuse(w, http.StatusBadRequest, nil, -32700, "the request is not JSON")
			return
		}
		r = r.Clone(r.Context())
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		if m := read(body); m.bare(r.Header) {
			if !m.check(w) {
				return
			}
			out.bare = &m
			r.Header.Set("Content-Type", "application/json")
			r.Header.Set("Accept", "application/json, text/event-stream")
		}
	}
	e.sdk.ServeHTTP(out, r)
	out.finish()
}

// message is what has to be known of a request before the SDK reads it.
type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		Meta map[string]any `json:"_meta"`
	} `json:"params"`
}

// read reads a request; one that is no request reads as empty.
func read(body []byte) message {
	var m message
	if json.Unmarshal(body, &m) != nil {
		return message{}
	}
	return m
}

// bare tells whether a client speaks JSON-RPC and no MCP transport: it names
// no version in a header or in the message, no session, and does not
// initialize. Such a client gets the headers that the SDK asks for.
func (m message) bare(h http.Header) bool {
	return h.Get("Mcp-Protocol-Version") == "" && h.Get("Mcp-Session-Id") == "" &&
		m.Method != "initialize" && m.Params.Meta[mcp.MetaKeyProtocolVersion] == nil
}

// check answers what a bare client cannot ask for as JSON-RPC has it; the SDK
// would say it in plain text.
func (m message) check(w http.ResponseWriter) bool {
	switch {
	case m.Method == "":
		refuse(w, http.StatusBadRequest, m.ID, -32600, "this is not a JSON-RPC request; it needs jsonrpc, id, method and params")
		return false
	case m.Method != "tools/call" && m.Method != "tools/list" && m.Method != "ping" && !strings.HasPrefix(m.Method, "notifications/"):
		refuse(w, http.StatusNotFound, m.ID, -32601, "no method of that name; there are tools/list, tools/call and ping")
		return false
	}
	return true
}

// refuse answers with a JSON-RPC error; the id is null where it is not known.
func refuse(w http.ResponseWriter, status int, id json.RawMessage, code int, message string) {
	body, err := json.Marshal(map[string]any{
		"jsonrpc": "2.0", "id": id, "error": map[string]any{"code": code, "message": message},
	})
	if err != nil {
		http.Error(w, message, status)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(body)
}

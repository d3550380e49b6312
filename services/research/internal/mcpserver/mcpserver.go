// Package mcpserver serves research's search over the Model Context Protocol, to
// whoever reaches the service's own port. Clients of the platform find it, with the
// tools of every agent, at the gateway.
package mcpserver

import (
	"fmt"
	"log/slog"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"sabha.dev/chassis/tool"
	"sabha.dev/chassis/toolserver"
)

// maxBody bounds a request, bytes: a query and its envelope.
const maxBody = 256 << 10

// New makes the endpoint. Requests are served without sessions in every version, so
// that any replica answers any of them.
func New(engine Engine, release string, log *slog.Logger) (http.Handler, error) {
	search, err := tool.Of(definition(), searchWith(engine), log)
	if err != nil {
		return nil, fmt.Errorf("mcp: %w", err)
	}
	server, err := toolserver.New(toolserver.Config{
		Name: "sabha-research", Title: "Sabha research", Release: release, Log: log,
		Instructions: "Search the ingested documents. Every passage names its document, headings and byte offsets; quote them.",
	}, search)
	if err != nil {
		return nil, fmt.Errorf("mcp: %w", err)
	}
	return toolserver.Endpoint{Server: func(*http.Request) *mcp.Server { return server }, MaxBody: maxBody, Log: log}.Handler(), nil
}

package toolserver

import (
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"sabha.dev/chassis/tool"
)

// contentOf is a block as MCP has it.
func contentOf(c tool.Content) mcp.Content {
	kind, _, _ := strings.Cut(c.MediaType, "/")
	switch {
	case c.URI != "" && c.Data == nil && c.Text == "":
		return &mcp.ResourceLink{URI: c.URI, Name: c.URI, MIMEType: c.MediaType}
	case c.URI != "":
		return &mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: c.URI, MIMEType: c.MediaType, Text: c.Text, Blob: c.Data}}
	case c.Data == nil:
		return &mcp.TextContent{Text: c.Text}
	case kind == "image":
		return &mcp.ImageContent{Data: c.Data, MIMEType: c.MediaType}
	case kind == "audio":
		return &mcp.AudioContent{Data: c.Data, MIMEType: c.MediaType}
	}
	return &mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "data:", MIMEType: c.MediaType, Blob: c.Data}}
}

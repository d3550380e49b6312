package toolhost

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Content is one block of a result: a text, or data of a media type, or a link.
type Content struct {
	Text      string
	Data      []byte
	URI       string
	MediaType string
}

// Result is the answer of a tool.
type Result struct {
	// Structured is the structured result as JSON, or nil.
	Structured json.RawMessage
	Content    []Content
}

// result reads an answer, and checks it against the tool's output schema.
func (c *checked) result(answer *mcp.CallToolResult) (Result, error) {
	result, err := resultOf(answer)
	switch {
	case err != nil:
		return Result{}, unreadable(c.Tool, "the answer cannot be read: "+err.Error())
	case answer.IsError:
		return Result{}, &ToolFailed{Tool: c.Full(), Words: textOf(result.Content)}
	case len(answer.InputRequests) > 0:
		return Result{}, &ToolFailed{Tool: c.Full(), Words: "the tool asks for more input, which is not supported here"}
	}
	return result, c.contract.Result(result.Structured)
}

func resultOf(answer *mcp.CallToolResult) (Result, error) {
	var result Result
	if answer.StructuredContent != nil {
		raw, err := json.Marshal(answer.StructuredContent)
		if err != nil {
			return Result{}, err
		}
		result.Structured = raw
	}
	for _, block := range answer.Content {
		switch b := block.(type) {
		case *mcp.TextContent:
			result.Content = append(result.Content, Content{Text: b.Text, MediaType: "text/plain"})
		case *mcp.ImageContent:
			result.Content = append(result.Content, Content{Data: b.Data, MediaType: b.MIMEType})
		case *mcp.AudioContent:
			result.Content = append(result.Content, Content{Data: b.Data, MediaType: b.MIMEType})
		case *mcp.ResourceLink:
			result.Content = append(result.Content, Content{URI: b.URI, MediaType: b.MIMEType})
		case *mcp.EmbeddedResource:
			if b.Resource == nil {
				return Result{}, errors.New("an embedded resource without the resource")
			}
			c := Content{URI: b.Resource.URI, MediaType: b.Resource.MIMEType, Text: b.Resource.Text, Data: b.Resource.Blob}
			result.Content = append(result.Content, c)
		default:
			return Result{}, fmt.Errorf("content of type %T", block)
		}
	}
	return result, nil
}

// textOf joins the words of a result; what is not text is named by its type and size.
func textOf(content []Content) string {
	var words []string
	for _, c := range content {
		switch {
		case c.Text != "":
			words = append(words, c.Text)
		case len(c.Data) > 0:
			words = append(words, fmt.Sprintf("[%s, %d bytes]", c.MediaType, len(c.Data)))
		case c.URI != "":
			words = append(words, c.URI)
		}
	}
	return strings.Join(words, "\n")
}

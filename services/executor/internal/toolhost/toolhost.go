// Package toolhost calls the tools of one MCP server that runs as a child
// process and speaks over its standard input and output.
//
// The server is started by the first use and again after it ended. Arguments are
// checked against a tool's input schema before a call, structured results against
// its output schema after it.
package toolhost

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.opentelemetry.io/otel/attribute"

	"sabha.dev/chassis/trace"
)

// Config says which server to run and how long to wait for it.
type Config struct {
	// Command is the program and its arguments. The program is looked up in PATH.
	Command []string
	// Env are the server's variables, each NAME=value. Of the environment of this process it gets PATH only.
	Env []string
	// Dir is the server's working directory; empty means this process's.
	Dir string
	// StartTimeout bounds the start with the list of tools; CallTimeout bounds one call.
	StartTimeout, CallTimeout time.Duration
	// MaxMessage is the longest message in bytes that is taken from the server.
	MaxMessage int
}

// Validate names the field that cannot work.
func (c Config) Validate() error {
	switch {
	case len(c.Command) == 0 || c.Command[0] == "":
		return errors.New("MCP server: no command is given")
	case c.StartTimeout <= 0 || c.CallTimeout <= 0:
		return errors.New("MCP server: start and call time limits must be positive")
	case c.MaxMessage <= 0:
		return errors.New("MCP server: the largest message must be positive")
	}
	for _, e := range c.Env {
		if !strings.Contains(e, "=") {
			return fmt.Errorf("MCP server: environment entry %q is not NAME=value", e)
		}
	}
	return nil
}

// Tool is what the server says of one tool.
type Tool struct {
	Name, Description string
	// Input is the JSON Schema of the arguments; Output that of the structured result, or nil.
	Input, Output json.RawMessage
	// Repeatable says that a call may be made again when its answer was lost: the
	// server marks the tool as read-only or idempotent.
	Repeatable bool
}

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

// Host runs the server and calls its tools. It is safe for concurrent use.
type Host struct {
	config Config
	log    *slog.Logger
	client *mcp.Client
	lock   chan struct{} // held while current changes
	// current is the running server, nil before the first use.
	current *server
	closed  bool
	stale   atomic.Bool // the server said that its tools have changed
}

// New makes a host; nothing is started yet.
func New(config Config, log *slog.Logger) (*Host, error) {
	if err := config.Validate(); err != nil {
		return nil, err
	}
	h := &Host{config: config, log: log, lock: make(chan struct{}, 1)}
	h.client = mcp.NewClient(&mcp.Implementation{Name: "sabha-executor", Version: "1"}, &mcp.ClientOptions{
		Capabilities:           &mcp.ClientCapabilities{},
		ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) { h.stale.Store(true) },
	})
	return h, nil
}

// acquire gives the running server with a current list of tools, starting it if
// need be.
func (h *Host) acquire(ctx context.Context) (*server, error) {
	select {
	case h.lock <- struct{}{}:
		defer func() { <-h.lock }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if h.closed {
		return nil, ErrClosed
	}
	if h.current != nil && h.current.ended() {
		h.log.Warn("MCP server ended, it is started again", "command", h.config.Command[0])
		h.current.stop()
		h.current = nil
	}
	bounded, cancel := context.WithTimeoutCause(ctx, h.config.StartTimeout, errSlowStart)
	defer cancel()
	if h.current == nil {
		s, err := start(bounded, h.config, h.client, h.log)
		if err != nil {
			return nil, h.unavailable(bounded, "cannot be started", err)
		}
		h.current = s
		h.stale.Store(true)
	}
	if h.stale.Swap(false) {
		if err := h.current.list(bounded); err != nil {
			h.stale.Store(true)
			return nil, h.unavailable(bounded, "does not list its tools", err)
		}
	}
	return h.current, nil
}

func (h *Host) unavailable(ctx context.Context, what string, err error) error {
	if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, errSlowStart) {
		return cause
	}
	return &Unavailable{What: what, cause: err}
}

// Tools lists the server's tools by name.
func (h *Host) Tools(ctx context.Context) ([]Tool, error) {
	s, err := h.acquire(ctx)
	if err != nil {
		return nil, err
	}
	var tools []Tool
	for _, t := range *s.tools.Load() {
		tools = append(tools, t.Tool)
	}
	slices.SortFunc(tools, func(a, b Tool) int { return strings.Compare(a.Name, b.Name) })
	return tools, nil
}

// Tool gives one tool. An unknown name is *UnknownTool.
func (h *Host) Tool(ctx context.Context, name string) (Tool, error) {
	s, err := h.acquire(ctx)
	if err != nil {
		return Tool{}, err
	}
	t, err := s.tool(name)
	if err != nil {
		return Tool{}, err
	}
	return t.Tool, nil
}

// Call calls a tool with arguments, a JSON object; nil means an empty one.
// Canceling ctx cancels the call at the server. Errors: *UnknownTool,
// *InvalidInput (the tool was not called), *ToolFailed (the tool says it failed),
// *InvalidOutput, *Unavailable, ErrTimeout, ErrClosed, or the cause of ctx.
func (h *Host) Call(ctx context.Context, name string, arguments json.RawMessage) (Result, error) {
	s, err := h.acquire(ctx)
	if err != nil {
		return Result{}, err
	}
	t, err := s.tool(name)
	if err != nil {
		return Result{}, err
	}
	if len(arguments) == 0 {
		arguments = json.RawMessage(`{}`)
	}
	if err := t.checkInput(arguments); err != nil {
		return Result{}, err
	}
	bounded, cancel := context.WithTimeoutCause(ctx, h.config.CallTimeout, ErrTimeout)
	defer cancel()
	bounded, span := trace.Start(bounded, trace.Client, "tools/call "+name)
	defer span.End()
	answer, err := s.session.CallTool(bounded, &mcp.CallToolParams{Meta: describe(bounded, span, name), Name: name, Arguments: arguments})
	if err != nil {
		span.Fail("tools/call")
		if cause := context.Cause(bounded); cause != nil {
			return Result{}, cause
		}
		err = callError(name, err)
		if _, ok := errors.AsType[*Unavailable](err); ok {
			s.broken.Store(true) // whoever calls next gets a new server
		}
		return Result{}, err
	}
	result, err := resultOf(answer)
	if err != nil {
		return Result{}, &InvalidOutput{Tool: name, Problems: []Problem{{Message: "the answer cannot be read"}}, cause: err}
	}
	if answer.IsError {
		return Result{}, &ToolFailed{Tool: name, Words: textOf(result.Content)}
	}
	if len(answer.InputRequests) > 0 {
		return Result{}, &ToolFailed{Tool: name, Words: "the tool asks for more input, which is not supported here"}
	}
	return result, t.checkOutput(result.Structured)
}

// describe says in the span which tool is called, and gives what is sent along with
// the call: its place in the trace (OpenTelemetry semantic conventions for MCP).
func describe(ctx context.Context, span *trace.Span, name string) mcp.Meta {
	if span == nil {
		return nil
	}
	span.Set(
		attribute.String("mcp.method.name", "tools/call"), attribute.String("gen_ai.operation.name", "execute_tool"),
		attribute.String("gen_ai.tool.name", name), attribute.String("network.transport", "pipe"),
	)
	return mcp.Meta{trace.Header: trace.Of(ctx).String()}
}

// Close ends the server and every process it started. Calls in flight fail.
func (h *Host) Close() error {
	h.lock <- struct{}{}
	defer func() { <-h.lock }()
	h.closed = true
	if h.current != nil {
		h.current.stop()
		h.current = nil
	}
	return nil
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

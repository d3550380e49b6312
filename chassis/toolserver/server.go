// Package toolserver serves tools over the Model Context Protocol: version
// 2026-07-28, the older ones, and plain JSON-RPC from a client that sends no MCP
// header at all.
//
// The SDK's server checks neither arguments nor results of a low-level tool, does
// not survive a panic in one, and takes the second of two tools of one name in
// silence. So every tool here is a tool.Tool, which holds its contract.
package toolserver

import (
	"context"
	"encoding/json"
	"log/slog"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"sabha.dev/chassis/tool"
)

// Config says what a server says of itself.
type Config struct {
	Name, Title, Release string
	// Instructions tell a model how the tools go together.
	Instructions string
	// Private says that the list of tools is for this caller only, and not to be kept
	// by caches that others read.
	Private bool
	// Sessions that clients may hold over HTTP; nil for none.
	Sessions *Sessions
	Log      *slog.Logger
}

// New makes a server of tools. Two tools of one name give *tool.Duplicate.
func New(c Config, tools ...*tool.Tool) (*mcp.Server, error) {
	options := &mcp.ServerOptions{
		Instructions: c.Instructions,
		Logger:       c.Log,
		Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{}},
		SetCacheable: c.cacheable,
	}
	if c.Sessions != nil {
		options.GetSessionID = c.Sessions.NewID
	}
	server := mcp.NewServer(&mcp.Implementation{Name: c.Name, Title: c.Title, Version: c.Release}, options)
	return server, Add(server, tools...)
}

// cacheable says for whom a list is.
func (c Config) cacheable(_ context.Context, _ mcp.Request, kept *mcp.Cacheable) {
	if c.Private {
		kept.CacheScope = "private"
	}
}

// Add adds tools to a server that has none yet. Two of one name give *tool.Duplicate.
func Add(server *mcp.Server, tools ...*tool.Tool) error {
	set, err := tool.NewSet(tools...)
	if err != nil {
		return err
	}
	for _, t := range set.All() {
		server.AddTool(described(t.Definition), handler(t))
	}
	return nil
}

func described(d tool.Definition) *mcp.Tool {
	m := &mcp.Tool{
		Name: d.Name, Title: d.Title, Description: d.Description, InputSchema: d.Input,
		Annotations: &mcp.ToolAnnotations{
			ReadOnlyHint: d.Effects.ReadOnly, IdempotentHint: d.Effects.Idempotent,
			DestructiveHint: &d.Effects.Destructive, OpenWorldHint: &d.Effects.OpenWorld,
		},
	}
	if d.Output != nil {
		m.OutputSchema = d.Output
	}
	return m
}

// question names the one thing that a tool may ask for.
const question = "question"

func handler(t *tool.Tool) mcp.ToolHandler {
	return func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		r := tool.Request{Arguments: req.Params.Arguments, Asks: canBeAsked(req.Session), Reply: replyOf(req.Params)}
		if token := req.Params.GetProgressToken(); token != nil {
			r.Progress = func(p tool.Progress) {
				_ = req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: token, Message: p.Message, Progress: p.Done, Total: p.Total})
			}
		}
		if r.Reply != nil && older(req.Session) {
			r.Asks = false // the SDK asks these clients itself, and once
		}
		return resultOf(t.Invoke(ctx, r))
	}
}

// canBeAsked tells whether the client shows its user a form (2025-06-18, elicitation).
func canBeAsked(s *mcp.ServerSession) bool {
	p := s.InitializeParams()
	return p != nil && p.Capabilities != nil && p.Capabilities.Elicitation != nil
}

func older(s *mcp.ServerSession) bool {
	p := s.InitializeParams()
	return p == nil || p.ProtocolVersion < Modern
}

func replyOf(p *mcp.CallToolParamsRaw) *tool.Reply {
	given, ok := p.InputResponses[question].(*mcp.ElicitResult)
	if !ok {
		return nil
	}
	r := &tool.Reply{State: p.RequestState, Declined: given.Action != "accept"}
	if !r.Declined {
		r.Content, _ = json.Marshal(given.Content) // it was JSON
	}
	return r
}

func resultOf(o tool.Outcome) (*mcp.CallToolResult, error) {
	if q := o.Question; q != nil {
		asked := &mcp.ElicitParams{Mode: "form", Message: q.Message, RequestedSchema: q.Schema}
		return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{question: asked}, RequestState: q.State}, nil
	}
	result := &mcp.CallToolResult{Content: make([]mcp.Content, len(o.Content)), IsError: o.Failed}
	for i, c := range o.Content {
		result.Content[i] = contentOf(c)
	}
	if o.Structured != nil {
		result.StructuredContent = o.Structured
	}
	return result, nil
}

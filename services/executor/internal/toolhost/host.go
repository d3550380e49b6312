// Package toolhost calls the tools of MCP servers: processes that it runs and speaks with
// over their standard input and output, and remote ones over Streamable HTTP.
//
// Each server is connected on its own, in the background, and again after it ended; what
// is wrong with one of them is told by the calls of its own tools only. Arguments are
// checked against a tool's input schema before a call, structured results against its
// output schema after it. A tool is called only as a person, or the operator's
// configuration, has approved its description and schemas.
package toolhost

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.opentelemetry.io/otel/attribute"

	"sabha.dev/chassis/clock"
	"sabha.dev/chassis/tool"
	"sabha.dev/chassis/trace"
)

// maxTools bounds the list of one server.
const maxTools = 1000

// Ledger keeps which definitions of tools are approved.
type Ledger interface {
	// Offer says what a server lists now. With firstUse all of it is approved if nothing of
	// the server is known yet.
	Offer(ctx context.Context, server string, tools []Definition, firstUse bool) error
	// Standing of the definition of a digest.
	Standing(ctx context.Context, server, tool, digest string) (Standing, error)
	// Known are the names of all tools that were ever listed, by server.
	Known(ctx context.Context) (map[string][]string, error)
}

// Standing is what people have decided on a definition.
type Standing int

// The standings.
const (
	Held Standing = iota
	Approved
	Refused
)

// Config of a host.
type Config struct {
	Servers []Server
	Ledger  Ledger
	Clock   clock.Clock
	Log     *slog.Logger
	// Called hears of every call that reaches for a server: how long it took, and its error;
	// nil for nobody.
	Called func(server string, took time.Duration, err error)
}

// Tool is what a server says of one tool.
type Tool struct {
	Server, Name, Description string
	// Input is the JSON Schema of the arguments; Output that of the structured result, or nil.
	Input, Output json.RawMessage
	Effects       tool.Effects
	// Digest of the definition, that is approved or not.
	Digest string
}

// Full is the name by which a tool is called whatever others there are.
func (t Tool) Full() string { return t.Server + "/" + t.Name }

// Call is what a tool is called with.
type Call struct {
	Tool Tool
	// Arguments are a JSON object; nil means an empty one.
	Arguments json.RawMessage
	// Key is the same for the same call however often it is made; empty for none. A local
	// server is told it.
	Key string
	// Timeout is how long the caller waits if that is less than the server's limit; 0 means the limit.
	Timeout time.Duration
	// Progress hears what the tool says while it works; nil for nobody. It must not block.
	Progress func(Progress)
}

// Host connects the servers and calls their tools. It is safe for concurrent use.
type Host struct {
	ledger Ledger
	clock  clock.Clock
	called func(server string, took time.Duration, err error)
	links  map[string]*link
	stop   context.CancelFunc
	jobs   sync.WaitGroup
}

// New makes a host and begins to connect.
func New(ctx context.Context, c Config) (*Host, error) {
	h := &Host{ledger: c.Ledger, clock: c.Clock, called: c.Called, links: map[string]*link{}}
	if h.called == nil {
		h.called = func(string, time.Duration, error) {}
	}
	for _, s := range c.Servers {
		if err := s.Validate(); err != nil {
			return nil, err
		}
		if h.links[s.Name] != nil {
			return nil, fmt.Errorf("two MCP servers are called %q", s.Name)
		}
		h.links[s.Name] = newLink(s, c)
	}
	known, err := c.Ledger.Known(ctx)
	if err != nil {
		return nil, err
	}
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	h.stop = stop
	for name, l := range h.links {
		l.names = known[name]
		h.jobs.Go(func() { l.run(running) })
	}
	return h, nil
}

// Close ends the servers and every process they started. Calls in flight fail.
func (h *Host) Close() error {
	h.stop()
	h.jobs.Wait()
	return nil
}

// Servers tells how each server is, by name.
func (h *Host) Servers() map[string]Status {
	all := map[string]Status{}
	for name, l := range h.links {
		all[name], _ = l.seen()
	}
	return all
}

// names are those of the tools that a server has, or had when it was last seen.
func (h *Host) names(server string) []string {
	_, names := h.links[server].seen()
	return names
}

// find gives the server of a tool, and its name there: "server/tool", or a name that only
// one server has. A name that nobody has is waited for while servers are being connected.
func (h *Host) find(ctx context.Context, name string) (*link, string, error) {
	if server, there, ok := strings.Cut(name, "/"); ok && h.links[server] != nil {
		return h.links[server], there, nil
	}
	for {
		var on []string
		for server := range h.links {
			if slices.Contains(h.names(server), name) {
				on = append(on, server)
			}
		}
		slices.Sort(on)
		switch {
		case len(on) == 1:
			return h.links[on[0]], name, nil
		case len(on) > 1:
			return nil, "", &Ambiguous{Name: name, Servers: on}
		}
		waited := false
		for _, l := range h.links {
			if s, _ := l.seen(); s.State == Connecting {
				waited = true
				if _, err := l.acquire(ctx); ctx.Err() != nil || errors.Is(err, ErrClosed) {
					return nil, "", err
				}
			}
		}
		if !waited {
			return nil, "", h.unknown(name)
		}
	}
}

func (h *Host) unknown(name string) error {
	u := &UnknownTool{Name: name}
	for server := range h.links {
		for _, t := range h.names(server) {
			u.Known = append(u.Known, server+"/"+t)
		}
	}
	slices.Sort(u.Known)
	return u
}

// Tool gives one tool that may be called. Errors: *UnknownTool, *Ambiguous, *Unusable,
// *tool.InvalidSchema, *HeldTool, *Unavailable, ErrClosed, or the cause of ctx.
func (h *Host) Tool(ctx context.Context, name string) (Tool, error) {
	l, at, err := h.find(ctx, name)
	if err != nil {
		return Tool{}, err
	}
	_, t, err := h.usable(ctx, l, at)
	if err != nil {
		return Tool{}, err
	}
	return t.Tool, nil
}

// usable gives a tool of a server that is ready, if it may be called.
func (h *Host) usable(ctx context.Context, l *link, name string) (*session, *checked, error) {
	s, err := l.acquire(ctx)
	if err != nil {
		return nil, nil, err
	}
	t, ok := s.tools[name]
	if !ok {
		return nil, nil, h.unknown(l.server.Name + "/" + name)
	}
	if t.err != nil {
		return nil, nil, t.err
	}
	standing, err := h.ledger.Standing(ctx, t.Server, t.Name, t.Digest)
	if err != nil {
		return nil, nil, err
	}
	if standing != Approved {
		return nil, nil, &HeldTool{Tool: t.Full(), Refused: standing == Refused}
	}
	return s, t, nil
}

// Call calls a tool. Canceling ctx cancels the call at the server. Errors are those of
// [Host.Tool] and *tool.InvalidInput (the tool was not called), *Changed (it was not called
// either), *ToolFailed (the tool says it failed), *tool.InvalidOutput, ErrTimeout.
func (h *Host) Call(ctx context.Context, c Call) (Result, error) {
	l := h.links[c.Tool.Server]
	if l == nil {
		return Result{}, h.unknown(c.Tool.Full())
	}
	began := h.clock.Now()
	res, err := h.call(ctx, l, c)
	h.called(c.Tool.Server, h.clock.Now().Sub(began), err)
	return res, err
}

func (h *Host) call(ctx context.Context, l *link, c Call) (Result, error) {
	s, t, err := h.usable(ctx, l, c.Tool.Name)
	if err != nil {
		return Result{}, err
	}
	if t.Digest != c.Tool.Digest {
		return Result{}, &Changed{Tool: t.Full()}
	}
	arguments, err := t.contract.Arguments(c.Arguments)
	if err != nil {
		return Result{}, err
	}
	limit := l.server.CallTimeout
	if c.Timeout > 0 {
		limit = min(limit, c.Timeout)
	}
	bounded, cancel := context.WithTimeoutCause(ctx, limit, ErrTimeout)
	defer cancel()
	bounded, span := trace.Start(bounded, trace.Client, "tools/call "+t.Full())
	defer span.End()
	params := &mcp.CallToolParams{Meta: describe(bounded, span, l.server, t.Name), Name: t.Name, Arguments: arguments}
	if l.server.Local != nil {
		params.Meta[MetaRepeatable], params.Meta[MetaKey] = t.Effects.Repeatable(), c.Key
	}
	if c.Progress != nil {
		token, forget := l.listen(c.Progress)
		defer forget()
		params.SetProgressToken(token)
	}
	answer, err := s.CallTool(bounded, params)
	if err != nil {
		span.Fail("tools/call")
		if cause := context.Cause(bounded); cause != nil {
			return Result{}, cause
		}
		err = s.callError(t.Tool, err)
		if _, ok := errors.AsType[*Unavailable](err); ok {
			s.abandon() // whoever calls next gets a new connection
		}
		return Result{}, err
	}
	return t.result(answer)
}

// describe says in the span which tool is called, and gives what is sent along with
// the call: its place in the trace (OpenTelemetry semantic conventions for MCP).
func describe(ctx context.Context, span *trace.Span, s Server, name string) mcp.Meta {
	if span == nil {
		return mcp.Meta{}
	}
	transport := "pipe"
	if s.Remote != nil {
		transport = "tcp"
	}
	span.Set(
		attribute.String("mcp.method.name", "tools/call"), attribute.String("gen_ai.operation.name", "execute_tool"),
		attribute.String("gen_ai.tool.name", name), attribute.String("network.transport", transport),
	)
	return mcp.Meta{trace.Header: trace.Of(ctx).String()}
}

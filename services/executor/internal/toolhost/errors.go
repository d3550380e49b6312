package toolhost

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"sabha.dev/chassis/tool"
)

// Errors of a call that say all there is to say.
var (
	// ErrTimeout: the tool did not answer within the call's time limit. Whether it took effect is not known.
	ErrTimeout = errors.New("the tool did not answer in time")
	// ErrClosed: the host was closed.
	ErrClosed = errors.New("the tool host is closed")

	errSlowStart = errors.New("it took too long to start or to list its tools")
	errEnded     = errors.New("it ended")
	errManyTools = fmt.Errorf("it lists more than %d tools", maxTools)
)

// Why a connection could not be made or was ended.
type (
	start      struct{ error } // it could not be started, or reached
	listing    struct{ error } // it does not list its tools
	protocol   struct{ error } // it breaks the protocol: our own words
	ledgerAway struct{ error } // approvals cannot be read
)

func (e *start) Unwrap() error      { return e.error }
func (e *listing) Unwrap() error    { return e.error }
func (e *protocol) Unwrap() error   { return e.error }
func (e *ledgerAway) Unwrap() error { return e.error }

// whyAway says it to callers, who are told nothing of what is inside.
func whyAway(err error) string {
	var (
		s *start
		l *listing
		p *protocol
		a *ledgerAway
	)
	switch {
	case errors.As(err, &p):
		return "it does not keep to the protocol: " + p.Error()
	case errors.Is(err, errSlowStart), errors.Is(err, errEnded):
		return err.Error()
	case errors.As(err, &s):
		return "it cannot be started or reached"
	case errors.As(err, &l):
		return "it does not list its tools"
	case errors.As(err, &a):
		return "its approvals cannot be read"
	}
	return "it is not connected"
}

// UnknownTool says that the server has no tool of the name.
type UnknownTool struct {
	Name  string
	Known []string // sorted
}

func (e *UnknownTool) Error() string {
	if len(e.Known) == 0 {
		return fmt.Sprintf("there is no tool %q; no server has any", e.Name)
	}
	known := e.Known
	if len(known) > maxNamed {
		known = append(slices.Clone(known[:maxNamed]), fmt.Sprintf("and %d more", len(e.Known)-maxNamed))
	}
	return fmt.Sprintf("there is no tool %q; there are: %s", e.Name, strings.Join(known, ", "))
}

// maxNamed is how many tools a refusal names.
const maxNamed = 30

// Ambiguous says that several servers have a tool of the name.
type Ambiguous struct {
	Name    string
	Servers []string // sorted
}

func (e *Ambiguous) Error() string {
	return fmt.Sprintf("several servers have a tool %q; write %s", e.Name, strings.Join(e.Servers, "/"+e.Name+" or ")+"/"+e.Name)
}

// HeldTool says that nobody has approved what the server says of a tool now.
type HeldTool struct {
	Tool string
	// Refused: a person has said that it is not to be called.
	Refused bool
}

func (e *HeldTool) Error() string {
	if e.Refused {
		return fmt.Sprintf("the tool %q was refused by a person", e.Tool)
	}
	return fmt.Sprintf("the tool %q is new or has changed, and waits for approval", e.Tool)
}

// Changed says that a tool is not what it was a moment ago. It was not called.
type Changed struct{ Tool string }

func (e *Changed) Error() string {
	return fmt.Sprintf("the tool %q has just changed; it was not called", e.Tool)
}

// Unusable says that a tool cannot be called because of how the server lists it.
type Unusable struct {
	Tool, Why string
	cause     error
}

func (e *Unusable) Error() string {
	return fmt.Sprintf("the tool %q cannot be used: %s", e.Tool, e.Why)
}

// Unwrap gives the cause, which is for logs.
func (e *Unusable) Unwrap() error { return e.cause }

// ToolFailed is a call that the tool itself says has failed. Words are the
// server's and are to be shown as such: they are not to be trusted.
type ToolFailed struct {
	Tool, Words string
}

func (e *ToolFailed) Error() string {
	return fmt.Sprintf("the tool %q failed; in its own words: %s", e.Tool, e.Words)
}

// Unavailable says that a server could not be reached, or was lost.
type Unavailable struct {
	Server, What string
	cause        error
}

func (e *Unavailable) Error() string { return fmt.Sprintf("the MCP server %q %s", e.Server, e.What) }

// Unwrap gives the cause, which is for logs.
func (e *Unavailable) Unwrap() error { return e.cause }

func unreadable(t Tool, why string) error {
	return &tool.InvalidOutput{Tool: t.Full(), Problems: []tool.Problem{{Message: why}}}
}

// callError tells an answer that cannot be taken, and a refusal by the server, from a
// broken connection.
func (s *session) callError(t Tool, err error) error {
	var refused *jsonrpc.Error
	if errors.As(err, &refused) && !errors.Is(err, mcp.ErrConnectionClosed) {
		if ours, ok := s.wire.frames.refusal(err); ok {
			return unreadable(t, ours)
		}
		return &ToolFailed{Tool: t.Full(), Words: refused.Message}
	}
	what := "was lost during the call; whether the tool took effect is not known"
	if why := s.wire.frames.reason(); why != nil {
		what = "does not keep to the protocol: " + why.Error() + "; whether the tool took effect is not known"
	}
	return &Unavailable{Server: t.Server, What: what, cause: err}
}

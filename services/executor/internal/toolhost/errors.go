package toolhost

import (
	"errors"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Errors of a call that say all there is to say.
var (
	// ErrTimeout: the tool did not answer within the call's time limit. Whether it took effect is not known.
	ErrTimeout = errors.New("the tool did not answer in time")
	// ErrClosed: the host was closed.
	ErrClosed = errors.New("the tool host is closed")

	errSlowStart = errors.New("the MCP server took too long to start")
)

// UnknownTool says that the server has no tool of the name.
type UnknownTool struct {
	Name  string
	Known []string // sorted
}

func (e *UnknownTool) Error() string {
	if len(e.Known) == 0 {
		return fmt.Sprintf("there is no tool %q; the server has none", e.Name)
	}
	return fmt.Sprintf("there is no tool %q; the server has: %s", e.Name, strings.Join(e.Known, ", "))
}

// Problem is one way in which a value breaks a schema.
type Problem struct {
	Path    string // JSON pointer within the value; empty is the value itself
	Message string
}

func problemText(problems []Problem) string {
	texts := make([]string, len(problems))
	for i, p := range problems {
		if texts[i] = p.Message; p.Path != "" {
			texts[i] = p.Path + ": " + p.Message
		}
	}
	return strings.Join(texts, "; ")
}

// InvalidInput says that the arguments break the tool's input schema. The tool was not called.
type InvalidInput struct {
	Tool     string
	Problems []Problem
}

func (e *InvalidInput) Error() string {
	return fmt.Sprintf("the arguments of %q do not fit its input schema: %s", e.Tool, problemText(e.Problems))
}

// InvalidOutput says that the tool answered something that breaks its own output schema.
type InvalidOutput struct {
	Tool     string
	Problems []Problem
	cause    error
}

func (e *InvalidOutput) Error() string {
	return fmt.Sprintf("the answer of %q does not fit its output schema: %s", e.Tool, problemText(e.Problems))
}

// Unwrap gives the cause, if there is one beyond the problems.
func (e *InvalidOutput) Unwrap() error { return e.cause }

// InvalidSchema says that a tool cannot be used because the server describes it wrongly.
type InvalidSchema struct {
	Tool, Which string
	cause       error
}

func (e *InvalidSchema) Error() string {
	return fmt.Sprintf("the tool %q cannot be used: its %s schema is not valid JSON Schema 2020-12", e.Tool, e.Which)
}

// Unwrap gives what the schema compiler says.
func (e *InvalidSchema) Unwrap() error { return e.cause }

// ToolFailed is a call that the tool itself says has failed. Words are the
// server's and are to be shown as such: they are not to be trusted.
type ToolFailed struct {
	Tool, Words string
}

func (e *ToolFailed) Error() string {
	return fmt.Sprintf("the tool %q failed; in its own words: %s", e.Tool, e.Words)
}

// Unavailable says that the server could not be reached. Where it ended during a
// call, whether the tool took effect is not known.
type Unavailable struct {
	What  string
	cause error
}

func (e *Unavailable) Error() string { return "the MCP server " + e.What }

// Unwrap gives the cause, which is for logs.
func (e *Unavailable) Unwrap() error { return e.cause }

// callError tells a refusal by the server's protocol from a broken connection.
func callError(tool string, err error) error {
	var refused *jsonrpc.Error
	if errors.As(err, &refused) && !errors.Is(err, mcp.ErrConnectionClosed) {
		return &ToolFailed{Tool: tool, Words: refused.Message}
	}
	return &Unavailable{What: "ended during the call", cause: err}
}

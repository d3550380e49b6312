// Package a2aagent is the executor as an A2A agent: messages in, tool calls and
// snippets out.
package a2aagent

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"

	"sabha.dev/chassis/agent"
	"sabha.dev/chassis/fault"
	"sabha.dev/services/executor/internal/sandbox"
)

// Code runs snippets.
type Code interface {
	Run(ctx context.Context, code string, inputs json.RawMessage) (sandbox.Result, error)
}

var _ Code = (*sandbox.Sandbox)(nil)

// Skill ids.
const (
	CallTool = "call-tool"
	RunCode  = "run-code"
)

// ToolCall is the key in a task's metadata of what became of its call: an object with tool;
// review, the id of the task that asks a person, where one was asked; and called, true
// before a call that must not be repeated is made. A task that is taken up again with that
// does not call a second time.
const ToolCall = "urn:sabha:ext:tool-call:v1"

// New makes the executor. Without tools (nil) it cannot call any and does not say that it can.
func New(code Code, tools *Caller, version string) agent.Agent {
	a := agent.Agent{
		Tenant: "executor", Name: "Executor", Version: version,
		Description: "Runs sandboxed Starlark snippets.",
		Skills: []agent.Skill{{
			ID: RunCode, Name: "Run code",
			Description: "Runs a Starlark snippet within limits of steps, memory and time. Data part {code, inputs?} or a text part with the code; " +
				"inputs is an object that the snippet sees by the name inputs. The artifact result holds the value of the variable result, or of the last line.",
			Tags: []string{"code", "starlark"}, Examples: []string{`{"code": "sum = inputs[\"a\"] + inputs[\"b\"]\nsum * 2", "inputs": {"a": 1, "b": 2}}`},
			Budget: 2 * time.Minute,
			Run:    func(ctx context.Context, r agent.Run) (agent.Outcome, error) { return runCode(ctx, r, code) },
		}},
	}
	if tools != nil {
		a.Description = "Calls MCP tools and runs sandboxed Starlark snippets."
		a.Extensions = []*a2apb.AgentExtension{{Uri: ToolCall, Description: "Task metadata: the tool that is being called, where a call must not be repeated, or the review that a call waits for."}}
		a.Skills = append(a.Skills, agent.Skill{
			ID: CallTool, Name: "Call a tool",
			Description: "Calls a tool of a configured MCP server, or an operation of a connector. Data part {tool, arguments?, timeout?}; tool is SERVER/TOOL, or a name that only one server has; {provider, operation} says the same in two fields. " +
				"The arguments are checked against the tool's input schema before the call; timeout is at most the server's, for example 5s. A call that changes something and rests on data that is not trusted waits for a person. " +
				"The artifact result holds the structured result as data and the other content as text, raw and url parts.",
			Tags: []string{"mcp", "tool"}, Examples: []string{`{"tool": "sums/add", "arguments": {"a": 1, "b": 2}}`},
			InputModes: []string{"application/json"},
			Run:        func(ctx context.Context, r agent.Run) (agent.Outcome, error) { return tools.run(ctx, r) },
		})
		a.Route = route
	}
	return a
}

// route finds the skill of a message that names none: what names a tool or an operation is a call.
func route(req *a2apb.SendMessageRequest) string {
	if fields := agent.DataOf(req.GetMessage().GetParts()).GetStructValue().GetFields(); fields["tool"] != nil || fields["operation"] != nil {
		return CallTool
	}
	return RunCode
}

// dataPath names the first data part of a message, or its parts.
func dataPath(parts []*a2apb.Part) string {
	for i, p := range parts {
		if p.GetData() != nil {
			return fmt.Sprintf("message.parts[%d].data", i)
		}
	}
	return "message.parts"
}

func invalid(parts []*a2apb.Part, field, format string, args ...any) error {
	path := dataPath(parts)
	if field != "" {
		path += "." + field
	}
	return fault.Invalid(path, format, args...)
}

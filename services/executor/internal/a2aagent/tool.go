package a2aagent

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/structpb"

	"sabha.dev/chassis/agent"
	"sabha.dev/chassis/clock"
	"sabha.dev/chassis/disclosure"
	"sabha.dev/chassis/fault"
	"sabha.dev/chassis/identity"
	"sabha.dev/chassis/label"
	"sabha.dev/chassis/outlet"
	"sabha.dev/chassis/tool"
	"sabha.dev/services/executor/internal/allow"
	"sabha.dev/services/executor/internal/toolhost"
)

// Tools calls the tools of MCP servers.
type Tools interface {
	Tool(ctx context.Context, name string) (toolhost.Tool, error)
	Call(ctx context.Context, c toolhost.Call) (toolhost.Result, error)
}

// Policy says who may call what.
type Policy interface {
	Check(ctx context.Context, r allow.Request) error
}

// Outlet decides in which form arguments leave to a server.
type Outlet interface {
	JSON(ctx context.Context, use outlet.Use, raw []byte) ([]byte, disclosure.Tokens, error)
}

var (
	_ Tools  = (*toolhost.Host)(nil)
	_ Policy = (*allow.Policy)(nil)
	_ Outlet = (*outlet.Outlet)(nil)
)

// Caller calls tools for tasks.
type Caller struct {
	Tools  Tools
	Policy Policy
	// Outlets are the ways out by server.
	Outlets map[string]Outlet
	Clock   clock.Clock
	// Review gives the connection to the agent that asks people.
	Review func() (grpc.ClientConnInterface, error)
}

type toolRequest struct {
	Tool      string          `json:"tool"`
	Provider  string          `json:"provider"`
	Operation string          `json:"operation"`
	Arguments json.RawMessage `json:"arguments"`
	Timeout   string          `json:"timeout"`
	limit     time.Duration
}

func readTool(m *a2apb.Message) (toolRequest, error) {
	var req toolRequest
	parts := m.GetParts()
	found, err := agent.Decode(parts, &req)
	switch {
	case err != nil:
		return req, err
	case !found:
		return req, invalid(parts, "", "hold no data part; send {tool, arguments}")
	case req.Tool == "" && req.Provider != "" && req.Operation != "":
		req.Tool = req.Provider + "/" + req.Operation // an operation is a tool of its provider
	case req.Tool == "" && (req.Provider != "" || req.Operation != ""):
		return req, invalid(parts, "", "names half of an operation; send {provider, operation, arguments}")
	case req.Tool == "":
		return req, invalid(parts, "tool", "is missing; name the tool to call")
	}
	if req.Timeout != "" {
		if req.limit, err = time.ParseDuration(req.Timeout); err != nil || req.limit <= 0 {
			return req, invalid(parts, "timeout", "is no duration; write for example 5s")
		}
	}
	if in := bytes.TrimSpace(req.Arguments); len(in) == 0 || bytes.Equal(in, []byte("null")) {
		req.Arguments = json.RawMessage("{}")
	}
	if path := inexact(req.Arguments); path != "" {
		return req, invalid(parts, "arguments"+path, "is a whole number from 2^53, which a data part may have rounded; send it as text")
	}
	return req, nil
}

// call is one call of a tool as a task makes it.
type call struct {
	*Caller
	run  agent.Run
	req  toolRequest
	tool toolhost.Tool
	mark *structpb.Struct
}

// run calls a tool. What the call may do outside the platform decides what comes before it:
// a person, where something would be changed because of data that is not trusted; and a
// mark in the task where a call must not be repeated, so that a task that is taken up again
// after a crash does not call twice. Such a task fails, since nobody knows what the first
// call did.
func (k *Caller) run(ctx context.Context, r agent.Run) (agent.Outcome, error) {
	req, err := readTool(first(r))
	if err != nil {
		return agent.Outcome{}, err
	}
	c := &call{Caller: k, run: r, req: req, mark: r.Task().GetMetadata().GetFields()[ToolCall].GetStructValue()}
	if c.mark.GetFields()["called"].GetBoolValue() {
		return agent.Failed(agent.Text("the call of the tool was interrupted by a restart; whether it took effect is not known, so it is not repeated")), nil
	}
	if c.tool, err = k.Tools.Tool(ctx, req.Tool); err != nil {
		return c.refused(err)
	}
	if err := c.allowed(ctx); err != nil {
		return c.refused(err)
	}
	if !c.tool.Effects.ReadOnly && !c.trusted() {
		approved, o, err := c.confirm(ctx)
		if o != nil || err != nil {
			return orNone(o), err
		}
		c.req.Arguments = approved
		if err := c.allowed(ctx); err != nil { // they may be others now
			return c.refused(err)
		}
	}
	arguments, tokens, err := c.leave(ctx)
	if err != nil {
		return c.refused(err)
	}
	c.req.Arguments = arguments
	if !c.tool.Effects.Repeatable() {
		if err := c.note(ctx, "called", structpb.NewBoolValue(true)); err != nil {
			return agent.Outcome{}, err
		}
	}
	result, err := c.make(ctx)
	if err != nil {
		return c.refused(err)
	}
	parts, err := resultParts(result)
	if err != nil {
		return agent.Failed(agent.Text(err.Error())), nil
	}
	parts = tokens.Restore(parts)
	if err := r.Artifact(&a2apb.Artifact{ArtifactId: "result", Name: req.Tool, Description: "The answer of the tool.", Parts: parts}); err != nil {
		return agent.Outcome{}, err
	}
	return agent.Completed(), nil
}

func orNone(o *agent.Outcome) agent.Outcome {
	if o == nil {
		return agent.Outcome{}
	}
	return *o
}

// first is the message that began the task: what is said later belongs to a review.
func first(r agent.Run) *a2apb.Message {
	for _, m := range r.Task().GetHistory() {
		if m.GetRole() == a2apb.Role_ROLE_USER {
			return m
		}
	}
	return r.Request().Message
}

// planner labels what it sends, and says nothing of what a playbook holds itself and of what
// undoes a step.
const planner = "planner"

// trusted tells whether the call may be made unseen: a client's own words may where an edge
// has let them in, and the planner's; what another service says nothing of may not.
func (c *call) trusted() bool {
	for _, p := range first(c.run).GetParts() {
		l := label.Of(p)
		if by := c.run.Request().Caller; l.Integrity == "" && (identity.IsEdge(by) || by == planner) {
			continue
		}
		if !l.Trusts() {
			return false
		}
	}
	return true
}

// allowed asks the policy. What changes something is seen by a person before it is called
// with data that is not trusted, which it is then.
func (c *call) allowed(ctx context.Context) error {
	q := c.run.Request()
	var arguments map[string]any
	if err := json.Unmarshal(c.req.Arguments, &arguments); err != nil {
		return &tool.InvalidInput{Tool: c.tool.Full(), Problems: []tool.Problem{{Message: "the arguments must be a JSON object"}}}
	}
	e := c.tool.Effects
	return c.Policy.Check(ctx, allow.Request{
		Caller: q.Caller, Organisation: q.Principal.Organisation, Subject: q.Principal.Subject, Scopes: q.Principal.Scopes,
		Server: c.tool.Server, Tool: c.tool.Name, Arguments: arguments,
		ReadOnly: e.ReadOnly, Idempotent: e.Idempotent, Destructive: e.Destructive, Trusted: c.trusted() || !e.ReadOnly,
	})
}

// leave gives the arguments in the form in which they may leave, and what stands for what in it.
func (c *call) leave(ctx context.Context) (json.RawMessage, disclosure.Tokens, error) {
	out := c.Outlets[c.tool.Server]
	if out == nil {
		return nil, nil, fmt.Errorf("there is no way out to %s", c.tool.Server)
	}
	use := outlet.Use{Of: c.tool.Name, Labels: label.Of(first(c.run).GetParts()...), Task: c.run.Task().GetId()}
	return out.JSON(ctx, use, c.req.Arguments)
}

// note writes into the task what became of the call.
func (c *call) note(ctx context.Context, key string, v *structpb.Value) error {
	fields := map[string]*structpb.Value{"tool": structpb.NewStringValue(c.tool.Full()), key: v}
	for k, old := range c.mark.GetFields() {
		if _, has := fields[k]; !has {
			fields[k] = old
		}
	}
	c.mark = &structpb.Struct{Fields: fields}
	return c.run.Commit(ctx, agent.Change{Metadata: map[string]*structpb.Value{ToolCall: structpb.NewStructValue(c.mark)}})
}

// progressEvery is the least time between two events of a task about the progress of a tool.
const progressEvery = time.Second

// make makes the call, and turns what the tool says of its progress into events.
func (c *call) make(ctx context.Context) (toolhost.Result, error) {
	newest := make(chan toolhost.Progress, 1)
	done := make(chan struct{})
	told := make(chan struct{})
	go func() {
		defer close(told)
		for {
			select {
			case p := <-newest:
				if err := c.run.Working(agent.Message(untrusted(agent.Text(worded(c.tool.Full(), p))))); err != nil {
					return
				}
			case <-done:
				return
			}
			select {
			case <-c.Clock.After(progressEvery):
			case <-done:
				return
			}
		}
	}()
	result, err := c.Tools.Call(ctx, toolhost.Call{
		Tool: c.tool, Arguments: c.req.Arguments, Timeout: c.req.limit, Key: c.run.Task().GetId(),
		Progress: func(p toolhost.Progress) {
			select {
			case <-newest: // an older one that was not told
			default:
			}
			select {
			case newest <- p:
			default:
			}
		},
	})
	close(done)
	<-told
	return result, err
}

// worded says how far a tool is.
func worded(tool string, p toolhost.Progress) string {
	text := tool + ": "
	switch {
	case p.Total > 0:
		text += fmt.Sprintf("%g of %g", p.Done, p.Total)
	default:
		text += fmt.Sprintf("%g", p.Done)
	}
	if p.Message != "" {
		text += ", " + p.Message
	}
	return text
}

// refused tells why a call gave no result.
func (c *call) refused(err error) (agent.Outcome, error) {
	var (
		unknown   *toolhost.UnknownTool
		ambiguous *toolhost.Ambiguous
		held      *toolhost.HeldTool
		changed   *toolhost.Changed
		denied    *allow.Denied
		input     *tool.InvalidInput
		failed    *toolhost.ToolFailed
		output    *tool.InvalidOutput
		schema    *tool.InvalidSchema
		unusable  *toolhost.Unusable
		gone      *toolhost.Unavailable
	)
	parts := first(c.run).GetParts()
	switch {
	case errors.As(err, &unknown), errors.As(err, &ambiguous):
		return agent.Outcome{}, invalid(parts, "tool", "%s", err.Error())
	case errors.As(err, &input):
		return agent.Outcome{}, invalid(parts, "arguments", "%s", input.Error())
	case errors.As(err, &denied):
		return agent.Rejected(agent.Text(denied.Reason)), nil
	case fault.Is(err, fault.PermissionDenied): // of the way out
		return agent.Rejected(agent.Text(fault.As(err).Message)), nil
	case errors.As(err, &held):
		return agent.Rejected(agent.Text(held.Error() + "; an operator decides with `sabha tool show " + held.Tool + "`")), nil
	case errors.As(err, &changed):
		return agent.Outcome{}, fault.New(fault.Unavailable, "%s", changed.Error())
	case errors.As(err, &failed):
		return agent.Failed(agent.Text("the tool "+failed.Tool+" failed; its own words follow"), untrusted(agent.Text(failed.Words))), nil
	case errors.As(err, &output):
		return agent.Outcome{}, fault.New(fault.InvalidAgentResponse, "%s", output.Error()).Because(err)
	case errors.As(err, &schema):
		return agent.Outcome{}, fault.New(fault.InvalidAgentResponse, "%s", schema.Error()).Because(errors.Unwrap(err))
	case errors.As(err, &unusable):
		return agent.Outcome{}, fault.New(fault.InvalidAgentResponse, "%s", unusable.Error())
	case errors.As(err, &gone):
		return agent.Outcome{}, fault.New(fault.Unavailable, "%s; its operator finds the cause in the log", gone.Error()).Because(errors.Unwrap(err))
	case errors.Is(err, toolhost.ErrTimeout):
		return agent.Outcome{}, fault.New(fault.Unavailable, "%s; whether it took effect is not known", err.Error())
	}
	return agent.Outcome{}, err
}

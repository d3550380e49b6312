package mcptools

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"github.com/google/uuid"

	"sabha.dev/chassis/agent"
	"sabha.dev/chassis/fault"
	"sabha.dev/chassis/tool"
)

// Names of the tools that go on with a task. MCP has tasks of its own as an extension
// that the SDK does not know.
const (
	taskGet    = "task_get"
	taskReply  = "task_reply"
	taskCancel = "task_cancel"
)

func taskInput(more, required string) json.RawMessage {
	return json.RawMessage(`{
  "type": "object",
  "properties": {
    "task_id": {"type": "string", "minLength": 1, "description": "The task, as an earlier result names it."},
    "agent": {"type": "string", "minLength": 1, "description": "The agent of the task, as an earlier result names it."}` + more + `
  },
  "required": ["task_id", "agent"` + required + `],
  "additionalProperties": false
}`)
}

// taskTools go on with what a call has begun, and with any other task of the caller.
func (s *Server) taskTools() []defined {
	return []defined{
		{tool.Definition{
			Name: taskGet, Title: "Look at a task", Description: "Tells the state of a task and what it has made.",
			Input: taskInput("", ""), Output: json.RawMessage(outputSchema), Effects: tool.Effects{ReadOnly: true, Idempotent: true},
		}, s.get},
		{tool.Definition{
			Name: taskReply, Title: "Answer a task", Description: "Answers what a task that is input-required has asked, and waits for what comes of it.",
			Input: taskInput(`,
    "text": {"type": "string", "minLength": 1, "description": "The answer, in words."},
    "data": {"type": "object", "description": "The answer, where the task asked for data."}`, `], "anyOf": [{"required": ["text"]}, {"required": ["data"]}`),
			Output: json.RawMessage(outputSchema), Effects: tool.Effects{Destructive: true, OpenWorld: true},
		}, s.answerTask},
		{tool.Definition{
			Name: taskCancel, Title: "Cancel a task", Description: "Cancels a task. What it has done already is undone where that can be.",
			Input: taskInput("", ""), Output: json.RawMessage(outputSchema), Effects: tool.Effects{Idempotent: true, Destructive: true},
		}, s.cancelTask},
	}
}

// reference is a task of an agent.
type reference struct {
	TaskID string `json:"task_id"`
	Agent  string `json:"agent"`
}

// tenant of the agent.
func (s *Server) tenant(agent string) (string, error) {
	switch {
	case agent == s.Front:
		return "", nil
	case slices.Contains(s.Tenants, agent):
		return agent, nil
	}
	return "", fault.New(fault.UnknownTenant, "there is no agent %q here; there are: %s", agent, strings.Join(append([]string{s.Front}, s.Tenants...), ", "))
}

func (s *Server) read(r tool.Request) (at reference, tenant string, err error) {
	if err = json.Unmarshal(r.Arguments, &at); err == nil {
		tenant, err = s.tenant(at.Agent)
	}
	return at, tenant, err
}

func (s *Server) get(ctx context.Context, r tool.Request) (tool.Answer, error) {
	at, tenant, err := s.read(r)
	if err != nil {
		return tool.Answer{}, err
	}
	t, err := s.Agents.GetTask(outgoing(ctx), &a2apb.GetTaskRequest{Tenant: tenant, Id: at.TaskID})
	if err != nil {
		return tool.Answer{}, s.told(ctx, at.Agent, err)
	}
	a := s.state(at.Agent, t, false)
	a.Failed = false // the task may have failed; looking at it has not
	return a, nil
}

func (s *Server) cancelTask(ctx context.Context, r tool.Request) (tool.Answer, error) {
	at, tenant, err := s.read(r)
	if err != nil {
		return tool.Answer{}, err
	}
	t, err := s.Agents.CancelTask(outgoing(ctx), &a2apb.CancelTaskRequest{Tenant: tenant, Id: at.TaskID})
	if err != nil {
		return tool.Answer{}, s.told(ctx, at.Agent, err)
	}
	a := s.state(at.Agent, t, false)
	a.Failed = false
	return a, nil
}

func (s *Server) answerTask(ctx context.Context, r tool.Request) (tool.Answer, error) {
	if r.Reply != nil {
		return s.reply(ctx, r)
	}
	at, tenant, err := s.read(r)
	if err != nil {
		return tool.Answer{}, err
	}
	m := &a2apb.Message{MessageId: uuid.NewString(), TaskId: at.TaskID, Role: a2apb.Role_ROLE_USER}
	if err := plainParts(m, r.Arguments); err != nil {
		return tool.Answer{}, err
	}
	return s.ask(ctx, at.Agent, &a2apb.SendMessageRequest{Tenant: tenant, Message: m}, r)
}

// reply answers a task's question with what the client's user has said to it. The state
// names the task; whose it is, its agent checks.
func (s *Server) reply(ctx context.Context, r tool.Request) (tool.Answer, error) {
	of, id, ok := strings.Cut(r.Reply.State, "/")
	tenant, err := s.tenant(of)
	if !ok || err != nil {
		return tool.Answer{}, fault.Invalid("requestState", "is not what the question came with")
	}
	if r.Reply.Declined {
		t, err := s.Agents.GetTask(outgoing(ctx), &a2apb.GetTaskRequest{Tenant: tenant, Id: id})
		if err != nil {
			return tool.Answer{}, s.told(ctx, of, err)
		}
		return s.state(of, t, false), nil
	}
	var said struct {
		Answer string `json:"answer"`
	}
	if err := json.Unmarshal(r.Reply.Content, &said); err != nil || said.Answer == "" {
		return tool.Answer{}, fault.Invalid("inputResponses.question.content.answer", "is missing; it is the text that answers the question")
	}
	m := &a2apb.Message{MessageId: uuid.NewString(), TaskId: id, Role: a2apb.Role_ROLE_USER, Parts: []*a2apb.Part{agent.Text(said.Answer)}}
	return s.ask(ctx, of, &a2apb.SendMessageRequest{Tenant: tenant, Message: m}, r)
}

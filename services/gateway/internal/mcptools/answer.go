package mcptools

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/protobuf/types/known/structpb"

	"sabha.dev/chassis/agent"
	"sabha.dev/chassis/fault"
	"sabha.dev/chassis/label"
	"sabha.dev/chassis/tool"
)

// result is the structured result of a tool that asks an agent.
type result struct {
	Task      *task      `json:"task,omitempty"`
	Text      string     `json:"text,omitempty"`
	Data      any        `json:"data,omitempty"`
	Artifacts []artifact `json:"artifacts,omitempty"`
	Integrity string     `json:"integrity,omitempty"`
}

type task struct {
	ID        string `json:"id"`
	Agent     string `json:"agent"`
	ContextID string `json:"context_id,omitempty"`
	State     string `json:"state"`
}

type artifact struct {
	Name string `json:"name,omitempty"`
	Text string `json:"text,omitempty"`
	Data any    `json:"data,omitempty"`
}

// stateName is a state as the JSON of A2A 0.3 and people write it.
func stateName(s a2apb.TaskState) string {
	return strings.ReplaceAll(strings.ToLower(strings.TrimPrefix(s.String(), "TASK_STATE_")), "_", "-")
}

// ask sends a message to an agent and makes an answer of what comes of it.
func (s *Server) ask(ctx context.Context, of string, q *a2apb.SendMessageRequest, r tool.Request) (tool.Answer, error) {
	m, t, err := s.follow(ctx, q, r.Progress)
	if err != nil {
		return tool.Answer{}, s.told(ctx, of, err)
	}
	if m != nil {
		return answered(m), nil
	}
	return s.state(of, t, r.Asks), nil
}

// told is an error of an agent as clients of the other bindings see it.
func (s *Server) told(ctx context.Context, of string, err error) error {
	if f := fault.FromStatus(fault.Mapped(ctx, s.Log, Path+" "+of, err)); f != nil && f.Reason != "" {
		return f
	}
	return err
}

// answered is the answer of an agent that made no task.
func answered(m *a2apb.Message) tool.Answer {
	structured := result{Text: agent.TextOf(m.GetParts()), Data: dataOf(m.GetParts()), Integrity: integrity(m.GetParts())}
	return tool.Answer{Sentence: structured.Text, Structured: structured, Content: files(m.GetParts())}
}

// state is the answer that a task amounts to at present.
func (s *Server) state(of string, t *a2apb.Task, asks bool) tool.Answer {
	said := t.GetStatus().GetMessage().GetParts()
	structured := result{
		Task: &task{ID: t.GetId(), Agent: of, ContextID: t.GetContextId(), State: stateName(t.GetStatus().GetState())},
		Text: agent.TextOf(said), Data: dataOf(said),
	}
	all := said
	a := tool.Answer{Content: files(said)}
	for _, one := range t.GetArtifacts() {
		all = append(all[:len(all):len(all)], one.GetParts()...)
		structured.Artifacts = append(structured.Artifacts, artifact{Name: one.GetName(), Text: agent.TextOf(one.GetParts()), Data: dataOf(one.GetParts())})
		a.Content = append(a.Content, files(one.GetParts())...)
	}
	structured.Integrity = integrity(all)
	a.Structured = structured
	reference := fmt.Sprintf("task %s of %s", t.GetId(), of)
	switch t.GetStatus().GetState() {
	case a2apb.TaskState_TASK_STATE_COMPLETED:
		a.Sentence = strings.Join(append(texts(structured), "["+reference+" is completed]"), "\n\n")
	case a2apb.TaskState_TASK_STATE_FAILED, a2apb.TaskState_TASK_STATE_REJECTED, a2apb.TaskState_TASK_STATE_CANCELED:
		a.Failed = true
		a.Sentence = strings.TrimSpace(fmt.Sprintf("The %s was %s. %s", reference, structured.Task.State, structured.Text))
	case a2apb.TaskState_TASK_STATE_INPUT_REQUIRED:
		if asks {
			return tool.Answer{Question: &tool.Question{Message: structured.Text, Schema: json.RawMessage(replySchema), State: of + "/" + t.GetId()}}
		}
		a.Failed = true
		a.Sentence = fmt.Sprintf("The %s needs to know: %s\nAnswer with task_reply.", reference, structured.Text)
	case a2apb.TaskState_TASK_STATE_AUTH_REQUIRED:
		a.Sentence = fmt.Sprintf("The %s waits for an authorisation, which may take days: %s\nLook again with task_get.", reference, structured.Text)
	default:
		a.Sentence = strings.TrimSpace(fmt.Sprintf("The %s goes on. Look again with task_get. %s", reference, structured.Text))
	}
	return a
}

// replySchema is that of the form in which a client's user answers.
const replySchema = `{"type":"object","properties":{"answer":{"type":"string","title":"Answer"}},"required":["answer"]}`

// texts are what a task has said at its end: its artifacts, else its closing message.
func texts(r result) []string {
	var all []string
	for _, a := range r.Artifacts {
		if a.Text != "" {
			all = append(all, a.Text)
		}
	}
	if len(all) == 0 && r.Text != "" {
		all = append(all, r.Text)
	}
	return all
}

func dataOf(parts []*a2apb.Part) any {
	data := agent.DataOf(parts)
	if data == nil {
		return nil
	}
	return protobuf{data}
}

// protobuf is a value that writes itself.
type protobuf struct{ *structpb.Value }

// MarshalJSON writes the value.
func (p protobuf) MarshalJSON() ([]byte, error) { return p.Value.MarshalJSON() }

func integrity(parts []*a2apb.Part) string {
	if label.Of(parts...).Integrity == label.Untrusted {
		return string(label.Untrusted)
	}
	return ""
}

// files are the parts that are no text and no data.
func files(parts []*a2apb.Part) []tool.Content {
	var all []tool.Content
	for _, p := range parts {
		switch c := p.GetContent().(type) {
		case *a2apb.Part_Raw:
			all = append(all, tool.Content{Data: c.Raw, MediaType: p.GetMediaType()})
		case *a2apb.Part_Url:
			all = append(all, tool.Content{URI: c.Url, MediaType: p.GetMediaType()})
		}
	}
	return all
}

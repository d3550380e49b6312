package a2aagent

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/protobuf/types/known/structpb"

	"sabha.dev/chassis/agent"
	"sabha.dev/chassis/ext"
	"sabha.dev/chassis/fault"
	"sabha.dev/chassis/label"
)

const (
	reviewAgent = "review"
	// askWithin bounds a call of the review agent; askAgain is how long after one that was
	// not heard; lookAgain is how often a review is looked at, should the word of its end be lost.
	askWithin = 10 * time.Second
	askAgain  = 5 * time.Second
	lookAgain = 10 * time.Minute
)

// confirm has a person allow the call. It gives the arguments that the person has approved,
// or how the task goes on without them.
func (c *call) confirm(ctx context.Context) (json.RawMessage, *agent.Outcome, error) {
	conn, err := c.Review()
	if err != nil {
		return nil, nil, fault.New(fault.Unavailable, "a person must approve the call, and the review agent is not connected").Because(err)
	}
	client := a2apb.NewA2AServiceClient(conn)
	bounded, cancel := context.WithTimeout(c.run.Outgoing(ctx), askWithin)
	defer cancel()
	var t *a2apb.Task
	if id := c.mark.GetFields()["review"].GetStringValue(); id != "" {
		t, err = client.GetTask(bounded, &a2apb.GetTaskRequest{Tenant: reviewAgent, Id: id, HistoryLength: new(int32)})
	} else if t, err = c.ask(bounded, client); err == nil {
		if err := c.note(ctx, "review", structpb.NewStringValue(t.GetId())); err != nil {
			return nil, nil, err
		}
	}
	if err != nil {
		return nil, c.unheard(err), ctx.Err()
	}
	switch t.GetStatus().GetState() {
	case a2apb.TaskState_TASK_STATE_COMPLETED:
		return c.decided(t)
	case a2apb.TaskState_TASK_STATE_FAILED, a2apb.TaskState_TASK_STATE_CANCELED, a2apb.TaskState_TASK_STATE_REJECTED:
		o := agent.Failed(agent.Text("the review of the call ended without a decision"))
		return nil, &o, nil
	}
	return nil, c.wait(lookAgain, "waits for a person: the call of "+c.tool.Full()+" rests on data that is not trusted"), nil
}

// ask starts the review, or finds it started.
func (c *call) ask(ctx context.Context, client a2apb.A2AServiceClient) (*a2apb.Task, error) {
	labels := label.Of(first(c.run).GetParts()...)
	effect := "changes something"
	if c.tool.Effects.Destructive {
		effect = "may remove or overwrite something"
	}
	part, err := agent.Data(map[string]any{
		"kind": "action", "title": "Call the tool " + c.tool.Full(), "content": c.req.Arguments, "schema": json.RawMessage(`{"type":"object"}`),
		"effect":  fmt.Sprintf("The tool %s is called with exactly these arguments. It %s.", c.tool.Full(), effect),
		"reasons": []string{"the arguments come from " + c.run.Request().Caller + ", and hold content that is not trusted"},
		"labels":  labels, "risk": "medium",
	})
	if err != nil {
		return nil, err
	}
	task := c.run.Task()
	res, err := client.SendMessage(ctx, &a2apb.SendMessageRequest{
		Tenant: reviewAgent, Configuration: &a2apb.SendMessageConfiguration{ReturnImmediately: true, HistoryLength: new(int32)},
		Message: &a2apb.Message{
			MessageId: task.GetId() + "/confirm", ContextId: task.GetContextId(), Role: a2apb.Role_ROLE_USER, Parts: []*a2apb.Part{part},
			Metadata: &structpb.Struct{Fields: map[string]*structpb.Value{ext.Skill: structpb.NewStringValue(reviewAgent)}},
		},
	})
	return res.GetTask(), err
}

// unheard goes on later, when the review agent can be heard.
func (c *call) unheard(err error) *agent.Outcome {
	if f := fault.FromStatus(err); f != nil && f.Reason != fault.Unavailable {
		o := agent.Failed(agent.Text("a person must approve the call, and nobody could be asked: " + f.Message))
		return &o
	}
	return c.wait(askAgain, "waits for a person, and the review agent cannot be reached")
}

// wait says once that the task waits; its own time stands still meanwhile.
func (c *call) wait(d time.Duration, what string) *agent.Outcome {
	o := agent.AuthRequired(c.Clock.Now().Add(d), agent.Text(what))
	if c.run.Task().GetStatus().GetState() == o.State {
		o.Message = nil
	}
	return &o
}

// decided takes what the person has decided.
func (c *call) decided(t *a2apb.Task) (json.RawMessage, *agent.Outcome, error) {
	var d struct {
		Decision string          `json:"decision"`
		Content  json.RawMessage `json:"content"`
		Reason   string          `json:"reason"`
	}
	for _, a := range t.GetArtifacts() {
		data := agent.DataOf(a.GetParts())
		if a.GetName() != "decision" || data == nil {
			continue
		}
		text, err := data.MarshalJSON()
		if err == nil {
			err = json.Unmarshal(text, &d)
		}
		if err != nil {
			return nil, nil, fmt.Errorf("the decision of review %s: %w", t.GetId(), err)
		}
	}
	if d.Decision == "approved" {
		return d.Content, nil, nil
	}
	why := "a person did not allow the call of " + c.tool.Full()
	if d.Decision == "expired" {
		why = "nobody decided in time on the call of " + c.tool.Full()
	}
	if d.Reason != "" {
		why += ": " + d.Reason
	}
	o := agent.Rejected(agent.Text(why))
	return nil, &o, nil
}

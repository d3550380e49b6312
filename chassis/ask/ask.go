// Package ask is how the run of a task asks another agent, of the platform or of another
// organisation, in one call.
package ask

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/structpb"

	"sabha.dev/chassis/agent"
	"sabha.dev/chassis/ext"
	"sabha.dev/chassis/fault"
)

// Peers gives the connection to an agent; Peer of service.Base is one.
type Peers func(agent string) (*grpc.ClientConn, error)

// Paused is the error of an answer that does not come by itself: the agent that was asked
// needs the client, an authorisation or a person. A run returns Outcome and asks again
// when it is called again.
type Paused struct {
	// TaskID is the task of the agent that was asked.
	TaskID string
	// State is INPUT_REQUIRED or AUTH_REQUIRED; that for a person too.
	State a2apb.TaskState
	// Parts say what is needed.
	Parts []*a2apb.Part
	run   agent.Run
}

// Error says what is waited for.
func (p *Paused) Error() string { return "the answer waits: " + agent.Brief(p.Parts, 200) }

// Outcome passes the pause on to the client of the run.
func (p *Paused) Outcome() agent.Outcome {
	o := agent.InputRequired(p.Parts...)
	o.State, o.WakeAt = p.State, p.run.Deadline()
	if p.run.Task().GetStatus().GetState() == p.State {
		o.Message = nil // it has been told
	}
	return o
}

// Ask puts a question to a skill of an agent and gives the parts of the answer: those of a
// direct Message, or of the artifacts and the last word of a task. Of another
// organisation's agent the agent is "partners" and the skill its address, such as
// "vercel/deploy". inputs are what encoding/json writes as an object; of a partner "text"
// becomes the text of the message.
//
// The call is made on behalf of the run's principal and ends with the run's context. Its
// message id is derived from the task, the skill and the inputs: asked again, also after
// a crash, the same question finds the answer to the first, so a run may ask anew what it
// has asked. A message of the client's that came since goes to an agent that waits for one.
//
// The error is *Paused, or a fault with the agent's own words where it refused or failed.
func (p Peers) Ask(ctx context.Context, run agent.Run, to, skill string, inputs any) ([]*a2apb.Part, error) {
	conn, err := p(to)
	if err != nil {
		return nil, fault.New(fault.Unavailable, "agent %s is not connected", to).Because(err)
	}
	part, err := agent.Data(inputs)
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(inputs)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(fmt.Appendf(text, "\n%s\n%s", to, skill))
	id := run.Task().GetId() + "/ask/" + hex.EncodeToString(sum[:16])
	q := question{client: a2apb.NewA2AServiceClient(conn), to: to}
	out := run.Outgoing(ctx)
	t, parts, err := q.send(out, &a2apb.Message{
		MessageId: id, ContextId: run.Task().GetContextId(), Role: a2apb.Role_ROLE_USER, Parts: []*a2apb.Part{part},
		Metadata: &structpb.Struct{Fields: map[string]*structpb.Value{ext.Skill: structpb.NewStringValue(skill)}},
	})
	if err != nil || t == nil {
		return parts, err
	}
	if m := run.Request().Message; interrupted(t) && len(run.Task().GetHistory()) > 1 && m.GetTaskId() != "" {
		said := sha256.Sum256([]byte(m.GetMessageId()))
		t, _, err = q.send(out, &a2apb.Message{
			MessageId: id + "/" + hex.EncodeToString(said[:8]), TaskId: t.GetId(), Role: a2apb.Role_ROLE_USER, Parts: m.GetParts(),
		})
		if err != nil {
			return nil, err
		}
	}
	return answer(run, t)
}

type question struct {
	client a2apb.A2AServiceClient
	to     string
}

func (q question) send(ctx context.Context, m *a2apb.Message) (*a2apb.Task, []*a2apb.Part, error) {
	res, err := q.client.SendMessage(ctx, &a2apb.SendMessageRequest{
		Tenant: q.to, Message: m, Configuration: &a2apb.SendMessageConfiguration{HistoryLength: new(int32)},
	})
	if err != nil {
		if ctx.Err() != nil {
			return nil, nil, ctx.Err()
		}
		if f := fault.FromStatus(err); f != nil {
			return nil, nil, f
		}
		return nil, nil, fault.New(fault.Unavailable, "agent %s cannot be reached", q.to).Because(err)
	}
	return res.GetTask(), res.GetMessage().GetParts(), nil
}

func interrupted(t *a2apb.Task) bool {
	s := t.GetStatus().GetState()
	return s == a2apb.TaskState_TASK_STATE_INPUT_REQUIRED || s == a2apb.TaskState_TASK_STATE_AUTH_REQUIRED
}

// answer is what a task says that is not going on by itself.
func answer(run agent.Run, t *a2apb.Task) ([]*a2apb.Part, error) {
	said := t.GetStatus().GetMessage().GetParts()
	switch state := t.GetStatus().GetState(); state {
	case a2apb.TaskState_TASK_STATE_COMPLETED:
		var parts []*a2apb.Part
		for _, a := range t.GetArtifacts() {
			parts = append(parts, a.GetParts()...)
		}
		return append(parts, said...), nil
	case a2apb.TaskState_TASK_STATE_FAILED, a2apb.TaskState_TASK_STATE_REJECTED, a2apb.TaskState_TASK_STATE_CANCELED:
		reason := fault.InvalidAgentResponse
		if state == a2apb.TaskState_TASK_STATE_REJECTED {
			reason = fault.PermissionDenied
		}
		how := strings.ToLower(strings.TrimPrefix(state.String(), "TASK_STATE_"))
		return nil, fault.New(reason, "what was asked is %s: %s", how, agent.Brief(said, 1000)).With("taskId", t.GetId())
	case a2apb.TaskState_TASK_STATE_INPUT_REQUIRED:
		return nil, &Paused{t.GetId(), state, said, run}
	}
	// Who is WORKING and lets its caller go waits for a person.
	return nil, &Paused{t.GetId(), a2apb.TaskState_TASK_STATE_AUTH_REQUIRED, said, run}
}

package plan

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/structpb"

	"sabha.dev/chassis/agent"
	"sabha.dev/chassis/ext"
	"sabha.dev/chassis/fault"
	"sabha.dev/services/planner/playbook"
)

// Peers finds the A2A connection of an agent.
type Peers func(agent string) (grpc.ClientConnInterface, error)

// blockFor is how long a step is waited for on the line before the plan parks
// and hears of its end by a wake-up.
const blockFor = 30 * time.Second

// messageID is derived from what it stands for, so that a step that is sent again
// after a crash finds the task it has already started.
func messageID(task string, r *row) string {
	id := fmt.Sprintf("%s/%s/%d/%d", task, r.Step, r.Round, r.Attempt)
	if r.Kind == compensationKind {
		id += "/undo"
	}
	return id
}

func stepMessage(task string, r *row) (*a2apb.Message, error) {
	inputs, err := agent.Data(r.Inputs)
	if err != nil {
		return nil, err
	}
	return &a2apb.Message{
		MessageId: messageID(task, r), Role: a2apb.Role_ROLE_USER, Parts: []*a2apb.Part{inputs},
		Metadata: &structpb.Struct{Fields: map[string]*structpb.Value{
			ext.Skill: structpb.NewStringValue(r.Skill), ext.Step: structpb.NewStringValue(r.Step),
		}},
	}, nil
}

// report is what is known of a step's child after a look at it.
type report struct {
	key rowKey
	// state is Completed, Failed, Canceled, or Running while the child goes on.
	state    playbook.State
	output   playbook.Output
	child    string
	waitsFor string
	ask      *a2apb.Message
	reason   string
	// again tells whether another attempt may help.
	again bool
	// volatile output exists nowhere but here until it is committed.
	volatile bool
}

// send starts a step, or finds it started, and waits for it up to the limit.
func (p *Planner) send(ctx context.Context, task string, r row, limit time.Duration) report {
	rep := report{key: r.key(), state: playbook.Failed, child: r.ChildTask}
	conn, err := p.Peers(r.Agent)
	if err != nil {
		p.Logger.Error("no connection to an agent", "agent", r.Agent, "error", err)
		rep.reason = "agent " + r.Agent + " is not connected"
		return rep
	}
	client := a2apb.NewA2AServiceClient(conn)
	m, err := stepMessage(task, &r)
	if err != nil {
		rep.reason = err.Error()
		return rep
	}
	wait, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	res, err := client.SendMessage(wait, &a2apb.SendMessageRequest{Tenant: r.Agent, Message: m, Configuration: &a2apb.SendMessageConfiguration{HistoryLength: new(int32)}})
	if err != nil && wait.Err() != nil && ctx.Err() == nil {
		// The wait is over, not the work. The same message names the task it became.
		m, _ = stepMessage(task, &r)
		res, err = client.SendMessage(ctx, &a2apb.SendMessageRequest{Tenant: r.Agent, Message: m, Configuration: &a2apb.SendMessageConfiguration{ReturnImmediately: true, HistoryLength: new(int32)}})
	}
	if err != nil {
		return failed(rep, err)
	}
	if msg := res.GetMessage(); msg != nil {
		rep.state, rep.volatile = playbook.Completed, true
		rep.output = outputOf("", "", msg.GetParts())
		return rep
	}
	return observe(rep, res.GetTask())
}

// look reads the child of a step that was started before.
func (p *Planner) look(ctx context.Context, r row) report {
	rep := report{key: r.key(), state: playbook.Failed, child: r.ChildTask}
	conn, err := p.Peers(r.Agent)
	if err != nil {
		rep.reason = "agent " + r.Agent + " is not connected"
		return rep
	}
	t, err := a2apb.NewA2AServiceClient(conn).GetTask(ctx, &a2apb.GetTaskRequest{Tenant: r.Agent, Id: r.ChildTask, HistoryLength: new(int32)})
	if err != nil {
		if again(err) { // the agent may be back in a moment; its task is not lost
			rep.state = playbook.Running
			return rep
		}
		return failed(rep, err)
	}
	return observe(rep, t)
}

// stop cancels the child of a step. It reports why it could not, or "".
func (p *Planner) stop(ctx context.Context, r row) string {
	if r.ChildTask == "" {
		return ""
	}
	conn, err := p.Peers(r.Agent)
	if err != nil {
		return "agent " + r.Agent + " is not connected"
	}
	_, err = a2apb.NewA2AServiceClient(conn).CancelTask(ctx, &a2apb.CancelTaskRequest{Tenant: r.Agent, Id: r.ChildTask})
	if f := fault.FromStatus(err); f != nil && f.Reason == fault.TaskNotCancelable {
		return "" // it has ended by itself
	}
	if err != nil {
		return sentence(err)
	}
	return ""
}

// observe turns a child task into a report.
func observe(rep report, t *a2apb.Task) report {
	rep.child = t.GetId()
	note := agent.TextOf(t.GetStatus().GetMessage().GetParts())
	var parts []*a2apb.Part
	for _, a := range t.GetArtifacts() {
		parts = append(parts, a.GetParts()...)
	}
	switch st := t.GetStatus().GetState(); st {
	case a2apb.TaskState_TASK_STATE_COMPLETED:
		if len(parts) == 0 {
			parts = t.GetStatus().GetMessage().GetParts()
		}
		rep.state = playbook.Completed
		rep.output = outputOf(st.String(), t.GetId(), parts)
	case a2apb.TaskState_TASK_STATE_FAILED:
		rep.state, rep.again, rep.reason = playbook.Failed, true, orElse(note, "the agent gave no reason")
	case a2apb.TaskState_TASK_STATE_REJECTED:
		rep.state, rep.reason = playbook.Failed, orElse(note, "the agent refused the work")
	case a2apb.TaskState_TASK_STATE_CANCELED:
		rep.state, rep.reason = playbook.Canceled, orElse(note, "canceled")
	case a2apb.TaskState_TASK_STATE_INPUT_REQUIRED:
		rep.state, rep.waitsFor, rep.ask = playbook.Running, "input", t.GetStatus().GetMessage()
	case a2apb.TaskState_TASK_STATE_AUTH_REQUIRED:
		rep.state, rep.waitsFor, rep.ask = playbook.Running, "auth", t.GetStatus().GetMessage()
	default:
		rep.state = playbook.Running
	}
	return rep
}

func orElse(s, other string) string {
	if s == "" {
		return other
	}
	return s
}

func failed(rep report, err error) report {
	rep.state, rep.again, rep.reason = playbook.Failed, again(err), sentence(err)
	return rep
}

// again tells whether the same call may succeed later.
func again(err error) bool {
	switch status.Code(err) {
	case codes.Unavailable, codes.DeadlineExceeded, codes.ResourceExhausted, codes.Aborted, codes.Internal, codes.AlreadyExists:
		return true
	}
	return false
}

// sentence is what a client may read about a failed call.
func sentence(err error) string {
	if f := fault.As(err); f != nil {
		return f.Message
	}
	if f := fault.FromStatus(err); f != nil {
		return f.Message
	}
	switch status.Code(err) {
	case codes.Unavailable:
		return "the agent cannot be reached"
	case codes.DeadlineExceeded:
		return "the agent did not answer in time"
	}
	if errors.Is(err, context.Canceled) {
		return "the call was interrupted"
	}
	return "the agent failed"
}

// outputOf gathers text and data of parts: texts joined, data objects merged in
// order. Data that is not an object is kept under "value".
func outputOf(state, task string, parts []*a2apb.Part) playbook.Output {
	out := playbook.Output{Text: agent.TextOf(parts), Data: map[string]any{}, State: state, Task: task}
	for _, p := range parts {
		d := p.GetData()
		if d == nil {
			continue
		}
		if object, ok := d.AsInterface().(map[string]any); ok {
			for k, v := range object {
				out.Data[k] = v
			}
			continue
		}
		out.Data["value"] = d.AsInterface()
	}
	return out
}

// find names the task that a step's message became, without waiting for it.
func (p *Planner) find(ctx context.Context, task string, r row) report {
	rep := report{key: r.key(), state: playbook.Running}
	conn, err := p.Peers(r.Agent)
	if err != nil {
		return rep
	}
	m, err := stepMessage(task, &r)
	if err != nil {
		return rep
	}
	res, err := a2apb.NewA2AServiceClient(conn).SendMessage(ctx, &a2apb.SendMessageRequest{
		Tenant: r.Agent, Message: m, Configuration: &a2apb.SendMessageConfiguration{ReturnImmediately: true, HistoryLength: new(int32)},
	})
	if err != nil {
		return rep
	}
	rep.child = res.GetTask().GetId()
	return rep
}

// answer passes a client's message on to the child that asked, once.
func (p *Planner) answer(ctx context.Context, r row, m *a2apb.Message, limit time.Duration) report {
	rep := report{key: r.key(), state: playbook.Failed, child: r.ChildTask}
	conn, err := p.Peers(r.Agent)
	if err != nil {
		rep.reason = "agent " + r.Agent + " is not connected"
		return rep
	}
	wait, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	res, err := a2apb.NewA2AServiceClient(conn).SendMessage(wait, &a2apb.SendMessageRequest{
		Tenant: r.Agent,
		Message: &a2apb.Message{
			MessageId: m.GetMessageId() + "/" + r.Step, TaskId: r.ChildTask, Role: a2apb.Role_ROLE_USER, Parts: m.GetParts(),
		},
		Configuration: &a2apb.SendMessageConfiguration{HistoryLength: new(int32)},
	})
	if err != nil {
		return p.look(ctx, r)
	}
	return observe(rep, res.GetTask())
}

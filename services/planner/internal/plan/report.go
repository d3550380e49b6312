package plan

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/structpb"

	"sabha.dev/chassis/agent"
	"sabha.dev/chassis/ext"
	"sabha.dev/chassis/fault"
	"sabha.dev/chassis/label"
	"sabha.dev/services/planner/playbook"
)

// report is what is known of a step's child after a look at it.
type report struct {
	key rowKey
	// state is Completed, Failed, Canceled, or Running while the child goes on.
	state    playbook.State
	output   playbook.Output
	labels   label.Labels // of the output
	child    string
	waitsFor string
	ask      *a2apb.Message
	reason   string
	// again tells whether another attempt may help; fresh that it must be a call of
	// its own, because this one has ended for good.
	again, fresh bool
	// lost tells that the agent could not be heard: its task, if it has one, goes on.
	lost bool
	// answered tells that the child has had the client's answer.
	answered bool
	// volatile output exists nowhere but here until it is committed.
	volatile bool
}

// observe turns a child task into a report.
func observe(rep report, t *a2apb.Task) report {
	rep.child = t.GetId()
	note := storable(agent.TextOf(t.GetStatus().GetMessage().GetParts()))
	var parts []*a2apb.Part
	for _, a := range t.GetArtifacts() {
		parts = append(parts, a.GetParts()...)
	}
	switch st := t.GetStatus().GetState(); st {
	case a2apb.TaskState_TASK_STATE_COMPLETED:
		if len(parts) == 0 {
			parts = t.GetStatus().GetMessage().GetParts()
		}
		rep.state, rep.output, rep.labels = playbook.Completed, outputOf(st.String(), t.GetId(), parts), label.Of(parts...)
	case a2apb.TaskState_TASK_STATE_FAILED:
		rep.state, rep.again, rep.fresh, rep.reason = playbook.Failed, true, true, orElse(note, "the agent gave no reason")
	case a2apb.TaskState_TASK_STATE_REJECTED:
		rep.state, rep.reason = playbook.Failed, orElse(note, "the agent refused the work")
	case a2apb.TaskState_TASK_STATE_CANCELED:
		rep.state, rep.reason = playbook.Canceled, orElse(note, "canceled")
	case a2apb.TaskState_TASK_STATE_INPUT_REQUIRED:
		rep.state, rep.waitsFor, rep.ask = playbook.Running, waitInput, t.GetStatus().GetMessage()
	case a2apb.TaskState_TASK_STATE_AUTH_REQUIRED:
		rep.state, rep.waitsFor, rep.ask = playbook.Running, waitAuth, t.GetStatus().GetMessage()
	default:
		rep.state = playbook.Running
		if wait := t.GetMetadata().GetFields()[ext.Wait]; wait.GetStructValue() != nil && st == a2apb.TaskState_TASK_STATE_WORKING {
			rep.waitsFor, rep.ask = waitAuth, awaited(rep.key.step, wait)
		}
	}
	return rep
}

// awaited tells the client that a step waits for a person.
func awaited(step string, wait *structpb.Value) *a2apb.Message {
	f := wait.GetStructValue().GetFields()
	text := fmt.Sprintf("step %q waits for a person to decide", step)
	if queue := f["queue"].GetStringValue(); queue != "" {
		text += fmt.Sprintf(" (queue %s)", queue)
	}
	if due, err := time.Parse(time.RFC3339Nano, f["due"].GetStringValue()); err == nil {
		text += ", by " + due.UTC().Format("2 January 2006 15:04 MST")
	}
	m := agent.Message(agent.Text(text + ". It goes on by itself then; a message to this task is a comment."))
	m.Metadata = &structpb.Struct{Fields: map[string]*structpb.Value{ext.Wait: wait}}
	return m
}

func orElse(s, other string) string {
	if s == "" {
		return other
	}
	return s
}

// failed reports a call that gave an error.
func failed(rep report, err error) report {
	rep.state, rep.reason = playbook.Failed, sentence(err)
	code := status.Code(err)
	if fault.As(err) != nil {
		code = fault.Status(err).Code()
	}
	switch code {
	case codes.Unavailable, codes.DeadlineExceeded, codes.Canceled:
		rep.state, rep.lost = playbook.Running, true
	case codes.ResourceExhausted:
		f := fault.FromStatus(fault.Status(err).Err())
		rep.again = f == nil || f.Reason != fault.TooLarge
	case codes.Aborted, codes.Internal:
		rep.again = true
	case codes.AlreadyExists:
		rep.again, rep.fresh = true, true
	}
	return rep
}

// sentence is what a client may read about a failed call.
func sentence(err error) string {
	if f := fault.As(err); f != nil {
		return storable(f.Message)
	}
	if f := fault.FromStatus(err); f != nil {
		return storable(f.Message)
	}
	switch status.Code(err) {
	case codes.Unavailable:
		return "the agent cannot be reached"
	case codes.DeadlineExceeded, codes.Canceled:
		return "the agent did not answer in time"
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return "the agent did not answer in time"
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

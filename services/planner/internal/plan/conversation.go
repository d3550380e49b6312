package plan

import (
	"context"
	"slices"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/protobuf/types/known/structpb"

	"sabha.dev/chassis/agent"
	"sabha.dev/chassis/ext"
	"sabha.dev/chassis/label"
	"sabha.dev/services/planner/playbook"
)

// messages are those that the client has sent to the task so far.
func (i *interpreter) messages() []*a2apb.Message { return userMessages(i.run.Task()) }

func userMessages(t *a2apb.Task) []*a2apb.Message {
	var list []*a2apb.Message
	for _, m := range t.GetHistory() {
		if m.GetRole() == a2apb.Role_ROLE_USER {
			list = append(list, m)
		}
	}
	return list
}

func (i *interpreter) message(id string) *a2apb.Message {
	for _, m := range i.messages() {
		if m.GetMessageId() == id {
			return m
		}
	}
	return nil
}

// waiting lists the steps whose children wait for people: those that need the
// client's input first, then the longest waiting.
func (i *interpreter) waiting() []*row {
	list := i.plan.ordered(func(r *row) bool { return r.WaitsFor != "" && r.State == playbook.Running })
	slices.SortStableFunc(list, func(a, b *row) int {
		if a.WaitsFor != b.WaitsFor {
			return strings.Compare(b.WaitsFor, a.WaitsFor) // input before auth
		}
		return a.AskedAt.Compare(b.AskedAt)
	})
	return list
}

// hear gives what the client has said since to the steps that wait for it: each
// message to the step it names, else to the one that waits longest. What is said
// while nothing waits for the client is a comment; it stays in the task's history,
// and approves nothing.
func (i *interpreter) hear() {
	waiting := slices.DeleteFunc(i.waiting(), func(r *row) bool { return r.WaitsFor != waitInput })
	if len(waiting) == 0 {
		return
	}
	for n, m := range i.messages() {
		named := m.GetMetadata().GetFields()[ext.Step].GetStringValue()
		taken := false
		for _, r := range waiting {
			if r.AskedAfter > n || r.Answer != "" {
				continue
			}
			if !taken && (named == "" || named == r.Step) {
				i.answered(r, m)
				taken = true
			}
			r.AskedAfter = n + 1 // no message answers twice
			i.mark(r)
		}
	}
	for _, r := range waiting {
		if r.Answer != "" && !i.busy[r.key()] {
			i.follow(r)
		}
	}
}

// answered puts the client's message on its way to the child that asked.
func (i *interpreter) answered(r *row, m *a2apb.Message) {
	i.resumed(r, i.p.Clock.Now())
	r.In = label.Join(r.In, asked([]*a2apb.Message{m}, i.run.Request().Caller))
	r.Answer = m.GetMessageId()
}

// status is what the task shows while its plan goes on: that it is being
// cancelled, the oldest question to the client, else that it works.
func (i *interpreter) status() (a2apb.TaskState, *a2apb.Message) {
	working := a2apb.TaskState_TASK_STATE_WORKING
	switch i.plan.phase {
	case cancelling:
		text := "cancelling"
		if reason := i.canceledFor(); reason != "" {
			text = "cancelling for an operator: " + reason
		}
		return working, agent.Message(agent.Text(text))
	case failing, rejecting:
		if len(i.plan.open())+len(i.plan.toUndo()) == 0 {
			return working, nil
		}
		return working, agent.Message(agent.Text("failing: stopping what runs and undoing what was done"))
	}
	waiting := i.waiting()
	if len(waiting) == 0 {
		return working, nil
	}
	r := waiting[0]
	state, text := a2apb.TaskState_TASK_STATE_INPUT_REQUIRED, "step "+r.Step+" waits for your answer"
	if r.WaitsFor == waitAuth {
		state, text = a2apb.TaskState_TASK_STATE_AUTH_REQUIRED, "step "+r.Step+" waits for an authorisation"
	}
	m := agent.Message(agent.Text(text))
	if ask := i.asks[r.key()]; len(ask.GetParts()) > 0 {
		m = agent.Message(ask.GetParts()...)
	}
	m.Metadata = &structpb.Struct{Fields: map[string]*structpb.Value{ext.Step: structpb.NewStringValue(r.Step)}}
	if wait := i.asks[r.key()].GetMetadata().GetFields()[ext.Wait]; wait != nil {
		m.Metadata.Fields[ext.Wait] = wait
	}
	return state, m
}

// showing names an interruption, so that readers are told of each once. Work in
// progress has no name.
func showing(state a2apb.TaskState, m *a2apb.Message) string {
	switch state {
	case a2apb.TaskState_TASK_STATE_INPUT_REQUIRED, a2apb.TaskState_TASK_STATE_AUTH_REQUIRED:
		return state.String() + " " + m.GetMetadata().GetFields()[ext.Step].GetStringValue() + " " + agent.TextOf(m.GetParts())
	}
	return ""
}

// halt has the child of a step that is over its budget stopped.
func (i *interpreter) halt(r *row, reason string) {
	i.start(r, func(ctx, _ context.Context, r row) report { return i.p.halt(ctx, r, reason) })
}

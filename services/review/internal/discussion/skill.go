package discussion

import (
	"context"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/protobuf/types/known/structpb"

	"sabha.dev/chassis/agent"
	"sabha.dev/chassis/ext"
	"sabha.dev/chassis/fault"
	"sabha.dev/chassis/taskstore"
)

// AskNetwork is the id of the skill.
const AskNetwork = "ask-network"

// patience is how long a question waits: people take the time they take.
const patience = 10 * 365 * 24 * time.Hour

// Skill asks people: its task works until somebody else has replied.
func (b *Board) Skill() agent.Skill {
	return agent.Skill{
		ID: AskNetwork, Name: "Ask the network", OwnClock: true, Budget: patience,
		Description: "Asks the people of the caller's organisation. Data part {question, title?, tags?}, or a text part with the question. The task works until somebody " +
			"else than the caller has replied, and completes with that reply, which nobody has checked. As people take their time, a send needs " +
			"configuration.returnImmediately: true. The discussion is kept, also when the task is canceled.",
		Tags: []string{"people"}, Examples: []string{`{"action": "ask-network", "title": "Flood zones", "question": "Who knows why parcel 17 changed its zone?", "tags": ["maps"]}`},
		Check: b.check, Run: b.run,
	}
}

// Route finds the skill of a message that names none: text, or data with a question,
// is a question. Whatever else is the agent's own default.
func Route(req *a2apb.SendMessageRequest) string {
	parts := req.GetMessage().GetParts()
	fields := agent.DataOf(parts).GetStructValue().GetFields()
	if fields["question"] != nil || fields["action"].GetStringValue() == AskNetwork || fields == nil && agent.TextOf(parts) != "" {
		return AskNetwork
	}
	return ""
}

func (b *Board) check(_ context.Context, req *agent.Request) error {
	if req.Principal.Anonymous() {
		return fault.New(fault.Unauthenticated, "a question belongs to somebody who is known; send an API key or a token")
	}
	if _, err := read(req.Message); err != nil {
		return err
	}
	if !req.AtOnce {
		return fault.New(fault.UnsupportedOperation, "people take the time they take, so nobody waits for them on the line; set configuration.returnImmediately to true and get the task later")
	}
	return nil
}

// read reads a question.
func read(m *a2apb.Message) (Question, error) {
	var in struct {
		Action   string   `json:"action"`
		Title    string   `json:"title"`
		Question string   `json:"question"`
		Tags     []string `json:"tags"`
	}
	found, err := agent.Decode(m.GetParts(), &in)
	if err != nil {
		return Question{}, err
	}
	q, path := Question{Title: strings.TrimSpace(in.Title), Text: in.Question, Tags: in.Tags}, "message.parts"
	if found && in.Action != "" && in.Action != AskNetwork {
		return Question{}, fault.Invalid(path, "the action %q is not one of this skill; leave it out or write %s", clip(in.Action), AskNetwork)
	}
	if q.Text == "" {
		q.Text = agent.TextOf(m.GetParts())
	}
	return q, q.Check(path)
}

// run puts the question up, takes what the author says later, and waits. A reply ends
// the task without it.
func (b *Board) run(ctx context.Context, run agent.Run) (agent.Outcome, error) {
	task := run.Task()
	var asked []*a2apb.Message
	for _, m := range task.GetHistory() {
		if m.GetRole() == a2apb.Role_ROLE_USER {
			asked = append(asked, m)
		}
	}
	there, err := b.exists(ctx, task.GetId())
	if err != nil {
		return agent.Outcome{}, err
	}
	who := run.Request().Principal
	if !there {
		q, err := read(asked[0])
		if err != nil {
			return agent.Outcome{}, err
		}
		d := Discussion{ID: task.GetId(), Author: who.Key(), Organisation: who.Organisation, Title: q.Headline(), Question: q.Text, Tags: q.Tags, AskedAt: b.clock.Now()}
		if err := run.Note(waits(Insert(d))); err != nil {
			return agent.Outcome{}, err
		}
	}
	for n, m := range asked[1:] {
		text := clipTo(agent.TextOf(m.GetParts()), MaxReply)
		if strings.TrimSpace(text) == "" {
			continue
		}
		if err := run.Note(agent.Change{Rows: Remark(task.GetId(), who.Key(), n+1, text, b.clock.Now())}); err != nil {
			return agent.Outcome{}, err
		}
	}
	b.tell(task.GetId())
	return agent.Parked(run.Deadline()), nil
}

// waits says with the rows of a question that its task waits for people.
func waits(rows taskstore.Rows) agent.Change {
	meta := map[string]*structpb.Value{ext.Wait: structpb.NewStructValue(&structpb.Struct{Fields: map[string]*structpb.Value{"for": structpb.NewStringValue("person")}})}
	return agent.Change{
		Rows: rows, Metadata: meta,
		Events: []*a2apb.StreamResponse{{Payload: &a2apb.StreamResponse_StatusUpdate{StatusUpdate: &a2apb.TaskStatusUpdateEvent{
			Status: &a2apb.TaskStatus{State: a2apb.TaskState_TASK_STATE_WORKING}, Metadata: &structpb.Struct{Fields: meta},
		}}}},
	}
}

func clipTo(s string, most int) string {
	s = strings.ReplaceAll(s, "\x00", "")
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "")
}

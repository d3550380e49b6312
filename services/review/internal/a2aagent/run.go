package a2aagent

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/structpb"

	"sabha.dev/chassis/agent"
	"sabha.dev/chassis/ext"
	"sabha.dev/chassis/fault"
	"sabha.dev/chassis/label"
	reviewv1 "sabha.dev/gen/sabha/review/v1"
	"sabha.dev/services/review/internal/item"
)

// run takes a review from where it is stored to its next pause. It is called when the
// task is new, when somebody has decided or asked, when the requester has written,
// when the policy has something to do, and when the task is canceled.
func (p *persona) run(ctx context.Context, run agent.Run) (agent.Outcome, error) {
	id := run.Task().GetId()
	i, err := p.items.Get(ctx, id)
	switch {
	case fault.Is(err, fault.ItemNotFound) && canceling(run):
		return agent.Canceled(agent.Text("canceled before anybody was asked")), nil
	case fault.Is(err, fault.ItemNotFound):
		return p.begin(ctx, run)
	case err != nil:
		return agent.Outcome{}, err
	case canceling(run):
		o := agent.Canceled(agent.Text("canceled; nobody needs to decide any more"))
		o.Rows = p.items.Rows(id, func(i *item.Item) (*item.Change, error) { return i.Cancel(p.clock.Now()), nil },
			func(i *item.Item, c *item.Change) {
				if c != nil {
					p.counts.end(i)
				}
			})
		return o, nil
	}
	if i, err = p.hear(ctx, run, i); err != nil {
		return agent.Outcome{}, err
	}
	if i, err = p.keepTime(ctx, run, i); err != nil {
		return agent.Outcome{}, err
	}
	switch {
	case i.Ended():
		return p.finish(ctx, run, i)
	case i.State == reviewv1.State_STATE_ASKED:
		return p.ask(ctx, run, i)
	}
	return agent.Parked(wakeAt(i)), nil
}

func canceling(run agent.Run) bool {
	select {
	case <-run.Canceling():
		return true
	default:
		return false
	}
}

// begin makes the item.
func (p *persona) begin(ctx context.Context, run agent.Run) (agent.Outcome, error) {
	req := run.Request()
	s, err := read(userMessages(run.Task())[0])
	if err != nil {
		return agent.Outcome{}, err
	}
	body, digest, err := s.Encode()
	if err != nil {
		return agent.Outcome{}, err
	}
	o := item.Origin{ID: run.Task().GetId(), Requester: req.Principal.Key(), RootTaskID: req.RootTaskID, TraceID: req.TraceID, CreatedAt: p.clock.Now()}
	i, e := item.New(o, s, digest, p.policy.Terms(s.SubjectOf(o), o.CreatedAt))
	if err := run.Note(waits(i, agent.Change{Rows: p.items.Insert(i, body, e)})); err != nil {
		return agent.Outcome{}, err
	}
	return agent.Parked(wakeAt(i)), nil
}

// waits says with a change whom the task waits for until when.
func waits(i *item.Item, ch agent.Change) agent.Change {
	fields := map[string]*structpb.Value{
		"for": structpb.NewStringValue("person"), "queue": structpb.NewStringValue(i.Queue), "due": structpb.NewStringValue(stamp(i.DueAt)),
	}
	text := fmt.Sprintf("waits for a person in the queue %s, due %s", i.Queue, stamp(i.DueAt))
	if !i.ExpiresAt.IsZero() {
		fields["until"] = structpb.NewStringValue(stamp(i.ExpiresAt))
	}
	m := agent.Message(agent.Text(text))
	m.MessageId = fmt.Sprintf("%s-%d", i.ID, i.Version)
	ch.Metadata = map[string]*structpb.Value{ext.Wait: structpb.NewStructValue(&structpb.Struct{Fields: fields})}
	ch.Events = append(ch.Events, &a2apb.StreamResponse{Payload: &a2apb.StreamResponse_StatusUpdate{StatusUpdate: &a2apb.TaskStatusUpdateEvent{
		Status:   &a2apb.TaskStatus{State: a2apb.TaskState_TASK_STATE_WORKING, Message: m},
		Metadata: &structpb.Struct{Fields: ch.Metadata},
	}}})
	return ch
}

// hear takes what the requester has written since.
func (p *persona) hear(ctx context.Context, run agent.Run, i *item.Item) (*item.Item, error) {
	messages := userMessages(run.Task())
	for n := i.Messages; n < len(messages) && !i.Ended(); n++ {
		exchanges, err := p.items.Exchanges(ctx, i.ID)
		if err != nil {
			return nil, err
		}
		text := textOf(messages[n])
		next, after := i, i.Answer(open(exchanges), text, p.clock.Now()).After
		ch := agent.Change{Rows: p.items.Rows(i.ID, func(i *item.Item) (*item.Change, error) {
			if i.Ended() || i.Messages > n {
				return nil, nil
			}
			return i.Answer(open(exchanges), text, p.clock.Now()), nil
		}, func(now *item.Item, _ *item.Change) { next = now })}
		if err := run.Commit(ctx, waits(after, ch)); err != nil {
			return nil, err
		}
		i = next
	}
	return i, nil
}

// open is the question that has no answer yet, or nil.
func open(exchanges []item.Exchange) *item.Exchange {
	for n := range exchanges {
		if exchanges[n].AskedBy != "" && exchanges[n].AnsweredAt.IsZero() {
			return &exchanges[n]
		}
	}
	return nil
}

// keepTime does what the policy says when its time has come.
func (p *persona) keepTime(ctx context.Context, run agent.Run, i *item.Item) (*item.Item, error) {
	now := p.clock.Now()
	for at := wakeAt(i); !i.Ended() && !now.Before(at); at = wakeAt(i) {
		next := i
		err := run.Commit(ctx, agent.Change{Rows: p.items.Rows(i.ID, func(i *item.Item) (*item.Change, error) {
			if i.Ended() || now.Before(wakeAt(i)) {
				return nil, nil
			}
			return i.Apply(p.step(i, now), now), nil
		}, func(now *item.Item, _ *item.Change) { next = now })})
		if err != nil {
			return nil, err
		}
		i = next
	}
	return i, nil
}

// step is what the policy says, made safe: an item whose time is over ends.
func (p *persona) step(i *item.Item, now time.Time) item.Step {
	s := p.policy.Next(i, now)
	switch over := !now.Before(end(i)); {
	case over && s.End == reviewv1.State_STATE_UNSPECIFIED:
		return item.Step{End: reviewv1.State_STATE_EXPIRED, Reason: "nobody decided in time"}
	case !s.Next.IsZero() && !s.Next.After(now):
		s.Next = now.Add(time.Minute) // a step that changes nothing is not asked for again at once
	}
	return s
}

// end is when the item ends by itself.
func end(i *item.Item) time.Time {
	if i.ExpiresAt.IsZero() {
		return i.CreatedAt.Add(maxWait - time.Hour) // before its task does
	}
	return i.ExpiresAt
}

// wakeAt is when the policy has something to do.
func wakeAt(i *item.Item) time.Time {
	if at := end(i); i.Next.IsZero() || at.Before(i.Next) {
		return at
	}
	return i.Next
}

// ask has the requester answer, once.
func (p *persona) ask(ctx context.Context, run agent.Run, i *item.Item) (agent.Outcome, error) {
	exchanges, err := p.items.Exchanges(ctx, i.ID)
	if err != nil {
		return agent.Outcome{}, err
	}
	o := agent.Outcome{State: a2apb.TaskState_TASK_STATE_INPUT_REQUIRED, WakeAt: wakeAt(i)}
	if e := open(exchanges); e != nil && run.Task().GetStatus().GetState() != o.State {
		o.Message = agent.Message(agent.Text(e.Question))
	}
	return o, nil
}

// answer is what a review ends with.
type answer struct {
	Decision string `json:"decision"`
	// Content as it was approved; absent when it was not.
	Content   json.RawMessage `json:"content,omitempty"`
	Edited    bool            `json:"edited"`
	Original  json.RawMessage `json:"original,omitempty"`
	Reason    string          `json:"reason"`
	Decisions []decision      `json:"decisions"`
	Item      string          `json:"item"`
}

type decision struct {
	Person   string `json:"person"`
	Approved bool   `json:"approved"`
	Reason   string `json:"reason"`
	At       string `json:"at"`
	Digest   string `json:"digest"`
}

// finish ends the task with the decision.
func (p *persona) finish(ctx context.Context, run agent.Run, i *item.Item) (agent.Outcome, error) {
	s, err := p.items.Snapshot(ctx, i.ID)
	if err != nil {
		return agent.Outcome{}, err
	}
	a := answer{Decision: i.Outcome(), Reason: i.OutcomeReason, Decisions: []decision{}, Item: i.ID}
	for _, d := range i.Decisions {
		a.Decisions = append(a.Decisions, decision{Person: d.Person, Approved: d.Approved, Reason: d.Reason, At: stamp(d.At), Digest: d.Digest})
	}
	if i.State == reviewv1.State_STATE_APPROVED {
		a.Content = s.Content
		if edited := i.Edited(); edited != nil {
			a.Content, a.Edited, a.Original = edited, true, s.Content
		}
	}
	// Whoever asked knows what the approval releases; beside the content there is what it
	// was before it was edited.
	labels := label.Of(run.Task().GetHistory()[0].GetParts()...)
	part, err := agent.Data(a)
	if err != nil {
		return agent.Outcome{}, err
	}
	err = run.Artifact(&a2apb.Artifact{ArtifactId: "decision", Name: "decision", Description: "What people decided, and on what", Parts: []*a2apb.Part{labels.Put(part)}})
	if err != nil {
		return agent.Outcome{}, err
	}
	p.counts.end(i)
	return agent.Completed(agent.Text(i.OutcomeReason)), nil
}

func userMessages(t *a2apb.Task) []*a2apb.Message {
	var all []*a2apb.Message
	for _, m := range t.GetHistory() {
		if m.GetRole() == a2apb.Role_ROLE_USER {
			all = append(all, m)
		}
	}
	return all
}

// textOf is what a message says: its text, or its data as JSON.
func textOf(m *a2apb.Message) string {
	text := agent.TextOf(m.GetParts())
	if data := agent.DataOf(m.GetParts()); text == "" && data != nil {
		if raw, err := item.Deterministic([]byte(protojson.Format(data))); err == nil {
			text = string(raw)
		}
	}
	return clip(strings.ReplaceAll(text, "\x00", ""), item.MaxText)
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

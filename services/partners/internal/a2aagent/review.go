package a2aagent

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"sabha.dev/chassis/agent"
	"sabha.dev/chassis/ext"
	"sabha.dev/chassis/fault"
	"sabha.dev/chassis/label"
	"sabha.dev/services/partners/internal/call"
)

const (
	reviewAgent = "review"
	// callFor bounds a call of the review agent; reviewPoll is how often a review is looked
	// at, should the word of its end be lost.
	callFor    = 10 * time.Second
	reviewPoll = 10 * time.Minute
)

// review is what a person is asked.
type review struct {
	Kind    string          `json:"kind"`
	Title   string          `json:"title"`
	Content json.RawMessage `json:"content"`
	Schema  json.RawMessage `json:"schema,omitempty"`
	Effect  string          `json:"effect"`
	Reasons []string        `json:"reasons,omitempty"`
	Product string          `json:"product,omitempty"`
	Risk    string          `json:"risk"`
}

// decision is what a review ends with.
type decision struct {
	Decision string          `json:"decision"`
	Content  json.RawMessage `json:"content"`
	Reason   string          `json:"reason"`
}

// leaving is the content of a confirmation: exactly what leaves.
type leaving struct {
	To    string            `json:"to"`
	Parts []json.RawMessage `json:"parts"`
}

// ask has a person allow what is about to leave. What is stored is what the person is
// shown, and what leaves if it is allowed.
func (s *step) ask(ctx context.Context, req *a2apb.SendMessageRequest, rows func(context.Context, *sql.Tx) error) (*agent.Outcome, error) {
	content := leaving{To: s.To.String()}
	for _, p := range req.GetMessage().GetParts() {
		text, err := protojson.Marshal(p)
		if err != nil {
			return nil, err
		}
		content.Parts = append(content.Parts, text)
	}
	text, err := json.Marshal(content)
	if err != nil {
		return nil, err
	}
	if err := s.save(ctx, rows); err != nil {
		return nil, err
	}
	return s.open(ctx, review{
		Kind: "confirmation", Title: "Ask " + s.partner.Organisation + ": " + s.To.String(), Content: text, Risk: "medium",
		Reasons: reasons(wantsConfirmation(s.asked[s.Current])),
		Effect:  fmt.Sprintf("What is shown is sent to %s (partner %s, skill %s).", s.partner.Organisation, s.To.Partner, s.To.Skill),
	}, "confirm")
}

func reasons(why string) []string {
	if why == "" {
		return nil
	}
	return []string{why}
}

// escalate has a person answer in the partner's place.
func (s *step) escalate(ctx context.Context, reason string) (*agent.Outcome, error) {
	s.Phase, s.RemoteTask, s.Review = call.Escalated, "", ""
	if err := s.save(ctx); err != nil {
		return nil, err
	}
	return s.open(ctx, s.escalation(reason), "escalate")
}

func (s *step) escalation(reason string) review {
	return review{
		Kind: "result", Title: "No answer of " + s.First.String(), Risk: "medium", Reasons: []string{reason},
		Content: json.RawMessage(`{"answer":null}`), Schema: json.RawMessage(`{"type":"object","required":["answer"]}`),
		Effect: "The answer that you write in stands for the partner's. Without one the call fails.",
	}
}

// open starts the review, or finds it started, and waits for it.
func (s *step) open(ctx context.Context, r review, what string) (*agent.Outcome, error) {
	part, err := agent.Data(r)
	if err != nil {
		return nil, err
	}
	client, err := s.reviews()
	if err != nil {
		return nil, err
	}
	brief, cancel := context.WithTimeout(s.run.Outgoing(ctx), callFor)
	defer cancel()
	res, err := client.SendMessage(brief, &a2apb.SendMessageRequest{
		Tenant: reviewAgent, Configuration: &a2apb.SendMessageConfiguration{ReturnImmediately: true, HistoryLength: new(int32)},
		Message: &a2apb.Message{
			MessageId: s.messageID() + "/" + what, ContextId: s.run.Task().GetContextId(), Role: a2apb.Role_ROLE_USER, Parts: []*a2apb.Part{part},
			Metadata: &structpb.Struct{Fields: map[string]*structpb.Value{ext.Skill: structpb.NewStringValue(reviewAgent)}},
		},
	})
	if err != nil {
		return s.unheard(ctx, err)
	}
	s.Review = res.GetTask().GetId()
	return s.await(res.GetTask())
}

func (s *step) reviews() (a2apb.A2AServiceClient, error) {
	conn, err := s.Agent.Review()
	if err != nil {
		return nil, err
	}
	return a2apb.NewA2AServiceClient(conn), nil
}

// unheard goes on later, when the review agent can be heard.
func (s *step) unheard(ctx context.Context, err error) (*agent.Outcome, error) {
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if f := fault.FromStatus(err); f != nil && f.Reason != fault.Unavailable {
		o := agent.Failed(agent.Text("nobody could be asked for confirmation: " + f.Message))
		o.Rows = s.Calls.End(s.Call)
		return &o, nil
	}
	return s.park(s.Clock.Now().Add(brief), agent.Message(agent.Text("the review agent cannot be reached")))
}

// hearReview looks at the review that is waited for.
func (s *step) hearReview(ctx context.Context) (*agent.Outcome, error) {
	if s.Review == "" { // it may have been started before a crash
		if why, err := s.find(ctx); err != nil {
			return nil, err
		} else if why != "" && s.Phase == call.Confirming {
			return s.refuse(ctx, why)
		}
		if s.Phase == call.Escalated {
			return s.open(ctx, s.escalation(s.Failure), "escalate")
		}
		req, err := s.request()
		if err != nil {
			return nil, err
		}
		return s.ask(ctx, req, nil)
	}
	client, err := s.reviews()
	if err != nil {
		return nil, err
	}
	bounded, cancel := context.WithTimeout(s.run.Outgoing(ctx), callFor)
	defer cancel()
	t, err := client.GetTask(bounded, &a2apb.GetTaskRequest{Tenant: reviewAgent, Id: s.Review, HistoryLength: new(int32)})
	if err == nil && t.GetStatus().GetState() == a2apb.TaskState_TASK_STATE_INPUT_REQUIRED && len(s.asked) > s.Heard {
		m := s.asked[s.Heard]
		var res *a2apb.SendMessageResponse
		res, err = client.SendMessage(bounded, &a2apb.SendMessageRequest{
			Tenant: reviewAgent, Configuration: &a2apb.SendMessageConfiguration{ReturnImmediately: true, HistoryLength: new(int32)},
			Message: &a2apb.Message{MessageId: fmt.Sprintf("%s/answer/%d", s.messageID(), s.Heard), TaskId: s.Review, Role: a2apb.Role_ROLE_USER, Parts: m.GetParts()},
		})
		if err == nil {
			s.Heard++
			t = res.GetTask()
		}
	}
	if err != nil {
		return s.unheard(ctx, err)
	}
	switch t.GetStatus().GetState() {
	case a2apb.TaskState_TASK_STATE_COMPLETED:
		return s.decided(ctx, t)
	case a2apb.TaskState_TASK_STATE_FAILED, a2apb.TaskState_TASK_STATE_CANCELED, a2apb.TaskState_TASK_STATE_REJECTED:
		o := agent.Failed(agent.Text("the review ended without a decision"))
		o.Rows = s.Calls.End(s.Call)
		return &o, nil
	}
	return s.await(t)
}

// await waits for a person: as long as that takes, the clock of the task stands still.
func (s *step) await(t *a2apb.Task) (*agent.Outcome, error) {
	at := s.Clock.Now().Add(reviewPoll)
	o := agent.AuthRequired(at, agent.Text("waits for a person: "+map[call.Phase]string{
		call.Confirming: "the call of " + s.To.String() + " needs to be confirmed", call.Escalated: s.First.String() + " gave no answer",
	}[s.Phase]))
	if t.GetStatus().GetState() == a2apb.TaskState_TASK_STATE_INPUT_REQUIRED {
		o = agent.InputRequired(t.GetStatus().GetMessage().GetParts()...)
		o.WakeAt = at
	} else {
		s.Heard = max(s.Heard, len(s.asked)) // what is said meanwhile is for nobody
	}
	if s.run.Task().GetStatus().GetState() == o.State {
		o.Message = nil
	}
	o.Rows = s.rows()
	return &o, nil
}

// decided takes a decision.
func (s *step) decided(ctx context.Context, t *a2apb.Task) (*agent.Outcome, error) {
	var d decision
	for _, a := range t.GetArtifacts() {
		if data := agent.DataOf(a.GetParts()); a.GetName() == "decision" && data != nil {
			text, err := data.MarshalJSON()
			if err == nil {
				err = json.Unmarshal(text, &d)
			}
			if err != nil {
				return nil, fmt.Errorf("the decision of review %s: %w", s.Review, err)
			}
		}
	}
	if d.Decision != "approved" {
		return s.denied(d), nil
	}
	if s.Phase == call.Escalated {
		return s.stoodIn(d)
	}
	var shown leaving
	if err := json.Unmarshal(d.Content, &shown); err != nil || len(shown.Parts) == 0 {
		return s.denied(decision{Reason: "what was approved cannot be sent: it is not a list of parts any more"}), nil
	}
	req, err := s.request()
	if err != nil {
		return nil, err
	}
	req.Configuration, req.Message.Parts = nil, nil
	for _, text := range shown.Parts {
		p := &a2apb.Part{}
		if err := protojson.Unmarshal(text, p); err != nil {
			return s.denied(decision{Reason: "what was approved cannot be sent: a part is none of A2A"}), nil
		}
		req.Message.Parts = append(req.Message.Parts, p)
	}
	if s.Request, err = proto.Marshal(req); err != nil {
		return nil, err
	}
	s.Phase, s.Confirmed, s.Review = call.Sending, true, ""
	return nil, s.save(ctx)
}

// denied ends a task that no person allowed.
func (s *step) denied(d decision) *agent.Outcome {
	why := "a person did not allow the call of " + s.To.String()
	if s.Phase == call.Escalated {
		why = s.Failure + "; a person did not answer in its place"
	}
	if d.Decision == "expired" {
		why = "nobody decided in time on the call of " + s.To.String()
	}
	if d.Reason != "" {
		why += ": " + d.Reason
	}
	o := agent.Rejected(agent.Text(why))
	if s.Phase == call.Escalated {
		o = agent.Failed(agent.Text(why))
	}
	o.Rows = s.Calls.End(s.Call)
	return &o
}

// stoodIn ends a task with what a person answered in the partner's place.
func (s *step) stoodIn(d decision) (*agent.Outcome, error) {
	var content struct {
		Answer *json.RawMessage `json:"answer"`
	}
	if err := json.Unmarshal(d.Content, &content); err != nil || content.Answer == nil {
		return s.denied(decision{Reason: "no answer was written in"}), nil
	}
	part, err := agent.Data(*content.Answer)
	if err != nil {
		return nil, err
	}
	l := foreign(s.asked[s.Current])
	l.Integrity = label.Trusted // a person has approved these bytes
	o := agent.Completed(labelled([]*a2apb.Part{part}, l)...)
	o.Rows = s.Calls.End(s.Call)
	return &o, nil
}

// stopReview cancels a review that is waited for. It reports why it could not, or "".
func (s *step) stopReview(ctx context.Context) string {
	if s.Review == "" {
		return ""
	}
	client, err := s.reviews()
	if err != nil {
		return "the review agent is not connected"
	}
	ctx, cancel := context.WithTimeout(s.run.Outgoing(ctx), stopFor)
	defer cancel()
	_, err = client.CancelTask(ctx, &a2apb.CancelTaskRequest{Tenant: reviewAgent, Id: s.Review})
	f := fault.FromStatus(err)
	switch {
	case err == nil, f != nil && f.Reason == fault.TaskNotCancelable:
		return ""
	case f != nil:
		return f.Message
	}
	return "the review agent cannot be reached"
}

// wantsConfirmation is why a person must allow what a message asks for, or "".
func wantsConfirmation(m *a2apb.Message) string {
	return m.GetMetadata().GetFields()[ext.Confirm].GetStringValue()
}

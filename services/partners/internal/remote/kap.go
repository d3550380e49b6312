package remote

import (
	"context"
	"encoding/json"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/protobuf/types/known/structpb"

	"sabha.dev/chassis/agent"
	"sabha.dev/chassis/clock"
)

// KAP's own defaults.
const (
	// KAPTimeout is how long a call may take that states nothing else.
	KAPTimeout = 30 * time.Second
	// KAPRetries is how often a call is made again.
	KAPRetries = 2
)

const kapVersion = "kap/1.0"

// kap is KAP 1.0: one POST a question. A question that waits for a person is answered as
// pending, and asked again under the same id. It is a task here, whose id is that id.
type kap struct {
	*way
	identity Identity
	clock    clock.Clock
}

// kapRequest is a question.
type kapRequest struct {
	ID         string      `json:"id"`
	Protocol   string      `json:"protocol"`
	From       Identity    `json:"from"`
	Capability string      `json:"capability"`
	Input      string      `json:"input"`
	Context    *kapContext `json:"context,omitempty"`
	// Timeout in milliseconds.
	Timeout   int64  `json:"timeout"`
	Timestamp string `json:"timestamp"`
}

type kapContext struct {
	ThreadID string          `json:"threadId,omitempty"`
	Metadata json.RawMessage `json:"metadata,omitempty"`
}

// kapResponse is an answer. What it holds beyond this is not used.
type kapResponse struct {
	RequestID string          `json:"requestId"`
	Protocol  string          `json:"protocol"`
	Status    string          `json:"status"`
	Output    json.RawMessage `json:"output"`
	Data      json.RawMessage `json:"data"`
	Error     json.RawMessage `json:"error"`
}

func (c *kap) question(ctx context.Context, req *a2apb.SendMessageRequest) ([]byte, error) {
	m, now := req.GetMessage(), c.clock.Now()
	timeout := KAPTimeout
	if at, ok := ctx.Deadline(); ok {
		timeout = max(time.Until(at), time.Millisecond)
	}
	q := kapRequest{
		ID: m.GetMessageId(), Protocol: kapVersion, From: c.identity, Capability: SkillOf(req), Input: agent.TextOf(m.GetParts()),
		Timeout: timeout.Milliseconds(), Timestamp: now.UTC().Format(time.RFC3339),
	}
	k := kapContext{ThreadID: m.GetContextId()}
	if data := agent.DataOf(m.GetParts()); data != nil {
		text, err := data.MarshalJSON()
		if err != nil {
			return nil, failure(Invalid, "the inputs cannot be written as JSON").because(err)
		}
		k.Metadata = text
	}
	if k.ThreadID != "" || k.Metadata != nil {
		q.Context = &k
	}
	text, err := json.Marshal(q)
	if err != nil {
		return nil, failure(Invalid, "the question cannot be written as JSON").because(err)
	}
	return text, nil
}

func (c *kap) send(ctx context.Context, req *a2apb.SendMessageRequest) (*a2apb.StreamResponse, error) {
	body, err := c.question(ctx, req)
	if err != nil {
		return nil, err
	}
	h := headers("")
	h.Del("A2a-Version")
	text, err := c.post(ctx, c.url.String(), body, h)
	if err != nil {
		return nil, err
	}
	return kapAnswer(text, req.GetMessage().GetMessageId())
}

// kapAnswer reads the answer to the question of an id.
func kapAnswer(text []byte, id string) (*a2apb.StreamResponse, error) {
	var res kapResponse
	if err := json.Unmarshal(text, &res); err != nil || res.Protocol != kapVersion {
		return nil, failure(Invalid, "the partner answered with something that is not %s", kapVersion).because(err)
	}
	if res.RequestID != id {
		return nil, failure(Invalid, "the partner answered another request than ours: the requestId is not the id that we sent")
	}
	switch res.Status {
	case "success":
		parts := kapParts(res)
		if len(parts) == 0 {
			return nil, failure(Invalid, "the partner answered with success and without output or data")
		}
		return &a2apb.StreamResponse{Payload: &a2apb.StreamResponse_Message{Message: &a2apb.Message{
			MessageId: id + "/answer", Role: a2apb.Role_ROLE_AGENT, Parts: parts,
		}}}, nil
	case "pending":
		return kapTask(id, a2apb.TaskState_TASK_STATE_WORKING, kapParts(res)), nil
	case "error", "failed", "failure":
		return kapTask(id, a2apb.TaskState_TASK_STATE_FAILED, []*a2apb.Part{agent.Text("the partner failed" + quote(kapReason(res)))}), nil
	case "rejected", "denied":
		return kapTask(id, a2apb.TaskState_TASK_STATE_REJECTED, []*a2apb.Part{agent.Text("the partner refused" + quote(kapReason(res)))}), nil
	}
	return nil, failure(Invalid, "the partner answered with a status that %s does not have%s", kapVersion, quote(res.Status))
}

func kapTask(id string, s a2apb.TaskState, parts []*a2apb.Part) *a2apb.StreamResponse {
	t := &a2apb.Task{Id: id, Status: &a2apb.TaskStatus{State: s}}
	if len(parts) > 0 {
		t.Status.Message = &a2apb.Message{MessageId: id + "/status", Role: a2apb.Role_ROLE_AGENT, Parts: parts}
	}
	return &a2apb.StreamResponse{Payload: &a2apb.StreamResponse_Task{Task: t}}
}

// kapParts are output as text, or as data where it is not text, and data.
func kapParts(res kapResponse) []*a2apb.Part {
	var parts []*a2apb.Part
	for _, raw := range []json.RawMessage{res.Output, res.Data} {
		v := &structpb.Value{}
		if len(raw) == 0 || v.UnmarshalJSON(raw) != nil {
			continue
		}
		switch k := v.GetKind().(type) {
		case *structpb.Value_NullValue:
		case *structpb.Value_StringValue:
			if k.StringValue != "" {
				parts = append(parts, agent.Text(k.StringValue))
			}
		default:
			parts = append(parts, &a2apb.Part{Content: &a2apb.Part_Data{Data: v}, MediaType: "application/json"})
		}
	}
	return parts
}

// kapReason is what an answer says of a failure. The seed leaves its form open: a text,
// an object with a message, or the output.
func kapReason(res kapResponse) string {
	var text string
	var object struct {
		Message string `json:"message"`
	}
	switch {
	case json.Unmarshal(res.Error, &text) == nil && text != "":
		return text
	case json.Unmarshal(res.Error, &object) == nil && object.Message != "":
		return object.Message
	case json.Unmarshal(res.Output, &text) == nil:
		return text
	}
	return ""
}

// get asks the question again under its id.
func (c *kap) get(ctx context.Context, id string, sent *a2apb.SendMessageRequest) (*a2apb.Task, error) {
	res, err := c.send(ctx, sent)
	if err != nil {
		return nil, err
	}
	if m := res.GetMessage(); m != nil {
		return &a2apb.Task{
			Id: id, Status: &a2apb.TaskStatus{State: a2apb.TaskState_TASK_STATE_COMPLETED},
			Artifacts: []*a2apb.Artifact{{ArtifactId: id, Name: "output", Parts: m.GetParts()}},
		}, nil
	}
	return res.GetTask(), nil
}

// stream is not there in KAP: the answer is its only event.
func (c *kap) stream(ctx context.Context, req *a2apb.SendMessageRequest, each func(*a2apb.StreamResponse) error) error {
	res, err := c.send(ctx, req)
	if err != nil {
		return err
	}
	return each(res)
}

func (c *kap) subscribe(context.Context, string, func(*a2apb.StreamResponse) error) error {
	return failure(Final, "kap/1.0 has no streams")
}

func (c *kap) cancel(context.Context, string) (*a2apb.Task, error) {
	return nil, failure(Final, "kap/1.0 has no way to cancel what was asked")
}

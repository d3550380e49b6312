package a2aagent

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/protobuf/types/known/structpb"

	"sabha.dev/chassis/agent"
	"sabha.dev/chassis/fault"
	"sabha.dev/chassis/label"
	"sabha.dev/services/executor/internal/toolhost"
)

type toolRequest struct {
	Tool      string          `json:"tool"`
	Arguments json.RawMessage `json:"arguments"`
}

func readTool(m *a2apb.Message) (toolRequest, error) {
	var req toolRequest
	parts := m.GetParts()
	found, err := agent.Decode(parts, &req)
	switch {
	case err != nil:
		return req, err
	case !found:
		return req, invalid(parts, "", "hold no data part; send {tool, arguments}")
	case req.Tool == "":
		return req, invalid(parts, "tool", "is missing; name the tool to call")
	}
	return req, nil
}

// callTool calls a tool. A tool that may have side effects is marked in the task
// before the call, so that a task that is taken up again after a crash does not
// call it twice; such a task fails, since nobody knows what the first call did.
func callTool(ctx context.Context, r agent.Run, tools Tools) (agent.Outcome, error) {
	req, err := readTool(r.Request().Message)
	if err != nil {
		return agent.Outcome{}, err
	}
	if _, called := r.Task().GetMetadata().GetFields()[ToolCall]; called {
		return agent.Failed(agent.Text("the call of the tool was interrupted by a restart; whether it took effect is not known, so it is not repeated")), nil
	}
	tool, err := tools.Tool(ctx, req.Tool)
	if err != nil {
		return refused(r, err)
	}
	if !tool.Repeatable {
		mark := agent.Change{Metadata: map[string]*structpb.Value{ToolCall: structpb.NewStructValue(&structpb.Struct{Fields: map[string]*structpb.Value{"tool": structpb.NewStringValue(req.Tool)}})}}
		if err := r.Commit(ctx, mark); err != nil {
			return agent.Outcome{}, err
		}
	}
	result, err := tools.Call(ctx, req.Tool, req.Arguments)
	if err != nil {
		return refused(r, err)
	}
	parts, err := resultParts(result)
	if err != nil {
		return agent.Failed(agent.Text(err.Error())), nil
	}
	if err := r.Artifact(&a2apb.Artifact{ArtifactId: "result", Name: req.Tool, Description: "The answer of the tool.", Parts: parts}); err != nil {
		return agent.Outcome{}, err
	}
	return agent.Completed(), nil
}

// refused tells why a call gave no result.
func refused(r agent.Run, err error) (agent.Outcome, error) {
	var (
		unknown *toolhost.UnknownTool
		input   *toolhost.InvalidInput
		failed  *toolhost.ToolFailed
		output  *toolhost.InvalidOutput
		schema  *toolhost.InvalidSchema
		gone    *toolhost.Unavailable
	)
	parts := r.Request().Message.GetParts()
	switch {
	case errors.As(err, &unknown):
		return agent.Outcome{}, invalid(parts, "tool", "%s", unknown.Error())
	case errors.As(err, &input):
		return agent.Outcome{}, invalid(parts, "arguments", "%s", input.Error())
	case errors.As(err, &failed):
		return agent.Failed(agent.Text("the tool "+failed.Tool+" failed; its own words follow"), untrusted(agent.Text(failed.Words))), nil
	case errors.As(err, &output):
		return agent.Outcome{}, fault.New(fault.InvalidAgentResponse, "%s", output.Error()).Because(err)
	case errors.As(err, &schema):
		return agent.Outcome{}, fault.New(fault.InvalidAgentResponse, "%s", schema.Error()).Because(errors.Unwrap(err))
	case errors.As(err, &gone):
		return agent.Outcome{}, fault.New(fault.Unavailable, "%s; its operator finds the cause in the log", gone.Error()).Because(errors.Unwrap(err))
	case errors.Is(err, toolhost.ErrTimeout):
		return agent.Outcome{}, fault.New(fault.Unavailable, "%s; whether it took effect is not known", err.Error())
	}
	return agent.Outcome{}, err
}

// resultParts turns a tool's answer into parts, each labelled as untrusted: a tool
// says what it likes. The text form of a structured result is left out.
func resultParts(result toolhost.Result) ([]*a2apb.Part, error) {
	var parts []*a2apb.Part
	if result.Structured != nil {
		data, err := agent.Data(result.Structured)
		if err != nil {
			return nil, err
		}
		parts = append(parts, untrusted(data))
	}
	for _, c := range result.Content {
		p := &a2apb.Part{MediaType: c.MediaType}
		switch {
		case c.Data != nil:
			p.Content = &a2apb.Part_Raw{Raw: c.Data}
		case c.Text != "" && result.Structured != nil && sameJSON(c.Text, result.Structured):
			continue
		case c.Text != "":
			p.Content = &a2apb.Part_Text{Text: c.Text}
		case c.URI != "":
			p.Content = &a2apb.Part_Url{Url: c.URI}
		default:
			continue
		}
		parts = append(parts, untrusted(p))
	}
	if len(parts) == 0 {
		parts = append(parts, untrusted(agent.Text("")))
	}
	return parts, nil
}

// sameJSON tells whether a text is a serialisation of a structured result.
func sameJSON(text string, structured json.RawMessage) bool {
	var a, b any
	if json.Unmarshal([]byte(text), &a) != nil || json.Unmarshal(structured, &b) != nil {
		return false
	}
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	return errX == nil && errY == nil && string(x) == string(y)
}

func untrusted(p *a2apb.Part) *a2apb.Part {
	return label.Labels{Integrity: label.Untrusted}.Put(p)
}

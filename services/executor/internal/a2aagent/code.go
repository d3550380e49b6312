package a2aagent

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"

	"sabha.dev/chassis/agent"
	"sabha.dev/chassis/label"
	"sabha.dev/services/executor/internal/sandbox"
)

type codeRequest struct {
	Code   string          `json:"code"`
	Inputs json.RawMessage `json:"inputs"`
}

func readCode(m *a2apb.Message) (codeRequest, error) {
	var req codeRequest
	parts := m.GetParts()
	found, err := agent.Decode(parts, &req)
	if err != nil {
		return req, err
	}
	switch text := agent.TextOf(parts); {
	case req.Code == "" && text != "":
		req.Code = text
	case req.Code != "" && text != "":
		return req, invalid(parts, "code", "there is code in the data part and in a text part; send one of them")
	case req.Code == "" && found:
		return req, invalid(parts, "code", "is missing; give the Starlark snippet to run")
	case req.Code == "":
		return req, invalid(parts, "", "hold no code; send a data part {code, inputs} or a text part")
	}
	if in := bytes.TrimSpace(req.Inputs); len(in) > 0 && in[0] != '{' {
		if !bytes.Equal(in, []byte("null")) {
			return req, invalid(parts, "inputs", "must be an object")
		}
		req.Inputs = nil
	}
	return req, nil
}

// runCode runs a snippet. It has no effect but its result, so a task that is taken
// up again simply runs it again.
func runCode(ctx context.Context, r agent.Run, code Code) (agent.Outcome, error) {
	req, err := readCode(r.Request().Message)
	if err != nil {
		return agent.Outcome{}, err
	}
	result, err := code.Run(ctx, req.Code, req.Inputs)
	var failure *sandbox.Failure
	if errors.As(err, &failure) {
		return failed(failure)
	}
	if err != nil {
		return agent.Outcome{}, err
	}
	value, err := exactData(result.Value)
	if err != nil {
		return failed(&sandbox.Failure{Kind: sandbox.Runtime, Message: err.Error()})
	}
	labels := label.Of(r.Request().Message.GetParts()...) // it sees nothing but its inputs
	artifact := &a2apb.Artifact{ArtifactId: "result", Name: "result", Description: "What the snippet gave.", Parts: []*a2apb.Part{labels.Put(value)}}
	if err := r.Artifact(artifact); err != nil {
		return agent.Outcome{}, err
	}
	if result.Printed != "" {
		printed := &a2apb.Artifact{ArtifactId: "printed", Name: "printed", Description: "What the snippet printed.", Parts: []*a2apb.Part{labels.Put(agent.Text(result.Printed))}}
		if err := r.Artifact(printed); err != nil {
			return agent.Outcome{}, err
		}
	}
	return agent.Completed(), nil
}

// failed tells what the snippet did wrong, in words and as data {kind, line, message}.
func failed(f *sandbox.Failure) (agent.Outcome, error) {
	detail, err := agent.Data(map[string]any{"kind": f.Kind, "line": f.Line, "message": f.Message})
	if err != nil {
		return agent.Outcome{}, err
	}
	return agent.Failed(agent.Text("the snippet failed: "+f.Error()), detail), nil
}

// exactData makes a data part. Its numbers are 64-bit floats (google.protobuf.Value),
// so an integer that they cannot hold is refused instead of rounded.
func exactData(raw json.RawMessage) (*a2apb.Part, error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	for {
		token, err := dec.Token()
		if err != nil {
			break // the end: the sandbox gives valid JSON
		}
		n, ok := token.(json.Number)
		if !ok || strings.ContainsAny(string(n), ".eE") {
			continue
		}
		whole, ok := new(big.Int).SetString(string(n), 10)
		if !ok {
			continue
		}
		if _, accuracy := new(big.Float).SetInt(whole).Float64(); accuracy != big.Exact {
			return nil, fmt.Errorf("the result holds the integer %s, which a data part cannot carry exactly; give it back as text with str()", shortened(string(n)))
		}
	}
	return agent.Data(raw)
}

func shortened(digits string) string {
	if len(digits) <= 40 {
		return digits
	}
	return fmt.Sprintf("%s… (%d digits)", digits[:20], len(digits))
}

package toolhost

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"sabha.dev/chassis/tool"
)

// Declared is what an operator says of the effects of a tool. What is nil goes by the
// server's own annotations.
type Declared struct{ ReadOnly, Idempotent, Destructive *bool }

// effectsOf reads annotations with the defaults of MCP: a tool that says nothing may do
// anything. What the operator says counts more: a server's word is a hint.
func effectsOf(a *mcp.ToolAnnotations, d Declared) tool.Effects {
	e := tool.Effects{Destructive: true, OpenWorld: true}
	if a != nil {
		e.ReadOnly, e.Idempotent = a.ReadOnlyHint, a.IdempotentHint
		if a.DestructiveHint != nil {
			e.Destructive = *a.DestructiveHint
		}
		if a.OpenWorldHint != nil {
			e.OpenWorld = *a.OpenWorldHint
		}
	}
	for _, f := range []struct {
		says *bool
		of   *bool
	}{{d.ReadOnly, &e.ReadOnly}, {d.Idempotent, &e.Idempotent}, {d.Destructive, &e.Destructive}} {
		if f.says != nil {
			*f.of = *f.says
		}
	}
	if e.ReadOnly {
		e.Destructive = false
	}
	return e
}

// Definition is all that a server says of a tool that people and models go by. Its digest
// is what is approved.
type Definition struct {
	Name string
	// JSON is an object with name, title, description, inputSchema, outputSchema and annotations.
	JSON json.RawMessage
	// Digest is the SHA-256 of JSON, hex.
	Digest string
}

func define(t *mcp.Tool) (Definition, error) {
	raw, err := json.Marshal(map[string]any{
		"name": t.Name, "title": t.Title, "description": t.Description, "inputSchema": t.InputSchema, "outputSchema": t.OutputSchema, "annotations": t.Annotations,
	})
	if err != nil {
		return Definition{}, err
	}
	sum := sha256.Sum256(raw)
	return Definition{Name: t.Name, JSON: raw, Digest: hex.EncodeToString(sum[:])}, nil
}

// checked is a tool with its contract.
type checked struct {
	Tool
	contract *tool.Contract
	err      error // why the tool cannot be called
}

// check makes the contract of a tool. It is called by its full name, which errors tell.
func check(server string, t *mcp.Tool, d Definition, says Declared) *checked {
	c := &checked{Tool: Tool{Server: server, Name: t.Name, Description: t.Description, Digest: d.Digest, Effects: effectsOf(t.Annotations, says)}}
	var errs [2]error
	if c.Input, errs[0] = json.Marshal(t.InputSchema); t.OutputSchema != nil {
		c.Output, errs[1] = json.Marshal(t.OutputSchema)
	}
	if err := errors.Join(errs[:]...); err != nil {
		c.err = &Unusable{Tool: c.Full(), Why: "its schemas cannot be read", cause: err}
		return c
	}
	contract, err := tool.New(tool.Definition{Name: t.Name, Title: t.Title, Description: t.Description, Input: c.Input, Output: c.Output, Effects: c.Effects})
	var schema *tool.InvalidSchema
	switch {
	case errors.As(err, &schema):
		schema.Tool = c.Full()
		c.err = schema
	case err != nil:
		c.err = &Unusable{Tool: c.Full(), Why: "its name cannot be one", cause: err}
	default:
		contract.Name = c.Full()
		c.contract = contract
	}
	return c
}

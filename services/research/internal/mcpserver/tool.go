package mcpserver

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"sabha.dev/chassis/fault"
)

// Tool is one callable with its contract. The SDK checks neither arguments
// nor results of a low-level tool and does not survive a panic in one, so
// register wraps the call in all three.
type Tool struct {
	Name, Title, Description string
	// Input and Output are JSON Schemas, Draft 2020-12; Input has type object.
	Input, Output string
	// Call gets arguments that conform to Input. It returns a sentence for a
	// reader and the structured result, which must conform to Output.
	Call func(ctx context.Context, arguments json.RawMessage) (sentence string, result any, err error)
}

// registry adds tools to a server, each name once.
type registry struct {
	server *mcp.Server
	log    *slog.Logger
	names  map[string]bool
}

func (r *registry) register(t Tool) error {
	if r.names[t.Name] {
		return fmt.Errorf("tool %s is defined twice", t.Name)
	}
	input, err := compile(t.Name+"/input", t.Input)
	if err != nil {
		return fmt.Errorf("tool %s: %w", t.Name, err)
	}
	output, err := compile(t.Name+"/output", t.Output)
	if err != nil {
		return fmt.Errorf("tool %s: %w", t.Name, err)
	}
	if input.Types == nil || input.Types.String() != "[object]" {
		return fmt.Errorf("tool %s: its input schema must have type object", t.Name)
	}
	r.names[t.Name] = true
	c := &contract{tool: t, input: input, output: output, log: r.log}
	local := false
	r.server.AddTool(&mcp.Tool{
		Name: t.Name, Title: t.Title, Description: t.Description,
		InputSchema: json.RawMessage(t.Input), OutputSchema: json.RawMessage(t.Output),
		Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true, IdempotentHint: true, OpenWorldHint: &local},
	}, c.handle)
	return nil
}

// contract is a tool with its compiled schemas.
type contract struct {
	tool          Tool
	input, output *jsonschema.Schema
	log           *slog.Logger
}

// internalSentence is all that a client learns of a failure that is ours.
const internalSentence = "The tool failed; the operator finds the reason in the log."

func (c *contract) handle(ctx context.Context, req *mcp.CallToolRequest) (result *mcp.CallToolResult, err error) {
	defer func() {
		if p := recover(); p != nil {
			c.log.ErrorContext(ctx, "a tool panicked", "tool", c.tool.Name, "panic", p, "stack", string(debug.Stack()))
			result, err = failure(internalSentence), nil
		}
	}()
	arguments := req.Params.Arguments
	if len(bytes.TrimSpace(arguments)) == 0 || string(bytes.TrimSpace(arguments)) == "null" {
		arguments = json.RawMessage("{}")
	}
	if err := conforms(c.input, arguments); err != nil {
		return failure("Invalid arguments: " + err.Error()), nil
	}
	sentence, structured, err := c.tool.Call(ctx, arguments)
	if err != nil {
		if f := fault.As(err); f != nil {
			return failure(f.Message), nil
		}
		if !errors.Is(err, context.Canceled) {
			c.log.ErrorContext(ctx, "a tool failed", "tool", c.tool.Name, "error", err)
		}
		return failure(internalSentence), nil
	}
	raw, err := json.Marshal(structured)
	if err == nil {
		err = conforms(c.output, raw)
	}
	if err != nil {
		c.log.ErrorContext(ctx, "a tool's result breaks its schema", "tool", c.tool.Name, "error", err)
		return failure(internalSentence), nil
	}
	return &mcp.CallToolResult{
		Content:           []mcp.Content{&mcp.TextContent{Text: sentence}, &mcp.TextContent{Text: string(raw)}},
		StructuredContent: json.RawMessage(raw),
	}, nil
}

func failure(sentence string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: sentence}}, IsError: true}
}

// sealed refuses every reference out of a schema; the library's own loader
// would read files.
type sealed struct{}

func (sealed) Load(url string) (any, error) {
	return nil, fmt.Errorf("schema %s is not part of this one", url)
}

func compile(name, schema string) (*jsonschema.Schema, error) {
	document, err := jsonschema.UnmarshalJSON(strings.NewReader(schema))
	if err != nil {
		return nil, fmt.Errorf("schema %s: %w", name, err)
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.AssertFormat()
	c.UseLoader(sealed{})
	url := "urn:sabha:tool:" + strings.ReplaceAll(name, "/", ":")
	if err := c.AddResource(url, document); err != nil {
		return nil, fmt.Errorf("schema %s: %w", name, err)
	}
	compiled, err := c.Compile(url)
	if err != nil {
		return nil, fmt.Errorf("schema %s: %w", name, err)
	}
	return compiled, nil
}

// conforms checks a value; its error is one line that names the places and
// what is wrong there.
func conforms(schema *jsonschema.Schema, raw json.RawMessage) error {
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return errors.New("not JSON")
	}
	err = schema.Validate(value)
	var invalid *jsonschema.ValidationError
	if !errors.As(err, &invalid) {
		return err
	}
	var problems []string
	for _, unit := range invalid.BasicOutput().Errors {
		if unit.Error == nil {
			continue
		}
		place := strings.ReplaceAll(strings.TrimPrefix(unit.InstanceLocation, "/"), "/", ".")
		if place != "" {
			place += ": "
		}
		problems = append(problems, place+unit.Error.String())
	}
	if len(problems) == 0 {
		return errors.New("does not conform to the schema")
	}
	return errors.New(strings.Join(problems, "; "))
}

package toolhost

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// serveVariable makes the test binary an MCP server on its standard input and output.
const serveVariable = "TOOLHOST_TEST_SERVER"

func TestMain(m *testing.M) {
	switch os.Getenv(serveVariable) {
	case "":
		os.Exit(m.Run())
	case "refuse":
		fmt.Fprintln(os.Stderr, "no licence found")
		os.Exit(3)
	case "hang":
		select {}
	default:
		serve()
	}
}

type echoIn struct {
	Text  string `json:"text"`
	Times int    `json:"times,omitempty"`
}

type echoOut struct {
	Echo string `json:"echo"`
}

func raw(text string) json.RawMessage { return json.RawMessage(text) }

func words(text string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}
}

func serve() {
	s := mcp.NewServer(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	mcp.AddTool(s, &mcp.Tool{Name: "echo", Description: "Says it again.", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}},
		func(_ context.Context, _ *mcp.CallToolRequest, in echoIn) (*mcp.CallToolResult, echoOut, error) {
			return nil, echoOut{strings.Repeat(in.Text, max(in.Times, 1))}, nil
		})
	plain := func(name string, input string, output any, f mcp.ToolHandler) {
		s.AddTool(&mcp.Tool{Name: name, InputSchema: raw(input), OutputSchema: output}, f)
	}
	const anything = `{"type": "object"}`
	plain("fail", anything, nil, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		r := words("the disk is full")
		r.IsError = true
		return r, nil
	})
	plain("lie", anything, raw(`{"type": "object", "required": ["n"], "properties": {"n": {"type": "integer"}}}`),
		func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			r := words("n is many")
			r.StructuredContent = map[string]any{"n": "many"}
			return r, nil
		})
	plain("mute", anything, raw(anything), func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return words("nothing structured"), nil
	})
	plain("wait", `{"type": "object", "required": ["file"]}`, nil, func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		var in struct{ File string }
		_ = json.Unmarshal(r.Params.Arguments, &in)
		_ = os.WriteFile(in.File+".started", nil, 0o600)
		<-ctx.Done()
		_ = os.WriteFile(in.File+".canceled", nil, 0o600)
		return nil, ctx.Err()
	})
	plain("die", anything, nil, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		os.Exit(7)
		return nil, nil
	})
	plain("grow", anything, nil, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		plain("grown", anything, nil, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return words("new here"), nil
		})
		return words("grown"), nil
	})
	plain("environment", anything, nil, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		var names []string
		for _, e := range os.Environ() {
			names = append(names, strings.SplitN(e, "=", 2)[0])
		}
		return words(strings.Join(names, " ")), nil
	})
	plain("spawn", anything, nil, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		child := exec.Command("sleep", "3600")
		if err := child.Start(); err != nil {
			return nil, err
		}
		return words(fmt.Sprint(child.Process.Pid)), nil
	})
	plain("picture", anything, nil, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.ImageContent{Data: []byte("png"), MIMEType: "image/png"}}}, nil
	})
	plain("flood", anything, nil, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return words(string(bytes.Repeat([]byte("x"), 2<<20))), nil
	})
	plain("outside", `{"type": "object", "$ref": "file:///etc/hostname"}`, nil, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return words("called"), nil
	})
	if err := s.Run(context.Background(), &mcp.StdioTransport{}); err != nil && !errors.Is(err, context.Canceled) {
		os.Exit(1)
	}
}

package toolhost

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

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
		time.Sleep(time.Hour) // where all goroutines are blocked for good, the runtime ends the process
	case "wire":
		speak()
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
	plain("progress", `{"type": "object", "required": ["file"]}`, nil, func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		var in struct{ File string }
		_ = json.Unmarshal(r.Params.Arguments, &in)
		_ = r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: r.Params.GetProgressToken(), Message: "page", Progress: 1, Total: 3})
		for ctx.Err() == nil { // until it was heard
			if _, err := os.Stat(in.File); err == nil {
				break
			}
			time.Sleep(time.Millisecond)
		}
		return words("read"), nil
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

// speak is a server of a few lines of its own, that breaks the protocol as it is told.
func speak() {
	const list = `{"tools": [
		{"name": "other-id", "inputSchema": {"type": "object"}}, {"name": "twice", "inputSchema": {"type": "object"}},
		{"name": "big", "inputSchema": {"type": "object"}}, {"name": "chatter", "inputSchema": {"type": "object"}},
		{"name": "silent", "inputSchema": {"type": "object"}}, {"name": "banner", "inputSchema": {"type": "object"}},
		{"name": "deep", "inputSchema": {"type": "object"}}, {"name": "no-schema", "inputSchema": {"type": "nothing"}},
		{"name": "same", "inputSchema": {"type": "object"}}, {"name": "same", "inputSchema": {"type": "object", "required": ["x"]}},
		{"name": "bad\u0000name", "inputSchema": {"type": "object"}}]}`
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 1<<20)
	for in.Scan() {
		var req struct {
			ID     json.RawMessage
			Method string
			Params struct {
				Name            string
				ProtocolVersion string
			}
		}
		_ = json.Unmarshal(in.Bytes(), &req)
		if req.ID == nil {
			continue
		}
		answer := func(result string) {
			fmt.Printf("{\"jsonrpc\": \"2.0\", \"id\": %s, \"result\": %s}\n", req.ID, result)
		}
		switch req.Method {
		case "initialize":
			answer(`{"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "wire", "version": "1"}}`)
		case "tools/list":
			answer(strings.Join(strings.Fields(list), " "))
		case "tools/call":
			switch req.Params.Name {
			case "other-id":
				fmt.Println(`{"jsonrpc": "2.0", "id": 4711, "result": {"content": []}}`)
			case "twice":
				answer(`{"content": [], "structuredContent": {"paid": 1, "p\u0061id": 2}}`)
			case "big":
				answer(`{"content": [], "structuredContent": {"account": 9007199254740993}}`)
			case "chatter":
				for {
					fmt.Println(`{"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": "la"}}`)
				}
			case "banner":
				fmt.Println("Loading the plug-ins ...")
			case "deep":
				fmt.Println(strings.Repeat("[", 5000))
			case "same":
				answer(`{"content": []}`)
			}
		default:
			fmt.Printf("{\"jsonrpc\": \"2.0\", \"id\": %s, \"error\": {\"code\": -32601, \"message\": \"no such method\"}}\n", req.ID)
		}
	}
}

package toolserver

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"sabha.dev/chassis/tool"
)

// eras are a version of each: within a session, and without.
var eras = map[string]string{"2025-11-25": "2025-11-25", "2026-07-28": ""}

func words(t *testing.T, r *mcp.CallToolResult) string {
	t.Helper()
	if len(r.Content) == 0 {
		return ""
	}
	c, ok := r.Content[0].(*mcp.TextContent)
	if !ok {
		t.Fatalf("content %+v", r.Content)
	}
	return c.Text
}

func TestTheSDKsClientListsAndCalls(t *testing.T) {
	for era, version := range eras {
		session := serve(t, 9, time.Hour).connect(version, nil)
		if got := session.InitializeResult().ProtocolVersion; got != era {
			t.Errorf("%s: negotiated %s", era, got)
		}
		tools, err := session.ListTools(t.Context(), nil)
		if err != nil || len(tools.Tools) != 7 || tools.Tools[0].Name != "asks" {
			t.Fatalf("%s: tools %+v, %v", era, tools, err)
		}
		result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "echo", Arguments: json.RawMessage(`{"n":9007199254740993}`)})
		if err != nil || result.IsError || words(t, result) != "Said again." || len(result.Content) != 2 {
			t.Fatalf("%s: %+v, %v", era, result, err)
		}
		if text := result.Content[1].(*mcp.TextContent).Text; text != `{"said":{"n":9007199254740993}}` {
			t.Errorf("%s: the fallback is %s", era, text)
		}
		if _, err = session.CallTool(t.Context(), &mcp.CallToolParams{Name: "none"}); err == nil || !strings.Contains(err.Error(), "unknown tool") {
			t.Errorf("%s: an unknown tool: %v", era, err)
		}
		if result, err = session.CallTool(t.Context(), &mcp.CallToolParams{Name: "panics"}); err != nil || !result.IsError {
			t.Errorf("%s: a tool that panics: %+v, %v", era, result, err)
		}
		if result, err = session.CallTool(t.Context(), &mcp.CallToolParams{Name: "silent"}); err != nil || result.IsError {
			t.Errorf("%s: a tool that returns nothing: %+v, %v", era, result, err)
		}
	}
}

func TestContentKeepsItsKind(t *testing.T) {
	result, err := serve(t, 9, time.Hour).connect("", nil).CallTool(t.Context(), &mcp.CallToolParams{Name: "shows"})
	if err != nil || len(result.Content) != 5 {
		t.Fatalf("%+v, %v", result, err)
	}
	if c, ok := result.Content[0].(*mcp.ImageContent); !ok || string(c.Data) != "png" {
		t.Errorf("image %+v", result.Content[0])
	}
	if c, ok := result.Content[1].(*mcp.AudioContent); !ok || c.MIMEType != "audio/wav" {
		t.Errorf("audio %+v", result.Content[1])
	}
	if c, ok := result.Content[2].(*mcp.EmbeddedResource); !ok || c.Resource.Text != "words" {
		t.Errorf("resource %+v", result.Content[2])
	}
	if c, ok := result.Content[3].(*mcp.ResourceLink); !ok || c.URI != "test://b" {
		t.Errorf("link %+v", result.Content[3])
	}
	if c, ok := result.Content[4].(*mcp.EmbeddedResource); !ok || string(c.Resource.Blob) != "pdf" {
		t.Errorf("file %+v", result.Content[4])
	}
}

func TestProgressIsToldWhileTheToolRuns(t *testing.T) {
	for era, version := range eras {
		var mu sync.Mutex
		var told []float64
		all := make(chan struct{})
		session := serve(t, 9, time.Hour).connect(version, &mcp.ClientOptions{ProgressNotificationHandler: func(_ context.Context, n *mcp.ProgressNotificationClientRequest) {
			mu.Lock()
			defer mu.Unlock()
			if told = append(told, n.Params.Progress); len(told) == 3 {
				close(all)
			}
		}})
		params := &mcp.CallToolParams{Name: "counts"}
		params.SetProgressToken("p")
		if result, err := session.CallTool(t.Context(), params); err != nil || words(t, result) != "three" {
			t.Fatalf("%s: %+v, %v", era, result, err)
		}
		<-all
		if told[0] != 1 || told[2] != 3 {
			t.Errorf("%s: told %v", era, told)
		}
	}
}

func TestCancellationReachesTheTool(t *testing.T) {
	for era, version := range eras {
		r := serve(t, 9, time.Hour)
		session := r.connect(version, nil)
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			<-r.started
			cancel()
		}()
		if _, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "waits"}); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", era, err)
		}
		<-r.canceled
	}
}

func TestAToolAsksTheClientsUser(t *testing.T) {
	for era, version := range eras {
		r := serve(t, 9, time.Hour)
		for action, want := range map[string]string{"accept": `heard {"year":"2025"} in s1`, "decline": "declined in s1"} {
			session := r.connect(version, &mcp.ClientOptions{ElicitationHandler: func(_ context.Context, q *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
				if q.Params.Message != "Which year?" {
					t.Errorf("%s: asked %q", era, q.Params.Message)
				}
				answer := &mcp.ElicitResult{Action: action}
				if action == "accept" {
					answer.Content = map[string]any{"year": "2025"}
				}
				return answer, nil
			}})
			if result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "asks"}); err != nil || words(t, result) != want {
				t.Errorf("%s, %s: %+v, %v", era, action, result, err)
			}
		}
		result, err := r.connect(version, nil).CallTool(t.Context(), &mcp.CallToolParams{Name: "asks"})
		if err != nil || !result.IsError || words(t, result) != "nobody can be asked" {
			t.Errorf("%s, a client without forms: %+v, %v", era, result, err)
		}
	}
}

func TestTwoToolsOfOneNameAreRefused(t *testing.T) {
	a := made(t, "a", "", nil)
	_, err := New(Config{Name: "test", Log: slog.New(slog.DiscardHandler)}, a, a)
	if _, ok := errors.AsType[*tool.Duplicate](err); !ok {
		t.Errorf("%v", err)
	}
}

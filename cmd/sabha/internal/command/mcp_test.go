package command_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// booksVariable makes the test binary an MCP server with one tool.
const booksVariable = "COMMAND_TEST_BOOKS"

func TestMain(m *testing.M) {
	if os.Getenv(booksVariable) == "" {
		os.Exit(m.Run())
	}
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 1<<20)
	for in.Scan() {
		var req struct {
			ID     json.RawMessage
			Method string
		}
		if json.Unmarshal(in.Bytes(), &req) != nil || req.ID == nil {
			continue
		}
		result := map[string]string{
			"initialize": `{"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "books", "version": "1"}}`,
			"tools/list": `{"tools": [{"name": "count", "description": "Counts the books.", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": true}}]}`,
			"tools/call": `{"content": [{"type": "text", "text": "4711 books"}]}`,
		}[req.Method]
		if result == "" {
			fmt.Printf("{\"jsonrpc\": \"2.0\", \"id\": %s, \"error\": {\"code\": -32601, \"message\": \"no such method\"}}\n", req.ID)
			continue
		}
		fmt.Printf("{\"jsonrpc\": \"2.0\", \"id\": %s, \"result\": %s}\n", req.ID, result)
	}
}

// A tool of a server is held until an operator has approved it, and is called then.
func TestUpWithAnMCPServer(t *testing.T) {
	dir := t.TempDir()
	file, ask := filepath.Join(dir, "mcp.yaml"), filepath.Join(dir, "ask.json")
	text := fmt.Sprintf("servers:\n  books: {command: [%q], env: {%s: \"1\"}}\n  gone: {command: [/nonexistent/server]}\n", os.Args[0], booksVariable)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(ask, []byte(`{"tool": "books/count"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	up(t, filepath.Join(dir, "data"), func(out string) {
		key := keyForm.FindString(out)
		run := func(args ...string) (string, int) {
			t.Helper()
			u := newUser(address(t, out))
			u.env["SABHA_KEY"] = key
			code := u.run(t.Context(), args...)
			return u.out.String() + u.err.String(), int(code)
		}
		var list string
		for !strings.Contains(list, "books/count") || !strings.Contains(list, "server gone is away") {
			select {
			case <-t.Context().Done():
				t.Fatalf("the list stays\n%s", list)
			case <-time.After(20 * time.Millisecond):
			}
			list, _ = run("tool", "list")
		}
		digest := regexp.MustCompile(`books/count +held +([0-9a-f]{12}) +Counts the books\.`).FindStringSubmatch(list)
		if digest == nil {
			t.Fatalf("list\n%s", list)
		}
		if got, _ := run("tool", "show", "books/count"); !strings.Contains(got, "listed   by configuration") || !strings.Contains(got, `"readOnlyHint":true`) {
			t.Errorf("show\n%s", got)
		}
		if got, code := run("tool", "approve", "books/count", "--digest", digest[1]); code != 0 || !strings.Contains(got, "books/count  approved") {
			t.Errorf("approve: %d\n%s", code, got)
		}
		if got, _ := run("tool", "list", "--held"); strings.Contains(got, "books/count") {
			t.Errorf("held\n%s", got)
		}
	}, "--docs", "", "--log", "error", "--mcp", file)
	if u := newUser(""); u.run(t.Context(), "up", "--mcp", ask) != 2 || !strings.Contains(u.err.String(), "field tool not found") {
		t.Errorf("a file of another kind: %s", u.err.String())
	}
}

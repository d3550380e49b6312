package toolhost

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"sabha.dev/chassis/clock"
	"sabha.dev/chassis/tool"
	"sabha.dev/services/executor/internal/credential"
)

// ledger approves what is not held.
type ledger struct {
	mu      sync.Mutex
	held    map[string]bool // by digest
	offered map[string][]Definition
	known   map[string][]string
}

func (l *ledger) Offer(_ context.Context, server string, tools []Definition, _ bool) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.offered == nil {
		l.offered = map[string][]Definition{}
	}
	l.offered[server] = tools
	return nil
}

func (l *ledger) Standing(_ context.Context, _, _, digest string) (Standing, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.held[digest] {
		return Held, nil
	}
	return Approved, nil
}

func (l *ledger) Known(context.Context) (map[string][]string, error) { return l.known, nil }

// server is the test binary as an MCP server of a kind.
func server(name, kind string, variables ...string) Server {
	return Server{
		Name: name, Process: &Process{Command: []string{os.Args[0]}, Env: append([]string{serveVariable + "=" + kind}, variables...)},
		StartTimeout: time.Minute, CallTimeout: time.Minute, Refresh: time.Hour, MaxMessage: 1 << 20,
	}
}

func hostOf(t *testing.T, l *ledger, servers ...Server) *Host {
	t.Helper()
	h, err := New(t.Context(), Config{Servers: servers, Ledger: l, Clock: clock.System{}, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.Close() })
	return h
}

func host(t *testing.T, servers ...Server) *Host {
	t.Helper()
	if servers == nil {
		servers = []Server{server("test", "tools")}
	}
	return hostOf(t, &ledger{}, servers...)
}

// call finds a tool and calls it.
func call(ctx context.Context, h *Host, name, arguments string) (Result, error) {
	t, err := h.Tool(ctx, name)
	if err != nil {
		return Result{}, err
	}
	return h.Call(ctx, Call{Tool: t, Arguments: json.RawMessage(arguments)})
}

// eventually waits for what another process does.
func eventually(t *testing.T, what string, done func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !done(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("not within a minute: " + what)
		}
	}
}

func exists(path string) func() bool {
	return func() bool { _, err := os.Stat(path); return err == nil }
}

func TestCallGivesStructuredResultAndText(t *testing.T) {
	h := host(t)
	got, err := call(t.Context(), h, "echo", `{"text": "ab", "times": 2}`)
	if err != nil {
		t.Fatal(err)
	}
	if string(got.Structured) != `{"echo":"abab"}` {
		t.Errorf("structured %s", got.Structured)
	}
	if len(got.Content) != 1 || got.Content[0].Text != `{"echo":"abab"}` || got.Content[0].MediaType != "text/plain" {
		t.Errorf("content %+v", got.Content)
	}
	got, err = call(t.Context(), h, "test/picture", "")
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Content) != 1 || string(got.Content[0].Data) != "png" || got.Content[0].MediaType != "image/png" || got.Structured != nil {
		t.Errorf("result %+v", got)
	}
}

func TestToolsSayWhatTheyDo(t *testing.T) {
	s := server("test", "tools")
	yes, no := true, false
	s.Effects = map[string]Declared{"fail": {ReadOnly: &yes}, "lie": {Destructive: &no, Idempotent: &yes}, "wait": {ReadOnly: &no}}
	h := host(t, s)
	for name, want := range map[string]tool.Effects{
		"echo": {ReadOnly: true, OpenWorld: true}, "die": {Destructive: true, OpenWorld: true}, "fail": {ReadOnly: true, OpenWorld: true},
		"lie": {Idempotent: true, OpenWorld: true}, "wait": {Destructive: true, OpenWorld: true},
	} {
		got, err := h.Tool(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		if got.Effects != want || got.Full() != "test/"+name {
			t.Errorf("%s: %+v, want %+v", name, got, want)
		}
	}
}

func TestCallErrors(t *testing.T) {
	h := host(t)
	for _, c := range []struct{ name, tool, arguments, want string }{
		{"unknown tool", "nosuch", `{}`, `there is no tool "nosuch"; there are: test/die, test/echo, test/environment, test/fail, test/flood, test/grow, test/lie, test/mute, test/outside, test/picture, test/progress, test/spawn, test/wait`},
		{"missing argument", "echo", `{}`, `the arguments of "test/echo" do not fit its input schema: missing property 'text'`},
		{"wrong type and extra", "echo", `{"text": 1, "loud": true}`, `the arguments of "test/echo" do not fit its input schema: additional properties 'loud' not allowed; /text: got number, want string`},
		{"not an object", "echo", `[1]`, `the arguments of "test/echo" do not fit its input schema: the arguments must be a JSON object`},
		{"not JSON", "echo", `{`, `the arguments of "test/echo" do not fit its input schema: it is not JSON`},
		{"tool fails", "fail", `{}`, `the tool "test/fail" failed; in its own words: the disk is full`},
		{"output breaks schema", "lie", `{}`, `the answer of "test/lie" does not fit its output schema: /n: got string, want integer`},
		{"no structured output", "mute", `{}`, `the answer of "test/mute" does not fit its output schema: there is no structured result`},
		{"schema points outside", "outside", `{}`, `the tool "test/outside" cannot be used: its input schema is not valid JSON Schema 2020-12 of its own`},
		{"answer too long", "flood", `{}`, `the MCP server "test" does not keep to the protocol: it sent a message of more than 1048576 bytes; whether the tool took effect is not known`},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := call(t.Context(), h, c.tool, c.arguments)
			if err == nil || err.Error() != c.want {
				t.Errorf("error %v\nwant  %s", err, c.want)
			}
		})
	}
}

// What a server does wrong is told by the call at hand, and the next call of another tool
// meets a server that is well again.
func TestServerThatBreaksTheProtocol(t *testing.T) {
	slow := server("slow", "wire")
	slow.CallTimeout = 200 * time.Millisecond
	h := host(t, server("wire", "wire"), slow, server("test", "tools"))
	const lost = "; whether the tool took effect is not known"
	for tool, want := range map[string]string{
		"wire/other-id":    `the MCP server "wire" does not keep to the protocol: it answers the request 4711, which was not made` + lost,
		"wire/twice":       `the answer of "wire/twice" does not fit its output schema: it holds the key "paid" twice in one object`,
		"wire/big":         `the answer of "wire/big" does not fit its output schema: it holds the whole number 9007199254740993, which a data part cannot carry exactly; the tool should give it as text`,
		"wire/chatter":     `the MCP server "wire" does not keep to the protocol: it sends more than 200 messages a second that nobody asked for` + lost,
		"wire/banner":      `the MCP server "wire" does not keep to the protocol: it sent what is no MCP message: it is no JSON object` + lost,
		"wire/deep":        `the MCP server "wire" does not keep to the protocol: it sent what is no MCP message: it is nested more than 200 deep` + lost,
		"slow/silent":      `the tool did not answer in time`,
		"wire/no-schema":   `the tool "wire/no-schema" cannot be used: its input schema is not valid JSON Schema 2020-12 of its own`,
		"wire/same":        `the tool "wire/same" cannot be used: the server lists two tools of this name`,
		"wire/bad\x00name": `the tool "wire/bad\x00name" cannot be used: its name cannot be one`,
		"wire/no-such":     `there is no tool "wire/no-such"`,
		"nosuch/sounds":    `there is no tool "nosuch/sounds"`,
	} {
		t.Run(tool, func(t *testing.T) {
			var err error
			eventually(t, "the server is connected", func() bool {
				_, err = call(t.Context(), h, tool, `{}`)
				return err == nil || !strings.Contains(err.Error(), "is away")
			})
			if err == nil || !strings.HasPrefix(err.Error(), want) {
				t.Errorf("error %v\nwant  %s", err, want)
			}
			if got, err := call(t.Context(), h, "echo", `{"text": "well"}`); err != nil || string(got.Structured) != `{"echo":"well"}` {
				t.Errorf("another server: %s, error %v", got.Structured, err)
			}
		})
	}
}

func TestOneDeadServerBlocksNobody(t *testing.T) {
	dead, mute, slow := server("dead", "tools"), server("mute", "hang"), server("refuses", "refuse")
	dead.Process.Command = []string{"/nonexistent/server"}
	mute.StartTimeout = time.Hour
	slow.Process.Env = []string{serveVariable + "=refuse"}
	l := &ledger{known: map[string][]string{"dead": {"pay"}, "refuses": {"echo"}}}
	h := hostOf(t, l, dead, mute, slow, server("test", "tools"))
	if got, err := call(t.Context(), h, "test/echo", `{"text": "here"}`); err != nil || string(got.Structured) != `{"echo":"here"}` {
		t.Fatalf("result %s, error %v", got.Structured, err)
	}
	eventually(t, "dead servers are known as such", func() bool {
		all := h.Servers()
		return all["dead"].State == Away && all["refuses"].State == Away && all["test"].State == Ready && all["mute"].State == Connecting
	})
	// A tool of a server that is away is told as such, under both its names.
	for _, name := range []string{"pay", "dead/pay"} {
		if _, err := call(t.Context(), h, name, `{}`); err == nil || err.Error() != `the MCP server "dead" is away: it cannot be started or reached` {
			t.Errorf("%s: error %v", name, err)
		}
	}
	if _, err := call(t.Context(), h, "echo", `{}`); err == nil || err.Error() != `several servers have a tool "echo"; write refuses/echo or test/echo` {
		t.Errorf("error %v", err)
	}
	if s := h.Servers()["dead"]; !strings.Contains(s.Cause, "no such file") {
		t.Errorf("cause %q", s.Cause)
	}
}

func TestSlowStart(t *testing.T) {
	s := server("mute", "hang")
	s.StartTimeout = 200 * time.Millisecond
	h := host(t, s)
	_, err := call(t.Context(), h, "mute/echo", `{}`)
	if err == nil || err.Error() != `the MCP server "mute" is away: it took too long to start or to list its tools` {
		t.Errorf("error %v", err)
	}
}

// The end of a server is seen by several goroutines, each in its own time; later calls
// meet the dead one in no order of them.
func TestDeadServerIsStartedAgain(t *testing.T) {
	h := host(t)
	for range 4 {
		var err error
		eventually(t, "the server dies of a call", func() bool {
			_, err = call(t.Context(), h, "die", "")
			return err != nil && !strings.Contains(err.Error(), "is away")
		})
		if err.Error() != `the MCP server "test" was lost during the call; whether the tool took effect is not known` {
			t.Fatalf("error %v", err)
		}
		var got Result
		eventually(t, "it is there again", func() bool {
			got, err = call(t.Context(), h, "test/echo", `{"text": "back"}`)
			return err == nil || !strings.Contains(err.Error(), "is away")
		})
		if err != nil || string(got.Structured) != `{"echo":"back"}` {
			t.Fatalf("result %s, error %v", got.Structured, err)
		}
	}
}

func TestCancelReachesTheServer(t *testing.T) {
	h := host(t)
	file := filepath.Join(t.TempDir(), "call")
	ctx, cancel := context.WithCancelCause(t.Context())
	failed := make(chan error)
	go func() {
		_, err := call(ctx, h, "wait", `{"file": `+strconv.Quote(file)+`}`)
		failed <- err
	}()
	eventually(t, "the tool runs", exists(file+".started"))
	gone := errors.New("the task was canceled")
	cancel(gone)
	if err := <-failed; !errors.Is(err, gone) {
		t.Errorf("error %v, want the cause of the cancel", err)
	}
	eventually(t, "the tool hears of it", exists(file+".canceled"))
}

func TestCallTimeLimitReachesTheServer(t *testing.T) {
	limited := server("test", "tools")
	limited.CallTimeout = 200 * time.Millisecond
	for name, c := range map[string]struct {
		server  Server
		timeout time.Duration
	}{"the server's": {limited, time.Hour}, "the call's": {server("test", "tools"), 200 * time.Millisecond}} {
		t.Run(name, func(t *testing.T) {
			h := host(t, c.server)
			file := filepath.Join(t.TempDir(), "call")
			tool, err := h.Tool(t.Context(), "wait")
			if err != nil {
				t.Fatal(err)
			}
			_, err = h.Call(t.Context(), Call{Tool: tool, Arguments: json.RawMessage(`{"file": ` + strconv.Quote(file) + `}`), Timeout: c.timeout})
			if !errors.Is(err, ErrTimeout) {
				t.Errorf("error %v, want a timeout", err)
			}
			eventually(t, "the tool hears of it", exists(file+".canceled"))
		})
	}
}

func TestProgressIsHeard(t *testing.T) {
	h := host(t)
	tool, err := h.Tool(t.Context(), "progress")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "heard")
	var got Progress
	res, err := h.Call(t.Context(), Call{Tool: tool, Arguments: json.RawMessage(`{"file": ` + strconv.Quote(file) + `}`), Progress: func(p Progress) {
		got = p
		_ = os.WriteFile(file, nil, 0o600)
	}})
	if err != nil || res.Content[0].Text != "read" || got != (Progress{Message: "page", Done: 1, Total: 3}) {
		t.Errorf("progress %+v, result %+v, error %v", got, res, err)
	}
}

func TestChangedToolsAreSeenAndHeld(t *testing.T) {
	l := &ledger{}
	h := hostOf(t, l, server("test", "tools"))
	if _, err := call(t.Context(), h, "grow", ""); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the new tool can be called", func() bool {
		got, err := call(t.Context(), h, "grown", "")
		return err == nil && got.Content[0].Text == "new here"
	})
	before, err := h.Tool(t.Context(), "grown")
	if err != nil {
		t.Fatal(err)
	}
	l.mu.Lock()
	l.held = map[string]bool{before.Digest: true}
	names := []string{}
	for _, d := range l.offered["test"] {
		names = append(names, d.Name)
	}
	l.mu.Unlock()
	if !slices.Contains(names, "grown") {
		t.Errorf("offered %v", names)
	}
	if _, err := h.Call(t.Context(), Call{Tool: before}); err == nil || err.Error() != `the tool "test/grown" is new or has changed, and waits for approval` {
		t.Errorf("error %v", err)
	}
	before.Name, before.Digest = "grow", "another"
	if _, err := h.Call(t.Context(), Call{Tool: before}); err == nil || err.Error() != `the tool "test/grow" has just changed; it was not called` {
		t.Errorf("error %v", err)
	}
}

func TestCloseEndsTheWholeProcessGroup(t *testing.T) {
	h := host(t)
	got, err := call(t.Context(), h, "spawn", "")
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(got.Content[0].Text)
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, 0); err != nil {
		t.Fatalf("the server's child does not run: %v", err)
	}
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the server's child is gone", func() bool { return gone(pid) })
	if _, err := call(t.Context(), h, "test/echo", ""); !errors.Is(err, ErrClosed) {
		t.Errorf("error %v after close", err)
	}
}

// gone tells whether a process has ended, be it reaped or not.
func gone(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return true
	}
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	return err == nil && strings.Contains(string(stat), ") Z ")
}

func TestServerSeesNoVariablesOfOurs(t *testing.T) {
	t.Setenv("DATABASE_PASSWORD", "secret")
	h := host(t, server("test", "tools", "REGION=eu"))
	got, err := call(t.Context(), h, "environment", "")
	if err != nil {
		t.Fatal(err)
	}
	if got.Content[0].Text != "PATH "+serveVariable+" REGION" {
		t.Errorf("variables %s", got.Content[0].Text)
	}
}

func TestConfigIsChecked(t *testing.T) {
	for want, change := range map[string]func(*Server){
		"MCP server test: give either a command or a url":                                            func(c *Server) { c.Process = nil },
		"MCP server test: no command is given":                                                       func(c *Server) { c.Process.Command = nil },
		"MCP server test: start and call time limits must be positive":                               func(c *Server) { c.CallTimeout = 0 },
		"MCP server test: its tools cannot be listed more often than each second":                    func(c *Server) { c.Refresh = 1 },
		"MCP server test: the largest message must be at least 1024 bytes":                           func(c *Server) { c.MaxMessage = 0 },
		`MCP server test: environment entry "TOKEN" is not NAME=value`:                               func(c *Server) { c.Process.Env = []string{"TOKEN"} },
		`MCP server "A b": a name has small letters, digits and hyphens, at most 40`:                 func(c *Server) { c.Name = "A b" },
		"MCP server test: url: credentials are sent over https only; write https://":                 func(c *Server) { c.Process, c.Remote = nil, &Remote{URL: "http://tools.example.com/", BearerFile: "x"} },
		"MCP server test: url: address 127.0.0.1 is not public, and its network has not been opened": func(c *Server) { c.Process, c.Remote = nil, &Remote{URL: "http://127.0.0.1/"} },
		`MCP server test: header_files: "Mcp-Session-Id" cannot be set`: func(c *Server) {
			c.Process, c.Remote = nil, &Remote{URL: "https://a.example/", HeaderFiles: map[string]string{"Mcp-Session-Id": "x"}}
		},
		"MCP server test: oauth: client_id and secret_file are needed": func(c *Server) {
			c.Process, c.Remote = nil, &Remote{URL: "https://a.example/", OAuth: &credential.OAuth{}}
		},
	} {
		c := server("test", "tools")
		change(&c)
		if err := c.Validate(); err == nil || err.Error() != want {
			t.Errorf("error %v, want %s", err, want)
		}
	}
}

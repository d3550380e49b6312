package toolhost

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

func config(variables ...string) Config {
	return Config{
		Command:      []string{os.Args[0]},
		Env:          append([]string{serveVariable + "=tools"}, variables...),
		StartTimeout: time.Minute, CallTimeout: time.Minute, MaxMessage: 1 << 20,
	}
}

func host(t *testing.T, c Config) *Host {
	t.Helper()
	h, err := New(c, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.Close() })
	return h
}

// eventually waits for what another process does; the test's own time limit ends it.
func eventually(t *testing.T, what string, done func() bool) {
	t.Helper()
	for !done() {
		select {
		case <-t.Context().Done():
			t.Fatal("never: " + what)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

func exists(path string) func() bool {
	return func() bool { _, err := os.Stat(path); return err == nil }
}

func TestCallGivesStructuredResultAndText(t *testing.T) {
	h := host(t, config())
	got, err := h.Call(t.Context(), "echo", json.RawMessage(`{"text": "ab", "times": 2}`))
	if err != nil {
		t.Fatal(err)
	}
	if string(got.Structured) != `{"echo":"abab"}` {
		t.Errorf("structured %s", got.Structured)
	}
	if len(got.Content) != 1 || got.Content[0].Text != `{"echo":"abab"}` || got.Content[0].MediaType != "text/plain" {
		t.Errorf("content %+v", got.Content)
	}
	got, err = h.Call(t.Context(), "picture", nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Content) != 1 || string(got.Content[0].Data) != "png" || got.Content[0].MediaType != "image/png" || got.Structured != nil {
		t.Errorf("result %+v", got)
	}
}

func TestToolsAreListedWithTheirSchemas(t *testing.T) {
	h := host(t, config())
	tools, err := h.Tools(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, tool := range tools {
		names = append(names, tool.Name)
		if tool.Name == "echo" && (!tool.Repeatable || tool.Description != "Says it again." || !strings.Contains(string(tool.Input), `"text"`)) {
			t.Errorf("echo is %+v", tool)
		}
		if tool.Name == "die" && tool.Repeatable {
			t.Error("die is repeatable")
		}
	}
	if got := strings.Join(names, " "); got != "die echo environment fail flood grow lie mute outside picture spawn wait" {
		t.Errorf("tools %s", got)
	}
}

func TestCallErrors(t *testing.T) {
	h := host(t, config())
	for _, c := range []struct{ name, tool, arguments, want string }{
		{"unknown tool", "nosuch", `{}`, `there is no tool "nosuch"; the server has: die, echo, environment, fail, flood, grow, lie, mute, outside, picture, spawn, wait`},
		{"missing argument", "echo", `{}`, `the arguments of "echo" do not fit its input schema: missing property 'text'`},
		{"wrong type and extra", "echo", `{"text": 1, "loud": true}`, `the arguments of "echo" do not fit its input schema: additional properties 'loud' not allowed; /text: got number, want string`},
		{"not an object", "echo", `[1]`, `the arguments of "echo" do not fit its input schema: the arguments must be a JSON object`},
		{"not JSON", "echo", `{`, `the arguments of "echo" do not fit its input schema: the arguments are not JSON`},
		{"tool fails", "fail", `{}`, `the tool "fail" failed; in its own words: the disk is full`},
		{"output breaks schema", "lie", `{}`, `the answer of "lie" does not fit its output schema: /n: got string, want integer`},
		{"no structured output", "mute", `{}`, `the answer of "mute" does not fit its output schema: there is no structured result`},
		{"schema points outside", "outside", `{}`, `the tool "outside" cannot be used: its input schema is not valid JSON Schema 2020-12`},
		{"answer too long", "flood", `{}`, `the MCP server ended during the call`},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := h.Call(t.Context(), c.tool, json.RawMessage(c.arguments))
			if err == nil || err.Error() != c.want {
				t.Errorf("error %v\nwant  %s", err, c.want)
			}
		})
	}
}

// The end of a server is seen by several goroutines, each in its own time; the
// next call must not meet the dead one in any order of them.
func TestDeadServerIsStartedAgain(t *testing.T) {
	h := host(t, config())
	for range 10 {
		_, err := h.Call(t.Context(), "die", nil)
		var gone *Unavailable
		if !errors.As(err, &gone) || err.Error() != "the MCP server ended during the call" {
			t.Fatalf("error %v", err)
		}
		got, err := h.Call(t.Context(), "echo", json.RawMessage(`{"text": "back"}`))
		if err != nil || string(got.Structured) != `{"echo":"back"}` {
			t.Fatalf("result %s, error %v", got.Structured, err)
		}
	}
}

func TestCancelReachesTheServer(t *testing.T) {
	h := host(t, config())
	file := filepath.Join(t.TempDir(), "call")
	ctx, cancel := context.WithCancelCause(t.Context())
	failed := make(chan error)
	go func() {
		_, err := h.Call(ctx, "wait", json.RawMessage(`{"file": `+strconv.Quote(file)+`}`))
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
	c := config()
	c.CallTimeout = 200 * time.Millisecond
	h := host(t, c)
	file := filepath.Join(t.TempDir(), "call")
	_, err := h.Call(t.Context(), "wait", json.RawMessage(`{"file": `+strconv.Quote(file)+`}`))
	if !errors.Is(err, ErrTimeout) {
		t.Errorf("error %v, want a timeout", err)
	}
	eventually(t, "the tool hears of it", exists(file+".canceled"))
}

func TestChangedToolsAreSeen(t *testing.T) {
	h := host(t, config())
	if _, err := h.Call(t.Context(), "grow", nil); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the new tool can be called", func() bool {
		got, err := h.Call(t.Context(), "grown", nil)
		return err == nil && got.Content[0].Text == "new here"
	})
}

func TestCloseEndsTheWholeProcessGroup(t *testing.T) {
	h := host(t, config())
	got, err := h.Call(t.Context(), "spawn", nil)
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
	if _, err := h.Call(t.Context(), "echo", nil); !errors.Is(err, ErrClosed) {
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
	h := host(t, config("REGION=eu"))
	got, err := h.Call(t.Context(), "environment", nil)
	if err != nil {
		t.Fatal(err)
	}
	if got.Content[0].Text != "PATH "+serveVariable+" REGION" {
		t.Errorf("variables %s", got.Content[0].Text)
	}
}

func TestServerThatDoesNotStart(t *testing.T) {
	for name, change := range map[string]func(*Config){
		"no such program": func(c *Config) { c.Command = []string{"/nonexistent/server"} },
		"ends at once":    func(c *Config) { c.Env = []string{serveVariable + "=refuse"} },
		"says nothing": func(c *Config) {
			c.Env, c.StartTimeout = []string{serveVariable + "=hang"}, 200*time.Millisecond
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := config()
			change(&c)
			_, err := host(t, c).Call(t.Context(), "echo", nil)
			if err == nil || err.Error() != "the MCP server cannot be started" {
				t.Errorf("error %v", err)
			}
		})
	}
}

func TestConfigIsChecked(t *testing.T) {
	good := config()
	for name, change := range map[string]func(*Config){
		"MCP server: no command is given":                         func(c *Config) { c.Command = nil },
		"MCP server: start and call time limits must be positive": func(c *Config) { c.CallTimeout = 0 },
		"MCP server: the largest message must be positive":        func(c *Config) { c.MaxMessage = 0 },
		`MCP server: environment entry "TOKEN" is not NAME=value`: func(c *Config) { c.Env = []string{"TOKEN"} },
	} {
		c := good
		change(&c)
		if _, err := New(c, slog.Default()); err == nil || err.Error() != name {
			t.Errorf("error %v, want %s", err, name)
		}
	}
}

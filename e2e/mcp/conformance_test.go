//go:build slow

// Package mcp drives the adapter for tools of MCP with the protocol's own suite.
package mcp

import (
	"bufio"
	"os"
	"os/exec"
	"strings"
	"testing"

	"sabha.dev/testrig/leftout"
)

// TestTheConformanceSuiteOf20251125 runs every scenario of the suite that is not
// pending. The one for 2026-07-28 needs a newer Node and is run by hand; docs/conformance.md
// has its results.
func TestTheConformanceSuiteOf20251125(t *testing.T) {
	leftout.Program(t, "node", "install Node.js 20 or newer")
	program := "node_modules/.bin/conformance"
	if _, err := os.Stat(program); err != nil {
		leftout.Because(t, "the suite is not installed: run npm ci --prefix e2e/mcp")
	}
	bin := t.TempDir() + "/fixture"
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", bin, "./fixture").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	server := exec.CommandContext(t.Context(), bin, "-http", "127.0.0.1:0")
	pipe, err := server.StdoutPipe()
	if err == nil {
		err = server.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = server.Process.Kill()
		_ = server.Wait()
	})
	url, err := bufio.NewReader(pipe).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), program, "server", "--url", strings.TrimSpace(url), "-o", t.TempDir()).CombinedOutput()
	if _, summary, _ := strings.Cut(string(out), "=== SUMMARY ==="); err != nil || !strings.Contains(summary, "Total: 40 passed, 0 failed") {
		t.Errorf("%v: %s", err, out)
	}
}

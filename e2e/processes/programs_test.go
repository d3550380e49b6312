//go:build slow

// Package processes runs the platform as its operators do: every service a
// process of its own, with the configuration that is shipped.
package processes

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// root is the repository.
const root = "../.."

// services are the programs with a configuration file of their own.
var services = []string{"security", "planner", "memory", "executor", "research", "validator", "review", "partners", "gateway", "console"}

// bin is the folder with the programs, built once for all tests.
var bin string

func TestMain(m *testing.M) {
	os.Exit(func() int {
		var err error
		if bin, err = os.MkdirTemp("", "sabha-processes-"); err != nil {
			panic(err)
		}
		defer func() { _ = os.RemoveAll(bin) }()
		args := []string{"build", "-o", bin + "/", "./cmd/sabha"}
		for _, s := range services {
			args = append(args, "./services/"+s+"/cmd/"+s)
		}
		build := exec.Command("go", args...)
		build.Dir, build.Stdout, build.Stderr = root, os.Stderr, os.Stderr
		build.Env = append(os.Environ(), "CGO_ENABLED=0")
		if err := build.Run(); err != nil {
			return 1
		}
		return m.Run()
	}())
}

// run runs a program to its end and gives its exit code and all that it printed.
func run(t *testing.T, dir, program string, args ...string) (code int, said string) {
	t.Helper()
	c := exec.CommandContext(t.Context(), program, args...)
	c.Dir = dir
	var out bytes.Buffer
	c.Stdout, c.Stderr = &out, &out
	err := c.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return c.ProcessState.ExitCode(), out.String()
}

func program(name string) string { return filepath.Join(bin, name) }

// shipped is the configuration of a service as it is shipped.
func shipped(t *testing.T, service string) (file string) {
	t.Helper()
	file, err := filepath.Abs(filepath.Join(root, "deploy", "config", service+".yaml"))
	if err != nil {
		t.Fatal(err)
	}
	return file
}

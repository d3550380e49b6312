//go:build browser

package browser

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"sabha.dev/testrig/freeport"
	"sabha.dev/testrig/leftout"
	"sabha.dev/testrig/logtest"
)

// root is the repository.
const root = "../.."

// within bounds every wait. It is reached only when something is broken.
const within = 2 * time.Minute

// sabha is the program, built once for all tests.
var sabha string

func TestMain(m *testing.M) {
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "sabha-browser-")
		if err != nil {
			panic(err)
		}
		defer func() { _ = os.RemoveAll(dir) }()
		sabha = filepath.Join(dir, "sabha")
		build := exec.Command("go", "build", "-o", sabha, "./cmd/sabha")
		build.Dir, build.Stdout, build.Stderr = root, os.Stderr, os.Stderr
		build.Env = append(os.Environ(), "CGO_ENABLED=0")
		if err := build.Run(); err != nil {
			return 1
		}
		return m.Run()
	}())
}

// target is a running platform as the specs know it.
type target struct {
	Console string `json:"console"`
	HTTP    string `json:"http"`
	Key     string `json:"key"`
	// Password of admin at the console.
	Password string `json:"password"`
	Chromium string `json:"chromium"`
	// Partner is where the agent of another organisation is served.
	Partner string `json:"partner"`
	// People is where the identity provider is told whom it signs in.
	People string `json:"people"`
	// Out is the folder for screenshots.
	Out string `json:"out,omitempty"`
}

// programs finds Node.js and Chromium, or leaves the test out.
func programs(t *testing.T) (node, chromium string) {
	t.Helper()
	chromium = leftout.Program(t, "chromium", "install Debian's package chromium")
	node = leftout.Program(t, "node", "install Node.js 20 or newer")
	if _, err := os.Stat("node_modules/playwright-core"); err != nil {
		leftout.Because(t, "Playwright is not installed: run npm ci --prefix e2e/browser")
	}
	return node, chromium
}

// up runs `sabha up` in a folder of its own until the test ends.
func up(t *testing.T) target {
	t.Helper()
	ports, err := freeport.Find(3)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	other := abroad(t, filepath.Join(dir, "agreements"))
	address := func(i int) string { return fmt.Sprintf("127.0.0.1:%d", ports[i]) }
	settings, people := identities(t, dir, "http://"+address(2))
	c := exec.Command(sabha, "up", "--data", filepath.Join(dir, "data"), "--docs", absolute(t, "testdata/docs"), "--playbooks", absolute(t, "testdata/playbooks"), "--agreements", filepath.Join(dir, "agreements"), //nolint:noctx // stopped below
		"--http", address(0), "--grpc", address(1), "--console", address(2), "--console-settings", settings)
	c.Dir = dir
	said := &logtest.Buffer{}
	c.Stdout, c.Stderr = said, said
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- c.Wait() }()
	t.Cleanup(func() {
		_ = c.Process.Signal(syscall.SIGTERM)
		select {
		case err := <-ended:
			if err != nil {
				t.Errorf("sabha up ended with %v", err)
			}
		case <-time.After(within):
			_ = c.Process.Kill()
			t.Error("sabha up does not stop")
		}
		if t.Failed() {
			t.Logf("sabha up said:\n%s", said)
		}
	})
	for deadline := time.Now().Add(within); !strings.Contains(said.String(), "Ready in"); {
		select {
		case err := <-ended:
			ended <- err
			t.Fatalf("sabha up ended before it was ready: %v", err)
		case <-time.After(20 * time.Millisecond):
		}
		if time.Now().After(deadline) {
			t.Fatal("sabha up is not ready")
		}
	}
	after := func(prefix string) string {
		_, rest, _ := strings.Cut(said.String(), prefix)
		return strings.Fields(rest + " ?")[0]
	}
	return target{Partner: other, People: people, Console: "http://" + address(2), HTTP: "http://" + address(0), Key: after("export SABHA_KEY="), Password: after("  Password  ")}
}

func absolute(t *testing.T, name string) string {
	t.Helper()
	path, err := filepath.Abs(name)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// verdict is a line of lib/reporter.mjs.
type verdict struct {
	Name    string `json:"name"`
	Depth   int    `json:"depth"`
	Failure string `json:"failure"`
	Skipped bool   `json:"skipped"`
	Note    string `json:"note"`
}

// spec runs a file of node:test against the platform and reports each of its tests.
func spec(t *testing.T, node, file string, p target) {
	t.Helper()
	raw, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	c := exec.CommandContext(t.Context(), node, "--test-reporter=./lib/reporter.mjs", file)
	c.Env = append(os.Environ(), "SABHA_PLATFORM="+string(raw))
	var stderr bytes.Buffer
	c.Stderr = &stderr
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	told := 0
	for lines := bufio.NewScanner(out); lines.Scan(); {
		var v verdict
		if json.Unmarshal(lines.Bytes(), &v) != nil || (v.Name == "" && v.Note == "") {
			t.Log(lines.Text())
			continue
		}
		if v.Note != "" {
			t.Log(v.Note)
			continue
		}
		told++
		t.Run(v.Name, func(t *testing.T) {
			switch {
			case v.Skipped:
				leftout.Because(t, "the spec leaves it out")
			case v.Failure != "":
				t.Error(v.Failure)
			}
		})
	}
	if err := c.Wait(); err != nil && !t.Failed() {
		t.Errorf("%s: %v\n%s", file, err, stderr.String())
	}
	if told == 0 {
		t.Errorf("%s has no test\n%s", file, stderr.String())
	}
}

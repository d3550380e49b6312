package interop

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"sabha.dev/testrig/leftout"
)

// buildCommand builds the a2a command of the Go SDK from the version that tools/go.mod pins.
func buildCommand(t *testing.T) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "a2a")
	build := exec.CommandContext(t.Context(), leftout.Program(t, "go", "install Go"), "build", "-o", program, "github.com/a2aproject/a2a-go/v2/cmd/a2a")
	build.Dir = "../../tools"
	build.Env = append(os.Environ(), "GOWORK=off", "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build a2a: %v\n%s", err, out)
	}
	return program
}

// cliTask is a task as the command prints it.
type cliTask struct {
	ID        string
	Status    struct{ State string }
	Artifacts []struct {
		Name  string
		Parts []struct{ Text string }
	}
	History []any
}

func (c cliTask) answer() string {
	for _, a := range c.Artifacts {
		if a.Name == "answer" {
			return a.Parts[0].Text
		}
	}
	return ""
}

// decode reads the JSON values that the command printed one after the other.
func decode[T any](t *testing.T, out string) []T {
	t.Helper()
	var all []T
	for dec := json.NewDecoder(strings.NewReader(out)); ; {
		var v T
		if err := dec.Decode(&v); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatalf("%v in %s", err, out)
		}
		all = append(all, v)
	}
}

// one decodes the one value that the command printed.
func one[T any](t *testing.T, out string) T {
	t.Helper()
	all := decode[T](t, out)
	if len(all) != 1 {
		t.Fatalf("printed %d values: %s", len(all), out)
	}
	return all[0]
}

const computeWithoutCode = `{"role":"ROLE_USER","parts":[{"text":"Compute it."}],"metadata":{"urn:sabha:ext:playbook:v1":"compute"}}`

func TestGoCommand(t *testing.T) {
	program := buildCommand(t)
	p := start(t)
	for _, c := range []struct {
		name, url string
		flags     []string
	}{
		{"HTTP+JSON", p.url, []string{"--transport", "rest"}},
		{"JSONRPC", p.url + "/rpc", []string{"--transport", "jsonrpc"}},
		{"GRPC", p.grpc, []string{"--transport", "grpc", "--insecure"}},
		{"by card", withScopesAsArrays(t, p.url), nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			a2a := command{t: t, program: program, url: c.url, anonymous: append([]string{"-o", "json"}, c.flags...)}
			a2a.known = append([]string{"--auth", "Bearer " + p.key}, a2a.anonymous...)
			a2a.checkAnswers()
			a2a.checkLife()
			a2a.checkSearch(c.name == "by card")
		})
	}
}

// command is the a2a command against one address.
type command struct {
	t                *testing.T
	program, url     string
	known, anonymous []string
}

func (c command) must(args ...string) string {
	c.t.Helper()
	return must(c.t, c.program, append(args, c.known...)...)
}

func (c command) fails(sentence string, args ...string) {
	c.t.Helper()
	out, failure := run(c.t, c.program, append(args, c.known...)...)
	if !strings.Contains(failure, sentence) {
		c.t.Errorf("a2a %v failed with %q, want …%s…\n%s", args, failure, sentence, out)
	}
}

func (c command) checkAnswers() {
	t := c.t
	t.Helper()
	sent := one[cliTask](t, c.must("send", c.url, "How often are backups taken?"))
	equal(t, "sent", sent.Status.State, "TASK_STATE_COMPLETED")
	if !strings.Contains(sent.answer(), "every six hours") {
		t.Errorf("answer %q", sent.answer())
	}
	got := one[cliTask](t, c.must("get", "task", c.url, sent.ID, "--history", "0"))
	equal(t, "got", got.ID+" "+got.answer(), sent.ID+" "+sent.answer())
	equal(t, "history of length 0", len(got.History), 0)

	events := decode[struct {
		Task         *cliTask
		StatusUpdate *cliTask
	}](t, c.must("send", c.url, "What does a restore need?", "--stream"))
	if events[0].Task == nil {
		t.Error("the stream does not begin with the task")
	}
	if last := events[len(events)-1].StatusUpdate; last == nil || last.Status.State != "TASK_STATE_COMPLETED" {
		t.Errorf("the stream ends with %+v", last)
	}
	c.fails("has ended as TASK_STATE_COMPLETED", "cancel", c.url, sent.ID)
	c.fails("start a new one in the same context", "send", c.url, "More?", "--task", sent.ID)
}

// checkLife asks, lists, cancels, and subscribes until the end.
func (c command) checkLife() {
	t := c.t
	t.Helper()
	asked := one[cliTask](t, c.must("send", c.url, "--json", computeWithoutCode))
	equal(t, "asked", asked.Status.State, "TASK_STATE_INPUT_REQUIRED")
	list := one[struct{ Tasks []cliTask }](t, c.must("list", "tasks", c.url, "--status", "input-required", "--limit", "1"))
	if len(list.Tasks) != 1 || list.Tasks[0].ID != asked.ID {
		t.Errorf("the tasks that wait begin with %v, want %s", list.Tasks, asked.ID)
	}

	subscription := exec.CommandContext(t.Context(), c.program, append([]string{"subscribe", c.url, asked.ID}, c.known...)...)
	output, err := subscription.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := subscription.Start(); err != nil {
		t.Fatal(err)
	}
	events := json.NewDecoder(output)
	var first struct{ Task cliTask }
	if err := events.Decode(&first); err != nil {
		t.Fatal(err)
	}
	equal(t, "first event subscribed to", first.Task.ID+" "+first.Task.Status.State, asked.ID+" TASK_STATE_INPUT_REQUIRED")
	canceling := one[cliTask](t, c.must("cancel", c.url, asked.ID))
	if s := canceling.Status.State; s != "TASK_STATE_WORKING" && s != "TASK_STATE_CANCELED" {
		t.Errorf("cancel answers %s", s)
	}
	var last struct{ StatusUpdate cliTask }
	for err == nil {
		err = events.Decode(&last)
	}
	if err := subscription.Wait(); err != nil {
		t.Errorf("subscribe: %v", err)
	}
	equal(t, "last event subscribed to", last.StatusUpdate.Status.State, "TASK_STATE_CANCELED")
	c.fails("does not exist or is not yours", "get", "task", c.url, "nothing")
	c.fails("does not exist or is not yours", "cancel", c.url, "nothing")
}

// checkSearch calls research directly, without credentials: by its tenant, or by its own card.
func (c command) checkSearch(byCard bool) {
	t := c.t
	t.Helper()
	url := c.url
	args := append([]string{"--parts", `[{"data":{"action":"search","query":"how often are backups taken","limit":1}}]`}, c.anonymous...)
	if byCard {
		url += "/research"
	} else {
		args = append(args, "--tenant", "research")
	}
	found := one[struct {
		Role  string
		Parts []struct {
			Data *struct{ Results []struct{ Document string } }
		}
	}](t, must(t, c.program, append([]string{"send", url}, args...)...))
	equal(t, "role", found.Role, "ROLE_AGENT")
	var documents []string
	for _, part := range found.Parts {
		if part.Data != nil {
			for _, r := range part.Data.Results {
				documents = append(documents, r.Document)
			}
		}
	}
	equal(t, "found", strings.Join(documents, " "), "operations.md")
}

// TestGoCommandReadsNoScopesInProtoJSON shows why the test above lets the command
// read cards through a proxy. When it fails, the SDK has learnt it and the proxy can go.
func TestGoCommandReadsNoScopesInProtoJSON(t *testing.T) {
	program := buildCommand(t)
	p := start(t)
	_, failure := run(t, program, "discover", p.url)
	if !strings.Contains(failure, "cannot unmarshal object into Go struct field AgentCard.securityRequirements.schemes") {
		t.Errorf("discover: %q", failure)
	}
	card := must(t, program, "discover", withScopesAsArrays(t, p.url))
	for _, line := range []string{"Name:         Sabha", "HTTP+JSON    " + localhost(p.url), "JSONRPC      " + localhost(p.url) + "/rpc", "Streaming:    true", "plan-and-run"} {
		if !strings.Contains(card, line) {
			t.Errorf("no %q in\n%s", line, card)
		}
	}
}

// localhost is the address as cards name it.
func localhost(url string) string { return strings.Replace(url, "127.0.0.1", "localhost", 1) }

// withScopesAsArrays serves the cards of a platform, with the scopes of security
// requirements written as the Go SDK reads them: [] for the ProtoJSON {"list": []}.
func withScopesAsArrays(t *testing.T, platform string) string {
	t.Helper()
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		req, err := http.NewRequestWithContext(r.Context(), http.MethodGet, platform+r.URL.Path, nil)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		defer func() { _ = res.Body.Close() }()
		var card map[string]any
		if err := json.NewDecoder(res.Body).Decode(&card); err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		requirements, _ := card["securityRequirements"].([]any)
		for _, r := range requirements {
			schemes, _ := r.(map[string]any)["schemes"].(map[string]any)
			for name := range schemes {
				schemes[name] = []any{}
			}
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(card)
	}))
	t.Cleanup(proxy.Close)
	return proxy.URL
}

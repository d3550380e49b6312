package main

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sabha.dev/chassis/ext"
	"sabha.dev/chassis/service"
	"sabha.dev/cmd/sabha/platform"
)

// toFrancs is the playbook that the agent author's guide shows.
func toFrancs(t *testing.T) string {
	t.Helper()
	guide, err := os.ReadFile("../../../docs/agent-author-guide.md")
	if err != nil {
		t.Fatal(err)
	}
	_, after, ok := strings.Cut(string(guide), "```yaml\nplaybook: to-francs\n")
	text, _, closed := strings.Cut(after, "```\n")
	if !ok || !closed {
		t.Fatal("the guide does not have the playbook to-francs")
	}
	return "playbook: to-francs\n" + text
}

func TestThePlaybookOfTheGuideCallsThePersona(t *testing.T) {
	books := t.TempDir()
	if err := os.WriteFile(filepath.Join(books, "to-francs.yaml"), []byte(toFrancs(t)), 0o600); err != nil {
		t.Fatal(err)
	}
	p, err := platform.Start(t.Context(), platform.Options{
		Data: t.TempDir(), Playbooks: books, HTTP: "127.0.0.1:0", GRPC: "127.0.0.1:0", Console: "127.0.0.1:0", Log: slog.New(slog.DiscardHandler),
		Extra:  []service.Definition{New(Config{Rates: map[string]float64{"CHF": 0.5}})},
		Agents: map[string][]string{"rates": {"convert", "list"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := p.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	}()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+p.HTTPAddr()+"/message:send", strings.NewReader(
		`{"message":{"messageId":"m1","role":"ROLE_USER","parts":[{"data":{"amount":30}}],"metadata":{"`+ext.Playbook+`":"to-francs"}}}`))
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{"Content-Type": "application/json", "A2A-Version": "1.0", "X-API-Key": p.FirstKey} {
		req.Header.Set(name, value)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	var answer struct {
		Task struct {
			Status    struct{ State string }
			Artifacts []struct{ Parts []struct{ Text string } }
		}
	}
	if err := json.NewDecoder(res.Body).Decode(&answer); err != nil {
		t.Fatal(err)
	}
	if answer.Task.Status.State != "TASK_STATE_COMPLETED" || len(answer.Task.Artifacts) != 1 || answer.Task.Artifacts[0].Parts[0].Text != `{"amount":15,"currency":"CHF"}` {
		t.Errorf("%s: %+v", res.Status, answer.Task)
	}
}

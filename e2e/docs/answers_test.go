package docs

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"sabha.dev/cmd/sabha/platform"
)

// The demonstration answers from these documents, without a model. A question
// that a section has as its heading must be answered by its sentences.
func TestTheDocumentsAnswerQuestions(t *testing.T) {
	p, err := platform.Start(t.Context(), platform.Options{
		Data: t.TempDir(), Docs: root + "/docs", HTTP: "127.0.0.1:0", GRPC: "127.0.0.1:0", Console: "127.0.0.1:0", Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := p.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	}()
	for i, c := range []struct{ question, want string }{
		{"What happens to a running task when its process is killed?", "another replica takes it over within about 12 seconds"},
		{"Which exit code does sabha ask give when a task waits for more input?", "gives exit code 6"},
		{"How is a finished task cancelled?", "TASK_NOT_CANCELABLE"},
		{"What happens when NATS is away?", "events wait in the outbox"},
		{"How long does a replica keep its tasks without renewing its lease?", "10 seconds"},
		{"How fast does a revoked key stop working?", "within 5 seconds"},
		{"How long are events kept?", "24 hours"},
		{"What happens when screening cannot be reached?", "rejected"},
		{"What is lost in a power failure?", "no acknowledged task is lost"},
		{"How often is a failed step tried again?", "twice"},
		{"Who owns a child task?", "owned by the service that made it"},
		{"When is a hop written?", "in the transaction that ends the task"},
	} {
		state, text := ask(t, p, i, c.question)
		if state != "TASK_STATE_COMPLETED" || !strings.Contains(text, c.want) {
			t.Errorf("%s\n%s %q; want %q in it", c.question, state, text, c.want)
		}
	}
}

func ask(t *testing.T, p *platform.Platform, n int, question string) (state, text string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+p.HTTPAddr()+"/message:send", strings.NewReader(
		`{"message":{"messageId":"q`+strconv.Itoa(n)+`","role":"ROLE_USER","parts":[{"text":"`+question+`"}]}}`))
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
	for _, a := range answer.Task.Artifacts {
		for _, part := range a.Parts {
			text += part.Text
		}
	}
	return answer.Task.Status.State, text
}

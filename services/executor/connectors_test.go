package executor

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"

	"sabha.dev/chassis/agent"
)

func TestAnOperationIsCalledAsATask(t *testing.T) {
	provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer s3cret" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"rate": 1.25}`)
	}))
	defer provider.Close()
	dir := t.TempDir()
	write := func(name, text string) string {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	document := write("api.yaml", `
openapi: 3.0.3
security: [{token: []}]
paths:
  /rates/{currency}:
    get:
      operationId: rate
      parameters: [{name: currency, in: path, required: true, schema: {type: string, pattern: "^[A-Z]{3}$"}}]
      responses: {"200": {content: {application/json: {schema: {type: object, required: [rate], properties: {rate: {type: number, minimum: 0, exclusiveMinimum: true}}}}}}}
  /orders:
    post: {operationId: order, responses: {"200": {content: {application/json: {schema: {type: object}}}}}}
    delete: {operationId: clear}
components: {securitySchemes: {token: {type: http, scheme: bearer}}}
`)
	client, ctx := startWith(t, &MCP{Connectors: map[string]Connector{"bank": {
		Document: document, URL: provider.URL, Networks: []string{"127.0.0.0/8"}, Trust: "first-use", IdempotencyHeader: "Idempotency-Key",
		Credentials: map[string]ConnectorCredential{"token": {SecretFile: write("token", "s3cret")}},
	}}})
	for name, c := range map[string]struct {
		data  map[string]any
		state a2apb.TaskState
		want  string
	}{
		"as an operation": {map[string]any{"provider": "bank", "operation": "rate", "arguments": map[string]any{"currency": "EUR"}}, a2apb.TaskState_TASK_STATE_COMPLETED, `{"body":{"rate":1.25},"status":200}`},
		"as a tool":       {map[string]any{"tool": "bank/rate", "arguments": map[string]any{"currency": "EUR"}}, a2apb.TaskState_TASK_STATE_COMPLETED, `{"body":{"rate":1.25},"status":200}`},
		"what changes":    {map[string]any{"tool": "order"}, a2apb.TaskState_TASK_STATE_AUTH_REQUIRED, "waits for a person"},
		"what destroys":   {map[string]any{"tool": "clear"}, a2apb.TaskState_TASK_STATE_REJECTED, "no rule lets caller call bank/clear with these arguments"},
		"wrong arguments": {map[string]any{"tool": "rate", "arguments": map[string]any{"currency": "euro"}}, a2apb.TaskState_TASK_STATE_FAILED, `message.parts[0].data.arguments: the arguments of "bank/rate" do not fit its input schema: /currency: 'euro' does not match pattern '^[A-Z]{3}$'`},
		"half a name":     {map[string]any{"operation": "rate"}, a2apb.TaskState_TASK_STATE_FAILED, "message.parts[0].data: names half of an operation"},
	} {
		t.Run(name, func(t *testing.T) {
			res, err := client.SendMessage(ctx, request(t, name, c.data))
			if err != nil {
				t.Fatal(err)
			}
			task := res.GetTask()
			got := agent.TextOf(task.GetStatus().GetMessage().GetParts())
			if len(task.GetArtifacts()) > 0 {
				raw, err := agent.DataOf(task.GetArtifacts()[0].GetParts()).MarshalJSON()
				if err != nil {
					t.Fatal(err)
				}
				got = strings.ReplaceAll(string(raw), " ", "")
			}
			if task.GetStatus().GetState() != c.state || !strings.HasPrefix(got, c.want) {
				t.Errorf("%v %s\nwant %v %s", task.GetStatus().GetState(), got, c.state, c.want)
			}
		})
	}
}

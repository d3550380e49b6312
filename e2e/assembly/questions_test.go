package assembly_test

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/protobuf/encoding/protojson"

	"sabha.dev/chassis/fault"
	"sabha.dev/cmd/sabha/platform"
	"sabha.dev/services/gateway"
)

// key makes an API key of a person.
func (r *rig) key(subject, organisation, scopes string) string {
	r.t.Helper()
	dir := r.t.TempDir()
	config, out := filepath.Join(dir, "gateway.yaml"), filepath.Join(dir, "out")
	text := "public_grpc: \":1\"\npublic_http: \":2\"\ndatabase: sqlite:" + filepath.Join(r.data, "gateway.db") + "\nkeys: " + filepath.Join(r.data, "keys") + "\ntenants: []\npeers: {planner: \"-\"}\n"
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		r.t.Fatal(err)
	}
	file, err := os.Create(out)
	if err != nil {
		r.t.Fatal(err)
	}
	stdout, stderr := os.Stdout, os.Stderr
	os.Stdout, os.Stderr = file, nil
	code := gateway.Main([]string{"gateway", "keys", "create", "-config", config, "-subject", subject, "-organisation", organisation, "-scopes", scopes})
	os.Stdout, os.Stderr = stdout, stderr
	_ = file.Close()
	raw, err := os.ReadFile(out)
	if err != nil || code != 0 {
		r.t.Fatalf("exit %d, %v", code, err)
	}
	return strings.TrimSpace(string(raw))
}

// call makes a call over HTTP and JSON with a key, and gives the answer as JSON.
func (r *rig) call(key, method, path, body string) (int, map[string]any) {
	r.t.Helper()
	req, err := http.NewRequestWithContext(r.ctx(), method, "http://"+r.p.HTTPAddr()+path, strings.NewReader(body))
	if err != nil {
		r.t.Fatal(err)
	}
	for name, value := range map[string]string{"Content-Type": "application/json", "A2A-Version": "1.0", "X-API-Key": key} {
		req.Header.Set(name, value)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		r.t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		r.t.Fatal(err)
	}
	answer := map[string]any{}
	if err := json.Unmarshal(raw, &answer); err != nil {
		r.t.Fatalf("%s %s: %d %s", method, path, res.StatusCode, raw)
	}
	return res.StatusCode, answer
}

// until waits for a condition.
func (r *rig) until(what string, condition func() bool) {
	r.t.Helper()
	for end := time.Now().Add(patience); !condition(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			r.t.Fatal("not within " + patience.String() + ": " + what)
		}
	}
}

func TestEveryBindingRefusesAQuestionThatWaitsOnTheLine(t *testing.T) {
	r := start(t)
	const body = `{"message":{"messageId":"q","role":"ROLE_USER","parts":[{"data":{"action":"ask-network","question":"Who knows?"}}]}}`
	code, answer := r.call(r.p.FirstKey, http.MethodPost, "/review/message:send", body)
	refusal, _ := answer["error"].(map[string]any)
	details, _ := json.Marshal(refusal["details"])
	if code != http.StatusBadRequest || refusal["status"] != "FAILED_PRECONDITION" || !strings.Contains(string(details), `"reason":"UNSUPPORTED_OPERATION"`) || !strings.Contains(string(details), `"domain":"a2a-protocol.org"`) {
		t.Errorf("REST: %d %v", code, answer)
	}
	code, answer = r.call(r.p.FirstKey, http.MethodPost, "/review/rpc", `{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":`+body+`}`)
	refusal, _ = answer["error"].(map[string]any)
	details, _ = json.Marshal(refusal["data"])
	if refusal["code"] != -32004.0 || !strings.Contains(string(details), `"reason":"UNSUPPORTED_OPERATION"`) {
		t.Errorf("JSON-RPC: %d %v", code, answer)
	}
	req := &a2apb.SendMessageRequest{}
	if err := protojson.Unmarshal([]byte(body), req); err != nil {
		t.Fatal(err)
	}
	req.Tenant = "review"
	_, err := r.a2a.SendMessage(r.ctx(), req)
	if f := fault.FromStatus(err); f == nil || f.Reason != fault.UnsupportedOperation {
		t.Errorf("gRPC: %v", err)
	}
}

func TestAPersonAnswersAQuestionOfAClient(t *testing.T) {
	r := start(t)
	alice, bob := r.key("alice", "acme", ""), r.key("bob", "acme", "viewer")
	code, sent := r.call(alice, http.MethodPost, "/review/message:send",
		`{"message":{"messageId":"q","role":"ROLE_USER","parts":[{"data":{"question":"Why did parcel 17 change its zone?"}}]},"configuration":{"returnImmediately":true}}`)
	task, _ := sent["task"].(map[string]any)
	id, _ := task["id"].(string)
	if code != http.StatusOK || id == "" {
		t.Fatalf("%d %v", code, sent)
	}
	r.until("the question is on the board", func() bool {
		_, list := r.call(bob, http.MethodGet, "/v1/review/discussions?waiting=true", "")
		all, _ := list["discussions"].([]any)
		return len(all) == 1
	})
	code, said := r.call(bob, http.MethodPost, "/v1/review/discussions/"+id+":reply", `{"text":"The dyke was raised."}`)
	if code != http.StatusOK {
		t.Fatalf("%d %v", code, said)
	}
	_, got := r.call(alice, http.MethodGet, "/review/tasks/"+id, "")
	status, _ := got["status"].(map[string]any)
	reply, _ := said["reply"].(map[string]any)
	if status["state"] != "TASK_STATE_COMPLETED" || status["timestamp"] != reply["at"] || status["timestamp"] == nil {
		t.Errorf("the task is %v, the reply %v", status, reply)
	}
	if _, other := r.call(r.key("eve", "rival", "admin"), http.MethodGet, "/v1/review/discussions/"+id, ""); other["error"] == nil {
		t.Errorf("another organisation reads %v", other)
	}
}

func TestAPlanAsksPeopleAndGoesOnWithTheirReply(t *testing.T) {
	books := t.TempDir()
	const book = `playbook: survey
version: 1.0.0
budget: 1m
steps:
  - {id: people, agent: review, skill: ask-network, inputs: {question: "Who built the dyke?"}}
output: {text: "= steps.people.output.text"}
`
	if err := os.WriteFile(filepath.Join(books, "survey.yaml"), []byte(book), 0o600); err != nil {
		t.Fatal(err)
	}
	r := start(t, func(o *platform.Options) { o.Playbooks = books })
	alice, bob := r.key("alice", "acme", ""), r.key("bob", "acme", "viewer")
	code, sent := r.call(alice, http.MethodPost, "/message:send",
		`{"message":{"messageId":"q","role":"ROLE_USER","parts":[{"text":"Who built the dyke?"}],"metadata":{"urn:sabha:ext:playbook:v1":"survey"}},"configuration":{"returnImmediately":true}}`)
	task, _ := sent["task"].(map[string]any)
	plan, _ := task["id"].(string)
	if code != http.StatusOK || plan == "" {
		t.Fatalf("%d %v", code, sent)
	}
	var question string
	r.until("the question is on the board", func() bool {
		_, list := r.call(bob, http.MethodGet, "/v1/review/discussions", "")
		all, _ := list["discussions"].([]any)
		if len(all) == 1 {
			question, _ = all[0].(map[string]any)["id"].(string)
		}
		return question != ""
	})
	if code, said := r.call(bob, http.MethodPost, "/v1/review/discussions/"+question+":reply", `{"text":"The people of the village."}`); code != http.StatusOK {
		t.Fatalf("%d %v", code, said)
	}
	var last map[string]any
	r.until("the plan has ended", func() bool {
		_, last = r.call(alice, http.MethodGet, "/tasks/"+plan, "")
		status, _ := last["status"].(map[string]any)
		return status["state"] == "TASK_STATE_COMPLETED"
	})
	if raw, _ := json.Marshal(last["artifacts"]); !strings.Contains(string(raw), "The people of the village.") {
		t.Errorf("artifacts %s", raw)
	}
}

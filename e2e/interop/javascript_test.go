package interop

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"sabha.dev/testrig/leftout"
)

// report is what js/client.mjs prints.
type report struct {
	Protocol, Version string
	Card              struct {
		Name       string
		Skills     []string
		Interfaces []struct{ URL, ProtocolBinding, ProtocolVersion, Tenant string }
	}
	Send, Asked, Answered, Returned, Search outcome
	Get, Canceling, Canceled, Polled        task
	Stream, Subscribed                      []event
	Push                                    webhooks
	List                                    struct {
		Tasks               []task
		PageSize, TotalSize int
		Want                string
	}
	Errors map[string]*failed
}

// webhooks is what became of a push configuration that a client made, read, listed
// and deleted, and what came to one that it sent with a message.
type webhooks struct {
	Notified     []struct{ Kind, State, Secrets string }
	Made, Got    string
	Listed, Left []string
}

func (w webhooks) check(t *testing.T) {
	t.Helper()
	if w.Made != "hook" || w.Got != "chosen" || !slices.Equal(w.Listed, []string{"hook"}) || len(w.Left) != 0 {
		t.Errorf("push configurations: %+v, want hook, its token, hook alone, and none at the end", w)
	}
}

// checkNotified checks what came to the webhook of a message.
func (w webhooks) checkNotified(t *testing.T) {
	t.Helper()
	if len(w.Notified) == 0 {
		t.Fatal("nothing came to the webhook")
	}
	first, last := w.Notified[0], w.Notified[len(w.Notified)-1]
	equal(t, "first notification", first.Kind+" "+first.State, "task TASK_STATE_SUBMITTED")
	equal(t, "last notification", last.Kind+" "+last.State, "statusUpdate TASK_STATE_COMPLETED")
	equal(t, "token and credentials", last.Secrets, "t Bearer c")
}

type outcome struct {
	Task    *task
	Message *struct {
		Role, Text string
		Data       struct {
			Results []struct{ Document, Text string }
		}
	}
}

type task struct {
	ID, State, Note string
	Artifacts       []struct{ Name, Text string }
	History         int
}

// answer is the text of the artifact "answer".
func (t *task) answer() string {
	for _, a := range t.Artifacts {
		if a.Name == "answer" {
			return a.Text
		}
	}
	return ""
}

type event struct{ Kind, ID, State, Name, Text string }

type failed struct {
	Name, Reason, Message string
	Code                  int
}

// javaScript finds Node.js with an SDK.
func javaScript(t *testing.T, sdk string) string {
	t.Helper()
	node := leftout.Program(t, "node", "install Node.js 20 or newer")
	if _, err := os.Stat("js/node_modules/@a2a-js/" + sdk); err != nil {
		leftout.Because(t, "the JavaScript SDK is not installed: run npm ci --prefix e2e/interop/js")
	}
	return node
}

func TestJavaScriptSDK(t *testing.T) {
	node := javaScript(t, "sdk")
	p := start(t)
	for i, binding := range []string{"HTTP+JSON", "JSONRPC", "GRPC"} {
		t.Run(binding, func(t *testing.T) {
			out := must(t, node, "js/client.mjs", binding, p.url, p.key)
			var r report
			if err := json.Unmarshal([]byte(out), &r); err != nil {
				t.Fatalf("%v in %s", err, out)
			}
			equal(t, "binding", r.Protocol, binding)
			equal(t, "version", r.Version, "1.0")
			r.checkCard(t)
			equal(t, "interfaces", len(r.Card.Interfaces), 6) // three of 1.0, three of 0.3
			r.checkAnswers(t)
			equal(t, "history of length 0", r.Get.History, 0)
			r.checkSubscription(t)
			r.checkCancel(t)
			r.Push.check(t)
			r.Push.checkNotified(t)
			r.checkList(t, i+1)
			r.checkErrors(t, func(rpc, http, grpc int) int {
				return map[string]int{"JSONRPC": rpc, "HTTP+JSON": http, "GRPC": grpc}[binding]
			})
		})
	}
}

func (r *report) checkCard(t *testing.T) {
	t.Helper()
	equal(t, "card", r.Card.Name, "Sabha")
	// Only callers who are known see the playbooks: this is the extended card.
	for _, skill := range []string{"plan-and-run", "playbook:general"} {
		if !slices.Contains(r.Card.Skills, skill) {
			t.Errorf("the extended card has the skills %v, not %s", r.Card.Skills, skill)
		}
	}
}

func (r *report) checkAnswers(t *testing.T) {
	t.Helper()
	equal(t, "sent", r.Send.Task.State, "TASK_STATE_COMPLETED")
	if !strings.Contains(r.Send.Task.answer(), "every six hours") {
		t.Errorf("answer %q", r.Send.Task.answer())
	}
	equal(t, "got", r.Get.ID, r.Send.Task.ID)
	equal(t, "answer got", r.Get.answer(), r.Send.Task.answer())
	// Its state is that of the moment: a short plan may have ended by the time the answer is made.
	equal(t, "returned at once", r.Returned.Task.ID, r.Polled.ID)
	equal(t, "polled", r.Polled.State, "TASK_STATE_COMPLETED")
	if !strings.Contains(r.Polled.answer(), "forty minutes") {
		t.Errorf("answer polled for: %q", r.Polled.answer())
	}

	first, last := r.Stream[0], r.Stream[len(r.Stream)-1]
	equal(t, "first event", first.Kind, "task")
	equal(t, "last event", last.Kind+" "+last.State, "statusUpdate TASK_STATE_COMPLETED")
	if !slices.ContainsFunc(r.Stream, func(e event) bool { return strings.Contains(e.Text, "two operators") }) {
		t.Errorf("no artifact in the stream answers: %v", r.Stream)
	}

	if r.Search.Message == nil || r.Search.Task != nil {
		t.Fatalf("an anonymous search was answered with %+v, want a Message", r.Search)
	}
	equal(t, "role", r.Search.Message.Role, "ROLE_AGENT")
	equal(t, "passages", len(r.Search.Message.Data.Results), 1)
	equal(t, "document", r.Search.Message.Data.Results[0].Document, "operations.md")
}

func (r *report) checkSubscription(t *testing.T) {
	t.Helper()
	equal(t, "asked", r.Asked.Task.State, "TASK_STATE_INPUT_REQUIRED")
	if !strings.Contains(r.Asked.Task.Note, `"code" is missing`) {
		t.Errorf("asked with %q", r.Asked.Task.Note)
	}
	equal(t, "answered", r.Answered.Task.State, "TASK_STATE_COMPLETED")
	equal(t, "answer", r.Answered.Task.answer(), "42")
	first, last := r.Subscribed[0], r.Subscribed[len(r.Subscribed)-1]
	equal(t, "first event subscribed to", first, event{Kind: "task", ID: r.Asked.Task.ID, State: "TASK_STATE_INPUT_REQUIRED"})
	equal(t, "last event subscribed to", last, event{Kind: "statusUpdate", ID: r.Asked.Task.ID, State: "TASK_STATE_COMPLETED"})
	if !slices.Contains(r.Subscribed, event{Kind: "artifactUpdate", ID: r.Asked.Task.ID, Name: "answer", Text: "42"}) {
		t.Errorf("the answer is not among the events: %v", r.Subscribed)
	}
}

func (r *report) checkCancel(t *testing.T) {
	t.Helper()
	if s := r.Canceling.State; s != "TASK_STATE_WORKING" && s != "TASK_STATE_CANCELED" {
		t.Errorf("cancel answers %s", s)
	}
	equal(t, "canceled", r.Canceled.State, "TASK_STATE_CANCELED")
}

// checkList checks the list of canceled tasks, of which there are so many until now.
func (r *report) checkList(t *testing.T, canceled int) {
	t.Helper()
	equal(t, "page size", r.List.PageSize, 1)
	equal(t, "total size", r.List.TotalSize, canceled)
	if len(r.List.Tasks) != 1 || r.List.Tasks[0].ID != r.List.Want {
		t.Errorf("the list of canceled tasks begins with %v, want %s", r.List.Tasks, r.List.Want)
	}
}

// checkErrors checks what the SDK made of errors; codes chooses the code that it has
// for them.
func (r *report) checkErrors(t *testing.T, codes func(rpc, http, grpc int) int) {
	t.Helper()
	// An error class is the SDK's own judgement of what came over the wire; of what it has no class
	// for, it keeps the sentence and the code.
	for _, c := range []struct {
		call, name, sentence string
		code                 int
	}{
		{"getUnknown", "TaskNotFoundError", "does not exist or is not yours", codes(-32001, 404, 5)},
		{"cancelUnknown", "TaskNotFoundError", "does not exist or is not yours", codes(-32001, 404, 5)},
		{"subscribeUnknown", "TaskNotFoundError", "does not exist or is not yours", codes(-32001, 404, 5)},
		{"cancelFinished", "TaskNotCancelableError", "has ended as TASK_STATE_COMPLETED", codes(-32002, 400, 9)},
		{"subscribeFinished", "UnsupportedOperationError", "get it instead", codes(-32004, 400, 9)},
		{"sendFinished", "UnsupportedOperationError", "start a new one in the same context", codes(-32004, 400, 9)},
		{"streamFinished", "UnsupportedOperationError", "start a new one in the same context", codes(-32004, 400, 9)},
		{"push", "TaskNotFoundError", "does not exist or is not yours", codes(-32001, 404, 5)},
		{"noParts", "", "message.parts: is empty", codes(-32602, 400, 3)},
		{"noKey", "", "send an API key or a token", codes(-32044, 401, 16)},
		{"wrongKey", "", "the API key is not known, or it was revoked", codes(-32044, 401, 16)},
	} {
		got := r.Errors[c.call]
		if got == nil {
			t.Errorf("%s succeeded", c.call)
			continue
		}
		if (c.name != "" && got.Name != c.name) || got.Code != c.code || !strings.Contains(got.Message, c.sentence) {
			t.Errorf("%s: %s, want %s %d …%s…", c.call, fmt.Sprintf("%+v", *got), c.name, c.code, c.sentence)
		}
	}
}

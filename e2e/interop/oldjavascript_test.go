package interop

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestJavaScriptSDKInOldVersion drives A2A 0.3 with the SDK of today, which speaks it
// where a card names it.
func TestJavaScriptSDKInOldVersion(t *testing.T) {
	node := javaScript(t, "sdk")
	p := start(t)
	for _, binding := range []string{"HTTP+JSON", "JSONRPC", "GRPC"} {
		t.Run(binding, func(t *testing.T) {
			out := must(t, node, "js/client.mjs", binding, p.url, p.key, "0.3")
			var r report
			if err := json.Unmarshal([]byte(out), &r); err != nil {
				t.Fatalf("%v in %s", err, out)
			}
			equal(t, "binding", r.Protocol, binding)
			equal(t, "version", r.Version, "0.3")
			r.checkCard(t)
			r.checkAnswers(t)
			// In the Protobuf messages of 0.3 a length of 0 is the same as none.
			equal(t, "history of length 0", r.Get.History, map[string]int{"GRPC": 1}[binding])
			r.checkSubscription(t)
			r.checkCancel(t)
			r.Push.check(t)
			r.Push.checkNotified(t)
			// Over HTTP+JSON the SDK keeps no code in this version.
			r.checkErrors(t, func(rpc, _, grpc int) int {
				return map[string]int{"JSONRPC": rpc, "GRPC": grpc}[binding]
			})
		})
	}
}

// oldReport is what js/old.mjs prints.
type oldReport struct {
	Version string
	Card    struct {
		Name, Version string
		Skills        []string
	}
	Send, Asked, Answered, Returned, Search outcome
	Twice                                   []outcome
	Get, Canceling, Canceled, Polled        task
	Stream, Subscribed                      []oldEvent
	Push                                    webhooks
	Errors                                  map[string]*failed
}

type oldEvent struct {
	Kind, ID, State, Name, Text string
	Final                       *bool
}

func (e oldEvent) String() string {
	final := ""
	if e.Final != nil {
		final = fmt.Sprintf(" final=%v", *e.Final)
	}
	return strings.TrimSpace(e.Kind + " " + e.State + e.Text + final)
}

// TestOldJavaScriptSDK drives A2A 0.3 with the SDK of that time, which knows no other.
func TestOldJavaScriptSDK(t *testing.T) {
	node := javaScript(t, "sdk-0.3")
	p := start(t)
	for _, binding := range []string{"HTTP+JSON", "JSONRPC", "GRPC"} {
		t.Run(binding, func(t *testing.T) {
			out := must(t, node, "js/old.mjs", binding, p.url, p.key)
			var r oldReport
			if err := json.Unmarshal([]byte(out), &r); err != nil {
				t.Fatalf("%v in %s", err, out)
			}
			equal(t, "version on the card", r.Version, "0.3.0")
			equal(t, "card", r.Card.Name, "Sabha")
			if !slices.Contains(r.Card.Skills, "playbook:general") {
				t.Errorf("the extended card has the skills %v, not playbook:general", r.Card.Skills)
			}
			r.checkAnswers(t)
			r.checkLife(t)
			r.Push.check(t)
			r.checkErrors(t, binding)
		})
	}
}

func (r *oldReport) checkAnswers(t *testing.T) {
	t.Helper()
	equal(t, "sent", r.Send.Task.State, "completed")
	if !strings.Contains(r.Send.Task.answer(), "every six hours") {
		t.Errorf("answer %q", r.Send.Task.answer())
	}
	equal(t, "got", r.Get.ID+" "+r.Get.answer(), r.Send.Task.ID+" "+r.Send.Task.answer())
	equal(t, "history of length 1", r.Get.History, 1)
	equal(t, "sent twice", r.Twice[1].Task.ID, r.Twice[0].Task.ID)
	equal(t, "returned at once", r.Returned.Task.ID, r.Polled.ID)
	equal(t, "polled", r.Polled.State, "completed")

	equal(t, "first event", r.Stream[0].String(), "task submitted")
	equal(t, "last event", r.Stream[len(r.Stream)-1].String(), "status-update completed final=true")
	if !slices.ContainsFunc(r.Stream, func(e oldEvent) bool {
		return e.Kind == "artifact-update" && strings.Contains(e.Text, "two operators")
	}) {
		t.Errorf("no artifact in the stream answers: %v", r.Stream)
	}

	if r.Search.Message == nil || r.Search.Task != nil {
		t.Fatalf("an anonymous search was answered with %+v, want a Message", r.Search)
	}
	equal(t, "role", r.Search.Message.Role, "agent")
	if d := r.Search.Message.Data.Results; len(d) != 1 || d[0].Document != "operations.md" {
		t.Errorf("found %+v, want a passage of operations.md", d)
	}
}

// checkLife checks the tasks that waited for input: one was given it, one canceled.
func (r *oldReport) checkLife(t *testing.T) {
	t.Helper()
	equal(t, "asked", r.Asked.Task.State, "input-required")
	if !strings.Contains(r.Asked.Task.Note, `"code" is missing`) {
		t.Errorf("asked with %q", r.Asked.Task.Note)
	}
	equal(t, "answered", r.Answered.Task.State+" "+r.Answered.Task.answer(), "completed 42")
	equal(t, "first event subscribed to", r.Subscribed[0].String(), "task input-required")
	equal(t, "last event subscribed to", r.Subscribed[len(r.Subscribed)-1].String(), "status-update completed final=true")
	for _, e := range r.Subscribed {
		equal(t, "task of an event subscribed to", e.ID, r.Asked.Task.ID)
	}
	if s := r.Canceling.State; s != "working" && s != "canceled" {
		t.Errorf("cancel answers %s", s)
	}
	equal(t, "canceled", r.Canceled.State, "canceled")
}

func (r *oldReport) checkErrors(t *testing.T, binding string) {
	t.Helper()
	rpc := func(class string) string {
		if binding == "JSONRPC" {
			return strings.TrimSuffix(class, "Error") + "JSONRPCError"
		}
		return class
	}
	for _, c := range []struct{ call, class, sentence string }{
		{"getUnknown", rpc("TaskNotFoundError"), "does not exist or is not yours"},
		{"cancelUnknown", rpc("TaskNotFoundError"), "does not exist or is not yours"},
		{"subscribeUnknown", rpc("TaskNotFoundError"), "does not exist or is not yours"},
		{"cancelFinished", rpc("TaskNotCancelableError"), "has ended as TASK_STATE_COMPLETED"},
		{"subscribeFinished", rpc("UnsupportedOperationError"), "get it instead"},
		// Over gRPC the SDK has no class for it.
		{"sendFinished", map[string]string{"GRPC": "Error"}[binding], "start a new one in the same context"},
		{"push", rpc("TaskNotFoundError"), "does not exist or is not yours"},
		{"noParts", "", "message.parts: is empty"},
		{"noKey", "", "send an API key or a token"},
		{"streamNoKey", "", "send an API key or a token"},
		{"wrongKey", "", "the API key is not known, or it was revoked"},
	} {
		got := r.Errors[c.call]
		if got == nil {
			t.Errorf("%s succeeded", c.call)
			continue
		}
		if (c.class != "" && got.Name != c.class) || !strings.Contains(got.Message, c.sentence) {
			t.Errorf("%s: %+v, want %s …%s…", c.call, *got, c.class, c.sentence)
		}
	}
}

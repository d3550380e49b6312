package assembly_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// The rules of questions to people, as clients of the public port see them.
func TestADiscussionAndItsTaskAreIndependentButForTheReply(t *testing.T) {
	r := start(t)
	alice, bob, eve := r.key("alice", "acme", "viewer"), r.key("bob", "acme", "viewer"), r.key("eve", "rival", "")
	ask := func(n int) string {
		t.Helper()
		code, sent := r.call(alice, http.MethodPost, "/review/message:send", fmt.Sprintf(
			`{"message":{"messageId":"q%d","role":"ROLE_USER","parts":[{"data":{"question":"Who knows about parcel %d?"}}]},"configuration":{"returnImmediately":true}}`, n, n))
		task, _ := sent["task"].(map[string]any)
		id, _ := task["id"].(string)
		if code != http.StatusOK || id == "" {
			t.Fatalf("%d %v", code, sent)
		}
		r.until("the question is on the board", func() bool {
			code, _ := r.call(bob, http.MethodGet, "/v1/review/discussions/"+id, "")
			return code == http.StatusOK
		})
		return id
	}
	state := func(id string) string {
		t.Helper()
		_, got := r.call(alice, http.MethodGet, "/review/tasks/"+id, "")
		status, _ := got["status"].(map[string]any)
		said, _ := json.Marshal([]any{status["state"], status["timestamp"]})
		return string(said)
	}
	post := func(key, path, body string, want int) map[string]any {
		t.Helper()
		code, answer := r.call(key, http.MethodPost, path, body)
		if code != want {
			t.Errorf("POST %s: %d %v, want %d", path, code, answer, want)
		}
		return answer
	}

	first := ask(1)
	waits := state(first)
	post(alice, "/v1/review/discussions/"+first+":reply", `{"text":"I looked there already."}`, 200) // her own reply is no answer
	post(bob, "/v1/review/discussions/"+first+":acknowledge", `{"up_to":1}`, 200)
	if got := state(first); got != waits || !strings.Contains(got, "TASK_STATE_WORKING") {
		t.Errorf("the author's reply, reading and acknowledging made %s of %s", got, waits)
	}
	post(bob, "/v1/review/discussions/"+first+":reply", `{"text":"The dyke was raised."}`, 200)
	answered := state(first)
	if !strings.Contains(answered, "TASK_STATE_COMPLETED") {
		t.Errorf("after the reply of another it is %s", answered)
	}
	inbox := func() int {
		t.Helper()
		_, list := r.call(alice, http.MethodGet, "/v1/review/discussions?unread=true", "")
		all, _ := list["discussions"].([]any)
		return len(all)
	}
	if n := inbox(); n != 1 {
		t.Errorf("the inbox of who asked has %d", n)
	}
	post(alice, "/v1/review/discussions/"+first+":acknowledge", `{"up_to":2}`, 200)
	if n := inbox(); n != 0 || state(first) != answered {
		t.Errorf("after she has taken note it has %d, and the task is %s", n, state(first))
	}
	post(alice, "/review/tasks/"+first+":cancel", `{}`, 400) // what is completed cannot be canceled

	second := ask(2)
	foreign, _ := json.Marshal(post(eve, "/review/tasks/"+second+":cancel", `{}`, 404))
	missing, _ := json.Marshal(post(eve, "/review/tasks/"+first[:len(first)-4]+"0000:cancel", `{}`, 404))
	if strings.ReplaceAll(string(foreign), second, "ID") != strings.ReplaceAll(string(missing), first[:len(first)-4]+"0000", "ID") {
		t.Errorf("a foreign task %s and a missing one %s differ", foreign, missing)
	}
	post(alice, "/review/tasks/"+second+":cancel", `{}`, 200)
	canceled := state(second)
	post(alice, "/review/tasks/"+second+":cancel", `{}`, 200)
	post(bob, "/v1/review/discussions/"+second+":reply", `{"text":"Too late, but: yes."}`, 200)
	if got := state(second); got != canceled || !strings.Contains(got, "TASK_STATE_CANCELED") {
		t.Errorf("a second cancel and a late reply made %s of %s", got, canceled)
	}
	if _, kept := r.call(alice, http.MethodGet, "/v1/review/discussions/"+second, ""); len(kept["replies"].([]any)) != 1 {
		t.Errorf("the discussion of the canceled question is %v", kept)
	}
}

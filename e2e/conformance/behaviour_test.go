package conformance

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"sabha.dev/chassis/agent"
)

func says(t *a2apb.Task) string { return agent.TextOf(t.GetStatus().GetMessage().GetParts()) }

func TestATaskEndsAsItsSkillSays(t *testing.T) {
	s := start(t)
	onAll(t, s, func(t *testing.T, b binding) {
		for _, c := range []struct {
			skill, says string
			state       a2apb.TaskState
		}{
			{"complete", "done", a2apb.TaskState_TASK_STATE_COMPLETED},
			{"fail", "it did not work", a2apb.TaskState_TASK_STATE_FAILED},
			{"reject", "against the rules", a2apb.TaskState_TASK_STATE_REJECTED},
			{"ask", "which one?", a2apb.TaskState_TASK_STATE_INPUT_REQUIRED},
			{"authorise", "grant access at https://example.com/grant", a2apb.TaskState_TASK_STATE_AUTH_REQUIRED},
		} {
			task := send(t, b, message(c.skill, "go "+b.name()))
			for _, got := range []*a2apb.Task{task, get(t, b, task.GetId())} {
				if got.GetStatus().GetState() != c.state || says(got) != c.says {
					t.Errorf("%s: %v %q, want %v %q", c.skill, got.GetStatus().GetState(), says(got), c.state, c.says)
				}
				if m := got.GetStatus().GetMessage(); m.GetRole() != a2apb.Role_ROLE_AGENT || m.GetMessageId() == "" || m.GetTaskId() != task.GetId() || m.GetContextId() != task.GetContextId() {
					t.Errorf("%s: the status message %v", c.skill, m)
				}
			}
		}
		s.agent.let("go " + b.name())
	})
}

func TestADirectAnswerMakesNoTask(t *testing.T) {
	s := start(t)
	onAll(t, s, func(t *testing.T, b binding) {
		for who, want := range map[string]string{"alice": "told alice", "": "told "} {
			res := &a2apb.SendMessageResponse{}
			if f := b.unary(t, call{method: "SendMessage", request: sendTo("", message("tell", "hello")), as: who}, res); f != nil {
				t.Fatal(f)
			}
			if got := agent.TextOf(res.GetMessage().GetParts()); got != want || res.GetMessage().GetRole() != a2apb.Role_ROLE_AGENT || res.GetMessage().GetMessageId() == "" {
				t.Errorf("answer %v, want %q", res, want)
			}
			list, end := b.stream(t, call{method: "SendStreamingMessage", request: sendTo("", message("tell", "hello")), as: who}).all(t)
			if end != nil || len(list) != 1 || agent.TextOf(list[0].GetMessage().GetParts()) != want {
				t.Errorf("streamed: %v, %v", list, end)
			}
		}
		if n := countTasks(t, b); n != 0 {
			t.Errorf("%d tasks are stored", n)
		}
	})
}

func TestInputContinuesTheTask(t *testing.T) {
	s := start(t)
	onAll(t, s, func(t *testing.T, b binding) {
		asked := send(t, b, message("ask", "go"))
		more := message("", "red one")
		more.TaskId, more.ContextId = asked.GetId(), asked.GetContextId()
		done := send(t, b, more)
		if done.GetId() != asked.GetId() || says(done) != "the red one" || done.GetStatus().GetState() != a2apb.TaskState_TASK_STATE_COMPLETED {
			t.Errorf("%s %v %q", done.GetId(), done.GetStatus().GetState(), says(done))
		}
		next := message("complete", "go")
		next.ContextId = asked.GetContextId()
		if other := send(t, b, next); other.GetId() == asked.GetId() || other.GetContextId() != asked.GetContextId() {
			t.Errorf("a new task in the same context: %s in %s", other.GetId(), other.GetContextId())
		}
	})
}

func TestTheSameMessageGivesTheSameTask(t *testing.T) {
	s := start(t)
	onAll(t, s, func(t *testing.T, b binding) {
		m := message("complete", "go")
		first := send(t, b, proto.CloneOf(m))
		if second := send(t, b, proto.CloneOf(m)); second.GetId() != first.GetId() {
			t.Errorf("tasks %s and %s", first.GetId(), second.GetId())
		}
		list, end := b.stream(t, call{method: "SendStreamingMessage", request: sendTo("", m), as: "alice"}).all(t)
		if end != nil || len(list) != 1 || list[0].GetTask().GetId() != first.GetId() {
			t.Errorf("streamed: %v, %v", list, end)
		}
	})
}

func TestReturnImmediatelyDoesNotWait(t *testing.T) {
	s := start(t)
	onAll(t, s, func(t *testing.T, b binding) {
		name := "immediately " + b.name()
		task := send(t, b, message("hold", name), &a2apb.SendMessageConfiguration{ReturnImmediately: true})
		if state := task.GetStatus().GetState(); state != a2apb.TaskState_TASK_STATE_SUBMITTED && state != a2apb.TaskState_TASK_STATE_WORKING {
			t.Errorf("state %v", state)
		}
		s.agent.let(name)
		ends(t, b, task.GetId(), a2apb.TaskState_TASK_STATE_COMPLETED)
	})
}

// ends waits for a task to end.
func ends(t testing.TB, b binding, id string, want a2apb.TaskState) {
	t.Helper()
	for limit := time.Now().Add(30 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		if got := get(t, b, id).GetStatus().GetState(); got == want {
			return
		} else if time.Now().After(limit) {
			t.Fatalf("the task is still %v", got)
		}
	}
}

func TestCancel(t *testing.T) {
	s := start(t)
	onAll(t, s, func(t *testing.T, b binding) {
		task := send(t, b, message("hold", "never"), &a2apb.SendMessageConfiguration{ReturnImmediately: true})
		for range 2 { // of a canceled task it is answered with the task
			got := &a2apb.Task{}
			if f := b.unary(t, call{method: "CancelTask", request: &a2apb.CancelTaskRequest{Id: task.GetId()}, as: "alice"}, got); f != nil {
				t.Fatal(f)
			}
			if got.GetId() != task.GetId() || got.GetStatus().GetState() != a2apb.TaskState_TASK_STATE_CANCELED {
				t.Errorf("cancel gave %v", got)
			}
		}
		waits := send(t, b, message("ask", "go"))
		if f := b.unary(t, call{method: "CancelTask", request: &a2apb.CancelTaskRequest{Id: waits.GetId()}, as: "alice"}, &a2apb.Task{}); f != nil {
			t.Errorf("cancel of a task that waits for input: %v", f)
		}
		for state, skill := range map[string]string{"FAILED": "fail", "REJECTED": "reject", "COMPLETED": "complete"} {
			ended := send(t, b, message(skill, "go"))
			f := b.unary(t, call{method: "CancelTask", request: &a2apb.CancelTaskRequest{Id: ended.GetId()}, as: "alice"}, &a2apb.Task{})
			if f == nil || f.reason != "TASK_NOT_CANCELABLE" || !strings.Contains(f.message, state) {
				t.Errorf("cancel of a task that is %s: %v", state, f)
			}
		}
	})
}

func TestHistoryLength(t *testing.T) {
	s := start(t)
	onAll(t, s, func(t *testing.T, b binding) {
		asked := send(t, b, message("ask", "first"))
		more := message("", "second")
		more.TaskId = asked.GetId()
		send(t, b, more)
		texts := func(task *a2apb.Task) string {
			var out []string
			for _, m := range task.GetHistory() {
				out = append(out, agent.TextOf(m.GetParts()))
			}
			return strings.Join(out, ", ")
		}
		for _, c := range []struct {
			length *int32
			want   string
		}{
			{nil, "first, which one?, second"},
			{proto.Int32(0), ""},
			{proto.Int32(1), "second"},
			{proto.Int32(2), "which one?, second"},
			{proto.Int32(100), "first, which one?, second"},
		} {
			got := &a2apb.Task{}
			if f := b.unary(t, call{method: "GetTask", request: &a2apb.GetTaskRequest{Id: asked.GetId(), HistoryLength: c.length}, as: "alice"}, got); f != nil {
				t.Fatal(f)
			}
			list := &a2apb.ListTasksResponse{}
			if f := b.unary(t, call{method: "ListTasks", request: &a2apb.ListTasksRequest{ContextId: asked.GetContextId(), HistoryLength: c.length}, as: "alice"}, list); f != nil {
				t.Fatal(f)
			}
			if texts(got) != c.want || len(list.GetTasks()) != 1 || texts(list.GetTasks()[0]) != c.want {
				t.Errorf("history length %v: get %q, list %v; want %q", c.length, texts(got), list.GetTasks(), c.want)
			}
		}
		for length, want := range map[int32]string{0: "", 1: "go"} {
			task := send(t, b, message("complete", "go"), &a2apb.SendMessageConfiguration{HistoryLength: proto.Int32(length)})
			if texts(task) != want {
				t.Errorf("send with history length %d: %q, want %q", length, texts(task), want)
			}
		}
	})
}

func TestListTasks(t *testing.T) {
	s := start(t)
	onAll(t, s, func(t *testing.T, b binding) {
		var ids []string
		contextID := newID()
		for i := range 5 {
			m := message("complete", fmt.Sprint(i))
			if i == 2 {
				m = message("fail", fmt.Sprint(i))
			}
			m.ContextId = contextID
			ids = append([]string{send(t, b, m).GetId()}, ids...) // newest first
		}
		list := func(edit func(*a2apb.ListTasksRequest)) *a2apb.ListTasksResponse {
			t.Helper()
			req, res := &a2apb.ListTasksRequest{ContextId: contextID}, &a2apb.ListTasksResponse{}
			edit(req)
			if f := b.unary(t, call{method: "ListTasks", request: req, as: "alice"}, res); f != nil {
				t.Fatal(f)
			}
			return res
		}
		names := func(r *a2apb.ListTasksResponse) string {
			var out []string
			for _, task := range r.GetTasks() {
				out = append(out, task.GetId())
			}
			return strings.Join(out, " ")
		}
		all := list(func(*a2apb.ListTasksRequest) {})
		if names(all) != strings.Join(ids, " ") || all.GetTotalSize() != 5 || all.GetPageSize() != 50 || all.GetNextPageToken() != "" {
			t.Errorf("list %v", all)
		}
		if len(all.GetTasks()[0].GetArtifacts()) != 0 {
			t.Error("artifacts are listed though nobody asked")
		}
		with := list(func(r *a2apb.ListTasksRequest) { r.IncludeArtifacts = proto.Bool(true) })
		if len(with.GetTasks()[0].GetArtifacts()) != 1 {
			t.Error("artifacts are not listed though asked for")
		}
		failed := list(func(r *a2apb.ListTasksRequest) { r.Status = a2apb.TaskState_TASK_STATE_FAILED })
		if names(failed) != ids[2] || failed.GetTotalSize() != 1 {
			t.Errorf("failed: %v", failed)
		}
		after := all.GetTasks()[1].GetStatus().GetTimestamp()
		if got := names(list(func(r *a2apb.ListTasksRequest) { r.StatusTimestampAfter = after })); got != ids[0]+" "+ids[1] {
			t.Errorf("from a time on: %s", got)
		}
		if got := names(list(func(r *a2apb.ListTasksRequest) { r.StatusTimestampAfter = timestamppb.New(time.Now().Add(time.Hour)) })); got != "" {
			t.Errorf("from the future on: %s", got)
		}
		var pages []string
		for token := ""; ; {
			page := list(func(r *a2apb.ListTasksRequest) { r.PageSize, r.PageToken = proto.Int32(2), token })
			if page.GetTotalSize() != 5 || page.GetPageSize() != 2 {
				t.Errorf("a page says %d of %d", page.GetPageSize(), page.GetTotalSize())
			}
			pages = append(pages, names(page))
			if token = page.GetNextPageToken(); token == "" {
				break
			}
		}
		if got := strings.Join(pages, " "); len(pages) != 3 || got != strings.Join(ids, " ") {
			t.Errorf("pages %q", pages)
		}
	})
	// On JSON all four fields are written, also when empty or zero.
	for name, text := range map[string][]byte{
		"rest": bodyOf(t, s.exchange(t, call{as: "bob"}, "GET", "/tasks", "")),
		"jsonrpc": open(t, bodyOf(t, s.exchange(t, call{as: "bob"}, "POST", "/rpc",
			`{"jsonrpc":"2.0","id":"q","method":"ListTasks","params":{}}`))).Result,
	} {
		var got map[string]json.RawMessage
		if err := json.Unmarshal(text, &got); err != nil {
			t.Fatal(err)
		}
		for field, want := range map[string]string{"tasks": "[]", "nextPageToken": `""`, "pageSize": "50", "totalSize": "0"} {
			if string(got[field]) != want {
				t.Errorf("%s: field %s is %s, want %s", name, field, got[field], want)
			}
		}
	}
}

func TestJSONIsWrittenAsTheSpecificationSays(t *testing.T) {
	s := start(t)
	body := `{"message":{"messageId":"` + newID() + `","role":"ROLE_USER","parts":[{"text":"x","unknown":1}],"metadata":{"urn:sabha:ext:skill:v1":"complete"},"surprise":{}},"more":true}`
	for _, c := range []struct {
		name, accept, want string
	}{
		{"the preferred type", "application/a2a+json", "application/a2a+json"},
		{"the plain type", "application/json", "application/json"},
		{"what the body is in", "", "application/json"},
	} {
		req, err := http.NewRequestWithContext(t.Context(), "POST", s.http+"/message:send", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("X-API-Key", s.keys["alice"])
		req.Header.Set("A2A-Version", "1.0")
		req.Header.Set("Content-Type", "application/json")
		if c.accept != "" {
			req.Header.Set("Accept", c.accept)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		text := string(bodyOf(t, resp))
		if resp.StatusCode != 200 || resp.Header.Get("Content-Type") != c.want {
			t.Errorf("%s: status %d, content type %q: %s", c.name, resp.StatusCode, resp.Header.Get("Content-Type"), text)
		}
		if !strings.Contains(text, `"state":"TASK_STATE_COMPLETED"`) {
			t.Errorf("enums are not written by name: %s", text)
		}
		for _, stamp := range regexp.MustCompile(`"timestamp":"([^"]*)"`).FindAllStringSubmatch(text, -1) {
			if at, err := time.Parse(time.RFC3339Nano, stamp[1]); err != nil || !strings.HasSuffix(stamp[1], "Z") || at.Location() != time.UTC {
				t.Errorf("timestamp %q is not UTC with Z", stamp[1])
			}
		}
		if !strings.Contains(text, `"timestamp":"`) {
			t.Errorf("no timestamp in %s", text)
		}
	}
}

func TestRESTTakesEmptyBodiesAndBothVerbs(t *testing.T) {
	s := start(t)
	b := &rest{s}
	for _, body := range []string{"", "{}"} {
		task := send(t, b, message("ask", "go"))
		resp := s.exchange(t, call{as: "alice"}, "POST", "/tasks/"+task.GetId()+":cancel", body)
		if text := bodyOf(t, resp); resp.StatusCode != 200 || !strings.Contains(string(text), "TASK_STATE_CANCELED") {
			t.Errorf("cancel with body %q: %d %s", body, resp.StatusCode, text)
		}
	}
	for _, verb := range []string{"GET", "POST"} {
		for _, body := range []string{"", "{}"} {
			if verb == "GET" && body != "" {
				continue
			}
			task := send(t, b, message("ask", "go"))
			resp := s.exchange(t, call{as: "alice"}, verb, "/tasks/"+task.GetId()+":subscribe", body)
			if resp.StatusCode != 200 || resp.Header.Get("Content-Type") != "text/event-stream" {
				t.Errorf("%s subscribe with body %q: %d %s", verb, body, resp.StatusCode, bodyOf(t, resp))
			}
			_ = resp.Body.Close()
		}
	}
}

func TestTenantsHaveTheirOwnTasksAndCards(t *testing.T) {
	s := start(t)
	onAll(t, s, func(t *testing.T, b binding) {
		res := &a2apb.SendMessageResponse{}
		if f := b.unary(t, call{method: "SendMessage", request: sendTo("plain", message("complete", "go")), as: "alice"}, res); f != nil {
			t.Fatal(f)
		}
		id := res.GetTask().GetId()
		if f := b.unary(t, call{method: "GetTask", request: &a2apb.GetTaskRequest{Tenant: "plain", Id: id}, as: "alice"}, &a2apb.Task{}); f != nil {
			t.Errorf("at its tenant: %v", f)
		}
		taskNotFound.check(t, b, fails(t, b, call{method: "GetTask", request: &a2apb.GetTaskRequest{Id: id}, as: "alice"}))
		got := b.unary(t, call{method: "SendMessage", request: sendTo("strict", message("complete", "go")), as: "alice", extensions: "urn:other, " + requiredExtension}, res)
		if got != nil {
			t.Errorf("with the required extension named: %v", got)
		}
	})
	for path, want := range map[string]string{"": "planner", "/plain": "plain", "/strict": "strict", "/teller": "teller"} {
		declared := want != "teller" // which has no tasks to notify of
		resp := s.exchange(t, call{version: "none"}, "GET", path+"/.well-known/agent-card.json", "")
		var card struct {
			Name         string
			Capabilities struct {
				Streaming, PushNotifications, ExtendedAgentCard bool
				Extensions                                      []struct {
					URI      string
					Required bool
				}
			}
		}
		if err := json.Unmarshal(bodyOf(t, resp), &card); err != nil || resp.StatusCode != 200 {
			t.Fatalf("card of %s: %d, %v", want, resp.StatusCode, err)
		}
		if card.Name != want || !card.Capabilities.Streaming || card.Capabilities.PushNotifications != declared {
			t.Errorf("card of %s: %+v", want, card)
		}
		if resp.Header.Get("ETag") == "" || !strings.Contains(resp.Header.Get("Cache-Control"), "max-age=") {
			t.Errorf("card of %s: ETag %q, Cache-Control %q", want, resp.Header.Get("ETag"), resp.Header.Get("Cache-Control"))
		}
	}
}

func TestTheExtendedCardShowsMore(t *testing.T) {
	s := start(t)
	onAll(t, s, func(t *testing.T, b binding) {
		card := &a2apb.AgentCard{}
		if f := b.unary(t, call{method: "GetExtendedAgentCard", request: &a2apb.GetExtendedAgentCardRequest{}, as: "alice"}, card); f != nil {
			t.Fatal(f)
		}
		if card.GetName() != "planner" || card.GetDescription() != "For alice" || len(card.GetSkills()) == 0 {
			t.Errorf("card %v", card)
		}
	})
}

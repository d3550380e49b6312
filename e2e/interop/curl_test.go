package interop

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"sabha.dev/testrig/leftout"
)

// frame is one event of an SSE stream.
type frame struct{ id, data string }

// frames reads a stream of events; comments are heartbeats.
func frames(t *testing.T, stream string) []frame {
	t.Helper()
	var all []frame
	for block := range strings.SplitSeq(strings.TrimSpace(stream), "\n\n") {
		var f frame
		for line := range strings.SplitSeq(block, "\n") {
			field, value, _ := strings.Cut(line, ": ")
			switch field {
			case "id":
				f.id = value
			case "data":
				f.data = value
			case "":
			default:
				t.Fatalf("line %q in a stream of events", line)
			}
		}
		if f.data != "" {
			all = append(all, f)
		}
	}
	return all
}

// readUntil reads lines until the text ends with the given one.
func readUntil(t *testing.T, r *bufio.Reader, end string) string {
	t.Helper()
	var text string
	for !strings.HasSuffix(text, end) {
		line, err := r.ReadString('\n')
		if text += line; err != nil {
			t.Fatalf("%v after %s", err, text)
		}
	}
	return text
}

const ask = `{"message":{"messageId":"%","role":"ROLE_USER","parts":[{"text":"How often are backups taken?"}]}}`

// asked is the request with a message id.
func asked(id string) string { return strings.Replace(ask, "%", id, 1) }

func TestCurlFollowsAStream(t *testing.T) {
	curl := leftout.Program(t, "curl", "install curl")
	p := start(t)
	a2a := []string{"-sS", "-H", "A2A-Version: 1.0", "-H", "X-API-Key: " + p.key, "-H", "Content-Type: application/a2a+json"}
	out := must(t, curl, append(a2a, "-N", "-w", "\n\n: %{http_code} %{content_type}", p.url+"/message:stream", "-d", asked("s1"))...)
	if !strings.HasSuffix(out, ": 200 text/event-stream") {
		t.Errorf("answer %s", out)
	}
	events := frames(t, out)
	first, last := events[0], events[len(events)-1]
	if !strings.HasPrefix(first.data, `{"task":{"id":"`) || !strings.Contains(last.data, `"TASK_STATE_COMPLETED"`) {
		t.Errorf("first %s\nlast %s", first.data, last.data)
	}
	for i, e := range events[1:] {
		if e.id == "" || e.id == events[i].id {
			t.Errorf("event %d has the id %q after %q", i+1, e.id, events[i].id)
		}
	}

	// JSON-RPC frames hold the whole envelope with the request's id.
	out = must(t, curl, append(a2a, "-N", p.url+"/rpc", "-d", `{"jsonrpc":"2.0","id":"r7","method":"SendStreamingMessage","params":`+asked("s2")+`}`)...)
	for _, e := range frames(t, out) {
		var envelope struct {
			JSONRPC, ID string
			Result      map[string]json.RawMessage
		}
		if err := json.Unmarshal([]byte(e.data), &envelope); err != nil || envelope.JSONRPC != "2.0" || envelope.ID != "r7" || len(envelope.Result) != 1 {
			t.Errorf("frame %s: %v", e.data, err)
		}
	}

	// An error before the first event is an ordinary answer.
	out = must(t, curl, append(a2a, "-N", "-X", "POST", "-w", " %{http_code} %{content_type}", p.url+"/tasks/nothing:subscribe")...)
	if !strings.HasPrefix(out, `{"error":{"code":404,"status":"NOT_FOUND"`) || !strings.HasSuffix(out, " 404 application/json") && !strings.HasSuffix(out, " 404 application/a2a+json") {
		t.Errorf("subscription to an unknown task: %s", out)
	}
}

func TestCurlGoesOnAfterAnEvent(t *testing.T) {
	curl := leftout.Program(t, "curl", "install curl")
	p := start(t)
	a2a := []string{"-sS", "-H", "A2A-Version: 1.0", "-H", "X-API-Key: " + p.key, "-H", "Content-Type: application/json"}
	// A send stream closes when input is required.
	body := `{"message":{"messageId":"w1","role":"ROLE_USER","parts":[{"text":"Compute it."}],"metadata":{"urn:sabha:ext:playbook:v1":"compute"}}}`
	seen := frames(t, must(t, curl, append(a2a, "-N", p.url+"/message:stream", "-d", body)...))
	last := seen[len(seen)-1]
	if len(seen) < 2 || !strings.Contains(last.data, `"TASK_STATE_INPUT_REQUIRED"`) {
		t.Fatalf("the stream ends with %s", last.data)
	}
	var begun struct{ Task struct{ ID string } }
	if err := json.Unmarshal([]byte(seen[0].data), &begun); err != nil {
		t.Fatal(err)
	}

	subscribe := func(cursor string) (*bufio.Reader, *exec.Cmd) {
		subscription := exec.CommandContext(t.Context(), curl, append(a2a, "-N", "-H", "Last-Event-ID: "+cursor, p.url+"/tasks/"+begun.Task.ID+":subscribe")...)
		output, err := subscription.StdoutPipe()
		if err := errors.Join(err, subscription.Start()); err != nil {
			t.Fatal(err)
		}
		return bufio.NewReader(output), subscription
	}
	// What came after the first event comes again, byte for byte, and then what is new.
	early, first := subscribe(seen[0].id)
	again := readUntil(t, early, last.data+"\n\n")
	if replayed := frames(t, again); !slices.Equal(replayed, seen[1:]) {
		t.Errorf("after the id %s came\n%v\nwant\n%v", seen[0].id, replayed, seen[1:])
	}
	// After the last event there is nothing to tell, and still the stream begins.
	late, second := subscribe(last.id)
	if silent := frames(t, readUntil(t, late, "\n\n")); len(silent) != 0 {
		t.Errorf("after the id %s came %v", last.id, silent)
	}
	must(t, curl, append(a2a, p.url+"/message:send", "-d",
		`{"message":{"messageId":"w2","taskId":"`+begun.Task.ID+`","role":"ROLE_USER","parts":[{"data":{"code":"result = 6 * 7"}}]}}`)...)
	followed, err := io.ReadAll(early)
	followedToo, errToo := io.ReadAll(late)
	if err := errors.Join(err, errToo, first.Wait(), second.Wait()); err != nil {
		t.Fatal(err)
	}
	rest := frames(t, string(followed))
	if restToo := frames(t, string(followedToo)); !slices.Equal(restToo, rest) {
		t.Errorf("the second subscriber saw\n%v\nwant\n%v", restToo, rest)
	}
	if end := rest[len(rest)-1]; !strings.Contains(end.data, `"TASK_STATE_COMPLETED"`) {
		t.Errorf("the stream ends with %s", end.data)
	}
}

// The payload of Knowledge for Agents, and its answer: a Message, and no task.
func TestCurlSearchesAnonymously(t *testing.T) {
	curl := leftout.Program(t, "curl", "install curl")
	p := start(t)
	search := func(query string) (text string, documents []string) {
		out := must(t, curl, "-sS", p.url+"/research/message:send", "-H", "Content-Type: application/json", "-H", "A2A-Version: 1.0", "-d",
			`{"message":{"messageId":"k1","role":"ROLE_USER","parts":[{"data":{"action":"search","query":"`+query+`","limit":5},"mediaType":"application/json"}]}}`)
		var answer struct {
			Task    any
			Message struct {
				Role  string
				Parts []struct {
					Text string
					Data struct{ Results []struct{ Document string } }
				}
			}
		}
		if err := json.Unmarshal([]byte(out), &answer); err != nil {
			t.Fatalf("%v in %s", err, out)
		}
		if answer.Task != nil || answer.Message.Role != "ROLE_AGENT" {
			t.Errorf("answer %s", out)
		}
		for _, part := range answer.Message.Parts {
			text += part.Text
			for _, r := range part.Data.Results {
				documents = append(documents, r.Document)
			}
		}
		return text, documents
	}
	text, documents := search("how often are backups of the customer database taken")
	if len(documents) == 0 || documents[0] != "operations.md" || !strings.Contains(text, "every six hours") {
		t.Errorf("found %v: %s", documents, text)
	}
	if _, documents := search("zygomorphic orchid pollination"); len(documents) != 0 {
		t.Errorf("a miss found %v", documents)
	}
	out := must(t, curl, "-sS", "-H", "A2A-Version: 1.0", "-H", "X-API-Key: "+p.key, p.url+"/research/tasks")
	equal(t, "tasks", out, `{"tasks":[],"nextPageToken":"","pageSize":50,"totalSize":0}`)
}

// The MCP payload of KALKI, sent with nothing but the body.
func TestCurlCallsTheVectorSearch(t *testing.T) {
	curl := leftout.Program(t, "curl", "install curl")
	p := start(t)
	call := func(query string) (id string, isError *bool, sentence string) {
		out := must(t, curl, "-sS", p.url+"/mcp", "-d", `{"jsonrpc":"2.0","id":"mcp-req-8842","method":"tools/call","params":{"name":"kalki_vector_search",
			"arguments":{"query":"`+query+`","top_k":5,"min_confidence":0.5}}}`)
		var answer struct {
			ID     string
			Result struct {
				IsError *bool
				Content []struct{ Type, Text string }
			}
		}
		if err := json.Unmarshal([]byte(out), &answer); err != nil {
			t.Fatalf("%v in %s", err, out)
		}
		if len(answer.Result.Content) != 2 {
			t.Fatalf("answer %s", out)
		}
		return answer.ID, answer.Result.IsError, answer.Result.Content[0].Text
	}
	for query, want := range map[string]string{
		"a restore needs the approval of two operators": "Extracted 1 relevant passage from Operations.",
		"quantum encryption standards":                  "Extracted 0 relevant passages: nothing about the query reaches a confidence of 0.5.",
	} {
		id, isError, sentence := call(query)
		equal(t, "id", id, "mcp-req-8842")
		if isError == nil || *isError {
			t.Errorf("isError %v", isError)
		}
		equal(t, query, sentence, want)
	}
}

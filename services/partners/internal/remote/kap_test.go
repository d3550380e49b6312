package remote_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"

	"sabha.dev/chassis/agent"
	"sabha.dev/services/partners/internal/remote"
)

func TestQuestionsInKAPAreWrittenAsItSays(t *testing.T) {
	var got map[string]any
	answers := []string{
		`{"requestId":"q1","protocol":"kap/1.0","status":"pending","output":"somebody is asked"}`,
		`{"requestId":"q1","protocol":"kap/1.0","status":"success","output":"shipped","data":{"eta":"tomorrow"},"metadata":{"durationMs":1200}}`,
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = nil
		if err := json.NewDecoder(r.Body).Decode(&got); err != nil {
			t.Error(err)
		}
		got["type"], got["version"] = r.Header.Get("Content-Type"), r.Header.Get("A2a-Version")
		_, _ = fmt.Fprint(w, answers[0])
		answers = answers[1:]
	}))
	t.Cleanup(s.Close)
	c := newClient(t, here)
	l, err := c.Line(called("p", "kap", "", s.URL))
	if err != nil {
		t.Fatal(err)
	}
	data, err := agent.Data(map[string]any{"customerId": "cust_123"})
	if err != nil {
		t.Fatal(err)
	}
	req := remote.Request("q1", "ask", []*a2apb.Part{agent.Text("Where is my order?"), data})
	req.Message.ContextId = "thread"
	res, err := l.Send(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := time.Parse(time.RFC3339, got["timestamp"].(string)); err != nil {
		t.Error(err)
	}
	delete(got, "timestamp")
	text, _ := json.Marshal(got)
	equal(t, "the question", string(text), `{"capability":"ask","context":{"metadata":{"customerId":"cust_123"},"threadId":"thread"},"from":{"id":"sabha","name":"Sabha","organization":"A Bank"},`+
		`"id":"q1","input":"Where is my order?","protocol":"kap/1.0","timeout":30000,"type":"application/json","version":""}`)
	equal(t, "the state", short(res.GetTask().GetStatus().GetState()), "WORKING")
	task, err := l.Get(t.Context(), res.GetTask().GetId(), req)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "the id that is asked again", got["id"].(string), "q1")
	equal(t, "the state", short(task.GetStatus().GetState()), "COMPLETED")
	parts := task.GetArtifacts()[0].GetParts()
	equal(t, "the output", agent.TextOf(parts), "shipped")
	equal(t, "the data", agent.DataOf(parts).GetStructValue().GetFields()["eta"].GetStringValue(), "tomorrow")
}

// Ask waits for what is pending.
func TestOneQuestionIsAskedToItsEnd(t *testing.T) {
	n := 0
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var q struct{ ID string }
		_ = json.NewDecoder(r.Body).Decode(&q)
		status := map[bool]string{true: `"pending"`, false: `"success","output":"done"`}[n == 0]
		n++
		_, _ = fmt.Fprintf(w, `{"requestId":%q,"protocol":"kap/1.0","status":%s}`, q.ID, status)
	}))
	t.Cleanup(s.Close)
	a, err := newClient(t, here).Ask(t.Context(), called("p", "kap", "", s.URL), "ask", []*a2apb.Part{agent.Text("well?")})
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "the answer", agent.TextOf(a.Parts)+" "+short(a.State), "done COMPLETED")
	if a.Took <= 0 {
		t.Errorf("it took %s", a.Took)
	}
}

// FuzzAnswers gives the client whatever an HTTP body may hold, in each protocol.
func FuzzAnswers(f *testing.F) {
	var body []byte
	stream := false
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if stream {
			w.Header().Set("Content-Type", "text/event-stream")
		}
		_, _ = w.Write(body)
	}))
	f.Cleanup(s.Close)
	f.Add([]byte(`{"requestId":"id of hello","protocol":"kap/1.0","status":"success","output":[1],"data":{"a":null}}`), uint8(0))
	f.Add([]byte(`{"jsonrpc":"2.0","id":null,"error":{"code":-32001,"message":"x","data":[{"@type":"y"}]}}`), uint8(1))
	f.Add([]byte(`{"task":{"id":"t","status":{"state":"TASK_STATE_WORKING"},"artifacts":[{"artifactId":"a","parts":[{"raw":"AA=="}]}]}}`), uint8(2))
	f.Add([]byte("data: {\"task\":{\"id\":\"t\",\"status\":{\"state\":1}}}\r\n\r\n:x\ndata\ndata: \n\n"), uint8(3))
	f.Add([]byte(`{"jsonrpc":"2.0","id":null,"error":{"code":1}}`), uint8(4))
	c := remote.New(remote.Config{Settings: here, Clock: systemClock, MaxAnswer: 1 << 16})
	f.Cleanup(c.Close)
	f.Fuzz(func(t *testing.T, answer []byte, how uint8) {
		body, stream = answer, how%5 == 3
		way := [][2]string{{"kap", ""}, {"1.0", "JSONRPC"}, {"1.0", "HTTP+JSON"}, {"1.0", "HTTP+JSON"}, {"0.3", "JSONRPC"}}[how%5]
		l, err := c.Line(called("p", way[0], way[1], s.URL))
		if err != nil {
			t.Fatal(err)
		}
		call := bySend
		if stream {
			call = byStream
		}
		if _, err := calledBy(t.Context(), l, call); err != nil && remote.KindOf(err) == "" {
			t.Errorf("the caller is told %v", err)
		}
	})
}

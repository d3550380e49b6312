package web_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"mime/multipart"
	"net/http"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"

	"sabha.dev/chassis/fault"
	"sabha.dev/services/console/internal/agents"
)

// network is one agent that says again what it hears.
type network struct {
	err  error
	sent []*a2apb.Message
}

func (*network) Tenants() []string { return []string{"planner", "research"} }

func (*network) All(context.Context) []agents.Agent {
	return []agents.Agent{
		{Tenant: "planner"},
		{Tenant: "research", Problems: []string{"It has no <b>."}, Card: &a2apb.AgentCard{Name: "Research", Skills: []*a2apb.AgentSkill{{Id: "search", Examples: []string{"find <it>"}}}}},
	}
}

func (n *network) Send(_ context.Context, tenant string, m *a2apb.Message, told func(*a2apb.StreamResponse) error) error {
	if tenant != "research" {
		return agents.ErrNoAgent
	}
	n.sent = append(n.sent, m)
	for _, e := range []*a2apb.StreamResponse{
		{Payload: &a2apb.StreamResponse_Task{Task: &a2apb.Task{Id: "t-1", ContextId: "c-1", Status: &a2apb.TaskStatus{State: a2apb.TaskState_TASK_STATE_WORKING}}}},
		{Payload: &a2apb.StreamResponse_ArtifactUpdate{ArtifactUpdate: &a2apb.TaskArtifactUpdateEvent{TaskId: "t-1", Artifact: &a2apb.Artifact{Name: "answer", Parts: []*a2apb.Part{{Content: &a2apb.Part_Text{Text: "<script>"}}}}}}},
	} {
		if err := told(e); err != nil {
			return err
		}
	}
	return n.err
}

func (r *rig) play(t *testing.T, fields map[string]string, file string) (int, string) {
	t.Helper()
	var b bytes.Buffer
	form := multipart.NewWriter(&b)
	for name, value := range fields {
		if err := form.WriteField(name, value); err != nil {
			t.Fatal(err)
		}
	}
	if file != "" {
		w, err := form.CreateFormFile("file", "a.txt")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(file)); err != nil {
			t.Fatal(err)
		}
	}
	if err := form.Close(); err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, r.url+"/playground/send", &b)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", form.FormDataContentType())
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(body)
}

func TestAgentsAndThePlaygroundAreShown(t *testing.T) {
	r := start(t)
	r.site.OpenAgents(&network{})
	for path, wants := range map[string][]string{
		"/agents":                  {"does not answer", "It has no &lt;b&gt;.", "1 problem of the card", "POST /research/message:send", `href="/playground?agent=research&amp;skill=search"`},
		"/playground":              {`<option value="planner" selected>`, `<option value="general">general</option>`},
		"/playground?agent=nobody": {`<option value="planner" selected>`},
		"/playground?agent=research&skill=search": {`<option value="research" selected>`, `<option value="search" selected>`, `data-example="find &lt;it&gt;"`},
	} {
		status, body, _ := r.get(t, path)
		for _, want := range wants {
			if status != 200 || !strings.Contains(body, want) {
				t.Errorf("%s: %d without %s:\n%s", path, status, want, body)
			}
		}
	}
}

func TestThePlaygroundSendsAndTellsWhatComesBack(t *testing.T) {
	r := start(t)
	n := &network{}
	r.site.OpenAgents(n)
	status, body := r.play(t, map[string]string{"agent": "research", "text": "hello", "data": "[1]", "metadata": `{"k":"v"}`, "context": "c-1"}, "content")
	lines := strings.Split(strings.TrimSpace(body), "\n")
	if status != 200 || len(lines) != 2 {
		t.Fatalf("%d %s", status, body)
	}
	if !strings.HasPrefix(lines[0], `{"kind":"task","state":"working","task":"t-1","context":"c-1","raw":{"task":{`) || !strings.HasPrefix(lines[1], `{"kind":"artifact","text":"answer: \u003cscript\u003e","task":"t-1","raw":`) {
		t.Errorf("%s", body)
	}
	m := n.sent[0]
	if len(m.GetParts()) != 3 || m.GetParts()[0].GetText() != "hello" || string(m.GetParts()[2].GetRaw()) != "content" || m.GetParts()[2].GetFilename() != "a.txt" || m.GetContextId() != "c-1" || m.GetMetadata().GetFields()["k"].GetStringValue() != "v" {
		t.Errorf("sent %v", m)
	}
}

func TestThePlaygroundTellsWhyNothingWasSent(t *testing.T) {
	r := start(t)
	n := &network{}
	r.site.OpenAgents(n)
	for _, c := range []struct {
		fields map[string]string
		err    error
		want   string
	}{
		{map[string]string{"agent": "research"}, nil, "Not sent: write a text, data, or attach a file."},
		{map[string]string{"agent": "research", "text": "x", "data": "{"}, nil, "Not sent: the data is no JSON: unexpected end of JSON input."},
		{map[string]string{"agent": "nobody", "text": "x"}, nil, "There is no such agent."},
		{map[string]string{"agent": "research", "text": "x"}, fault.Status(fault.Invalid("message", "is too long")).Err(), "message: is too long."},
		{map[string]string{"agent": "research", "text": "x"}, errors.New("dial 10.0.0.7"), "The agent gave no answer. Try again."},
	} {
		n.err = c.err
		if _, body := r.play(t, c.fields, ""); !strings.Contains(body, c.want) || strings.Contains(body, "10.0.0.7") {
			t.Errorf("%v: %s, want %s", c.fields, body, c.want)
		}
	}
}

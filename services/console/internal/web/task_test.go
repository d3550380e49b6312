package web_test

import (
	"encoding/json"
	"errors"
	"net/url"
	"strings"
	"testing"

	"sabha.dev/chassis/fault"
	"sabha.dev/services/console/internal/oversight"
	"sabha.dev/services/console/internal/request"
)

const png = "\x89PNG\r\n\x1a\n" + "picture"

func withTask(t *testing.T) *rig {
	t.Helper()
	r := start(t)
	r.set(nil, task("t-1", request.Working, "alpha"))
	r.content = request.Content{
		Messages:  []request.Message{{Parts: []request.Part{{Text: "hello"}, {File: []byte("<script>alert(1)</script>"), Name: "a\"b\r\nc.html", Type: "text/html"}}}},
		Artifacts: []request.Artifact{{Name: "chart", Parts: []request.Part{{File: []byte(png), Name: "chart.png", Image: "image/png"}}}},
	}
	for v := range int64(450) {
		r.events = append(r.events, request.Event{Version: v + 1, At: noon, Kind: "status", State: request.Working, Raw: json.RawMessage(`{"n":1}`)})
	}
	return r
}

func TestPagesOfATask(t *testing.T) {
	r := withTask(t)
	for _, c := range []struct {
		path   string
		status int
		has    string
	}{
		{"/tasks/t-1", 200, "This task follows no plan"},
		{"/tasks/t-1/timeline", 200, "Calls between agents"},
		{"/tasks/t-1/content", 200, "hello"},
		{"/tasks/t-1/events", 200, `id="event-200"`},
		{"/tasks/t-1/events?after=200", 200, `id="event-400"`},
		{"/tasks/t-1/events?after=nonsense", 200, `id="event-1"`},
		{"/tasks/t-9/timeline", 404, "There is no such task"},
		{"/tasks/t-9/content", 404, "There is no such task"},
		{"/tasks/t-9/events", 404, "There is no such task"},
		{"/tasks/t-9/events.ndjson", 404, "There is no such task"},
		{"/tasks/t-1/files/x", 404, "There is no such task"},
		{"/tasks/t-1/files/m-0-0", 404, "There is no such file"},
		{"/tasks/t-1/files/m-0-7", 404, "There is no such file"},
		{"/tasks/t-1/files/a-9-0", 404, "There is no such file"},
		{"/tasks/t-1/files/a--1-0", 404, ""},
	} {
		if status, body, _ := r.get(t, c.path); status != c.status || !strings.Contains(body, c.has) {
			t.Errorf("%s: %d, want %d with %q:\n%s", c.path, status, c.status, c.has, body)
		}
	}
	r.set(oversight.ErrUnreachable)
	for _, path := range []string{"/tasks/t-1/timeline", "/tasks/t-1/content", "/tasks/t-1/events", "/tasks/t-1/events.ndjson", "/tasks/t-1/files/m-0-1"} {
		if status, body, _ := r.get(t, path); status != 503 || !strings.Contains(body, "The planner cannot be reached") {
			t.Errorf("%s without the planner: %d %s", path, status, body)
		}
	}
}

func TestFilesAreDownloadsAndOnlyPicturesAreShown(t *testing.T) {
	r := withTask(t)
	for path, want := range map[string][3]string{
		"/tasks/t-1/files/m-0-1":        {"application/octet-stream", "attachment; filename*=utf-8''a%22b%0D%0Ac.html", "<script>alert(1)</script>"},
		"/tasks/t-1/files/m-0-1?show=1": {"application/octet-stream", "attachment; filename*=utf-8''a%22b%0D%0Ac.html", "<script>alert(1)</script>"},
		"/tasks/t-1/files/a-0-0":        {"application/octet-stream", "attachment; filename=chart.png", png},
		"/tasks/t-1/files/a-0-0?show=1": {"image/png", "", png},
	} {
		status, body, h := r.get(t, path)
		if got := [3]string{h.Get("Content-Type"), h.Get("Content-Disposition"), body}; status != 200 || got != want {
			t.Errorf("%s: %d %q, want %q", path, status, got, want)
		}
		if h.Get("Content-Security-Policy") != "sandbox; default-src 'none'" || h.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s is not kept inert: %v", path, h)
		}
	}
}

func TestAllEventsAreDownloadedOneALine(t *testing.T) {
	r := withTask(t)
	status, body, h := r.get(t, "/tasks/t-1/events.ndjson")
	lines := strings.Split(strings.TrimSuffix(body, "\n"), "\n")
	if status != 200 || len(lines) != 450 || h.Get("Content-Disposition") != "attachment; filename=events-t-1.ndjson" {
		t.Fatalf("%d, %d lines, %v", status, len(lines), h)
	}
	var last struct {
		Version int64
		Event   struct{ N int }
	}
	if err := json.Unmarshal([]byte(lines[449]), &last); err != nil || last.Version != 450 || last.Event.N != 1 {
		t.Errorf("%s: %+v %v", lines[449], last, err)
	}
}

func TestStepsAreRetriedAndPlansForked(t *testing.T) {
	r := withTask(t)
	if status, body := r.post(t, "/tasks/t-1/retry", url.Values{"step": {"draft"}}); status != 200 || !strings.Contains(body, "Step draft is tried again now.") {
		t.Errorf("%d %s", status, body)
	}
	if status, body := r.post(t, "/tasks/t-1/fork", url.Values{"step": {"draft"}}); status != 200 || !strings.Contains(body, `"go":"/tasks/t-new"`) {
		t.Errorf("%d %s", status, body)
	}
	if status, body := r.post(t, "/tasks/t-1/cancel", url.Values{"reason": {"wrong"}}); status != 200 || !strings.Contains(body, "1 task canceled.") {
		t.Errorf("%d %s", status, body)
	}
	if got := strings.Join(r.done, ", "); got != "retry t-1 draft, fork t-1 draft" {
		t.Errorf("done: %s", got)
	}
}

func TestWhatAServiceRefusesIsTold(t *testing.T) {
	for name, c := range map[string]struct {
		err    error
		status int
		want   string
	}{
		"refused": {fault.Status(fault.New(fault.PermissionDenied, "retrying needs the role operator")).Err(), 409, "retrying needs the role operator"},
		"broken":  {errors.New("dial tcp 10.0.0.7: refused"), 502, "The service behind this gave no answer."},
	} {
		r := withTask(t)
		r.set(c.err, task("t-1", request.Working, "alpha"))
		if status, body := r.post(t, "/tasks/t-1/retry", url.Values{"step": {"draft"}}); status != c.status || !strings.Contains(body, c.want) || strings.Contains(body, "10.0.0.7") {
			t.Errorf("%s: %d %s", name, status, body)
		}
	}
}

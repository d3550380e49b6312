package web_test

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"sabha.dev/chassis/identity"
	"sabha.dev/services/console/internal/oversight"
	"sabha.dev/services/console/internal/person"
	"sabha.dev/services/console/internal/request"
)

// events reads a stream as the HTML standard says: until the test ends, or close.
type events struct {
	lines *bufio.Scanner
	close func()
}

func (r *rig) open(t *testing.T, query string) *events {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, r.url+"/events?"+query, nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	if res.StatusCode != http.StatusOK || res.Header.Get("Content-Type") != "text/event-stream" {
		t.Fatalf("%s %s", res.Status, res.Header.Get("Content-Type"))
	}
	lines := bufio.NewScanner(res.Body)
	lines.Buffer(nil, 1<<20)
	e := &events{lines, func() { _ = res.Body.Close() }}
	t.Cleanup(e.close)
	return e
}

// next is the name and the data of the next event; ok is false at the end.
func (e *events) next() (name, data string, ok bool) {
	var lines []string
	for e.lines.Scan() {
		switch field, value, _ := strings.Cut(e.lines.Text(), ": "); field {
		case "":
			if name != "" {
				return name, strings.Join(lines, "\n"), true
			}
		case "event":
			name = value
		case "data":
			lines = append(lines, value)
		}
	}
	return "", "", false
}

func TestAStreamBringsEachTopicAsItIsAndThenItsChanges(t *testing.T) {
	r := start(t)
	r.set(nil, task("t-1", request.Working, "first\r\nevent: /tasks/t-1\r\n\r\ndata: forged"))
	e := r.open(t, "watch=/tasks&watch=/tasks/t-1")
	seen := map[string]string{}
	for range 2 {
		name, data, ok := e.next()
		if !ok {
			t.Fatal("the stream ended")
		}
		seen[name] = data
	}
	if !strings.Contains(seen["/tasks"], "event: /tasks/t-1\n\ndata: forged") || !strings.Contains(seen["/tasks/t-1"], `data-watch="/tasks/t-1"`) || len(seen) != 2 {
		t.Errorf("seen %q", seen)
	}
	r.set(nil, task("t-1", request.Completed, "first"))
	r.clock.BlockUntil(3) // two readers and the stream's beat
	r.clock.Advance(time.Second)
	for range 2 {
		if name, data, _ := e.next(); !strings.Contains(data, "Completed") || strings.Contains(data, "forged") {
			t.Errorf("%s has not changed: %s", name, data)
		}
	}
}

func TestAQuietStreamBeats(t *testing.T) {
	r := start(t)
	e := r.open(t, "watch=/tasks")
	if name, _, _ := e.next(); name != "/tasks" {
		t.Fatalf("first event %q", name)
	}
	for range 2 {
		r.clock.BlockUntil(2)
		r.clock.Advance(10 * time.Second)
		if name, data, ok := e.next(); name != "beat" || data != "" || !ok {
			t.Errorf("event %q %q, want a beat", name, data)
		}
	}
}

func TestAReconnectedStreamBeginsWithWhatIs(t *testing.T) {
	r := start(t)
	r.set(nil, task("t-1", request.Working, "first"))
	first := r.open(t, "watch=/tasks")
	first.next()
	first.close()
	r.set(nil, task("t-2", request.Working, "second"))
	again := r.open(t, "watch=/tasks")
	// The reader of the first stream may not have ended yet: then the new task comes with its next reading.
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	go func() {
		for ctx.Err() == nil {
			r.clock.BlockUntil(1)
			r.clock.Advance(time.Second)
			time.Sleep(time.Millisecond)
		}
	}()
	for {
		_, data, ok := again.next()
		if !ok {
			t.Fatal("the stream ended before it showed the new task")
		}
		if strings.Contains(data, "second") {
			return
		}
	}
}

func TestAStreamShowsThatThePlannerIsGoneAndThatItIsBack(t *testing.T) {
	r := start(t)
	r.set(nil, task("t-1", request.Working, "first"))
	e := r.open(t, "watch=/tasks")
	e.next()
	for _, step := range []struct {
		err       error
		has, lost string
	}{
		{oversight.ErrUnreachable, "What you see is from", ""},
		{nil, "first", "What you see is from"},
	} {
		r.set(step.err, task("t-1", request.Working, "first"))
		r.clock.BlockUntil(2)
		r.clock.Advance(time.Second)
		_, data, _ := e.next()
		if !strings.Contains(data, step.has) || !strings.Contains(data, "first") || (step.lost != "" && strings.Contains(data, step.lost)) {
			t.Errorf("want %q: %s", step.has, data)
		}
	}
}

func TestStoppingEndsStreams(t *testing.T) {
	r := start(t)
	e := r.open(t, "watch=/tasks")
	e.next()
	r.site.Stop()
	if name, _, ok := e.next(); ok {
		t.Errorf("event %q after the stop", name)
	}
	if status, body, h := r.get(t, "/events?watch=/tasks"); status != 503 || h.Get("Retry-After") == "" {
		t.Errorf("a new stream: %d %s", status, body)
	}
}

// clogged is a connection that takes a few writes and then no more: as the
// machine does when a deadline passes, the write that blocks fails.
type clogged struct {
	header    http.Header
	takes     int
	deadlines int
}

func (c *clogged) Header() http.Header { return c.header }
func (c *clogged) WriteHeader(int)     {}
func (c *clogged) Flush()              {}

func (c *clogged) SetWriteDeadline(time.Time) error {
	c.deadlines++
	return nil
}

func (c *clogged) Write(p []byte) (int, error) {
	if c.deadlines == 0 {
		return 0, fmt.Errorf("written without a deadline")
	}
	if c.takes--; c.takes < 0 {
		return 0, os.ErrDeadlineExceeded
	}
	return len(p), nil
}

func TestASlowViewerIsDropped(t *testing.T) {
	for takes := range 3 {
		r := start(t)
		r.set(nil, task("t-1", request.Working, "first"))
		c := &clogged{header: http.Header{}, takes: takes}
		req := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://localhost/events?watch=/tasks", nil)
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			r.site.Handler(asAlma).ServeHTTP(c, req)
		}()
		if takes == 2 { // the greeting and the list; the beat is what it does not take
			r.clock.BlockUntil(2)
			r.clock.Advance(10 * time.Second)
		}
		<-ended
		if c.deadlines != takes+1 {
			t.Errorf("%d writes were bounded, want %d", c.deadlines, takes+1)
		}
	}
}

func TestEverySessionGetsFormsOfItsOwn(t *testing.T) {
	r := start(t)
	r.set(nil, task("t-1", request.Working, "first"))
	for _, session := range []string{"a", "b"} {
		site := httptest.NewServer(r.site.Handler(signedIn(func(*http.Request) person.Person {
			return person.Person{Principal: identity.Principal{Subject: "alma", Scopes: []string{identity.Operator}}, Name: "Alma", Grant: "g", Session: session, CSRF: "token of " + session}
		})))
		t.Cleanup(func() { r.site.Stop(); site.Close() })
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, site.URL+"/events?watch=/tasks/t-1", nil)
		if err != nil {
			t.Fatal(err)
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = res.Body.Close() }()
		lines := bufio.NewScanner(res.Body)
		lines.Buffer(nil, 1<<20)
		_, data, _ := (&events{lines: lines}).next()
		for _, s := range []string{"a", "b"} {
			if strings.Contains(data, "token of "+s) != (s == session) {
				t.Errorf("session %s got the token of %s", session, s)
			}
		}
	}
}

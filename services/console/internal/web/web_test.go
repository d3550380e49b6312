package web_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"sabha.dev/chassis/identity"
	"sabha.dev/services/console/internal/oversight"
	"sabha.dev/services/console/internal/person"
	"sabha.dev/services/console/internal/query"
	"sabha.dev/services/console/internal/request"
	"sabha.dev/services/console/internal/signin"
	"sabha.dev/services/console/internal/web"
	"sabha.dev/testrig/clocktest"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// source is a platform with as many tasks as the test says.
type source struct {
	mu    sync.Mutex
	tasks []request.Task
	err   error
	// content and events are those of every task; done is what was asked for.
	content request.Content
	events  []request.Event
	done    []string
}

func (s *source) set(err error, tasks ...request.Task) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tasks, s.err = tasks, err
}

func (s *source) List(_ context.Context, q query.Query, after string) (request.Page, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if after == "gone" {
		return request.Page{}, oversight.ErrBadPage
	}
	p := request.Page{Counts: map[request.State]int64{}}
	for _, t := range s.tasks {
		p.Counts[t.State]++
		if len(q.States) == 0 || slices.Contains(q.States, t.State) {
			p.Tasks = append(p.Tasks, t)
		}
	}
	return p, s.err
}

func (s *source) find(id string) (request.Task, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return request.Task{}, s.err
	}
	for _, t := range s.tasks {
		if t.ID == id {
			return t, nil
		}
	}
	return request.Task{}, oversight.ErrNoTask
}

func (s *source) Task(_ context.Context, id string) (request.Task, error) { return s.find(id) }

func (s *source) Hops(context.Context, string) ([]request.Hop, []string) {
	return []request.Hop{{Caller: "gateway", Agent: "planner", Started: noon}}, nil
}

func (s *source) Content(_ context.Context, id string) (request.Task, request.Content, error) {
	t, err := s.find(id)
	return t, s.content, err
}

func (s *source) Events(_ context.Context, id string, after int64, most int) (request.Events, error) {
	_, err := s.find(id)
	all := request.Events{Newest: int64(len(s.events))}
	for _, e := range s.events {
		if e.Version > after {
			if all.More = len(all.List) == most; all.More {
				break
			}
			all.List = append(all.List, e)
		}
	}
	return all, err
}

func (s *source) Retry(_ context.Context, id, step string) error {
	return s.do("retry " + id + " " + step)
}

func (s *source) Fork(_ context.Context, id, step string) (string, error) {
	return "t-new", s.do("fork " + id + " " + step)
}

func (s *source) Figures(_ context.Context, span time.Duration) (request.Figures, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := request.Figures{
		Span: span, Tasks: map[request.State]int64{request.InputRequired: 7}, Missing: []string{"memory"},
		Buckets: []request.Bucket{{From: noon, Started: 12, Completed: 9, Failed: 2}},
		Skills:  []request.Skill{{Agent: "research", Skill: "investigate", Calls: 40, Failures: 3, P50: 20 * time.Millisecond, P95: 900 * time.Millisecond}},
	}
	return f, s.err
}

func (s *source) Playbooks(context.Context) ([]request.Playbook, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return []request.Playbook{{Name: "general", Version: "1", Runs: map[request.State]int64{request.Failed: 3}}}, s.err
}

func (s *source) Playbook(_ context.Context, name, version string) (request.Playbook, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil && name != "general" {
		return request.Playbook{}, oversight.ErrNoPlaybook
	}
	return request.Playbook{Name: name, Version: version, Source: "playbook: general"}, s.err
}

func (s *source) do(what string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.done = append(s.done, what)
	return s.err
}

func (s *source) Cancel(_ context.Context, ids []string, reason string) ([]request.Outcome, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []request.Outcome
	for _, id := range ids {
		o := request.Outcome{TaskID: id, Error: "there is no such task"}
		for i := range s.tasks {
			if s.tasks[i].ID == id {
				s.tasks[i].State, s.tasks[i].Note = request.Canceled, reason
				o = request.Outcome{TaskID: id, State: request.Canceled}
			}
		}
		all = append(all, o)
	}
	return all, s.err
}

func task(id string, s request.State, text string) request.Task {
	return request.Task{ID: id, State: s, Text: text, Agent: "planner", Created: noon, Changed: noon}
}

type rig struct {
	*source
	site  *web.Site
	clock *clocktest.Clock
	url   string
}

func start(t *testing.T) *rig {
	t.Helper()
	r := &rig{source: &source{}, clock: clocktest.New(noon)}
	site, err := web.New(r.source, web.Options{Hosts: []string{"Console.Internal"}, TraceURL: "https://traces.example/{trace_id}", Filters: store(t)}, r.clock, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(site.Handler(asAlma))
	t.Cleanup(func() { site.Stop(); server.Close() })
	r.site, r.url = site, server.URL
	return r
}

// signedIn is a gate that lets everybody in, as whom it says.
type signedIn func(*http.Request) person.Person

func (as signedIn) Handler(next http.Handler, _ signin.Pages) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p := as(r)
		p.Signed = func(context.Context) bool { return true }
		next.ServeHTTP(w, r.WithContext(person.With(r.Context(), p)))
	})
}

var asAlma = signedIn(func(*http.Request) person.Person {
	return person.Person{
		Principal: identity.Principal{Organisation: "acme", Subject: "alma", Scopes: []string{identity.Operator}}, Name: "Alma Rao",
		Grant: "alma's grant", CSRF: "alma's token",
	}
})

func (r *rig) get(t *testing.T, path string) (int, string, http.Header) {
	t.Helper()
	return r.do(t, http.MethodGet, path, "")
}

func (r *rig) do(t *testing.T, method, path, host string) (int, string, http.Header) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, r.url+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Host = host
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(body), res.Header
}

func TestPages(t *testing.T) {
	r := start(t)
	r.set(nil, task("t-1", request.Working, "alpha"), task("t-2", request.Failed, "beta"))
	for _, c := range []struct {
		path   string
		status int
		has    string
		not    string
	}{
		{"/tasks", 200, "alpha", "no such"},
		{"/", 200, "Failed or rejected", "no such"},
		{"/?span=1w", 200, "12 began in the last week, 9 completed", ""},
		{"/playbooks", 200, "/playbooks/general", ""},
		{"/playbooks/general?version=3", 200, "playbook: general", ""},
		{"/playbooks/nothing", 404, "There is no such playbook", ""},
		{"/tasks?q=state:failed", 200, "beta", "alpha"},
		{"/tasks?q=state:nonsense", 400, "submitted, working, input-required", "alpha"},
		{"/tasks?after=gone", 400, "Begin with the newest", "alpha"},
		{"/tasks?after=t-1", 200, `data-watch="/tasks?after=t-1"`, "no such"},
		{"/tasks/t-2", 200, "beta", "alpha"},
		{"/tasks/t-3", 404, "There is no such task", "beta"},
		{"/tasks/%3Cscript%3E", 404, "&lt;script&gt;", "<script>"},
		{"/nothing", 404, "There is no such page", "alpha"},
		{"/static/stream.js", 200, "EventSource", "<html"},
		{"/static/assets.go", 404, "", "package"},
		{"/static/console.css", 200, "light-dark", "<html"},
		{"/static/..%2fassets.go", 404, "", "package"},
		{"/events", 400, "watch=TOPIC", ""},
		{"/events?watch=/tasks&watch=nonsense", 404, "address of a page", ""},
		{"/events?watch=/tasks/a%0Ab", 404, "address of a page", ""},
		{"/events?" + strings.Repeat("watch=/tasks&", 65), 400, "1 to 64", ""},
	} {
		status, body, _ := r.get(t, c.path)
		if status != c.status || !strings.Contains(body, c.has) || (c.not != "" && strings.Contains(body, c.not)) {
			t.Errorf("%s: %d, want %d with %q and without %q:\n%s", c.path, status, c.status, c.has, c.not, body)
		}
	}
}

func TestWithoutThePlannerThePageIsThereAndSaysSo(t *testing.T) {
	r := start(t)
	r.set(oversight.ErrUnreachable)
	for _, path := range []string{"/", "/tasks", "/tasks/t-1", "/playbooks", "/playbooks/general"} {
		status, body, _ := r.get(t, path)
		if status != 503 || !strings.Contains(body, "The planner cannot be reached") || !strings.Contains(body, "data-watch=\"/") {
			t.Errorf("%s: %d %s", path, status, body)
		}
	}
}

func TestOnlyTheConsolesOwnNamesAreAnswered(t *testing.T) {
	r := start(t)
	for host, want := range map[string]int{
		"localhost": 200, "LOCALHOST:8081": 200, "127.0.0.1:8081": 200, "127.1.2.3": 200, "[::1]:8081": 200, "[::1]": 200, "console.internal:80": 200, "CONSOLE.internal": 200,
		"evil.example": 421, "evil.example:8081": 421, "localhost.evil.example": 421, "127.0.0.1.evil.example": 421, "10.0.0.1:8081": 421, "0.0.0.0": 421,
		"localhost@evil.example": 421, "xn--localhost": 421,
	} {
		for _, path := range []string{"/", "/static/console.js"} {
			if got, body, _ := r.do(t, http.MethodGet, path, host); got != want {
				t.Errorf("%s as %s: %d, want %d: %s", path, host, got, want, body)
			}
		}
	}
	if got, _, _ := r.do(t, http.MethodGet, "/events?watch=/tasks", "evil.example"); got != 421 {
		t.Errorf("the stream as evil.example: %d, want 421", got)
	}
}

func TestWhatIsSentFromAnotherSiteIsRefused(t *testing.T) {
	r := start(t)
	for name, c := range map[string]struct {
		header, value string
		want          int
	}{
		"own page": {"Sec-Fetch-Site", "same-origin", 303}, "no browser": {"X", "y", 303},
		"other site": {"Sec-Fetch-Site", "cross-site", 403}, "sibling": {"Sec-Fetch-Site", "same-site", 403}, "old browser": {"Origin", "https://evil.example", 403},
	} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, r.url+"/theme", strings.NewReader("theme=dark"))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		req.Header.Set(c.header, c.value)
		res, err := http.DefaultTransport.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		if res.StatusCode != c.want {
			t.Errorf("%s: %d, want %d", name, res.StatusCode, c.want)
		}
	}
}

// post sends a form as the script does.
func (r *rig) post(t *testing.T, path string, form url.Values) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, r.url+path, strings.NewReader(form.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Accept", "application/json")
	res, err := http.DefaultTransport.RoundTrip(req)
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

func TestSelectedTasksAreCanceledForAReason(t *testing.T) {
	r := start(t)
	r.set(nil, task("t-1", request.Working, "alpha"), task("t-2", request.Working, "beta"))
	for _, c := range []struct {
		form   url.Values
		status int
		want   string
	}{
		{url.Values{"reason": {"wrong file"}}, 422, "Select a task first."},
		{url.Values{"id": {"t-1"}, "reason": {" "}}, 422, "Say why; the reason is recorded."},
		{url.Values{"id": make([]string, 201), "reason": {"x"}}, 422, "At most 200 tasks"},
		{url.Values{"id": {"t-1", "t-2"}, "reason": {"wrong file"}}, 200, `"text":"2 tasks canceled."`},
		{url.Values{"id": {"t-1", "t-9"}, "reason": {"wrong file"}}, 422, "1 task canceled. 1 task not canceled. t-9: there is no such task"},
	} {
		if status, body := r.post(t, "/tasks/cancel", c.form); status != c.status || !strings.Contains(body, c.want) {
			t.Errorf("%v: %d %s, want %d %s", c.form, status, body, c.status, c.want)
		}
	}
	if _, body, _ := r.get(t, "/tasks?q=state:canceled"); strings.Count(body, "wrong file") != 2 {
		t.Errorf("the list does not show that they are canceled, and why: %s", body)
	}
}

func TestTasksAreExportedWithoutFormulas(t *testing.T) {
	r := start(t)
	r.set(nil, task("t-1", request.Failed, "=HYPERLINK(\"https://evil.example\")"), task("t-2", request.Working, "beta"))
	status, body, h := r.get(t, "/tasks.csv?q=state:failed")
	if status != 200 || h.Get("Content-Type") != "text/csv; charset=utf-8" || h.Get("Content-Disposition") != "attachment; filename=tasks.csv" {
		t.Errorf("%d %v", status, h)
	}
	if !strings.HasPrefix(body, "task,state,request,") || !strings.Contains(body, `t-1,failed,"'=HYPERLINK(`) || strings.Contains(body, "beta") {
		t.Errorf("%s", body)
	}
}

func TestAThemeIsRemembered(t *testing.T) {
	r := start(t)
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	browser := http.Client{Jar: jar}
	for _, c := range []struct{ choice, want string }{{"dark", `data-theme="dark"`}, {"light", `data-theme="light"`}, {"system", `data-theme=""`}} {
		res, err := browser.PostForm(r.url+"/theme", url.Values{"theme": {c.choice}, "back": {"/tasks"}})
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(res.Body)
		_ = res.Body.Close()
		if err != nil || res.Request.URL.Path != "/tasks" || !strings.Contains(string(body), c.want) {
			t.Errorf("%s: %s %v without %s", c.choice, res.Request.URL, err, c.want)
		}
	}
}

func TestPagesAreSentPacked(t *testing.T) {
	r := start(t)
	r.set(nil, task("t-1", request.Working, "alpha"))
	for _, path := range []string{"/tasks", "/static/console.css", "/static/console.js"} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, r.url+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Accept-Encoding", "gzip")
		res, err := http.DefaultTransport.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		packed, err := io.ReadAll(res.Body)
		_ = res.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		z, err := gzip.NewReader(bytes.NewReader(packed))
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		if body, err := io.ReadAll(z); err != nil || len(body) <= len(packed) {
			t.Errorf("%s: %d bytes out of %d, %v", path, len(body), len(packed), err)
		}
	}
}

func TestAskingForTheHeadOfAStreamDoesNotWatch(t *testing.T) {
	r := start(t)
	if status, body, h := r.do(t, http.MethodHead, "/events?watch=/tasks", ""); status != 200 || body != "" || h.Get("Content-Type") != "text/event-stream" {
		t.Errorf("%d %q %q", status, body, h.Get("Content-Type"))
	}
}

func TestEveryAnswerHasTheHeadersThatProtectIt(t *testing.T) {
	r := start(t)
	for _, path := range []string{"/", "/tasks/x", "/nothing", "/static/console.js", "/events"} {
		_, _, h := r.get(t, path)
		for name, want := range map[string]string{
			"Content-Security-Policy": "default-src 'none'; script-src 'self'; worker-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
			"X-Content-Type-Options":  "nosniff", "Referrer-Policy": "no-referrer", "X-Frame-Options": "DENY", "Cross-Origin-Resource-Policy": "same-origin",
		} {
			if got := h.Get(name); got != want {
				t.Errorf("%s: %s is %q, want %q", path, name, got, want)
			}
		}
		if got := h.Get("Access-Control-Allow-Origin"); got != "" {
			t.Errorf("%s may be read by other sites: %q", path, got)
		}
	}
}

// Who only decides is not shown places that every service would keep them out of.
func TestReviewersBeginAtTheirDesk(t *testing.T) {
	r := start(t)
	asRita := signedIn(func(*http.Request) person.Person {
		return person.Person{Principal: identity.Principal{Subject: "rita", Scopes: []string{identity.Reviewer, "group:claims"}}, Name: "Rita"}
	})
	get := func(gate signedIn, path string) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		r.site.Handler(gate).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "http://127.0.0.1"+path, nil))
		return w
	}
	if w := get(asRita, "/"); w.Code != http.StatusSeeOther || w.Header().Get("Location") != "/review" {
		t.Errorf("a reviewer who begins gets %d %s", w.Code, w.Header().Get("Location"))
	}
	for path, seen := range map[string]bool{`href="/review"`: true, `href="/questions"`: true, `href="/tasks"`: false, `href="/playbooks"`: false} {
		if got := strings.Contains(get(asRita, "/nowhere").Body.String(), path); got != seen {
			t.Errorf("a reviewer's navigation has %s: %v", path, got)
		}
		if !strings.Contains(get(asAlma, "/nowhere").Body.String(), path) {
			t.Errorf("an operator's navigation lacks %s", path)
		}
	}
}

package console_test

import (
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"sabha.dev/testrig/consoletest"
)

var (
	csrfField = regexp.MustCompile(`name="csrf" value="([^"]+)"`)
	madeOnce  = regexp.MustCompile(`<code class="secret">([^<]+)</code>`)
)

// sends posts a form as a page of the console does, and gives the answer as a script reads it.
func (r *rig) sends(t *testing.T, web *http.Client, path string, form url.Values) (int, string) {
	t.Helper()
	ask := func(method, path string, body io.Reader, accept string) (int, string) {
		req, err := http.NewRequestWithContext(t.Context(), method, r.url+path, body)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Accept", accept)
		if body != nil {
			req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		}
		res, err := web.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = res.Body.Close() }()
		raw, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return res.StatusCode, string(raw)
	}
	_, account := ask(http.MethodGet, "/account", nil, "text/html")
	found := csrfField.FindStringSubmatch(account)
	if found == nil {
		t.Fatalf("no form in %s", account)
	}
	form.Set("csrf", found[1])
	return ask(http.MethodPost, path, strings.NewReader(form.Encode()), "application/json, text/html")
}

// ownPassword is what somebody chooses.
const ownPassword = "a password of my own"

// somebody has an account with a role, and signs in.
func (r *rig) somebody(t *testing.T, name, role string) *http.Client {
	t.Helper()
	_, page := r.sends(t, r.web, "/accounts", url.Values{"account": {name}, "role": {role}})
	made := madeOnce.FindStringSubmatch(page)
	if made == nil {
		t.Fatalf("no password in %s", page)
	}
	web := consoletest.SignIn(t, r.url, name, made[1])
	if status, said := r.sends(t, web, "/account/password", url.Values{"old": {made[1]}, "password": {ownPassword}, "again": {ownPassword}}); status >= 400 {
		t.Fatalf("%d %s", status, said)
	}
	return web
}

func TestWhatSomebodyMayIsDecidedByTheService(t *testing.T) {
	r := start(t, "planner", "security", "memory", "research", "executor", "validator")
	defer close(r.release)
	id := r.ask(t, "How much leave is there?")
	see := func(web *http.Client) (int, string) {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, r.url+"/tasks/"+id, nil)
		if err != nil {
			t.Fatal(err)
		}
		res, err := web.Do(req)
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
	cancel := url.Values{"reason": {"not needed any more"}}
	viewer, reviewer, operator := r.somebody(t, "vera", "viewer"), r.somebody(t, "rita", "reviewer"), r.somebody(t, "omar", "operator")

	if status, page := see(viewer); status != http.StatusOK || !strings.Contains(page, "How much leave is there?") {
		t.Errorf("a viewer sees %d %s", status, page)
	}
	status, said := r.sends(t, viewer, "/tasks/"+id+"/cancel", cancel)
	if status != http.StatusConflict || !strings.Contains(said, "this needs one of the roles operator, admin, and vera has none of them; an administrator can give it") {
		t.Errorf("a viewer cancels: %d %s", status, said)
	}
	if status, page := see(reviewer); status != http.StatusForbidden || !strings.Contains(page, "You may not see this") || !strings.Contains(page, "and rita has none of them") {
		t.Errorf("a reviewer sees %d %s", status, page)
	}
	if status, said := r.sends(t, operator, "/tasks/"+id+"/cancel", cancel); status != http.StatusOK {
		t.Errorf("an operator cancels: %d %s", status, said)
	}
}

package signin_test

import (
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"sabha.dev/services/console/internal/account"
	"sabha.dev/services/console/internal/signin"
)

var alma = account.Account{Organisation: "acme", Subject: "alma", Name: "Alma Rao", Roles: []string{"operator"}, Groups: []string{"claims"}}

func TestPagesNeedSomebodyWhoHasSignedIn(t *testing.T) {
	r := start(t)
	r.add(t, alma)
	b := r.browser(t)
	b.get(t, "/tasks?state=failed&after=x").want(t, "a page", http.StatusSeeOther, "/sign-in?return=%2Ftasks%3Fstate%3Dfailed%26after%3Dx")
	b.get(t, "/events?watch=/tasks", "Accept: text/event-stream").want(t, "a stream", http.StatusUnauthorized, "You are signed out")
	b.get(t, "/tasks", "Sec-Fetch-Mode: cors").want(t, "a script", http.StatusUnauthorized, "You are signed out")
	b.do(t, http.MethodPost, "/tasks/1/cancel", url.Values{}).want(t, "a form", http.StatusUnauthorized, "What you sent was not done")
	b.get(t, "/accounts").want(t, "accounts", http.StatusSeeOther, "/sign-in")
	b.get(t, "/static/console.css").want(t, "a style", http.StatusOK, "GET /static/console.css called ;")
	b.get(t, "/sign-in?return=%2Ftasks").want(t, "the sign-in", http.StatusOK, `name="return" value="/tasks"`, "Sign in")

	b.signIn(t, "acme/alma", password, "/tasks?state=failed").want(t, "signing in", http.StatusSeeOther, "/tasks?state=failed")
	b.get(t, "/tasks").want(t, "then", http.StatusOK, "called Alma Rao; acme/alma may operator group:claims; csrf=", "signed=true")
	b.get(t, "/sign-in?return=%2Ftasks").want(t, "signing in again", http.StatusSeeOther, "/tasks")
	b.post(t, "/sign-out", url.Values{}).want(t, "signing out", http.StatusSeeOther, "/sign-in")
	if b.in(t) {
		t.Error("signed out, and still in")
	}
}

func TestASignInThatDoesNotDoSaysNoMore(t *testing.T) {
	r := start(t)
	r.add(t, alma)
	bo := account.Account{Subject: "bo"}
	r.add(t, bo)
	bo.Disabled = true
	if err := r.people.Change(t.Context(), bo); err != nil {
		t.Fatal(err)
	}
	b := r.browser(t)
	first := ""
	for _, c := range [][2]string{{"acme/alma", "wrong"}, {"acme/nobody", password}, {"bo", password}, {"bo", "wrong"}, {"", ""}} {
		got := b.signIn(t, c[0], c[1])
		got.want(t, c[0], http.StatusUnauthorized, "The name or the password is wrong, or the account is disabled.")
		if body := strings.ReplaceAll(got.body, `value="`+c[0]+`"`, `value=""`); first == "" {
			first = body
		} else if c[0] != "" && body != first {
			t.Errorf("%s is told apart: %s", c[0], body)
		}
		if strings.Contains(got.body, password) {
			t.Error("the password comes back")
		}
	}
	if strings.Contains(r.logs.String(), password) || strings.Contains(r.logs.String(), "wrong") {
		t.Errorf("the log holds what was typed: %s", r.logs.String())
	}
}

func TestGuessesAreBounded(t *testing.T) {
	r := start(t)
	r.add(t, alma)
	r.add(t, account.Account{Subject: "bo"})
	b := r.browser(t)
	for range 10 {
		b.signIn(t, "acme/alma", "wrong").want(t, "a guess", http.StatusUnauthorized)
	}
	over := b.signIn(t, "acme/alma", password)
	over.want(t, "one too many, even if it is right", http.StatusTooManyRequests, "Too many attempts. Try again in 10s.")
	if over.header.Get("Retry-After") != "10" {
		t.Errorf("Retry-After %q", over.header.Get("Retry-After"))
	}
	b.signIn(t, "bo", password).want(t, "another account meanwhile", http.StatusSeeOther)
	r.clock.Advance(10 * time.Second)
	b.signIn(t, "acme/alma", "wrong").want(t, "after a wait", http.StatusUnauthorized)
	b.signIn(t, "acme/alma", "wrong").want(t, "after one more", http.StatusTooManyRequests)
	r.clock.Advance(10 * time.Second)
	b.signIn(t, "acme/alma", password).want(t, "the right one after a wait", http.StatusSeeOther)
}

func TestGuessesAtOnceAreBoundedToo(t *testing.T) {
	r := start(t)
	r.add(t, alma)
	var wg sync.WaitGroup
	statuses := make([]int, 30)
	for i := range statuses {
		b := r.browser(t)
		wg.Go(func() { statuses[i] = b.signIn(t, "acme/alma", "wrong").status })
	}
	wg.Wait()
	wrong := 0
	for _, s := range statuses {
		if s == http.StatusUnauthorized {
			wrong++
		}
	}
	if wrong != 10 {
		t.Errorf("%d of 30 guesses at once were taken: %v", wrong, statuses)
	}
}

func TestASessionIsANewOneAtEverySignIn(t *testing.T) {
	r := start(t)
	r.add(t, alma)
	b := r.browser(t)
	at, err := url.Parse(r.url)
	if err != nil {
		t.Fatal(err)
	}
	planted := strings.Repeat("A", 43)
	b.Jar.SetCookies(at, []*http.Cookie{{Name: "sabha", Value: planted}})
	if b.in(t) {
		t.Fatal("a token that nobody gave is a session")
	}
	b.signIn(t, "acme/alma", password)
	first := b.Jar.Cookies(at)[0].Value
	if first == planted || len(first) != 43 {
		t.Errorf("the session's token is %q", first)
	}
	other := r.browser(t)
	other.Jar.SetCookies(at, []*http.Cookie{{Name: "sabha", Value: first}})
	if !other.in(t) {
		t.Fatal("the rig does not carry a session over")
	}
	b.signIn(t, "acme/alma", password)
	if other.in(t) || !b.in(t) {
		t.Error("the session of before lasts beside the new one")
	}
}

func TestTheCookieIsOutOfReach(t *testing.T) {
	for secure, want := range map[bool]string{false: "sabha=", true: "__Host-sabha="} {
		r := start(t, func(c *signin.Config) { c.Secure = secure })
		r.add(t, alma)
		cookie := r.browser(t).signIn(t, "acme/alma", password).header.Get("Set-Cookie")
		if !strings.HasPrefix(cookie, want) || !strings.Contains(cookie, "; Path=/; Max-Age=36000; HttpOnly") || !strings.HasSuffix(cookie, "; SameSite=Lax") ||
			strings.Contains(cookie, "; Secure") != secure || strings.Contains(cookie, "Domain") {
			t.Errorf("secure %t: %s", secure, cookie)
		}
	}
}

func TestASessionEndsByTheClock(t *testing.T) {
	r := start(t)
	r.add(t, alma)
	b := r.browser(t)
	b.signIn(t, "acme/alma", password)
	r.clock.Advance(time.Hour - time.Second)
	if !b.in(t) {
		t.Error("it ended early")
	}
	r.clock.Advance(time.Hour)
	if b.in(t) {
		t.Error("it lasts unused")
	}
}

func TestWhatNoPageOfTheSessionSentIsRefused(t *testing.T) {
	r := start(t)
	r.add(t, alma)
	r.add(t, account.Account{Subject: "bo"})
	b, bo := r.browser(t), r.browser(t)
	b.signIn(t, "acme/alma", password)
	bo.signIn(t, "bo", password)
	theirs := csrfOf.FindStringSubmatch(bo.get(t, "/").body)[1]
	mine := csrfOf.FindStringSubmatch(b.get(t, "/").body)[1]
	for name, c := range map[string]struct {
		form    url.Values
		headers []string
		status  int
	}{
		"without a token":          {url.Values{}, nil, http.StatusForbidden},
		"with another's":           {url.Values{"csrf": {theirs}}, nil, http.StatusForbidden},
		"with a piece":             {url.Values{"csrf": {mine[:20]}}, nil, http.StatusForbidden},
		"in the address":           {url.Values{"x": {"1"}}, nil, http.StatusForbidden},
		"with it":                  {url.Values{"csrf": {mine}}, nil, http.StatusOK},
		"in the header":            {url.Values{}, []string{"X-CSRF-Token: " + mine}, http.StatusOK},
		"another's in the header":  {url.Values{"csrf": {mine}}, []string{"X-CSRF-Token: " + theirs}, http.StatusForbidden},
		"as another kind of form":  {url.Values{"csrf": {mine}}, []string{"Content-Type: text/plain"}, http.StatusForbidden},
		"larger than forms may be": {url.Values{"big": {strings.Repeat("x", 17<<20)}, "csrf": {mine}}, nil, http.StatusForbidden},
	} {
		path := "/tasks/1/cancel"
		if name == "in the address" {
			path += "?csrf=" + url.QueryEscape(mine)
		}
		b.do(t, http.MethodPost, path, c.form, c.headers...).want(t, name, c.status)
	}
	for _, method := range []string{http.MethodPut, http.MethodDelete, http.MethodPatch} {
		b.do(t, method, "/tasks/1", nil).want(t, method, http.StatusForbidden)
	}
	b.do(t, http.MethodPost, "/sign-out", url.Values{}).want(t, "signing out", http.StatusForbidden)
	if !b.in(t) {
		t.Error("somebody else signed it out")
	}
}

func TestReturningLeadsNowhereElse(t *testing.T) {
	r := start(t)
	r.add(t, alma)
	b := r.browser(t)
	for to, want := range map[string]string{"/tasks?a=b#c": "/tasks?a=b#c", `/\evil.example`: "/"} {
		if got := b.signIn(t, "acme/alma", password, to); got.location != want {
			t.Errorf("%q leads to %q, want %q", to, got.location, want)
		}
	}
	for to, want := range map[string]string{
		"/tasks?a=b#c":                  "/tasks?a=b#c",
		"":                              "/",
		"https://evil.example":          "/",
		"//evil.example/x":              "/",
		`/\evil.example`:                "/",
		`\\evil.example`:                "/",
		"/\t/evil.example":              "/",
		"/\n/evil.example":              "/",
		"javascript:alert(1)":           "/",
		"tasks":                         "/",
		"/sign-in":                      "/",
		"/sign-in/provider":             "/",
		"/" + strings.Repeat("x", 3000): "/",
	} {
		if got := b.get(t, "/sign-in?return="+url.QueryEscape(to)); got.location != want {
			t.Errorf("signed in already, %q leads to %q, want %q", to, got.location, want)
		}
	}
}

func TestAPasswordThatSomebodyHasSeenIsChangedFirst(t *testing.T) {
	r := start(t)
	made, err := r.people.Add(t.Context(), alma, "")
	if err != nil {
		t.Fatal(err)
	}
	b, elsewhere := r.browser(t), r.browser(t)
	b.signIn(t, "acme/alma", made)
	elsewhere.signIn(t, "acme/alma", made)
	b.get(t, "/tasks").want(t, "a page", http.StatusSeeOther, "/account")
	b.get(t, "/events", "Accept: text/event-stream").want(t, "a stream", http.StatusForbidden, "Change your password first")
	b.post(t, "/tasks/1/cancel", url.Values{}).want(t, "an action", http.StatusForbidden, "Change your password first")
	b.get(t, "/account").want(t, "the account", http.StatusOK, "Choose a password of your own")
	change := func(old, password, again string) answer {
		return b.post(t, "/account/password", url.Values{"old": {old}, "password": {password}, "again": {again}})
	}
	change(made, password, password+"!").want(t, "two passwords", http.StatusBadRequest, "not the same both times")
	change("wrong", password, password).want(t, "a wrong one", http.StatusForbidden, "The present password is another.")
	change(made, "short", "short").want(t, "a short one", http.StatusBadRequest, "A password has at least 12 characters.")
	change(made, made, made).want(t, "the same one", http.StatusBadRequest, "Choose another password")
	change(made, password, password).want(t, "a good one", http.StatusSeeOther, "/account")
	if !b.in(t) || elsewhere.in(t) {
		t.Errorf("after the change: here %t, elsewhere %t", b.in(t), elsewhere.in(t))
	}
	elsewhere.signIn(t, "acme/alma", made).want(t, "the password of before", http.StatusUnauthorized)
	elsewhere.signIn(t, "acme/alma", password).want(t, "the new one", http.StatusSeeOther)
	b.post(t, "/account/sign-out-everywhere", url.Values{}).want(t, "signing out everywhere", http.StatusSeeOther, "/sign-in")
	if b.in(t) || elsewhere.in(t) {
		t.Error("signed out everywhere, and still in somewhere")
	}
}

func TestAnOpenBrowserDoesNotHelpToGuessThePassword(t *testing.T) {
	r := start(t)
	r.add(t, alma)
	b := r.browser(t)
	b.signIn(t, "acme/alma", password)
	for range 10 {
		b.post(t, "/account/password", url.Values{"old": {"wrong"}, "password": {password + "!"}, "again": {password + "!"}}).want(t, "a guess", http.StatusForbidden)
	}
	b.post(t, "/account/password", url.Values{"old": {password}, "password": {password + "!"}, "again": {password + "!"}}).want(t, "one too many", http.StatusTooManyRequests)
}

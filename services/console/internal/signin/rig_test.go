package signin_test

import (
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"sabha.dev/chassis/identity"
	"sabha.dev/chassis/sqldb"
	"sabha.dev/services/console/internal/account"
	"sabha.dev/services/console/internal/page"
	"sabha.dev/services/console/internal/person"
	"sabha.dev/services/console/internal/session"
	"sabha.dev/services/console/internal/signin"
	"sabha.dev/services/console/internal/sqlstore"
	"sabha.dev/services/console/migrations"
	"sabha.dev/testrig/clocktest"
	"sabha.dev/testrig/logtest"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

const password = "correct horse battery"

// granter signs readably.
type granter struct{}

func (granter) Grant(p identity.Principal) (string, error) {
	return fmt.Sprintf("%s may %s", p.Key(), strings.Join(p.Scopes, " ")), nil
}

// plain shows pages without the frame of the site.
type plain struct{}

func (plain) Show(w http.ResponseWriter, r *http.Request, v page.View) {
	if v.Status != 0 {
		w.WriteHeader(v.Status)
	}
	_, _ = fmt.Fprintf(w, "<title>%s</title>", v.Title)
	_ = v.Body.Render(r.Context(), w)
}

func (plain) Done(w http.ResponseWriter, r *http.Request, text, next string) {
	w.Header().Set("Said", text)
	http.Redirect(w, r, next, http.StatusSeeOther)
}

// rig is a gate before one page, which says who looks at it.
type rig struct {
	url    string
	clock  *clocktest.Clock
	people *account.Directory
	logs   *logtest.Buffer
}

func start(t *testing.T, change ...func(*signin.Config)) *rig {
	t.Helper()
	db, err := sqldb.Open(t.Context(), "sqlite:"+filepath.Join(t.TempDir(), "console.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	if err := sqldb.Migrate(t.Context(), db, "console", migrations.Files); err != nil {
		t.Fatal(err)
	}
	store := sqlstore.New(db)
	r := &rig{clock: clocktest.New(noon), logs: &logtest.Buffer{}}
	r.people = account.New(store, r.clock)
	c := signin.Config{
		People: r.people, Sessions: session.New(store, session.Limits{Idle: time.Hour, Whole: 10 * time.Hour}, r.clock), Guesses: store,
		Granter: granter{}, Clock: r.clock, Log: slog.New(slog.NewTextHandler(r.logs, nil)),
	}
	for _, f := range change {
		f(&c)
	}
	inside := http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		p, _ := person.Of(req.Context())
		_, _ = fmt.Fprintf(w, "%s %s called %s; %s; csrf=%s signed=%t", req.Method, req.URL.RequestURI(), p.Name, p.Grant, p.CSRF, p.Signed != nil && p.Signed(req.Context()))
	})
	server := httptest.NewServer(signin.New(c).Handler(inside, plain{}))
	t.Cleanup(server.Close)
	r.url = server.URL
	return r
}

func (r *rig) add(t *testing.T, a account.Account) {
	t.Helper()
	if _, err := r.people.Add(t.Context(), a, password); err != nil {
		t.Fatal(err)
	}
}

// browser keeps cookies and follows no redirect.
type browser struct {
	*http.Client
	base string
}

func (r *rig) browser(t *testing.T) *browser {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &browser{&http.Client{Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}, r.url}
}

// answer is what a browser gets.
type answer struct {
	status   int
	body     string
	location string
	header   http.Header
}

func (b *browser) do(t *testing.T, method, path string, form url.Values, headers ...string) answer {
	t.Helper()
	var body io.Reader
	if form != nil {
		body = strings.NewReader(form.Encode())
	}
	address := path
	if strings.HasPrefix(path, "/") {
		address = b.base + path
	}
	req, err := http.NewRequestWithContext(t.Context(), method, address, body)
	if err != nil {
		t.Fatal(err)
	}
	if form != nil {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	req.Header.Set("Accept", "text/html,application/xhtml+xml")
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		req.Header.Set(name, value)
	}
	res, err := b.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer{res.StatusCode, string(raw), res.Header.Get("Location"), res.Header}
}

func (b *browser) get(t *testing.T, path string, headers ...string) answer {
	t.Helper()
	return b.do(t, http.MethodGet, path, nil, headers...)
}

func (b *browser) signIn(t *testing.T, name, password string, more ...string) answer {
	t.Helper()
	form := url.Values{"name": {name}, "password": {password}}
	for _, m := range more {
		form.Set("return", m)
	}
	return b.do(t, http.MethodPost, "/sign-in", form)
}

var csrfOf = regexp.MustCompile(`csrf=(\S+)`)

// post sends a form as a page of the session does.
func (b *browser) post(t *testing.T, path string, form url.Values) answer {
	t.Helper()
	found := csrfOf.FindStringSubmatch(b.get(t, "/").body)
	if found == nil {
		found = regexp.MustCompile(`name="csrf" value="([^"]+)"`).FindStringSubmatch(b.get(t, "/account").body)
	}
	if found == nil {
		t.Fatal("no CSRF token")
	}
	form.Set("csrf", found[1])
	return b.do(t, http.MethodPost, path, form)
}

// in tells whether the browser is signed in.
func (b *browser) in(t *testing.T) bool {
	t.Helper()
	return b.get(t, "/tasks").status == http.StatusOK
}

func (a answer) want(t *testing.T, what string, status int, says ...string) {
	t.Helper()
	if a.status != status {
		t.Errorf("%s: %d, want %d: %s", what, a.status, status, a.body)
	}
	for _, s := range says {
		if !strings.Contains(a.body+a.location, s) {
			t.Errorf("%s: %q is missing in %s %s", what, s, a.location, a.body)
		}
	}
}

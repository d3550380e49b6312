package registry_test

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"sabha.dev/chassis/fault"
	"sabha.dev/chassis/sqldb"
	"sabha.dev/services/partners/internal/registry"
	"sabha.dev/services/partners/internal/sqlstore"
	"sabha.dev/services/partners/migrations"
	"sabha.dev/testrig/clocktest"
	"sabha.dev/testrig/postgrestest"
)

var (
	postgres postgrestest.Shared
	start    = time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)
)

func TestMain(m *testing.M) {
	code := m.Run()
	_ = postgres.Close()
	os.Exit(code)
}

// site is another organisation's: its card, and its agent.
type site struct {
	*httptest.Server
	mu    sync.Mutex
	pages map[string]string // by path; "HTTP 503" answers with that status
	tags  bool              // whether it has ETags
	asked map[string]int    // by path
	same  int               // answers that say that nothing has changed
}

func newSite(t *testing.T) *site {
	s := &site{pages: map[string]string{}, asked: map[string]int{}, tags: true}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	return s
}

func (s *site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked[r.URL.Path]++
	page, ok := s.pages[r.URL.Path]
	status := http.StatusOK
	if n, _ := fmt.Sscanf(page, "HTTP %d", &status); n == 1 {
		page = ""
	}
	if to, ok := strings.CutPrefix(page, "Location "); ok {
		http.Redirect(w, r, to, http.StatusFound)
		return
	}
	switch tag := fmt.Sprintf(`"%x"`, len(page)+strings.Count(page, "a")*1000); {
	case !ok:
		w.WriteHeader(http.StatusNotFound)
		return
	case s.tags && r.Header.Get("If-None-Match") == tag:
		s.same++
		w.WriteHeader(http.StatusNotModified)
		return
	case s.tags:
		w.Header().Set("ETag", tag)
	}
	w.WriteHeader(status)
	_, _ = w.Write([]byte(page))
}

const cardPath = "/.well-known/agent-card.json"

func (s *site) put(path, page string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pages[path] = page
}

func (s *site) remove(path string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.pages, path)
}

func (s *site) times(path string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked[path]
}

// card is one of the site. Pairs of texts replace the first with the second.
func (s *site) card(pairs ...string) string {
	raw := strings.NewReplacer(pairs...).Replace(`{"name":"Underwriter","description":"Decides.","version":"1",
"supportedInterfaces":[{"url":"BASE/a2a","protocolBinding":"JSONRPC","protocolVersion":"1.0"}],"capabilities":{},"defaultInputModes":[],"defaultOutputModes":[],
"skills":[{"id":"underwrite","name":"Underwrite","description":"Says yes or no.","tags":["loans"]}]}`)
	return strings.ReplaceAll(raw, "BASE", s.URL)
}

type rig struct {
	*testing.T
	*registry.Registry
	store *sqlstore.Store
	clock *clocktest.Clock
	site  *site
	rules map[string]registry.Rules
}

// onBothEngines runs a test on SQLite and on PostgreSQL, with a site that has a card.
func onBothEngines(t *testing.T, test func(*rig)) {
	for _, engine := range []string{"sqlite", "postgres"} {
		t.Run(engine, func(t *testing.T) {
			url := "sqlite:" + filepath.Join(t.TempDir(), "partners.db")
			if engine == "postgres" {
				url = postgres.URL(t)
			}
			db, err := sqldb.Open(t.Context(), url)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = db.Close() })
			if err := sqldb.Migrate(t.Context(), db, "partners", migrations.Files); err != nil {
				t.Fatal(err)
			}
			r := &rig{T: t, clock: clocktest.New(start), site: newSite(t), rules: map[string]registry.Rules{}}
			r.store = sqlstore.New(db, r.clock)
			r.Registry, err = registry.New(registry.Config{
				Store: r.store, Rules: func(id string) registry.Rules { return r.rules[id] }, Networks: []string{"127.0.0.0/8"},
				RefreshEvery: time.Hour, ProbeEvery: time.Minute, Clock: r.clock, Log: slog.New(slog.NewTextHandler(t.Output(), nil)),
				Random: func() float64 { return 0.5 },
			})
			r.must(err)
			t.Cleanup(r.Close)
			r.site.put(cardPath, r.site.card())
			r.site.put("/a2a", "HTTP 405")
			test(r)
		})
	}
}

func (r *rig) must(err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
}

// runs runs the registry until the test ends.
func (r *rig) runs() {
	done := make(chan struct{})
	go func() { defer close(done); r.Registry.Run(r.Context()) }()
	r.Cleanup(func() { <-done }) // the context ends before
}

// registered registers the site's agent as underwriter.
func (r *rig) registered() *registry.Record {
	r.Helper()
	rec, err := r.Register(r.Context(), registry.Registration{URL: r.site.URL, ID: "underwriter", Vouch: registry.ByPerson, Organisation: "Underwriter plc", By: "acme/olga"})
	r.must(err)
	return rec
}

// approved registers, verifies and approves it, and lets it be called.
func (r *rig) approved() *registry.Record {
	r.Helper()
	r.registered()
	rec, err := r.Verify(r.Context(), "underwriter", "acme/olga")
	r.must(err)
	yes := true
	rec, err = r.store.Update(r.Context(), rec.ID, func(u *registry.Update) error { return u.Approve("acme/olga", rec.Digest, "") })
	r.must(err)
	rec, err = r.store.Update(r.Context(), rec.ID, func(u *registry.Update) error { return u.SetRights("acme/olga", nil, &yes) })
	r.must(err)
	return rec
}

// refreshed reads the card again; wrong is what the error has to say.
func (r *rig) refreshed(wrong string) (*registry.Record, *registry.Change) {
	r.Helper()
	rec, c, err := r.Refresh(r.Context(), "underwriter")
	r.says(err, wrong)
	return rec, c
}

// says checks that an error is a refusal of the words; none for an empty text.
func (r *rig) says(err error, want string) {
	r.Helper()
	switch {
	case want == "" && err != nil, want != "" && (err == nil || fault.As(err) == nil || !strings.Contains(err.Error(), want)):
		r.Errorf("error %v, want %q", err, want)
	}
}

// happened are what the history tells, the oldest first.
func (r *rig) happened() string {
	r.Helper()
	all, err := r.store.History(r.Context(), "underwriter", 0, 100)
	r.must(err)
	var what []string
	for _, e := range all {
		what = append([]string{e.What}, what...)
	}
	return strings.Join(what, " ")
}

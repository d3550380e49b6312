package notice_test

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/prometheus/client_golang/prometheus"

	"sabha.dev/chassis/sqldb"
	reviewv1 "sabha.dev/gen/sabha/review/v1"
	"sabha.dev/services/review/internal/item"
	"sabha.dev/services/review/internal/notice"
	"sabha.dev/services/review/internal/sqlstore"
	"sabha.dev/services/review/migrations"
	"sabha.dev/testrig/clocktest"
	"sabha.dev/testrig/natstest"
	"sabha.dev/testrig/postgrestest"
	"sabha.dev/testrig/smtptest"
)

var (
	postgres postgrestest.Shared
	start    = time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC)
)

func TestMain(m *testing.M) {
	code := m.Run()
	_ = postgres.Close()
	os.Exit(code)
}

// office is the policy: one queue of people who are told.
type office struct {
	recipients notice.Recipients
	// warn is when people are told that items will be due.
	warn time.Time
}

func (o *office) Recipients(string) notice.Recipients { return o.recipients }

func (o *office) WarnAt(item.Terms) time.Time { return o.warn }

// rig is a sender over a database, with a mail server, a chat and NATS.
type rig struct {
	t      *testing.T
	clock  *clocktest.Clock
	db     *sqldb.DB
	items  *sqlstore.Store
	sender *notice.Sender
	office *office
	mail   *smtptest.Server
	chat   *chat
	nats   *natstest.Server
	heard  *nats.Subscription
	counts *prometheus.Registry
	config notice.Config
}

// chat takes posts.
type chat struct {
	mu     sync.Mutex
	posts  []string
	status int
}

func (c *chat) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.status != 0 {
		w.WriteHeader(c.status)
		return
	}
	c.posts = append(c.posts, r.Header.Get("Content-Type")+" "+string(body))
}

func (c *chat) answer(status int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.status = status
}

func (c *chat) heard() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]string{}, c.posts...)
}

func onBothEngines(t *testing.T, test func(*testing.T, *rig)) {
	t.Run("sqlite", func(t *testing.T) { test(t, newRig(t, "sqlite:"+filepath.Join(t.TempDir(), "review.db"))) })
	t.Run("postgres", func(t *testing.T) { test(t, newRig(t, postgres.URL(t))) })
}

func newRig(t *testing.T, database string) *rig {
	t.Helper()
	r := &rig{t: t, clock: clocktest.New(start), chat: &chat{}, nats: natstest.New(t), counts: prometheus.NewRegistry()}
	var err error
	if r.db, err = sqldb.Open(t.Context(), database); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.db.Close() })
	if err := sqldb.Migrate(t.Context(), r.db, "review", migrations.Files); err != nil {
		t.Fatal(err)
	}
	hook := httptest.NewServer(r.chat)
	t.Cleanup(hook.Close)
	dir := t.TempDir()
	for name, text := range map[string]string{"password": "secret\n", "chat": hook.URL + "/hook/T0P53CR3T\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	r.office = &office{warn: start.Add(3 * time.Hour), recipients: notice.Recipients{Mail: []string{"a@bank.example", "b@bank.example"}, Chat: filepath.Join(dir, "chat"), Title: "Loans", Zone: berlin}}
	r.mail = smtptest.New(t, smtptest.Options{User: "sabha", Password: "secret"})
	r.items = sqlstore.New(r.db)
	r.config = notice.Config{
		DB: r.db, NATS: r.nats.Connect(t), Items: r.items, Policy: r.office, Clock: r.clock, Log: slog.New(slog.DiscardHandler), Metrics: r.counts,
		Mail: notice.MailConfig{
			Server: r.mail.Addr, CA: r.mail.CA, User: "sabha", PasswordFile: filepath.Join(dir, "password"), From: "Reviews <reviews@bank.example>",
		},
		Allow: []string{"127.0.0.0/8"}, Console: "https://console.bank.example/",
	}
	if r.sender, err = notice.New(r.config); err != nil {
		t.Fatal(err)
	}
	r.items.Told = r.sender.Told
	if r.heard, err = r.config.NATS.SubscribeSync("sabha.review.>"); err != nil {
		t.Fatal(err)
	}
	if err := r.config.NATS.Flush(); err != nil {
		t.Fatal(err)
	}
	return r
}

// add makes an item that is due four hours later.
func (r *rig) add(id, title string) {
	r.t.Helper()
	now := r.clock.Now()
	i := &item.Item{
		ID: id, Version: 1, Digest: "d", Kind: reviewv1.Kind_KIND_RESULT, State: reviewv1.State_STATE_OPEN, Title: title,
		Risk: "high", Product: "mortgage", Requester: "acme/alice", CreatedAt: now, RootTaskID: "root", TraceID: "trace",
		Terms: item.Terms{Queue: "loans", Priority: 2, Approvals: 1, ClaimFor: time.Hour, DueAt: now.Add(4 * time.Hour)},
	}
	tx, err := r.db.Write.BeginTx(r.t.Context(), nil)
	if err != nil {
		r.t.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }()
	if err := r.items.Insert(i, []byte(`{}`), item.Event{At: now, By: item.Policy, What: "created"})(r.t.Context(), tx); err != nil {
		r.t.Fatal(err)
	}
	if err := tx.Commit(); err != nil {
		r.t.Fatal(err)
	}
}

// change changes an item.
func (r *rig) change(id string, f item.Make) {
	r.t.Helper()
	if err := r.items.Update(r.t.Context(), id, f, nil); err != nil {
		r.t.Fatal(err)
	}
}

// after moves the clock on and tells what is due then.
func (r *rig) after(d time.Duration) {
	r.t.Helper()
	r.clock.Advance(d)
	for {
		n, err := r.sender.Once(r.t.Context())
		if err != nil {
			r.t.Fatal(err)
		}
		if n == 0 {
			return
		}
	}
}

// events are those published since it was last asked: subject and message.
func (r *rig) events(n int) (list []*nats.Msg) {
	r.t.Helper()
	for range n {
		ctx, cancel := context.WithTimeout(r.t.Context(), time.Minute)
		m, err := r.heard.NextMsgWithContext(ctx)
		cancel()
		if err != nil {
			r.t.Fatalf("after %d of %d events: %v", len(list), n, err)
		}
		list = append(list, m)
	}
	if err := r.config.NATS.Flush(); err != nil {
		r.t.Fatal(err)
	}
	if pending, _, _ := r.heard.Pending(); pending != 0 {
		r.t.Errorf("%d more events than %d", pending, n)
	}
	return list
}

package notice_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"mime"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"sabha.dev/chassis/clock"
	"sabha.dev/chassis/identity"
	"sabha.dev/services/review/internal/item"
	"sabha.dev/services/review/internal/notice"
	"sabha.dev/testrig/smtptest"
)

func TestANewItemIsToldByMailAndChatAndOnNATS(t *testing.T) {
	onBothEngines(t, func(t *testing.T, r *rig) {
		r.add("i1", "Offer for parcel 17")
		r.after(0)

		m := r.events(1)[0]
		var e map[string]any
		if err := json.Unmarshal(m.Data, &e); err != nil || m.Subject != "sabha.review.loans.created" {
			t.Fatalf("%s %v: %s", m.Subject, err, m.Data)
		}
		for key, want := range map[string]any{
			"item": "i1", "version": 1.0, "what": "created", "by": "policy", "state": "open", "kind": "result", "title": "Offer for parcel 17", "queue": "loans",
			"risk": "high", "product": "mortgage", "priority": 2.0, "requester": "acme/alice", "at": "2026-11-30T09:00:00Z", "due_at": "2026-11-30T13:00:00Z",
			"escalations": 0.0, "root_task": "root", "trace_id": "trace",
		} {
			if e[key] != want {
				t.Errorf("event: %s is %v, want %v", key, e[key], want)
			}
			delete(e, key)
		}
		if len(e) != 0 {
			t.Errorf("the event says more: %v", e)
		}

		mails := r.mail.Mails()
		if len(mails) != 1 {
			t.Fatalf("%d mails, want 1", len(mails))
		}
		const body = "New:\n- Offer for parcel 17 (high risk), due Mon 30 Nov 2026 14:00 CET\n  https://console.bank.example/review/i1\n"
		mail := mails[0]
		if mail.Text() != body || mail.Header("Subject") != "New in Loans: Offer for parcel 17" || mail.From != "reviews@bank.example" ||
			!slices.Equal(mail.To, []string{"a@bank.example", "b@bank.example"}) || !mail.TLS || mail.User != "sabha" || mail.Header("Auto-Submitted") != "auto-generated" {
			t.Errorf("mail %+v", mail)
		}
		posts := r.chat.heard()
		want := `application/json {"text":"New in Loans: Offer for parcel 17\nNew:\n- Offer for parcel 17 (high risk), due Mon 30 Nov 2026 14:00 CET\n  https://console.bank.example/review/i1"}`
		if !slices.Equal(posts, []string{want}) {
			t.Errorf("posts %q", posts)
		}
	})
}

func TestPeopleAreToldOnceOfEachThingInTime(t *testing.T) {
	onBothEngines(t, func(t *testing.T, r *rig) {
		r.add("i1", "One")
		subjects := func() (list []string) {
			for _, m := range r.mail.Mails() {
				list = append(list, m.Header("Subject"))
			}
			return list
		}
		want := []string{"New in Loans: One"}
		step := func(what string, d time.Duration, more ...string) {
			t.Helper()
			r.after(d)
			want = append(want, more...)
			if got := subjects(); !slices.Equal(got, want) {
				t.Errorf("%s: told %q, want %q", what, got, want)
			}
		}
		step("at first", 0)
		step("before the warning", 3*time.Hour-time.Second)
		step("an hour before it is due", time.Second, "Due soon in Loans: One")
		r.change("i1", func(i *item.Item) (*item.Change, error) {
			return i.Apply(item.Step{Escalate: true, Priority: 1, Groups: i.Groups, Note: "n"}, r.clock.Now()), nil
		})
		step("escalated", time.Minute, "Escalated in Loans: One")
		step("before it is due", 59*time.Minute-time.Second)
		step("when it is due", time.Second, "Overdue in Loans: One")
		step("a week later", 7*24*time.Hour)
		var told []string
		for _, m := range r.events(4) {
			told = append(told, m.Subject)
		}
		if events := []string{"sabha.review.loans.created", "sabha.review.loans.due-soon", "sabha.review.loans.escalated", "sabha.review.loans.overdue"}; !slices.Equal(told, events) {
			t.Errorf("events %q, want %q", told, events)
		}
	})
}

func TestNobodyIsToldOfWhatIsOverOrWaitsForTheRequester(t *testing.T) {
	onBothEngines(t, func(t *testing.T, r *rig) {
		r.add("gone", "Gone")
		r.add("asked", "Asked")
		r.after(0)
		before := len(r.mail.Mails())
		r.change("gone", func(i *item.Item) (*item.Change, error) { return i.Cancel(r.clock.Now()), nil })
		r.change("asked", func(i *item.Item) (*item.Change, error) {
			return i.Ask(item.PersonOf(reviewer), "Which year?", r.clock.Now())
		})
		r.after(10 * time.Hour)
		if more := len(r.mail.Mails()) - before; more != 0 {
			t.Errorf("%d mails while the requester was awaited, want none", more)
		}
		r.change("asked", func(i *item.Item) (*item.Change, error) {
			return i.Answer(&item.Exchange{Number: 1, AskedBy: "acme/bob", Question: "Which year?"}, "2025", r.clock.Now()), nil
		})
		r.after(4*time.Hour - time.Second)
		if more := r.mail.Mails()[before:]; len(more) != 1 || more[0].Header("Subject") != "Due soon in Loans: Asked" {
			t.Errorf("just before the time that is left: %+v", more)
		}
		r.after(5 * time.Minute)
		if more := r.mail.Mails()[before:]; len(more) != 2 || more[1].Header("Subject") != "Overdue in Loans: Asked" {
			t.Errorf("after it: %+v", more)
		}
	})
}

func TestManyItemsAreOneMail(t *testing.T) {
	onBothEngines(t, func(t *testing.T, r *rig) {
		for _, id := range []string{"a", "b", "c"} {
			r.add(id, "Item "+id)
		}
		r.after(0)
		mails := r.mail.Mails()
		if len(mails) != 1 || mails[0].Header("Subject") != "Loans: 3 new" || strings.Count(mails[0].Text(), "https://") != 3 || len(r.chat.heard()) != 1 {
			t.Errorf("mails %+v", mails)
		}
		r.events(3)
	})
}

func TestWhatFailsIsTriedAgainAndHoldsUpNothing(t *testing.T) {
	onBothEngines(t, func(t *testing.T, r *rig) {
		r.mail.Refuse(2)
		r.chat.answer(503)
		r.add("i1", "One")
		r.after(0)
		r.events(1) // NATS is told all the same
		waiting, err := r.sender.Waiting(t.Context())
		if err != nil || !strings.Contains(waiting["i1/created/mail"], "451") || !strings.Contains(waiting["i1/created/chat"], "503") {
			t.Errorf("waiting %q %v", waiting, err)
		}
		r.after(10 * time.Second)
		r.after(19 * time.Second)
		if n := len(r.mail.Mails()); n != 0 {
			t.Errorf("%d mails before its time", n)
		}
		r.chat.answer(0)
		r.after(time.Second)
		if mails, posts := r.mail.Mails(), r.chat.heard(); len(mails) != 1 || len(posts) != 1 {
			t.Errorf("mails %d, posts %d; want one of each", len(mails), len(posts))
		}
		if err := testutil.GatherAndCompare(r.counts, strings.NewReader(`
# HELP sabha_review_notices_total Notices of reviews by channel and outcome.
# TYPE sabha_review_notices_total counter
sabha_review_notices_total{channel="chat",outcome="dropped"} 0
sabha_review_notices_total{channel="chat",outcome="failed"} 2
sabha_review_notices_total{channel="chat",outcome="given_up"} 0
sabha_review_notices_total{channel="chat",outcome="sent"} 1
sabha_review_notices_total{channel="event",outcome="dropped"} 0
sabha_review_notices_total{channel="event",outcome="failed"} 0
sabha_review_notices_total{channel="event",outcome="given_up"} 0
sabha_review_notices_total{channel="event",outcome="sent"} 1
sabha_review_notices_total{channel="mail",outcome="dropped"} 0
sabha_review_notices_total{channel="mail",outcome="failed"} 2
sabha_review_notices_total{channel="mail",outcome="given_up"} 0
sabha_review_notices_total{channel="mail",outcome="sent"} 1
`)); err != nil {
			t.Error(err)
		}
	})
}

func TestWhatNeverWorksIsGivenUp(t *testing.T) {
	r := newRig(t, "sqlite:"+filepath.Join(t.TempDir(), "review.db"))
	r.mail.Refuse(1000)
	r.add("i1", "One")
	for range 40 {
		r.after(time.Hour)
	}
	waiting, err := r.sender.Waiting(t.Context())
	if err != nil || len(waiting) != 0 {
		t.Errorf("after forty hours there wait %q %v", waiting, err)
	}
	if got := len(r.chat.heard()); got != 3 {
		t.Errorf("the chat was told %d things, want 3: new, due soon, overdue", got)
	}
}

func TestAnOutageOfNATSDelaysEventsAndLosesNone(t *testing.T) {
	onBothEngines(t, func(t *testing.T, r *rig) {
		r.nats.Stop()
		for !r.config.NATS.IsReconnecting() {
			time.Sleep(time.Millisecond)
		}
		r.add("i1", "One")
		r.change("i1", func(i *item.Item) (*item.Change, error) { return i.Claim(item.PersonOf(reviewer), r.clock.Now()) })
		r.after(0)
		if len(r.mail.Mails()) != 1 {
			t.Error("the mail waits for NATS")
		}
		if err := r.nats.Start(); err != nil {
			t.Fatal(err)
		}
		for !r.config.NATS.IsConnected() {
			time.Sleep(time.Millisecond)
		}
		r.after(5 * time.Second)
		var told []string
		for _, m := range r.events(2) {
			told = append(told, m.Subject)
		}
		if !slices.Equal(told, []string{"sabha.review.loans.created", "sabha.review.loans.claimed"}) {
			t.Errorf("events %q", told)
		}
	})
}

// Replicas that look at the same time tell everything once, soon after the commit.
func TestReplicasShareTheWork(t *testing.T) {
	onBothEngines(t, func(t *testing.T, r *rig) {
		r.clock.Advance(time.Since(start)) // items are made now, and are due hours later
		r.office.warn = time.Time{}
		ctx, stop := context.WithCancel(t.Context())
		var replicas sync.WaitGroup
		defer replicas.Wait()
		defer stop()
		for n := range 3 {
			c := r.config
			c.Clock, c.Metrics = clock.System{}, prometheus.NewRegistry()
			s, err := notice.New(c)
			if err != nil {
				t.Fatal(err)
			}
			if n == 0 {
				r.items.Told = s.Told
			}
			replicas.Go(func() { s.Run(ctx) })
		}
		const items = 40
		for n := range items {
			r.add("i"+string(rune('A'+n)), "Item")
		}
		r.events(items)
		for end := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
			told := 0
			for _, m := range r.mail.Mails() {
				told += strings.Count(m.Text(), "/review/")
			}
			if told == items {
				return
			}
			if told > items || time.Now().After(end) {
				t.Fatalf("mails tell of %d items, want each of %d once", told, items)
			}
		}
	})
}

func TestTitlesAreInertInMailsAndChats(t *testing.T) {
	r := newRig(t, "sqlite:"+filepath.Join(t.TempDir(), "review.db"))
	r.office.recipients.Title = "Früh & spät"
	r.add("i1", "A\r\nBcc: x@evil.example\n\n\u202eevil <!channel> @here <b>&amp;</b>")
	r.after(0)
	mail := r.mail.Mails()[0]
	subject, err := new(mime.WordDecoder).DecodeHeader(mail.Header("Subject"))
	if err != nil || subject != "New in Früh & spät: A Bcc: x@evil.example evil <!channel> @here <b>&amp;</b>" || mail.Header("Bcc") != "" || len(mail.To) != 2 {
		t.Errorf("subject %q %v in\n%s", subject, err, mail.Data)
	}
	var post struct{ Text string }
	if err := json.Unmarshal([]byte(strings.TrimPrefix(r.chat.heard()[0], "application/json ")), &post); err != nil {
		t.Fatal(err)
	}
	if strings.ContainsAny(post.Text, "<>\u202e") || strings.Contains(post.Text, "@here") {
		t.Errorf("post %q", post.Text)
	}
}

func TestErrorsOfAChatDoNotTellItsURL(t *testing.T) {
	r := newRig(t, "sqlite:"+filepath.Join(t.TempDir(), "review.db"))
	closed := filepath.Join(t.TempDir(), "chat")
	for what, text := range map[string]string{
		"refused by egress": "http://10.9.8.7/hook/T0P53CR3T", "not there": "http://127.0.0.1:1/hook/T0P53CR3T", "no URL": "T0P53CR3T", "a private name": "https://u:T0P53CR3T@x.example/",
	} {
		if err := os.WriteFile(closed, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		r.office.recipients = notice.Recipients{Chat: closed, Title: "Loans", Zone: time.UTC}
		id := strings.ReplaceAll(what, " ", "-")
		r.add(id, "One")
		if _, err := r.sender.Once(t.Context()); err != nil {
			t.Fatal(err)
		}
		waiting, err := r.sender.Waiting(t.Context())
		problem := waiting[id+"/created/chat"]
		if err != nil || problem == "" || strings.Contains(problem, "T0P53CR3T") {
			t.Errorf("%s: %q %v", what, problem, err)
		}
	}
}

func TestMailServersOfEveryKind(t *testing.T) {
	for what, o := range map[string]smtptest.Options{
		"starttls": {}, "tls": {Implicit: true}, "none": {Plain: true},
	} {
		r := newRig(t, "sqlite:"+filepath.Join(t.TempDir(), "review.db"))
		server := smtptest.New(t, o)
		c := r.config
		c.Metrics, c.Mail = prometheus.NewRegistry(), notice.MailConfig{Server: server.Addr, TLS: what, CA: server.CA, From: "r@bank.example"}
		s, err := notice.New(c)
		if err != nil {
			t.Fatal(err)
		}
		r.items.Told = s.Told
		r.add("i1", "One")
		if _, err := s.Once(t.Context()); err != nil {
			t.Fatal(err)
		}
		if mails := server.Mails(); len(mails) != 1 || mails[0].TLS != (what != "none") {
			t.Errorf("%s: %+v", what, mails)
		}
	}
	// A server without STARTTLS gets nothing where it is wanted, and one that is not trusted neither.
	plain, other := smtptest.New(t, smtptest.Options{Plain: true}), smtptest.New(t, smtptest.Options{})
	for what, m := range map[string]notice.MailConfig{
		"offers no STARTTLS": {Server: plain.Addr, From: "r@bank.example"},
		"certificate":        {Server: other.Addr, From: "r@bank.example"},
	} {
		r := newRig(t, "sqlite:"+filepath.Join(t.TempDir(), "review.db"))
		c := r.config
		c.Metrics, c.Mail = prometheus.NewRegistry(), m
		s, err := notice.New(c)
		if err != nil {
			t.Fatal(err)
		}
		r.items.Told = s.Told
		r.add("i1", "One")
		if _, err := s.Once(t.Context()); err != nil {
			t.Fatal(err)
		}
		if waiting, _ := s.Waiting(t.Context()); !strings.Contains(waiting["i1/created/mail"], what) {
			t.Errorf("problem %q, want %q", waiting["i1/created/mail"], what)
		}
	}
	if len(plain.Mails())+len(other.Mails()) != 0 {
		t.Error("mail was sent")
	}
}

func TestMailThatCannotBeSentIsRefusedAtTheStart(t *testing.T) {
	for want, m := range map[string]notice.MailConfig{
		"server is missing":    {From: "r@x.example"},
		"write it with its":    {Server: "smtp.x.example", From: "r@x.example"},
		"write an address":     {Server: "smtp.x.example:25"},
		"write starttls":       {Server: "smtp.x.example:25", From: "r@x.example", TLS: "ssl"},
		"belong together":      {Server: "smtp.x.example:25", From: "r@x.example", User: "u"},
		"without TLS":          {Server: "smtp.x.example:25", From: "r@x.example", User: "u", PasswordFile: "/p", TLS: "none"},
		"mail: ca: open":       {Server: "smtp.x.example:25", From: "r@x.example", CA: "/no/where"},
		"holds no certificate": {Server: "smtp.x.example:25", From: "r@x.example", CA: os.DevNull},
	} {
		if _, err := notice.New(notice.Config{Mail: m, Metrics: prometheus.NewRegistry(), Log: slog.New(slog.DiscardHandler)}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", m, err, want)
		}
	}
}

var reviewer = identity.Principal{Subject: "bob", Organisation: "acme", Scopes: []string{"reviewer"}}

// What comes from elsewhere becomes one line.
func FuzzPlain(f *testing.F) {
	f.Add("a\r\nb")
	f.Add("\u202e\x00\xff")
	f.Fuzz(func(t *testing.T, s string) {
		if got := notice.Plain(s); strings.ContainsAny(got, "\r\n\x00\u202e\u2028") || notice.Plain(got) != got {
			t.Fatalf("%q is %q", s, got)
		}
	})
}

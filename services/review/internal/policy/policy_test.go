package policy_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	reviewv1 "sabha.dev/gen/sabha/review/v1"
	"sabha.dev/services/review/internal/item"
	"sabha.dev/services/review/internal/policy"
)

// bank is a policy with everything in it.
const bank = `
owner: lending-operations
review_date: 2027-01-31
version: 2026-11-30
calendars:
  frankfurt:
    zone: Europe/Berlin
    hours:
      mon-thu: 08:00-12:00, 13:00-17:00
      fri: 08:00-14:00
    holidays:
      2026-12-25: Christmas Day
queues:
  general:
    title: General
    groups: [desk]
    calendar: frankfurt
    due: 8h
  loans:
    title: Loans of high risk
    groups: [lending, risk]
    calendar: frankfurt
    due: 4h
    priority: 2
    claim_for: 45m
    approvals: 2
    escalate:
      - {after_created: 2h, priority: 1}
      - {after_due: 2h, groups: [lending-leads, risk]}
    expires: {after: 38h, means: reject, reason: the offer has lapsed}
    notify: {mail: [loans@bank.example], chat: /run/secrets/loans-chat, before_due: 1h}
  trials:
    due: 24h
    requester_may_decide: true
    expires: {after: 24h, means: approve, reason: trials are harmless}
  night:
    groups: [night]
    due: 1h
    expires: {after: 3h, means: escalate, groups: [day], priority: 1}
rules:
  - {product: mortgage, risk: [medium, high], queue: loans}
  - {kind: action, organisation: ["partner-*", acme], queue: night}
  - {product: "trial*", queue: trials}
default: general
`

func parse(t testing.TB, text string) *policy.Policy {
	t.Helper()
	p, err := policy.Parse("bank.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func at(t testing.TB, text string) time.Time {
	t.Helper()
	v, err := time.Parse(time.RFC3339, text)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestRulesLeadItemsToQueuesInOrder(t *testing.T) {
	p := parse(t, bank)
	for _, c := range []struct {
		kind                     reviewv1.Kind
		product, risk, requester string
		want                     string
	}{
		{reviewv1.Kind_KIND_RESULT, "mortgage", "high", "acme/eve", "loans"},
		{reviewv1.Kind_KIND_ACTION, "mortgage", "medium", "acme/eve", "loans"}, // the first rule that takes it
		{reviewv1.Kind_KIND_RESULT, "mortgage", "low", "acme/eve", "general"},
		{reviewv1.Kind_KIND_RESULT, "mortgages", "high", "acme/eve", "general"},
		{reviewv1.Kind_KIND_ACTION, "", "", "acme/eve/x", "night"},
		{reviewv1.Kind_KIND_ACTION, "", "", "partner-7/eve", "night"},
		{reviewv1.Kind_KIND_RESULT, "", "", "partner-7/eve", "general"},
		{reviewv1.Kind_KIND_CONFIRMATION, "trial-2", "high", "x/y", "trials"},
		{reviewv1.Kind_KIND_UNSPECIFIED, "", "", "", "general"},
	} {
		if got := p.Route(item.Subject{Kind: c.kind, Product: c.product, Risk: c.risk, Requester: c.requester}).Name; got != c.want {
			t.Errorf("%s %q %q of %s goes to %s, want %s", c.kind, c.product, c.risk, c.requester, got, c.want)
		}
	}
}

func TestTermsAreKeptWithTheItem(t *testing.T) {
	p := parse(t, bank)
	// A Thursday afternoon: half an hour of business time is left.
	created := at(t, "2026-12-03T16:30:00+01:00")
	got := p.Terms(item.Subject{Product: "mortgage", Risk: "high"}, created)
	if got.Queue != "loans" || !slices.Equal(got.Groups, []string{"lending", "risk"}) || got.Priority != 2 || got.Approvals != 2 || got.RequesterMayDecide || got.ClaimFor != 45*time.Minute {
		t.Errorf("terms %+v", got)
	}
	warn := policy.WarnAt(got)
	for what, c := range map[string]struct {
		got  time.Time
		want string
	}{
		"due":            {got.DueAt, "2026-12-04T11:30:00+01:00"},
		"expires":        {got.ExpiresAt, "2026-12-10T16:30:00+01:00"},
		"next":           {got.Next, "2026-12-04T09:30:00+01:00"},
		"told before it": {warn, "2026-12-04T10:30:00+01:00"},
	} {
		if !c.got.Equal(at(t, c.want)) {
			t.Errorf("%s at %s, want %s", what, c.got.Format(time.RFC3339), c.want)
		}
	}
	if want := "version 2026-11-30 (" + p.Digest[:12] + ")"; got.Policy != want || len(p.Digest) != 64 || !strings.Contains(string(got.Rest), p.Digest) {
		t.Errorf("made by %q with %s, want %q and the digest kept", got.Policy, got.Rest, want)
	}
	general := p.Terms(item.Subject{}, created)
	if !general.ExpiresAt.IsZero() || !general.Next.IsZero() || general.Approvals != 1 || general.Priority != 3 || general.ClaimFor != 30*time.Minute {
		t.Errorf("a queue that says little: %+v", general)
	}
}

// steps lets the policy act on an item until it has nothing more to do.
func steps(t *testing.T, i *item.Item, at time.Time) (told []string) {
	t.Helper()
	for range 10 {
		s := policy.Next(i, at)
		if s.Escalate {
			i.Escalations, i.Groups, i.Priority = i.Escalations+1, s.Groups, s.Priority
			told = append(told, s.Note)
		}
		if s.End != reviewv1.State_STATE_UNSPECIFIED {
			i.EndedAt = at
			return append(told, s.End.String()+": "+s.Reason)
		}
		if s.Next.IsZero() {
			return append(told, "never")
		}
		if s.Next.After(at) {
			return append(told, s.Next.Format(time.RFC3339))
		}
	}
	t.Fatal("the policy does not come to an end")
	return nil
}

func TestThePolicyActsWhenNobodyDecides(t *testing.T) {
	p := parse(t, bank)
	monday := at(t, "2026-11-30T08:00:00+01:00")
	for _, c := range []struct {
		what    string
		subject item.Subject
		now     string
		want    []string
		groups  []string
	}{
		{"before anything", item.Subject{Product: "mortgage", Risk: "high"}, "2026-11-30T09:59:59+01:00", []string{"2026-11-30T10:00:00+01:00"}, []string{"lending", "risk"}},
		{
			"the first escalation",
			item.Subject{Product: "mortgage", Risk: "high"},
			"2026-11-30T10:00:00+01:00",
			[]string{"nobody decided in time; priority 1", "2026-11-30T15:00:00+01:00"},
			[]string{"lending", "risk"},
		},
		{
			"two that were missed",
			item.Subject{Product: "mortgage", Risk: "high"},
			"2026-12-01T08:00:00+01:00",
			[]string{"nobody decided in time; priority 1", "nobody decided in time; lending-leads may decide too", "2026-12-04T14:00:00+01:00"},
			[]string{"lending", "risk", "lending-leads"},
		},
		{"the expiry", item.Subject{Product: "mortgage", Risk: "high"}, "2026-12-07T08:00:00+01:00", []string{"STATE_EXPIRED: the offer has lapsed"}, []string{"lending", "risk"}},
		{"a stated default", item.Subject{Product: "trial"}, "2026-12-01T08:00:00+01:00", []string{"STATE_APPROVED: trials are harmless"}, nil},
		{
			"an expiry that escalates",
			item.Subject{Kind: reviewv1.Kind_KIND_ACTION, Requester: "acme/a"},
			"2026-11-30T11:00:00+01:00",
			[]string{"nobody decided in time; day may decide too; priority 1", "never"},
			[]string{"night", "day"},
		},
		{"a queue without either", item.Subject{}, "2030-01-01T00:00:00Z", []string{"never"}, []string{"desk"}},
	} {
		t.Run(c.what, func(t *testing.T) {
			i := &item.Item{Terms: p.Terms(c.subject, monday), CreatedAt: monday}
			before := slices.Clone(i.Groups)
			if got := steps(t, i, at(t, c.now)); !slices.Equal(got, c.want) {
				t.Errorf("got  %q\nwant %q", got, c.want)
			}
			if !slices.Equal(i.Groups, c.groups) {
				t.Errorf("groups %v, want %v", i.Groups, c.groups)
			}
			if again := p.Terms(c.subject, monday); !slices.Equal(again.Groups, before) {
				t.Errorf("the policy's own groups are now %v", again.Groups)
			}
		})
	}
	done := &item.Item{Terms: p.Terms(item.Subject{Product: "trial"}, monday), EndedAt: monday}
	if s := policy.Next(done, monday.AddDate(1, 0, 0)); s.End != 0 || s.Escalate || !s.Next.IsZero() {
		t.Errorf("an ended item: %+v", s)
	}
}

func TestTheTimeOfTheRequesterDoesNotEscalate(t *testing.T) {
	p := parse(t, bank)
	monday := at(t, "2026-11-30T08:00:00+01:00")
	i := &item.Item{Terms: p.Terms(item.Subject{Product: "mortgage", Risk: "high"}, monday), CreatedAt: monday}
	// Asked an hour before the first escalation, which would be at ten.
	i.State, i.AskedAt = reviewv1.State_STATE_ASKED, monday.Add(time.Hour)
	for _, now := range []time.Time{monday.Add(2 * time.Hour), monday.Add(20 * time.Hour)} {
		if s := policy.Next(i, now); s.Escalate || !s.Next.Equal(now.Add(time.Hour)) {
			t.Errorf("at %s: %+v; want nothing for as long as there was to go", now, s)
		}
	}
	i.AskedAt = monday.Add(2*time.Hour - time.Second)
	if s := policy.Next(i, monday.Add(3*time.Hour)); s.Escalate || !s.Next.Equal(monday.Add(3*time.Hour+5*time.Minute)) {
		t.Errorf("a second before the escalation: %+v; want a look in five minutes", s)
	}
	if s := policy.Next(i, at(t, "2026-12-07T08:00:00+01:00")); s.End != reviewv1.State_STATE_EXPIRED {
		t.Errorf("at its end: %+v, want it expired", s)
	}
	i.State, i.AskedAt, i.Paused = reviewv1.State_STATE_OPEN, time.Time{}, 3*time.Hour
	if s := policy.Next(i, monday.Add(5*time.Hour-1)); s.Escalate || !s.Next.Equal(monday.Add(5*time.Hour)) {
		t.Errorf("after three hours of waiting: %+v, want the escalation three hours later", s)
	}
	if s := policy.Next(i, monday.Add(5*time.Hour)); !s.Escalate {
		t.Errorf("then: %+v, want the escalation", s)
	}
}

func TestAPolicyThatIsWrongSaysWhereAndWhatToDo(t *testing.T) {
	const head = "owner: o\nreview_date: 2027-01-31\nversion: 1\n"
	const queue = head + "queues:\n  a: {due: 4h}\n  b: {due: 4h, groups: [g]}\ndefault: a\n"
	for _, c := range []struct{ what, file, want string }{
		{"nothing", "owner: o\n", `p.yaml:1: the key "review_date" is missing
p.yaml:1: the key "version" is missing
p.yaml:1: the key "queues" is missing
p.yaml:1: the key "default" is missing`},
		{"a slip", strings.Replace(queue, "due: 4h}", "dew: 4h}", 1), `p.yaml:5: queues.a: unknown key "dew" (did you mean "due"?); known keys: title, groups, calendar, due, priority, claim_for, approvals, requester_may_decide, escalate, expires, notify
p.yaml:5: queues.a: the key "due" is missing`},
		{"an unknown queue", strings.Replace(queue, "default: a", "default: aa", 1), `p.yaml:7: default: unknown queue "aa"; known queues: a, b`},
		{"an unknown calendar", strings.Replace(queue, "due: 4h}", "due: 4h, calendar: alway}", 1), `p.yaml:5: queues.a.calendar: unknown calendar "alway" (did you mean "always"?); known calendars: always`},
		{"a date", strings.Replace(queue, "2027-01-31", "31.1.2027", 1), `p.yaml:2: review_date: "31.1.2027" is not a day; write it as 2027-01-31`},
		{"days", strings.Replace(queue, "due: 4h}", "due: 2d}", 1), `p.yaml:5: queues.a.due: "2d": days are not all equally long; write how many open hours it is, such as 16h for two days of eight hours`},
		{"figures", strings.Replace(queue, "due: 4h}", "due: 3000h, priority: 9, claim_for: 1s, approvals: 4, requester_may_decide: perhaps}", 1), `p.yaml:5: queues.a.due: must be from 1m to 2000h; it is 3000h
p.yaml:5: queues.a.priority: must be a whole number from 1 to 5
p.yaml:5: queues.a.claim_for: must be from 1m to 24h; it is 1s
p.yaml:5: queues.a.approvals: must be a whole number from 1 to 3
p.yaml:5: queues.a.requester_may_decide: must be true or false; it is text`},
		{"names", head + "queues:\n  A b: {due: 1h}\ndefault: A b\ncalendars:\n  always: {zone: UTC}\n", `p.yaml:5: queues.A b: "A b" is not a name; use small letters, digits and -, beginning with a letter, at most 63
p.yaml:8: calendars.always: always is the calendar that never closes; choose another name`},
		{"groups", strings.Replace(queue, "groups: [g]", "groups: [g, g, 'a b']", 1) + "", `p.yaml:6: queues.b.groups[1]: group g is there twice
p.yaml:6: queues.b.groups[2]: "a b" is not a group; use letters, digits, . _ and -, at most 63`},
		{"a calendar that is never open", queue + "calendars:\n  c: {zone: UTC, hours: {mon: 09:00-09:30}}\n", `p.yaml:9: calendars.c: is open for 30m0s a week; it must be open for 1h0m0s at least`},
		{"hours", queue + "calendars:\n  c:\n    zone: Berlin\n    hours:\n      monday: 09:00-17:00\n      tue: 9-17\n      wed-fri: 22:00-06:00\n      thu: 05:00-07:00\n    holidays: {25.12.: Christmas}\n", `p.yaml:12: calendars.c.hours.monday: "monday" is not a day; write one of sun, mon, tue, wed, thu, fri, sat, or a range such as mon-fri
p.yaml:13: calendars.c.hours.tue: "9-17" is not a span of hours; write opening and closing as 09:00-17:30, several with a comma between
p.yaml:15: calendars.c.hours.thu: 05:00-07:00 on thu overlaps with 00:00-06:00
p.yaml:16: calendars.c.holidays.25.12.: "25.12." is not a day; write it as 2027-01-31`},
		{"a zone", queue + "calendars:\n  c: {zone: Berlin, hours: {mon: 09:00-17:00}}\n", `p.yaml:9: calendars.c: "Berlin" is not a time zone; write one such as Europe/Berlin or UTC`},
		{"escalations", strings.Replace(queue, "groups: [g]", "groups: [g], escalate: [{after_due: 1h, priority: 1}, {after_created: 5h, groups: [h]}, {after_due: 1h, after_created: 9h}, {after_due: 9h}]", 1), `p.yaml:6: queues.b.escalate[1]: comes 5h after creation, not after the escalation before it, which comes after 5h
p.yaml:6: queues.b.escalate[2]: needs one of after_created and after_due
p.yaml:6: queues.b.escalate[3]: changes nothing; name groups that are brought, a priority, or both`},
		{"an escalation to some of all", strings.Replace(queue, "due: 4h}", "due: 4h, escalate: [{after_due: 1h, groups: [h]}]}", 1), `p.yaml:5: queues.a.escalate[0].groups: every reviewer may decide already, as the queue names no groups`},
		{"an expiry before its time", strings.Replace(queue, "groups: [g]", "groups: [g], escalate: [{after_due: 5h, priority: 1}], expires: {after: 3h, means: reject, groups: [x]}", 1), `p.yaml:6: queues.b.expires.after: comes before the item is due, after 4h
p.yaml:6: queues.b.expires.after: comes before the last escalation, after 9h, which would never happen
p.yaml:6: queues.b.expires.groups: belongs to means: escalate`},
		{"approval by nobody", strings.Replace(queue, "groups: [g]", "approvals: 2, expires: {after: 9h, means: approve, reason: why not}", 1), `p.yaml:6: queues.b.expires.means: a queue that needs 2 people cannot approve without any`},
		{"approval without a reason", strings.Replace(queue, "groups: [g]", "expires: {after: 9h, means: approve}", 1), `p.yaml:6: queues.b.expires: the key "reason" is missing: say why what nobody looked at is approved`},
		{"a meaning", strings.Replace(queue, "groups: [g]", "expires: {after: 9h, means: rejected}", 1), `p.yaml:6: queues.b.expires.means: "rejected" is unknown (did you mean "reject"?); write one of reject, approve, escalate`},
		{"notices", strings.Replace(queue, "groups: [g]", "notify: {mail: [Bob <b@x.example>, b], chat: hook, before_due: 4h}", 1), `p.yaml:6: queues.b.notify.mail[0]: "Bob <b@x.example>" is not a mail address; write it as reviews@example.com
p.yaml:6: queues.b.notify.mail[1]: "b" is not a mail address; write it as reviews@example.com
p.yaml:6: queues.b.notify.chat: must be the absolute path of a file that holds the webhook's URL, which is a secret
p.yaml:6: queues.b.notify.before_due: must be shorter than due, 4h`},
		{"a notice for nobody", strings.Replace(queue, "groups: [g]", "notify: {before_due: 1h}", 1), `p.yaml:6: queues.b.notify: tells nobody; name mail, chat, or both`},
		{"words of rules", queue + "rules:\n  - {kind: results, risk: [low, low], queue: a}\n", `p.yaml:9: rules[0].kind: "results" is unknown (did you mean "result"?); write one of result, action, confirmation
p.yaml:9: rules[0].risk[1]: "low" is there twice`},
		{"a rule for all", queue + "rules:\n  - {queue: b}\n", `p.yaml:9: rules[0]: holds for every item; name the queue as default instead`},
		{"a rule twice", queue + "rules:\n  - {risk: [high, low], queue: a}\n  - {risk: [low, high], queue: a}\n", `p.yaml:10: rules[1]: says the same as the rule on line 9; remove one of them`},
		{"rules in conflict", queue + "rules:\n  - {product: x, queue: a}\n  - {product: x, queue: b}\n", `p.yaml:10: rules[1]: conflicts with the rule on line 9, which leads the same items to another queue`},
		{"a rule behind a wider one", queue + "rules:\n  - {product: \"loan*\", queue: a}\n  - {product: [loan-a, \"loan-b*\"], kind: action, queue: b}\n", `p.yaml:10: rules[1]: is never reached: the rules before it take all its items, the last of them on line 9`},
		{"a rule behind several", queue + "rules:\n  - {kind: result, queue: a}\n  - {kind: [action, confirmation], queue: b}\n  - {product: x, queue: b}\n", `p.yaml:11: rules[2]: is never reached: the rules before it take all its items, the last of them on line 10`},
		{"a rule that is reached for what has no risk", queue + "rules:\n  - {risk: [low, medium, high], queue: a}\n  - {product: x, queue: b}\n", ""},
		{"a rule that is reached", queue + "rules:\n  - {product: \"a*c\", queue: a}\n  - {product: \"a*\", queue: b}\n  - {product: x, organisation: y, queue: b}\n  - {product: x, queue: a}\n", ""},
	} {
		t.Run(c.what, func(t *testing.T) {
			got := ""
			if _, err := policy.Parse("p.yaml", []byte(c.file)); err != nil {
				got = err.Error()
			}
			if got != c.want {
				t.Errorf("got\n%s\nwant\n%s", got, c.want)
			}
		})
	}
}

func TestTheShippedPolicyIsSound(t *testing.T) {
	p, err := policy.Default()
	if err != nil {
		t.Fatal(err)
	}
	high := p.Terms(item.Subject{Kind: reviewv1.Kind_KIND_RESULT, Risk: "high"}, time.Unix(0, 0))
	if high.Queue != "high-risk" || high.Approvals != 2 || high.RequesterMayDecide {
		t.Errorf("high risk: %+v; want two people, neither the requester", high)
	}
	for kind, want := range map[reviewv1.Kind]string{
		reviewv1.Kind_KIND_RESULT: "general", reviewv1.Kind_KIND_ACTION: "actions", reviewv1.Kind_KIND_CONFIRMATION: "actions",
	} {
		if got := p.Route(item.Subject{Kind: kind, Risk: "low"}).Name; got != want {
			t.Errorf("%s goes to %s, want %s", kind, got, want)
		}
	}
	deployed, err := filepath.Glob("../../../../deploy/*/*review-policy.yaml")
	more, _ := filepath.Glob("../../../../deploy/*/*/*review-policy.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range append(deployed, more...) {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := policy.Parse(file, raw); err != nil {
			t.Error(err)
		}
	}
}

func TestAnOverdueReviewOfThePolicyIsTold(t *testing.T) {
	p := parse(t, bank)
	if note := p.Overdue(at(t, "2027-01-31T23:59:59Z")); note != "" {
		t.Errorf("on the day: %q", note)
	}
	if note := p.Overdue(at(t, "2027-02-01T00:00:00Z")); note != "the policy was due for review by lending-operations on 2027-01-31" {
		t.Errorf("after it: %q", note)
	}
}

// Whatever is in a file, it is a policy that routes every subject, or it is refused
// with a reason.
func FuzzParse(f *testing.F) {
	f.Add([]byte(bank))
	f.Add([]byte("queues: {a: {due: 1h}}\ndefault: a\nowner: o\nversion: 1\nreview_date: 2027-01-01"))
	f.Add([]byte("calendars: {c: {zone: Asia/Tokyo, hours: {sat-sun: '22:00-06:00'}}}"))
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, raw []byte) {
		p, err := policy.Parse("f", raw)
		if err != nil {
			if err.Error() == "" {
				t.Fatal("refused without a reason")
			}
			return
		}
		got := p.Terms(item.Subject{Kind: reviewv1.Kind_KIND_ACTION, Product: "x", Risk: "high", Requester: "o/s"}, now)
		if !got.DueAt.After(now) || got.Approvals < 1 || got.ClaimFor <= 0 || p.Queue(got.Queue) == nil || !json.Valid(got.Rest) {
			t.Fatalf("terms %+v", got)
		}
	})
}

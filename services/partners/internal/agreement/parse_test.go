package agreement_test

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"sabha.dev/services/partners/internal/agreement"
	"sabha.dev/services/partners/internal/cardtrust"
	"sabha.dev/services/partners/internal/credential"
	"sabha.dev/services/partners/internal/partner"
)

func TestAnAgreementSaysWhatItsFileSays(t *testing.T) {
	a := parse(t, good)
	if a.Partner != "underwriter" || a.Version != "3" || a.ReviewDate.String() != "2027-06-30" || a.Organisation != "Underwriter plc" || len(a.Networks) != 1 {
		t.Errorf("%+v", a)
	}
	if want := (agreement.Records{Retention: 30 * 24 * time.Hour, Figures: 365 * 24 * time.Hour, Trace: agreement.TraceFull}); a.Records != want {
		t.Errorf("records: %+v", a.Records)
	}
	u := a.Terms("underwrite")
	if !u.Confirm || !u.Escalate || u.Budget != time.Minute || u.Availability != 99.5 || u.Fallback != (partner.Address{Partner: "broker", Skill: "underwrite"}) {
		t.Errorf("%+v", u)
	}
	for _, c := range []struct{ got, want any }{
		{u.Response, agreement.Response{P50: 2 * time.Second, P95: 10 * time.Second, P99: 30 * time.Second}},
		{u.Throughput, agreement.Throughput{PerMinute: 30, Concurrent: 4}},
		{u.Retries, agreement.Retries{Max: 3, Backoff: time.Second, Ratio: .2}},
		{u.Breaker, agreement.Breaker{Calls: 10, Failures: .4, Slow: 20 * time.Second, SlowShare: .6, Open: time.Minute, Probes: 2}},
	} {
		if !reflect.DeepEqual(c.got, c.want) {
			t.Errorf("%+v, want %+v", c.got, c.want)
		}
	}
	q := a.Terms("quote")
	if q.Budget != 30*time.Second || q.Breaker.Slow != 24*time.Second || q.Retries.Max != 2 || q.Throughput.PerMinute != 600 || q.Agreement != a {
		t.Errorf("what holds where nothing is said: %+v", q)
	}
	if a.Terms("other") != nil {
		t.Error("a skill that is not named is allowed")
	}
}

func TestSectionsAreReadByWhomTheyBelongTo(t *testing.T) {
	a := parse(t, good)
	if a.Signatures.Mode != cardtrust.IfPresent || a.Credentials.Type != credential.None || a.Disclosure == nil {
		t.Errorf("%v, %v, %v", a.Signatures, a.Credentials, a.Disclosure)
	}
	if a = parse(t, head+"skills: {s: {}}\n"); a.Signatures != nil || a.Credentials != nil || a.Disclosure != nil {
		t.Errorf("where nothing is said: %v, %v, %v", a.Signatures, a.Credentials, a.Disclosure)
	}
	_, err := agreement.Parse("u.yaml", []byte(head+"signatures: {mode: some}\ncredentials: {type: word}\ndisclosure: {default: hide}\nskills: {s: {}}\n"))
	for _, want := range []string{`u.yaml:6: signatures.mode: "some" is unknown`, `u.yaml:7: credentials.type: "word" is unknown`, `u.yaml:8: disclosure.default: "hide" is unknown`} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v\ndoes not have %s", err, want)
		}
	}
}

func TestEveryProblemOfASkillComesWithItsLine(t *testing.T) {
	for _, c := range []struct{ what, skill, want string }{
		{"nothing said", "{}", ""},
		{"percentiles that do not ascend", "{response: {p50: 2s, p95: 1s}}", "u.yaml:7: skills.s.response.p95: is 1s, shorter than a lower percentile, 2s; they must ascend"},
		{"a percentile below one further down", "{response: {p50: 2s, p99: 1s}}", "u.yaml:7: skills.s.response.p99: is 1s, shorter than a lower percentile, 2s; they must ascend"},
		{"equal percentiles", "{response: {p50: 2s, p95: 2s, p99: 2s}}", ""},
		{"no percentile", "{response: {}}", "u.yaml:7: skills.s.response: agrees on nothing; name p50, p95 or p99, or remove the key"},
		{"a budget that is too short", "{budget: 5s, response: {p99: 10s}}", "u.yaml:7: skills.s.budget: the budget of a call, 5s, is shorter than the response time agreed, 10s: answers that are in time would be given up"},
		{"the usual budget that is too short", "{response: {p99: 40s}}", "u.yaml:7: skills.s.response: the budget of a call, 30s, is shorter than the response time agreed, 40s: answers that are in time would be given up"},
		{"a budget that is none", "{budget: long}", `u.yaml:7: skills.s.budget: "long" is not a duration; write numbers with the units h, m or s, such as 90m or 4h`},
		{"availability beyond all", "{availability: 101}", "u.yaml:7: skills.s.availability: must be a number from 1 to 100"},
		{"throughput of nothing", "{throughput: {per_minute: 0, concurrent: -1}}", "u.yaml:7: skills.s.throughput.per_minute: must be a whole number from 1 to 60000\nu.yaml:7: skills.s.throughput.concurrent: must be a whole number from 1 to 1000"},
		{"slow beyond the budget", "{breaker: {slow: 31s}}", "u.yaml:7: skills.s.breaker.slow: no call takes longer than its budget, 30s, so none would be slow"},
		{"slow below what is agreed", "{response: {p50: 2s}, breaker: {slow: 1s}}", "u.yaml:7: skills.s.breaker.slow: is shorter than p50, 2s: half of the calls may take longer by agreement"},
		{"shares that are none", "{breaker: {failures: 0, slow_share: 2}, retries: {ratio: 1.1}}", "u.yaml:7: skills.s.retries.ratio: must be a number from 0 to 1\nu.yaml:7: skills.s.breaker.failures: must be a number from 0.01 to 1\nu.yaml:7: skills.s.breaker.slow_share: must be a number from 0.01 to 1"},
		{"a fallback that is none", "{fallback: other}", `u.yaml:7: skills.s.fallback: "other" is not a skill of a partner; write it as other-partner/skill`},
		{"itself as its fallback", "{fallback: underwriter/s}", "u.yaml:7: skills.s.fallback: a skill cannot stand in for itself"},
		{"a word that is not known", "{budgt: 4s}", `u.yaml:7: skills.s: unknown key "budgt" (did you mean "budget"?); known keys: confirm, direct, budget, response, availability, throughput, maintenance, retries, breaker, fallback, escalate`},
	} {
		t.Run(c.what, func(t *testing.T) {
			if got := problems(c.skill); got != c.want {
				t.Errorf("\n%s, want\n%s", got, c.want)
			}
		})
	}
}

func TestEveryProblemOfAFileComesWithItsLine(t *testing.T) {
	for _, c := range []struct{ what, from, to, want string }{
		{"no partner", "partner: underwriter\n", "", `u.yaml:1: the key "partner" is missing`},
		{"not an id", "partner: underwriter", "partner: Under Writer", `u.yaml:1: partner: "Under Writer" is not a partner's id; use small letters, digits and -, beginning with a letter, at most 63`},
		{"not a day", "2027-06-30", "2027-06-31", `u.yaml:4: review_date: "2027-06-31" is not a day; write it as 2027-01-31`},
		{"not a card", "https://agents", "ftp://agents", `u.yaml:6: card: "ftp://agents.underwriter.example/.well-known/agent-card.json" is not the URL of a card; write it as https://HOST/.well-known/agent-card.json`},
		{"a network with a host", "10.1.0.0/16", "10.1.2.3/16", `u.yaml:7: networks[0]: "10.1.2.3/16" is not a range of addresses; write it as 10.1.0.0/16`},
		{"figures that are kept too short", "figures: 365d", "figures: 30d", `u.yaml:11: records.figures: "30d" is not a number of days from 62d to 3660d; write it as 90d`},
		{"not days", "retention: 30d", "retention: 4h", `u.yaml:11: records.retention: "4h" is not a number of days from 1d to 3660d; write it as 90d`},
		{"not a trace", "trace: full", "trace: all", `u.yaml:11: records.trace: "all" is unknown (did you mean "full"?); write one of full, id, none`},
		{"no skill", good[strings.Index(good, "skills:"):], "skills: {}\n", "u.yaml:12: skills: allows nothing; name a skill of the partner's card"},
		{"a skill twice", "  quote: {}", "  underwrite: {}", "u.yaml:24: skills.underwrite: the key is there twice; first on line 13"},
	} {
		t.Run(c.what, func(t *testing.T) {
			_, err := agreement.Parse("u.yaml", []byte(strings.Replace(good, c.from, c.to, 1)))
			if err == nil || err.Error() != c.want {
				t.Errorf("\n%v, want\n%s", err, c.want)
			}
		})
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(good))
	f.Add([]byte(stand))
	f.Add([]byte(head + "skills: {s: {maintenance: [{date: 2027-03-28, from: '01:00', to: '02:00', zone: Europe/London}]}}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		a, err := agreement.Parse("u.yaml", data)
		if err != nil {
			return
		}
		for _, s := range a.Skills {
			if s.Budget < s.Response.P99 || s.Breaker.Slow > s.Budget || s.Address.Partner != a.Partner {
				t.Errorf("%+v", s)
			}
			s.InMaintenance(time.Date(2027, 3, 28, 1, 30, 0, 0, time.UTC))
		}
	})
}

package trust_test

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"sabha.dev/services/partners/internal/trust"
)

var now = time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)

// ago is the time so many days ago.
func ago(days int) time.Time { return now.AddDate(0, 0, -days) }

// good is a day on which all went well.
func good(at time.Time) trust.Day {
	return trust.Day{At: at, Calls: 40, OK: 40, Callers: 3, Probes: 288, Answered: 288, Tests: 40, Good: 40}
}

// goodDays are n days in a row up to one that is some days ago.
func goodDays(n, until int) []trust.Day {
	var list []trust.Day
	for i := range n {
		list = append(list, good(ago(until+i)))
	}
	return list
}

func score(days []trust.Day, marks ...trust.Mark) float64 { return trust.Of(days, marks, now).Score }

func TestNothingKnownIsNoTrust(t *testing.T) {
	if got := trust.Of(nil, nil, now); got.Score != 0 || got.Standing != 1 {
		t.Errorf("it is %+v", got)
	}
}

func TestTrustGrowsByDaysAndNotFaster(t *testing.T) {
	last := 0.0
	for _, c := range []struct {
		days     int
		at, most float64
	}{{1, 0.13, 0.15}, {7, 0.48, 0.52}, {30, 0.75, 0.80}, {90, 0.85, 0.88}, {365, 0.89, 0.93}} {
		got := score(goodDays(c.days, 0))
		if got < c.at || got > c.most || got <= last {
			t.Errorf("after %d perfect days it is %.3f", c.days, got)
		}
		last = got
	}
}

func TestABurstOfCallsDoesNotBeatGoodDays(t *testing.T) {
	burst := trust.Day{At: now, Calls: 10_000, OK: 10_000, Callers: 1, Probes: 288, Answered: 288}
	some := burst
	some.Calls, some.OK = 10, 10
	if score([]trust.Day{burst}) != score([]trust.Day{some}) {
		t.Error("10,000 calls in a day count for more than ten")
	}
	if b, d := score([]trust.Day{burst}), score(goodDays(30, 0)); b > d/4 {
		t.Errorf("10,000 calls in a day make %.3f, thirty good days %.3f", b, d)
	}
	many := burst
	many.Callers = 2
	if one, two := score([]trust.Day{burst}), score([]trust.Day{many}); one >= two {
		t.Errorf("one caller makes %.3f, two make %.3f", one, two)
	}
}

func TestCallsDoNotHideWhatProbesAndTestsFound(t *testing.T) {
	clean, hidden := goodDays(30, 1), goodDays(30, 1)
	clean = append(clean, good(now))
	for _, spoil := range []func(*trust.Day){
		func(d *trust.Day) { d.Answered = 0 },
		func(d *trust.Day) { d.Good = 0 },
	} {
		d := good(now)
		d.Calls, d.OK, d.Callers = 100_000, 100_000, 50
		spoil(&d)
		if h, c := score(append(hidden, d)), score(clean); h > c-0.05 {
			t.Errorf("a bad day under many calls makes %.3f, a clean one %.3f", h, c)
		}
	}
}

func TestTrustDecaysWithoutNews(t *testing.T) {
	last := score(goodDays(90, 0))
	for _, quiet := range []int{7, 30, 90, 180, 390} {
		got := score(goodDays(90, quiet))
		if got >= last {
			t.Errorf("after %d days without news it is %.3f, before %.3f", quiet, got, last)
		}
		last = got
	}
	if last > 0.1 {
		t.Errorf("after 390 days without news it is still %.3f", last)
	}
}

func TestABadWeekCostsALongTime(t *testing.T) {
	before := score(goodDays(90, 0))
	during := score(append(goodDays(90, 7), half(0, 7)...))
	if before < 0.85 || during > 0.7 {
		t.Errorf("ninety good days make %.3f, a bad week after them %.3f", before, during)
	}
	later := score(append(append(goodDays(90, 37), half(30, 7)...), goodDays(30, 0)...))
	if later <= during || later >= score(goodDays(127, 0)) {
		t.Errorf("thirty good days after the bad week make %.3f", later)
	}
}

func TestMarksLowerTrustAndFade(t *testing.T) {
	days := goodDays(90, 0)
	clean := score(days)
	for _, kind := range []trust.Kind{trust.Drift, trust.Failing, trust.Suspended} {
		m := trust.Mark{Kind: kind, At: now, Open: true}
		standing := score(days, m)
		m.Open = false
		closed := score(days, m)
		m.At = ago(90)
		faded := score(days, m)
		m.At, m.Other = now, true
		other := score(days, m)
		if math.Abs(standing-clean/2) > 1e-9 || !(standing <= closed && closed < faded && faded < clean && closed < other && other < clean) {
			t.Errorf("%s: clean %.3f, standing %.3f, closed %.3f, faded %.3f, of another partner %.3f", kind, clean, standing, closed, faded, other)
		}
	}
}

// any is a random life.
func anyDays(r *rand.Rand) []trust.Day {
	var list []trust.Day
	for range r.IntN(60) {
		d := trust.Day{At: ago(r.IntN(300)), OK: r.IntN(30), Invalid: r.IntN(5), Failed: r.IntN(5), Callers: r.IntN(4), Probes: r.IntN(50), Tests: r.IntN(20)}
		d.Calls = d.OK + d.Invalid + d.Failed
		d.Answered, d.Good = r.IntN(d.Probes+1), r.IntN(d.Tests+1)
		list = append(list, d)
	}
	return list
}

func TestTheScoreIsBoundedAndMonotone(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 5000 {
		days := anyDays(r)
		before := score(days)
		if !(before >= 0 && before < 1) {
			t.Fatalf("it is %v", before)
		}
		if len(days) == 0 {
			continue
		}
		i := r.IntN(len(days))
		old := days[i]
		for name, change := range map[string]struct {
			do     func(*trust.Day)
			better bool
		}{
			"one more good call":      {func(d *trust.Day) { d.Calls++; d.OK++ }, true},
			"one more caller":         {func(d *trust.Day) { d.Callers++ }, true},
			"one more good test":      {func(d *trust.Day) { d.Tests++; d.Good++ }, true},
			"one more invalid answer": {func(d *trust.Day) { d.Calls++; d.Invalid++ }, false},
			"one more failed test":    {func(d *trust.Day) { d.Tests++ }, false},
			"one more probe unheard":  {func(d *trust.Day) { d.Probes++ }, false},
			"ten more failed calls":   {func(d *trust.Day) { d.Calls += 10; d.Failed += 10 }, false},
		} {
			days[i] = old
			if name == "one more probe unheard" && old.Probes == 0 {
				continue // the first probe takes the place of calls
			}
			change.do(&days[i])
			after := score(days)
			if change.better && after < before-1e-12 || !change.better && after > before+1e-12 {
				t.Fatalf("%s: %+v makes %.6f, before %.6f", name, days[i], after, before)
			}
		}
		days[i] = old
	}
}

package gate_test

import (
	"testing"
	"time"

	"sabha.dev/services/partners/internal/agreement"
	"sabha.dev/services/partners/internal/gate"
	"sabha.dev/services/partners/internal/partner"
)

func TestWhatComesNext(t *testing.T) {
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	in := func(d time.Duration) time.Time { return now.Add(d) }
	other := partner.Address{Partner: "other", Skill: "underwrite"}
	plain := terms(t, "{retries: {max: 2, backoff: 1s}}")
	backed := terms(t, "{retries: {max: 2, backoff: 1s}, fallback: other/underwrite, escalate: true}")
	people := terms(t, "{retries: {max: 2, backoff: 1s}, escalate: true}")
	closed := func(why gate.Why, at time.Time) *gate.Closed {
		return &gate.Closed{Address: plain.Address, Why: why, RetryAt: at}
	}
	tried := []partner.Address{plain.Address}
	for _, c := range []struct {
		what  string
		trial gate.Trial
		spent bool // the retry budget
		want  gate.Action
		at    time.Duration
	}{
		{"a first failure", gate.Trial{Now: backed, Again: true}, false, gate.Retry, 750 * ms},
		{"a second", gate.Trial{Now: backed, Again: true, Retries: 1}, false, gate.Retry, 1500 * ms},
		{"when the partner has said", gate.Trial{Now: backed, Again: true, After: in(10 * time.Second)}, false, gate.Retry, 10100 * ms},
		{"a third, with somebody to fall back on", gate.Trial{Now: backed, Again: true, Retries: 2}, false, gate.Fallback, 0},
		{"a third, with people", gate.Trial{Now: people, Again: true, Retries: 2}, false, gate.Escalate, 0},
		{"a third, with nobody", gate.Trial{Now: plain, Again: true, Retries: 2}, false, gate.Fail, 0},
		{"no retry budget left", gate.Trial{Now: backed, Again: true}, true, gate.Fallback, 0},
		{"no time left to ask again, but elsewhere", gate.Trial{Now: backed, Again: true, Deadline: in(750 * ms)}, false, gate.Fallback, 0},
		{"no time left at all", gate.Trial{Now: backed, Again: true, Deadline: now}, false, gate.Escalate, 0},
		{"what must not be done twice", gate.Trial{Now: backed}, false, gate.Escalate, 0},
		{"what must not be done twice, with nobody", gate.Trial{Now: plain}, false, gate.Fail, 0},
		{"the fallback has failed too", gate.Trial{Now: terms(t, "{retries: {max: 0}}"), First: people, Again: true}, false, gate.Escalate, 0},
		{"who is to stand in was asked", gate.Trial{Now: backed, Again: true, Retries: 2, Tried: append(tried, other)}, false, gate.Escalate, 0},
		{"open, with somebody to fall back on", gate.Trial{Now: backed, Closed: closed(gate.Open, in(30*time.Second))}, false, gate.Fallback, 0},
		{"open, with nobody, and there is time", gate.Trial{Now: people, Closed: closed(gate.Open, in(30*time.Second)), Deadline: in(time.Minute)}, false, gate.Wait, 30100 * ms},
		{"open for longer than there is time", gate.Trial{Now: people, Closed: closed(gate.Open, in(2*time.Minute)), Deadline: in(time.Minute)}, false, gate.Escalate, 0},
		{"open, and one tries it", gate.Trial{Now: people, Closed: closed(gate.Open, time.Time{}), Deadline: in(time.Minute)}, false, gate.Wait, 200 * ms},
		{"in maintenance for the night", gate.Trial{Now: plain, Closed: closed(gate.Maintenance, in(2*time.Hour))}, false, gate.Wait, 2*time.Hour + 100*ms},
		{"over the rate, although somebody could stand in", gate.Trial{Now: backed, Closed: closed(gate.Rate, in(20*time.Second)), Deadline: in(time.Minute)}, false, gate.Wait, 20100 * ms},
		{"over the rate for too long", gate.Trial{Now: backed, Closed: closed(gate.Rate, in(20*time.Second)), Deadline: in(10 * time.Second)}, false, gate.Fallback, 0},
		{"busy", gate.Trial{Now: backed, Closed: closed(gate.Busy, time.Time{})}, false, gate.Wait, 200 * ms},
	} {
		t.Run(c.what, func(t *testing.T) {
			if c.trial.First == nil {
				c.trial.First = c.trial.Now
			}
			if c.trial.Tried == nil {
				c.trial.Tried = tried
			}
			asked := 0
			got := gate.Next(c.trial, now, 0.5, func() bool { asked++; return !c.spent })
			if got.Do != c.want || got.Why == "" {
				t.Fatalf("%+v, want %s", got, c.want)
			}
			if c.at > 0 && !got.At.Equal(in(c.at)) {
				t.Errorf("in %s, want in %s", got.At.Sub(now), c.at)
			}
			if (got.To == other) != (c.want == gate.Fallback) {
				t.Errorf("to %v", got.To)
			}
			if want := map[bool]int{true: 1}[c.want == gate.Retry || c.spent]; asked != want {
				t.Errorf("the retry budget was asked %d times, want %d", asked, want)
			}
		})
	}
}

func TestBackoffDoublesUpToAMinute(t *testing.T) {
	u := &agreement.Terms{Retries: agreement.Retries{Max: 100, Backoff: time.Second}}
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	for made, want := range map[int]time.Duration{0: time.Second, 3: 8 * time.Second, 6: time.Minute, 99: time.Minute} {
		if got := gate.Next(gate.Trial{First: u, Now: u, Again: true, Retries: made}, now, 0, func() bool { return true }); got.At.Sub(now) != want {
			t.Errorf("after %d retries in %s, want %s", made, got.At.Sub(now), want)
		}
		if got := gate.Next(gate.Trial{First: u, Now: u, Again: true, Retries: made}, now, 1, func() bool { return true }); got.At.Sub(now) != want/2 {
			t.Errorf("at the other end after %d retries in %s, want %s", made, got.At.Sub(now), want/2)
		}
	}
}

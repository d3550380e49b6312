package playbook

import (
	"testing"
	"time"
)

func TestVersionsAreOrderedAsSemverSays(t *testing.T) {
	ordered := []Version{"0", "1.0.0-alpha", "1.0.0-alpha.1", "1.0.0-alpha.beta", "1.0.0-beta.2", "1.0.0-beta.11", "1.0.0-rc.1", "1", "1.2.0", "1.10.0", "2"}
	for i, v := range ordered {
		if _, err := ParseVersion(string(v)); err != nil {
			t.Error(err)
		}
		for j, w := range ordered {
			got := v.Compare(w)
			if (got < 0) != (i < j) || (got > 0) != (i > j) {
				t.Errorf("%s compared with %s gives %d", v, w, got)
			}
		}
	}
	if Version("1").Compare("1.0.0+build.5") != 0 {
		t.Error("1 and 1.0.0+build.5 differ")
	}
}

func TestVersionsOfOtherFormsAreRefused(t *testing.T) {
	for _, s := range []string{"", "v1", "1.2", "01.0.0", "1.0.0-", "-1", "1.0.0 ", "latest"} {
		if _, err := ParseVersion(s); err == nil {
			t.Errorf("%q was accepted", s)
		}
	}
}

func TestRetryDelayDoublesWithinItsBounds(t *testing.T) {
	r := Retries{Max: 5, Backoff: 100 * time.Millisecond, MaxBackoff: time.Second, Jitter: 0.5}
	for _, tt := range []struct {
		attempt int
		random  float64
		want    time.Duration
	}{
		{0, 0, 100 * time.Millisecond},
		{1, 0, 100 * time.Millisecond},
		{2, 0, 200 * time.Millisecond},
		{3, 0.5, 300 * time.Millisecond},
		{5, 0, time.Second},
		{2000, 0, time.Second},
	} {
		if got := r.Delay(tt.attempt, tt.random); got != tt.want {
			t.Errorf("attempt %d, random %g: %s, want %s", tt.attempt, tt.random, got, tt.want)
		}
	}
}

func TestStepsWithSideEffectsAreNotRetriedUnlessTheFileSaysSo(t *testing.T) {
	p := mustParse(t, `
playbook: retries
version: 1
defaults: {budget: 10s, retries: {max: 4, backoff: 10s}}
steps:
  - {id: reads, agent: memory, skill: recall}
  - {id: writes, agent: memory, skill: remember, side_effects: true}
  - {id: insists, agent: memory, skill: remember, side_effects: true, retries: {max: 1}}
output: {text: done}
`)
	for id, want := range map[string]Retries{
		"reads":   {Max: 4, Backoff: 10 * time.Second, MaxBackoff: 10 * time.Second, Jitter: 0.2},
		"writes":  {Max: 0, Backoff: 200 * time.Millisecond, MaxBackoff: 5 * time.Second, Jitter: 0.2},
		"insists": {Max: 1, Backoff: 200 * time.Millisecond, MaxBackoff: 5 * time.Second, Jitter: 0.2},
	} {
		if got := p.Step(id).Retries; got != want {
			t.Errorf("%s: %+v, want %+v", id, got, want)
		}
	}
	if got := p.Step("reads").Budget; got != 10*time.Second {
		t.Errorf("the default budget is %s", got)
	}
}

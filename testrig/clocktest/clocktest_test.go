package clocktest_test

import (
	"slices"
	"testing"
	"time"

	"sabha.dev/testrig/clocktest"
)

var start = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// fired reports whether the channel has a time to give, without waiting.
func fired(c <-chan time.Time) (time.Time, bool) {
	select {
	case at := <-c:
		return at, true
	default:
		return time.Time{}, false
	}
}

func TestTimeStandsStillUntilAdvanced(t *testing.T) {
	clock := clocktest.New(start)
	if got := clock.Now(); !got.Equal(start) {
		t.Fatalf("Now() = %v, want %v", got, start)
	}
	clock.Advance(90 * time.Second)
	if got, want := clock.Now(), start.Add(90*time.Second); !got.Equal(want) {
		t.Fatalf("Now() = %v, want %v", got, want)
	}
}

func TestSleeperWakesWhenItsTimeHasComeAndNotBefore(t *testing.T) {
	clock := clocktest.New(start)
	wake := clock.After(time.Minute)
	clock.Advance(time.Minute - time.Nanosecond)
	if at, ok := fired(wake); ok {
		t.Fatalf("woken at %v, one nanosecond early", at)
	}
	clock.Advance(time.Nanosecond)
	at, ok := fired(wake)
	if !ok || !at.Equal(start.Add(time.Minute)) {
		t.Fatalf("woken %v with %v, want %v", ok, at, start.Add(time.Minute))
	}
	clock.Advance(time.Hour)
	if at, ok := fired(wake); ok {
		t.Fatalf("woken a second time at %v", at)
	}
}

func TestZeroAndNegativeDurationsAreDueAtOnce(t *testing.T) {
	clock := clocktest.New(start)
	for _, d := range []time.Duration{0, -time.Second} {
		if at, ok := fired(clock.After(d)); !ok || !at.Equal(start) {
			t.Errorf("After(%v) gave %v, %v, want %v at once", d, at, ok, start)
		}
	}
}

func TestOneAdvanceWakesEveryoneDueAndLeavesTheRest(t *testing.T) {
	clock := clocktest.New(start)
	durations := []time.Duration{3 * time.Second, time.Second, 5 * time.Second, 2 * time.Second, time.Second}
	var wakes []<-chan time.Time
	for _, d := range durations {
		wakes = append(wakes, clock.After(d))
	}
	clock.Advance(3 * time.Second)
	var woken []bool
	for _, wake := range wakes {
		_, ok := fired(wake)
		woken = append(woken, ok)
	}
	if want := []bool{true, true, false, true, true}; !slices.Equal(woken, want) {
		t.Fatalf("woken %v, want %v for %v", woken, want, durations)
	}
}

func TestBlockUntilReturnsWhenTheSleepersAreThere(t *testing.T) {
	clock := clocktest.New(start)
	naps := make(chan int)
	for i := range 3 {
		go func() {
			<-clock.After(time.Duration(i+1) * time.Second)
			naps <- i
		}()
	}
	clock.BlockUntil(3)
	for want := range 3 {
		clock.Advance(time.Second)
		if got := <-naps; got != want {
			t.Fatalf("sleeper %d woke, want %d", got, want)
		}
	}
}

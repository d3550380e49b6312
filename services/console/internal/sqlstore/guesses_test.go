package sqlstore_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func TestGuessesAreBoundedForAllReplicasTogether(t *testing.T) {
	onBoth(t, func(t *testing.T, r rig) {
		s := r.store
		now := morning
		guess := func(name string) time.Duration {
			t.Helper()
			wait, err := s.Guess(t.Context(), name, 10, 10*time.Second, now)
			if err != nil {
				t.Fatal(err)
			}
			return wait
		}
		// Forty at once, as from several replicas.
		var allowed atomic.Int64
		var all sync.WaitGroup
		for range 40 {
			all.Go(func() {
				wait, err := s.Guess(t.Context(), "account acme/alma", 10, 10*time.Second, now)
				switch {
				case err != nil:
					t.Error(err)
				case wait == 0:
					allowed.Add(1)
				case wait != 10*time.Second:
					t.Errorf("one too many has to wait %v", wait)
				}
			})
		}
		all.Wait()
		if n := allowed.Load(); n != 10 {
			t.Fatalf("%d of 40 guesses at once were allowed, want 10", n)
		}
		if wait := guess("account acme/bo"); wait != 0 {
			t.Errorf("another name has to wait %v", wait)
		}
		now = now.Add(10 * time.Second)
		if wait := guess("account acme/alma"); wait != 0 {
			t.Errorf("after ten seconds it has to wait %v", wait)
		}
		now = now.Add(4 * time.Second)
		if wait := guess("account acme/alma"); wait != 6*time.Second {
			t.Errorf("ten seconds allow two: the second has to wait %v, want 6s", wait)
		}
		// Forgetting keeps who is guessed at.
		if err := s.Forget(t.Context(), now); err != nil {
			t.Fatal(err)
		}
		if wait := guess("account acme/alma"); wait != 6*time.Second {
			t.Errorf("after forgetting others it has to wait %v", wait)
		}
		now = now.Add(10 * 10 * time.Second)
		for n := range 10 {
			if wait := guess("account acme/alma"); wait != 0 {
				t.Errorf("guess %d after a long time has to wait %v", n+1, wait)
			}
		}
		if wait := guess("account acme/alma"); wait != 10*time.Second {
			t.Errorf("and the eleventh %v", wait)
		}
	})
}

func TestARightGuessDoesNotCount(t *testing.T) {
	onBoth(t, func(t *testing.T, r rig) {
		s := r.store
		for range 30 {
			wait, err := s.Guess(t.Context(), "account alma", 10, time.Second, morning)
			if err != nil || wait != 0 {
				t.Fatal(wait, err)
			}
			if err := s.Right(t.Context(), "account alma", time.Second); err != nil {
				t.Fatal(err)
			}
		}
	})
}

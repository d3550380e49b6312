package sqlstore_test

import (
	"errors"
	"sync"
	"testing"
	"time"

	"sabha.dev/services/console/internal/account"
	"sabha.dev/services/console/internal/session"
)

// begin begins a session.
func (r rig) begin(t *testing.T, a account.Account) string {
	t.Helper()
	token, err := r.sessions.Begin(t.Context(), a)
	if err != nil {
		t.Fatal(err)
	}
	return token
}

func (r rig) lasts(t *testing.T, token string) bool {
	t.Helper()
	_, err := r.sessions.Look(t.Context(), token)
	if err != nil && !errors.Is(err, session.ErrNone) {
		t.Fatal(err)
	}
	return err == nil
}

func TestASessionEndsWhenItIsNotUsedAndAtItsEnd(t *testing.T) {
	onBoth(t, func(t *testing.T, r rig) {
		alma := r.add(t, account.Account{Subject: "alma"})
		idle, used := r.begin(t, alma), r.begin(t, alma)
		for range 9 { // each within the hour after the one before
			r.clock.Advance(time.Hour - time.Second)
			if a, err := r.sessions.Resume(t.Context(), used); err != nil || a.Subject != "alma" {
				t.Fatalf("used: %+v, %v", a, err)
			}
			if r.lasts(t, idle) != (r.clock.Now().Sub(morning) < time.Hour) {
				t.Errorf("after %v the idle one lasts: %t", r.clock.Now().Sub(morning), r.lasts(t, idle))
			}
		}
		r.clock.Advance(time.Hour - time.Second)
		if !r.lasts(t, used) {
			t.Error("it ended before its end")
		}
		r.clock.Advance(10 * time.Second)
		if r.lasts(t, used) {
			t.Error("it lasts after ten hours, since it is used")
		}
		if _, err := r.sessions.Resume(t.Context(), used); !errors.Is(err, session.ErrNone) {
			t.Errorf("after its end: %v", err)
		}
		r.begin(t, alma) // what has ended is removed
		if _, _, err := r.store.Resume(t.Context(), session.Digest(used)); !errors.Is(err, session.ErrNone) {
			t.Errorf("it is stored still: %v", err)
		}
	})
}

func TestLookingIsNoUse(t *testing.T) {
	onBoth(t, func(t *testing.T, r rig) {
		token := r.begin(t, r.add(t, account.Account{Subject: "alma"}))
		for range 59 {
			r.clock.Advance(time.Minute)
			if !r.lasts(t, token) {
				t.Fatal("it ended early")
			}
		}
		r.clock.Advance(time.Minute)
		if r.lasts(t, token) {
			t.Error("a page that is only open keeps the session")
		}
	})
}

func TestSessionsAreRevoked(t *testing.T) {
	onBoth(t, func(t *testing.T, r rig) {
		alma, bob := r.add(t, account.Account{Subject: "alma"}), r.add(t, account.Account{Subject: "bob"})
		one, two, three, others := r.begin(t, alma), r.begin(t, alma), r.begin(t, alma), r.begin(t, bob)
		if err := r.sessions.End(t.Context(), one); err != nil {
			t.Fatal(err)
		}
		if r.lasts(t, one) || !r.lasts(t, two) {
			t.Error("signing out ends another than its own session")
		}
		if err := r.sessions.EndAll(t.Context(), "", "alma", two); err != nil {
			t.Fatal(err)
		}
		if !r.lasts(t, two) || r.lasts(t, three) || !r.lasts(t, others) {
			t.Errorf("everywhere else: two %t, three %t, bob's %t", r.lasts(t, two), r.lasts(t, three), r.lasts(t, others))
		}
		bob.Disabled = true
		if err := r.people.Change(t.Context(), bob); err != nil {
			t.Fatal(err)
		}
		if r.lasts(t, others) {
			t.Error("the account is disabled and its session lasts")
		}
		alma.Roles = []string{"operator"}
		if err := r.people.Change(t.Context(), alma); err != nil {
			t.Fatal(err)
		}
		if a, err := r.sessions.Look(t.Context(), two); err != nil || !a.Principal().Has("operator") {
			t.Errorf("a new role: %+v, %v", a, err)
		}
		for _, token := range []string{"", "x", two + "x", two[1:] + "A"} {
			if r.lasts(t, token) {
				t.Errorf("%q is a session", token)
			}
		}
	})
}

func TestManySignInsAtOnceAreAsManySessions(t *testing.T) {
	onBoth(t, func(t *testing.T, r rig) {
		r.add(t, account.Account{Subject: "alma"})
		tokens := make([]string, 8)
		var wg sync.WaitGroup
		for i := range tokens {
			wg.Go(func() {
				a, err := r.people.Authenticate(t.Context(), "alma", password)
				if err == nil {
					tokens[i], err = r.sessions.Begin(t.Context(), a)
				}
				if err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		seen := map[string]bool{}
		for _, token := range tokens {
			if seen[token] || !r.lasts(t, token) {
				t.Errorf("%q lasts: %t, twice: %t", token, r.lasts(t, token), seen[token])
			}
			seen[token] = true
		}
	})
}

func TestACSRFTokenIsThatOfItsSession(t *testing.T) {
	one, other := session.CSRF("one"), session.CSRF("one")
	if one == other || !session.Checks("one", one) || !session.Checks("one", other) {
		t.Errorf("%q and %q", one, other)
	}
	for _, wrong := range []string{"", "x", one[1:], session.CSRF("two"), session.CSRF("")} {
		if session.Checks("one", wrong) {
			t.Errorf("%q is believed", wrong)
		}
	}
}

package sqlstore_test

import (
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"sabha.dev/chassis/identity"
	"sabha.dev/services/console/internal/account"
)

func TestAPasswordSignsItsOwnerIn(t *testing.T) {
	onBoth(t, func(t *testing.T, r rig) {
		alma := r.add(t, account.Account{Organisation: "acme", Subject: "alma", Name: "Alma Rao", Roles: []string{"reviewer", " viewer", "reviewer"}, Groups: []string{"claims"}})
		if !strings.HasPrefix(alma.Hash, "$argon2id$v=19$m=19456,t=2,p=1$") || strings.Contains(alma.Hash, password) || alma.Provisional {
			t.Errorf("stored %+v", alma)
		}
		r.clock.Advance(time.Hour)
		got, err := r.people.Authenticate(t.Context(), " acme/alma ", password)
		if err != nil || got.Display() != "Alma Rao" || !got.SignedIn.Equal(morning.Add(time.Hour)) {
			t.Fatalf("got %+v, %v", got, err)
		}
		if p := got.Principal(); p.Key() != "acme/alma" || !slices.Equal(p.Scopes, []string{"viewer", "reviewer", "group:claims"}) {
			t.Errorf("principal %+v", p)
		}
		r.add(t, account.Account{Subject: "alma"})
		bob := r.add(t, account.Account{Organisation: "acme", Subject: "bob"})
		bob.Disabled = true
		if err := r.people.Change(t.Context(), bob); err != nil {
			t.Fatal(err)
		}
		if _, err := r.people.Federate(t.Context(), account.Account{Source: "https://idp", Organisation: "acme", Subject: "cara"}); err != nil {
			t.Fatal(err)
		}
		for _, c := range [][2]string{
			{"acme/alma", password + "!"},
			{"acme/alma", ""},
			{"acme/alma", strings.Repeat(password, 100)},
			{"other/alma", password},
			{"acme/nobody", password},
			{"acme/bob", password},
			{"acme/cara", ""},
			{"acme/cara", password},
			{"", password},
			{"acme", password},
			{"acme/alma/", password},
		} {
			if a, err := r.people.Authenticate(t.Context(), c[0], c[1]); !errors.Is(err, account.ErrRefused) {
				t.Errorf("%q signs in as %+v, %v", c, a, err)
			}
		}
		if again, err := r.people.Authenticate(t.Context(), "alma", password); err != nil || again.Principal().Key() != "/alma" {
			t.Errorf("the one without an organisation: %+v, %v", again, err)
		}
	})
}

func TestWhatAnAccountCannotBe(t *testing.T) {
	onBoth(t, func(t *testing.T, r rig) {
		r.add(t, account.Account{Subject: "alma"})
		for name, c := range map[string]struct {
			account  account.Account
			password string
			want     error
			says     string
		}{
			"taken":        {account.Account{Subject: "alma"}, password, account.ErrTaken, "already"},
			"no subject":   {account.Account{}, password, account.ErrBad, "subject"},
			"a slash":      {account.Account{Subject: "a/b"}, password, account.ErrBad, "subject"},
			"a space":      {account.Account{Subject: "bo", Organisation: "a b"}, password, account.ErrBad, "organisation"},
			"no such role": {account.Account{Subject: "bo", Roles: []string{"root"}}, password, account.ErrBad, "choose of viewer, reviewer"},
			"a group":      {account.Account{Subject: "bo", Groups: []string{"Über"}}, password, account.ErrBad, "lower-case"},
			"short":        {account.Account{Subject: "bo"}, "elevenchars", account.ErrBad, "at least 12"},
			"its name":     {account.Account{Subject: "a-long-subject"}, "A-Long-Subject", account.ErrBad, "not be a name"},
			"long":         {account.Account{Subject: "bo"}, strings.Repeat("x", 257), account.ErrBad, "at most 256"},
		} {
			if _, err := r.people.Add(t.Context(), c.account, c.password); !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%s: %v, want %v with %q", name, err, c.want, c.says)
			}
		}
		if all, err := r.people.All(t.Context()); err != nil || len(all) != 1 {
			t.Errorf("%d accounts, %v", len(all), err)
		}
	})
}

func TestAPasswordThatSomebodyHasSeenIsProvisional(t *testing.T) {
	onBoth(t, func(t *testing.T, r rig) {
		made, err := r.people.Add(t.Context(), account.Account{Subject: "alma"}, "")
		if err != nil || len(made) != 23 {
			t.Fatalf("made %q, %v", made, err)
		}
		a, err := r.people.Authenticate(t.Context(), "alma", made)
		if err != nil || !a.Provisional {
			t.Fatalf("%+v, %v", a, err)
		}
		for name, c := range map[string][2]string{"another": {"wrong", password}, "the same": {made, made}, "none": {made, ""}, "short": {made, "short"}} {
			if err := r.people.ChangePassword(t.Context(), "", "alma", c[0], c[1]); !errors.Is(err, account.ErrRefused) && !errors.Is(err, account.ErrBad) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if err := r.people.ChangePassword(t.Context(), "", "alma", made, password); err != nil {
			t.Fatal(err)
		}
		if a, err := r.people.Authenticate(t.Context(), "alma", password); err != nil || a.Provisional {
			t.Errorf("%+v, %v", a, err)
		}
		if _, err := r.people.Authenticate(t.Context(), "alma", made); !errors.Is(err, account.ErrRefused) {
			t.Errorf("the password of before: %v", err)
		}
		if made, err = r.people.SetPassword(t.Context(), "", "alma", ""); err != nil {
			t.Fatal(err)
		}
		if a, err := r.people.Authenticate(t.Context(), "alma", made); err != nil || !a.Provisional {
			t.Errorf("reset: %+v, %v", a, err)
		}
		if _, err := r.people.SetPassword(t.Context(), "", "nobody", ""); !errors.Is(err, account.ErrNone) {
			t.Errorf("of nobody: %v", err)
		}
	})
}

func TestTheFirstAccountIsMadeOnce(t *testing.T) {
	onBoth(t, func(t *testing.T, r rig) {
		var wg sync.WaitGroup
		made := make([]string, 4)
		for i := range made {
			wg.Go(func() {
				var err error
				if made[i], err = r.people.First(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		made = slices.DeleteFunc(made, func(s string) bool { return s == "" })
		if len(made) != 1 {
			t.Fatalf("made %d times", len(made))
		}
		a, err := r.people.Authenticate(t.Context(), "admin", made[0])
		if err != nil || a.Provisional || !slices.Equal(a.Principal().Scopes, identity.Roles()) {
			t.Errorf("%+v, %v", a, err)
		}
		if again, err := r.people.First(t.Context()); again != "" || err != nil {
			t.Errorf("again: %q, %v", again, err)
		}
	})
}

func TestAnIssuerStatesWhoItsPeopleAre(t *testing.T) {
	onBoth(t, func(t *testing.T, r rig) {
		r.add(t, account.Account{Organisation: "acme", Subject: "local"})
		alma := account.Account{Source: "https://idp", Organisation: "acme", Subject: "alma", Name: "Alma", Roles: []string{"viewer"}, Groups: []string{"claims"}}
		for range 2 { // the second time she has other roles
			got, err := r.people.Federate(t.Context(), alma)
			if err != nil || !slices.Equal(got.Roles, alma.Roles) || !slices.Equal(got.Groups, alma.Groups) || got.SignedIn.IsZero() || !got.Created.Equal(morning) {
				t.Fatalf("%+v, %v", got, err)
			}
			alma.Roles, alma.Groups = []string{"operator"}, nil
			r.clock.Advance(time.Hour)
		}
		for name, c := range map[string]struct {
			account account.Account
			want    error
		}{
			"of a local account":   {account.Account{Source: "https://idp", Organisation: "acme", Subject: "local"}, account.ErrElsewhere},
			"of another issuer":    {account.Account{Source: "https://other", Organisation: "acme", Subject: "alma"}, account.ErrElsewhere},
			"as local":             {account.Account{Source: account.Local, Organisation: "acme", Subject: "local"}, account.ErrElsewhere},
			"with a subject of it": {account.Account{Source: "https://idp", Organisation: "acme", Subject: "auth0|1"}, account.ErrBad},
		} {
			if _, err := r.people.Federate(t.Context(), c.account); !errors.Is(err, c.want) {
				t.Errorf("%s: %v, want %v", name, err, c.want)
			}
		}
		alma.Disabled = true
		if err := r.people.Change(t.Context(), alma); err != nil {
			t.Fatal(err)
		}
		if _, err := r.people.Federate(t.Context(), alma); !errors.Is(err, account.ErrDisabled) {
			t.Errorf("disabled: %v", err)
		}
		if _, err := r.people.SetPassword(t.Context(), "acme", "alma", password); !errors.Is(err, account.ErrElsewhere) {
			t.Errorf("a password of hers: %v", err)
		}
	})
}

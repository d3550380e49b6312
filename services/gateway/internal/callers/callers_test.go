package callers_test

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"sabha.dev/chassis/identity"
	"sabha.dev/chassis/sqldb"
	"sabha.dev/services/gateway/internal/callers"
	"sabha.dev/services/gateway/migrations"
	"sabha.dev/testrig/clocktest"
	"sabha.dev/testrig/postgrestest"
)

var postgres postgrestest.Shared

func TestMain(m *testing.M) {
	code := m.Run()
	postgres.Close()
	os.Exit(code)
}

var morning = time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC)

func open(t *testing.T, url string) *sqldb.DB {
	t.Helper()
	db, err := sqldb.Open(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	if err := sqldb.Migrate(t.Context(), db, "gateway", migrations.Files); err != nil {
		t.Fatal(err)
	}
	return db
}

// onBoth runs a test on both databases.
func onBoth(t *testing.T, test func(*testing.T, *sqldb.DB)) {
	t.Run("sqlite", func(t *testing.T) { test(t, open(t, "sqlite:"+t.TempDir()+"/gateway.db")) })
	t.Run("postgres", func(t *testing.T) { test(t, open(t, postgres.URL(t))) })
}

func store(db *sqldb.DB, c *clocktest.Clock) *callers.Store {
	return callers.New(db, c, slog.New(slog.DiscardHandler))
}

var asha = identity.Principal{Subject: "asha", Organisation: "acme", Scopes: []string{"operator", "auditor"}}

func TestAKeyVerifiesAsItsOwnerAndIsNotStored(t *testing.T) {
	onBoth(t, func(t *testing.T, db *sqldb.DB) {
		s := store(db, clocktest.New(morning))
		made, secret, err := s.Create(t.Context(), asha)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(secret, "sk-") || len(secret) != 67 {
			t.Errorf("secret %q, want sk- and 64 hex digits", secret)
		}
		got, err := s.Verify(t.Context(), secret)
		if err != nil || got.ID != made.ID || !reflect.DeepEqual(got.Principal, asha) {
			t.Errorf("Verify = %+v, %v; want key %s of %+v", got, err, made.ID, asha)
		}
		var kept string
		err = db.Read.QueryRowContext(t.Context(), `SELECT id || digest || organisation || subject || scopes FROM api_keys`).Scan(&kept)
		if err != nil || strings.Contains(kept, strings.TrimPrefix(secret, "sk-")) {
			t.Errorf("the table holds %q, %v; want no secret in it", kept, err)
		}
	})
}

func TestVerifyRefusesWhatIsNoKeyInForce(t *testing.T) {
	s := store(open(t, "sqlite:"+t.TempDir()+"/gateway.db"), clocktest.New(morning))
	_, secret, err := s.Create(t.Context(), asha)
	if err != nil {
		t.Fatal(err)
	}
	for _, wrong := range []string{
		"", "sk-", secret + "0", secret[:66], strings.ToUpper(secret), "sk-" + strings.Repeat("0", 64), "xx-" + secret[3:], "sk-" + strings.Repeat("'", 64),
	} {
		if k, err := s.Verify(t.Context(), wrong); !errors.Is(err, callers.ErrUnknown) {
			t.Errorf("Verify(%q) = %+v, %v; want ErrUnknown", wrong, k, err)
		}
	}
}

func TestARevokedKeyStopsWorkingEverywhereWithinFreshness(t *testing.T) {
	onBoth(t, func(t *testing.T, db *sqldb.DB) {
		c := clocktest.New(morning)
		here, there := store(db, c), store(db, c)
		k, secret, err := here.Create(t.Context(), asha)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range []*callers.Store{here, there} {
			if _, err := s.Verify(t.Context(), secret); err != nil {
				t.Fatal(err)
			}
		}
		c.Advance(time.Hour)
		for _, s := range []*callers.Store{here, there} {
			if _, err := s.Verify(t.Context(), secret); err != nil {
				t.Fatal(err)
			}
		}
		if err := here.Revoke(t.Context(), k.ID); err != nil {
			t.Fatal(err)
		}
		if _, err := here.Verify(t.Context(), secret); !errors.Is(err, callers.ErrUnknown) {
			t.Errorf("where it was revoked: %v, want ErrUnknown", err)
		}
		if _, err := there.Verify(t.Context(), secret); err != nil {
			t.Errorf("elsewhere while it is fresh: %v, want it to be believed still", err)
		}
		c.Advance(callers.Freshness)
		if _, err := there.Verify(t.Context(), secret); !errors.Is(err, callers.ErrUnknown) {
			t.Errorf("elsewhere after %v: %v, want ErrUnknown", callers.Freshness, err)
		}
		if err := here.Revoke(t.Context(), k.ID); err != nil {
			t.Errorf("revoking twice: %v", err)
		}
		list, err := here.List(t.Context())
		if err != nil || len(list) != 1 || !list[0].Revoked.Equal(morning.Add(time.Hour)) {
			t.Errorf("List = %+v, %v; want it revoked at the first time", list, err)
		}
		if err := here.Revoke(t.Context(), "key-none"); !errors.Is(err, callers.ErrNoKey) {
			t.Errorf("revoking a key that is not there: %v, want ErrNoKey", err)
		}
	})
}

func TestUseIsNotedByDay(t *testing.T) {
	onBoth(t, func(t *testing.T, db *sqldb.DB) {
		c := clocktest.New(morning)
		s := store(db, c)
		_, secret, err := s.Create(t.Context(), asha)
		if err != nil {
			t.Fatal(err)
		}
		used := func() string {
			list, err := s.List(t.Context())
			if err != nil || len(list) != 1 {
				t.Fatalf("List = %+v, %v", list, err)
			}
			return list[0].LastUsed
		}
		if got := used(); got != "" {
			t.Errorf("before its first use: %q, want nothing", got)
		}
		for _, want := range []string{"2026-03-01", "2026-03-02"} {
			if _, err := s.Verify(t.Context(), secret); err != nil {
				t.Fatal(err)
			}
			if got := used(); got != want {
				t.Errorf("last used %q, want %q", got, want)
			}
			c.Advance(24 * time.Hour)
		}
	})
}

func TestTheFirstKeyIsMadeOnce(t *testing.T) {
	onBoth(t, func(t *testing.T, db *sqldb.DB) {
		s := store(db, clocktest.New(morning))
		secret, err := s.First(t.Context(), asha)
		if err != nil || secret == "" {
			t.Fatalf("First = %q, %v", secret, err)
		}
		if k, err := s.Verify(t.Context(), secret); err != nil || k.Principal.Subject != "asha" {
			t.Errorf("Verify = %+v, %v", k, err)
		}
		if again, err := s.First(t.Context(), asha); again != "" || err != nil {
			t.Errorf("First again = %q, %v; want nothing", again, err)
		}
		list, err := s.List(t.Context())
		if err != nil || len(list) != 1 {
			t.Fatalf("List = %+v, %v; want one", list, err)
		}
		if err := s.Revoke(t.Context(), list[0].ID); err != nil {
			t.Fatal(err)
		}
		if again, err := s.First(t.Context(), asha); again != "" || err != nil {
			t.Errorf("First after it was revoked = %q, %v; want nothing", again, err)
		}
	})
}

func TestOwnersThatCouldBeTakenForOthersAreRefused(t *testing.T) {
	s := store(open(t, "sqlite:"+t.TempDir()+"/gateway.db"), clocktest.New(morning))
	for _, p := range []identity.Principal{
		{},
		{Organisation: "acme"},
		{Subject: "a/b", Organisation: "c"},
		{Subject: "b", Organisation: "c/a"},
		{Subject: "a b"},
		{Subject: "a\nb"},
		{Subject: strings.Repeat("a", 129)},
		{Subject: "a", Scopes: []string{"operator auditor"}},
		{Subject: "a", Scopes: []string{""}},
	} {
		if _, secret, err := s.Create(t.Context(), p); !errors.Is(err, callers.ErrOwner) || secret != "" {
			t.Errorf("Create(%+v) = %q, %v; want ErrOwner", p, secret, err)
		}
	}
}

func TestADatabaseThatCannotBeAskedIsNotAnUnknownKey(t *testing.T) {
	db := open(t, "sqlite:"+t.TempDir()+"/gateway.db")
	s := store(db, clocktest.New(morning))
	_, secret, err := s.Create(t.Context(), asha)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Verify(ctx, secret); err == nil || errors.Is(err, callers.ErrUnknown) {
		t.Errorf("Verify = %v, want an error that is not ErrUnknown", err)
	}
}

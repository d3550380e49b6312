package identity_test

import (
	"crypto/ed25519"
	"errors"
	"strings"
	"testing"
	"time"

	"sabha.dev/chassis/identity"
	"sabha.dev/testrig/clocktest"
)

var start = time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)

type ring struct {
	keys    identity.Keyring
	private map[string]ed25519.PrivateKey
	clock   *clocktest.Clock
}

func newRing(tb testing.TB, services ...string) *ring {
	tb.Helper()
	r := &ring{keys: identity.Keyring{}, private: map[string]ed25519.PrivateKey{}, clock: clocktest.New(start)}
	for _, s := range services {
		public, private, err := ed25519.GenerateKey(nil)
		if err != nil {
			tb.Fatal(err)
		}
		r.keys[s], r.private[s] = public, private
	}
	return r
}

func (r *ring) signer(tb testing.TB, service string) *identity.Signer {
	tb.Helper()
	s, err := identity.NewSigner(service, r.private[service], r.clock)
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

func (r *ring) verifier(service string) *identity.Verifier {
	return identity.NewVerifier(service, r.keys, r.clock)
}

var alice = identity.Principal{Subject: "alice", Organisation: "acme", Scopes: []string{"auditor"}}

func grant(tb testing.TB, s *identity.Signer) string {
	tb.Helper()
	g, err := s.Grant(alice)
	if err != nil {
		tb.Fatal(err)
	}
	return g
}

func token(tb testing.TB, s *identity.Signer, audience string, c identity.Call) string {
	tb.Helper()
	tok, err := s.Token(audience, c)
	if err != nil {
		tb.Fatal(err)
	}
	return tok
}

func TestATokenSaysWhoCallsForWhom(t *testing.T) {
	r := newRing(t, "gateway", "console", "planner", "research")
	g := grant(t, r.signer(t, "gateway"))
	call, err := r.verifier("research").Verify(token(t, r.signer(t, "planner"), "research", identity.Call{Grant: g, TaskID: "t1", RootTaskID: "t0"}))
	if err != nil {
		t.Fatal(err)
	}
	if call.Actor != "planner" || call.Principal.Key() != "acme/alice" || !call.Principal.Has("auditor") || call.TaskID != "t1" || call.RootTaskID != "t0" || call.Grant != g || call.Edge {
		t.Errorf("call %+v", call)
	}
	for _, edge := range []string{"gateway", "console"} {
		own := grant(t, r.signer(t, edge))
		if call, err = r.verifier("planner").Verify(token(t, r.signer(t, edge), "planner", identity.Call{Grant: own})); err != nil || !call.Edge || call.Principal.Key() != "acme/alice" {
			t.Errorf("a call of the %s: %+v, %v", edge, call, err)
		}
	}
	if call, err = r.verifier("planner").Verify(token(t, r.signer(t, "gateway"), "planner", identity.Call{})); err != nil || !call.Principal.Anonymous() {
		t.Errorf("without a grant: %+v, %v", call, err)
	}
}

func TestTokensThatDoNotVerify(t *testing.T) {
	r := newRing(t, "gateway", "console", "planner", "research")
	stranger := newRing(t, "planner", "gateway", "console")
	g := grant(t, r.signer(t, "gateway"))
	good := token(t, r.signer(t, "planner"), "research", identity.Call{Grant: g})
	parts := strings.Split(good, ".")
	for name, tok := range map[string]string{
		"for another service":             token(t, r.signer(t, "planner"), "memory", identity.Call{Grant: g}),
		"signed with another key":         token(t, stranger.signer(t, "planner"), "research", identity.Call{Grant: g}),
		"a grant of a service's own":      token(t, r.signer(t, "planner"), "research", identity.Call{Grant: grant(t, r.signer(t, "planner"))}),
		"a grant of another gateway":      token(t, r.signer(t, "planner"), "research", identity.Call{Grant: grant(t, stranger.signer(t, "gateway"))}),
		"a grant of another console":      token(t, r.signer(t, "planner"), "research", identity.Call{Grant: grant(t, stranger.signer(t, "console"))}),
		"a grant in the place of a token": g,
		"without its signature":           parts[0] + "." + parts[1] + ".",
		"with another's signature":        parts[0] + "." + parts[1] + "." + strings.Split(g, ".")[2],
		"unsigned by its own word":        "eyJhbGciOiJub25lIn0." + parts[1] + ".",
		"nothing":                         "",
		"nonsense":                        "a.b.c",
	} {
		if call, err := r.verifier("research").Verify(tok); !errors.Is(err, identity.ErrToken) {
			t.Errorf("a token %s gives %+v, %v", name, call, err)
		}
	}
}

func TestATokenEndsAlsoWhereItIsRemembered(t *testing.T) {
	r := newRing(t, "planner", "research")
	signer, v := r.signer(t, "planner"), r.verifier("research")
	tok := token(t, signer, "research", identity.Call{})
	for range 2 {
		if _, err := v.Verify(tok); err != nil {
			t.Fatal(err)
		}
	}
	if token(t, signer, "research", identity.Call{}) != tok {
		t.Error("a fresh token is not used again")
	}
	r.clock.Advance(4 * time.Minute)
	if token(t, signer, "research", identity.Call{}) == tok {
		t.Error("a token near its end is used again")
	}
	r.clock.Advance(time.Minute + 31*time.Second) // its lifetime and what clocks may differ
	if _, err := v.Verify(tok); !errors.Is(err, identity.ErrToken) {
		t.Errorf("after its end: %v", err)
	}
}

func TestKeysAreMadeOnceAndRead(t *testing.T) {
	dir := t.TempDir()
	if _, err := identity.LoadKeyring(dir); err == nil {
		t.Error("an empty folder is a keyring")
	}
	for range 2 { // the second changes nothing
		if err := identity.MakeKeys(dir, "gateway", "planner"); err != nil {
			t.Fatal(err)
		}
	}
	keys, err := identity.LoadKeyring(dir)
	if err != nil || len(keys) != 2 {
		t.Fatalf("keyring %v, %v", keys, err)
	}
	private, err := identity.LoadKey(dir + "/planner.key")
	if err != nil || !keys["planner"].Equal(private.Public()) {
		t.Errorf("the private key does not fit the public one: %v", err)
	}
}

// Whatever is sent as a token, it is refused unless this ring signed it.
func FuzzVerify(f *testing.F) {
	r := newRing(f, "gateway", "planner", "research")
	good := token(f, r.signer(f, "planner"), "research", identity.Call{Grant: grant(f, r.signer(f, "gateway"))})
	for _, seed := range []string{"", ".", "..", "a.b.c", "{}", "eyJhbGciOiJub25lIn0.e30.", good[:len(good)-1], good + "A", good} {
		f.Add(seed)
	}
	v := r.verifier("research")
	f.Fuzz(func(t *testing.T, tok string) {
		call, err := v.Verify(tok)
		switch {
		case err != nil && !errors.Is(err, identity.ErrToken):
			t.Fatalf("%q: %v", tok, err)
		case err == nil && call.Actor != "planner":
			t.Fatalf("%q verifies as %+v", tok, call)
		}
	})
}

func TestATokenIsGoodForTheTimeAtWhichItWasUsed(t *testing.T) {
	r := newRing(t, "planner", "research")
	tok := token(t, r.signer(t, "planner"), "research", identity.Call{TaskID: "t1"})
	r.clock.Advance(time.Hour)
	v := r.verifier("research")
	for _, c := range []struct {
		after time.Duration
		good  bool
	}{{-time.Hour, false}, {0, true}, {-time.Hour, false}, {5 * time.Minute, true}, {6 * time.Minute, false}, {0, true}} {
		after, good := c.after, c.good
		call, err := v.VerifyAt(tok, start.Add(after))
		if good != (err == nil) || good && call.TaskID != "t1" || !good && !errors.Is(err, identity.ErrToken) {
			t.Errorf("used %v after it was signed: %+v, %v", after, call, err)
		}
	}
	if _, err := v.Verify(tok); !errors.Is(err, identity.ErrToken) {
		t.Errorf("an hour later: %v", err)
	}
}

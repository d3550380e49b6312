package signin

import (
	"fmt"
	"testing"
	"time"

	"sabha.dev/testrig/clocktest"
)

func TestAnAddressMayGuessAtManyNamesForAWhile(t *testing.T) {
	c := clocktest.New(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))
	g := newGuesses(c)
	for n := range 50 {
		if wait := g.take("address", ofAddress); wait != 0 {
			t.Fatalf("guess %d has to wait %v", n+1, wait)
		}
	}
	for range 3 { // what is refused does not count
		if wait := g.take("address", ofAddress); wait != time.Second {
			t.Errorf("one too many has to wait %v", wait)
		}
	}
	if wait := g.take("another", ofAddress); wait != 0 {
		t.Errorf("another address has to wait %v", wait)
	}
	c.Advance(time.Second)
	if wait := g.take("address", ofAddress); wait != 0 {
		t.Errorf("after a second it has to wait %v", wait)
	}
	if wait := g.take("address", ofAddress); wait == 0 {
		t.Error("a second allows two")
	}
}

func TestARightGuessDoesNotCount(t *testing.T) {
	g := newGuesses(clocktest.New(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)))
	for range 100 {
		if wait := g.take("account", ofAccount); wait != 0 {
			t.Fatalf("it has to wait %v", wait)
		}
		g.back("account", ofAccount)
	}
}

func TestNamesInMemoryAreBounded(t *testing.T) {
	c := clocktest.New(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))
	g := newGuesses(c)
	for range ofAccount.burst {
		g.take("account alma", ofAccount)
	}
	for n := range maxNames + 100 {
		g.take(fmt.Sprint("account ", n), ofAccount)
	}
	if n := len(g.full); n > maxNames+1 {
		t.Errorf("%d names are held", n)
	}
	if g.take("account alma", ofAccount) == 0 {
		t.Error("the flood made it forget who is guessed at")
	}
	if g.take("account new", ofAccount) == 0 {
		t.Error("further names do not share one allowance")
	}
	c.Advance(time.Minute)
	if wait := g.take("account new", ofAccount); wait != 0 {
		t.Errorf("after a minute a new name has to wait %v", wait)
	}
}

func TestWhomARequestComesFrom(t *testing.T) {
	for remote, want := range map[string]string{
		"192.0.2.7:4711": "192.0.2.7", "[::ffff:192.0.2.7]:4711": "192.0.2.7", "[2001:db8:1:2:3:4:5:6]:80": "2001:db8:1:2::/64",
		"[fe80::1%eth0]:80": "fe80::/64", "": "", "pipe": "pipe",
	} {
		if got := addressOf(remote); got != want {
			t.Errorf("%q is %q, want %q", remote, got, want)
		}
	}
}

func FuzzReturningStaysHere(f *testing.F) {
	for _, seed := range []string{"/", "/tasks?a=b", "//evil", `/\evil`, "https://evil", "/\tx", "/sign-in", "/%2f/evil", "/a#b", "\x00"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, to string) {
		got := local(to)
		if got[0] != '/' || (len(got) > 1 && (got[1] == '/' || got[1] == '\\')) {
			t.Errorf("%q leads to %q", to, got)
		}
		if local(got) != got {
			t.Errorf("%q leads to %q, and that to %q", to, got, local(got))
		}
	})
}

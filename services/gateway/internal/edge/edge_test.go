package edge

import (
	"encoding/base64"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"sabha.dev/chassis/fault"
	"sabha.dev/testrig/clocktest"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func TestABucketRefillsAndSaysWhen(t *testing.T) {
	c := clocktest.New(noon)
	b := newBuckets(Limit{PerSecond: 2, Burst: 3}, c)
	for range 3 {
		if err := b.take("a"); err != nil {
			t.Fatalf("within the burst: %v", err)
		}
	}
	// Refused calls take nothing, so the wait does not grow.
	for range 5 {
		e := fault.As(b.take("a"))
		if e == nil || e.Reason != fault.RateLimited || e.RetryAfter != 500*time.Millisecond ||
			e.Message != "over the limit of 2 calls a second, 3 at once; try again in 500ms" {
			t.Fatalf("over the burst: %+v", e)
		}
	}
	if err := b.take("b"); err != nil {
		t.Errorf("another name: %v", err)
	}
	c.Advance(500 * time.Millisecond)
	if err := b.take("a"); err != nil {
		t.Errorf("after the wait: %v", err)
	}
	if err := b.take("a"); err == nil {
		t.Error("twice after one wait: allowed")
	}
}

func TestBucketsAreBounded(t *testing.T) {
	c := clocktest.New(noon)
	b := newBuckets(Limit{PerSecond: 1, Burst: 1}, c)
	for i := range maxBuckets - 1 {
		if err := b.take(fmt.Sprint(i)); err != nil {
			t.Fatal(err)
		}
	}
	c.Advance(time.Minute)
	if err := b.take("busy"); err != nil {
		t.Fatal(err)
	}
	if err := b.take("one more"); err != nil {
		t.Fatal(err)
	}
	if n := len(b.byName); n != 2 {
		t.Errorf("%d buckets after those that were full again went, want 2", n)
	}
	if err := b.take("busy"); err == nil {
		t.Error("a bucket in use was forgotten")
	}
}

func TestClientNames(t *testing.T) {
	for address, want := range map[string]string{
		"192.0.2.7:4711":             "192.0.2.7",
		"[::ffff:192.0.2.7]:4711":    "192.0.2.7",
		"[2001:db8:1:2:3:4:5:6]:80":  "2001:db8:1:2::/64",
		"[2001:db8:1:2:9::1]:81":     "2001:db8:1:2::/64",
		"[fe80::1%eth0]:80":          "fe80::/64",
		"bufconn":                    "bufconn",
		"":                           "",
		"somewhere.example.com:1234": "somewhere.example.com:1234",
	} {
		if got := ClientName(address); got != want {
			t.Errorf("ClientName(%q) = %q, want %q", address, got, want)
		}
	}
}

func FuzzCredential(f *testing.F) {
	f.Add("", "", false, false)
	f.Add("sk-1", "", true, false)
	f.Add("sk-1", "Bearer sk-1", true, true)
	f.Add("", "bearer  sk-1 ", false, true)
	f.Add("sk-1", "Basic Og==", true, true)
	f.Add("", "Basic a2V5LTE6c2stMQ==", false, true)
	f.Add("sk-1", "basic a2V5LTE6c2stMQ==", true, true)
	f.Add(" ", "Bearer", true, true)
	f.Fuzz(func(t *testing.T, apiKey, authorization string, hasKey, hasAuthorization bool) {
		var keys, authorizations []string
		if hasKey {
			keys = []string{apiKey}
		}
		if hasAuthorization {
			authorizations = []string{authorization}
		}
		c, err := given{apiKeys: keys, authorizations: authorizations}.credential()
		got := c.secret
		switch {
		case err != nil && !fault.Is(err, fault.Unauthenticated):
			t.Errorf("error %v, want UNAUTHENTICATED", err)
		case err != nil && got != "":
			t.Errorf("both %q and %v", got, err)
		case err == nil && got == "" && (hasKey || hasAuthorization):
			t.Error("credentials were given and the caller is taken for anonymous")
		case got != "" && hasKey && got != strings.TrimSpace(apiKey):
			t.Errorf("%q, want the key %q", got, apiKey)
		case got != "" && hasAuthorization && c.id == "" && !strings.HasSuffix(strings.TrimSpace(authorization), got):
			t.Errorf("%q is not of %q", got, authorization)
		case c.id != "" && !strings.HasSuffix(strings.TrimSpace(authorization), base64.StdEncoding.EncodeToString([]byte(c.id+":"+got))):
			t.Errorf("%q and %q are not of %q", c.id, got, authorization)
		}
	})
}

func TestCredentialsGivenTwiceAreRefused(t *testing.T) {
	for _, c := range [][2][]string{{{"sk-1", "sk-1"}, nil}, {nil, {"Bearer sk-1", "Bearer sk-1"}}} {
		if _, err := (given{apiKeys: c[0], authorizations: c[1]}).credential(); !fault.Is(err, fault.Unauthenticated) {
			t.Errorf("credential(%q) = %v, want UNAUTHENTICATED", c, err)
		}
	}
}

func TestALimitMayBeVeryLarge(t *testing.T) {
	b := newBuckets(Limit{PerSecond: math.MaxFloat64, Burst: math.MaxInt32}, clocktest.New(noon))
	for range 1000 {
		if err := b.take("a"); err != nil {
			t.Fatal(err)
		}
	}
}

package certs_test

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"sabha.dev/chassis/certs"
)

var start = time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)

const year = 365 * 24 * time.Hour

// issue brings a folder up to date and tells what was made.
func issue(tb testing.TB, dir string, o certs.Order, now time.Time) string {
	tb.Helper()
	issued, err := certs.Issue(dir, o, now)
	if err != nil {
		tb.Fatal(err)
	}
	var made []string
	for _, i := range issued {
		if i.New {
			made = append(made, fmt.Sprintf("%s until %s", i.Name, i.Until.Format(time.DateOnly)))
		}
	}
	return strings.Join(made, ", ")
}

func leaf(tb testing.TB, dir string) *x509.Certificate {
	tb.Helper()
	pair, err := tls.LoadX509KeyPair(filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key"))
	if err != nil {
		tb.Fatal(err)
	}
	return pair.Leaf
}

func TestWhatIsValidIsKeptAndTheRestRenewed(t *testing.T) {
	dir := t.TempDir()
	order := certs.Order{Services: []string{"planner", "research"}, Lifetime: year}
	if got, want := issue(t, dir, order, start), " until 2036-02-27, planner until 2027-03-01, research until 2027-03-01"; got != want {
		t.Errorf("the first run made %q, want %q", got, want)
	}
	if got := issue(t, dir, order, start.Add(year-31*24*time.Hour)); got != "" {
		t.Errorf("with 31 days left, %q was made", got)
	}
	order.Hosts = map[string][]string{"planner": {"10.1.2.3", "plans.example.com"}}
	order.Services = append(order.Services, "memory")
	if got, want := issue(t, dir, order, start.Add(24*time.Hour)), "planner until 2027-03-02, memory until 2027-03-02"; got != want {
		t.Errorf("with a new host and a new service, %q was made, want %q", got, want)
	}
	if err := os.WriteFile(filepath.Join(dir, "memory", "tls.key"), []byte("spoilt"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, want := issue(t, dir, order, start.Add(year-30*24*time.Hour)), "research until 2028-01-30, memory until 2028-01-30"; got != want {
		t.Errorf("with 30 days left and a key that is gone, %q was made, want %q", got, want)
	}
	order.Hosts = nil
	if got, want := issue(t, dir, order, start.Add(year)), "planner until 2028-02-29"; got != want {
		t.Errorf("%q was made, want %q", got, want)
	}
	c := leaf(t, filepath.Join(dir, "planner"))
	if got := fmt.Sprint(c.Subject.CommonName, c.DNSNames, c.IPAddresses); got != "planner[planner localhost plans.example.com] [127.0.0.1 ::1 10.1.2.3]" {
		t.Errorf("planner's certificate names %s", got)
	}
}

func TestPrivateKeysAreForTheirOwnerOnly(t *testing.T) {
	dir := t.TempDir()
	issue(t, dir, certs.Order{Services: []string{"planner"}, Lifetime: year}, start)
	for _, file := range []string{"ca.key", "planner/tls.key"} {
		info, err := os.Stat(filepath.Join(dir, file))
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %v", file, info.Mode())
		}
	}
}

func TestAnAuthorityIsReplacedWithoutABreak(t *testing.T) {
	old, next := t.TempDir(), t.TempDir()
	order := certs.Order{Services: []string{"planner"}, Lifetime: year}
	issue(t, old, order, start)
	issue(t, next, certs.Order{}, start)
	// First everybody trusts both…
	both := slices.Concat(read(t, old, "ca.crt"), read(t, next, "ca.crt"))
	write(t, old, "ca.crt", both)
	if got := issue(t, old, order, start); got != "" {
		t.Errorf("trusting a second authority made %q", got)
	}
	if string(read(t, old, "planner/ca.crt")) != string(both) {
		t.Error("planner is not told of the second authority")
	}
	// …then the second one signs.
	write(t, old, "ca.key", read(t, next, "ca.key"))
	if got, want := issue(t, old, order, start), "planner until 2027-03-01"; got != want {
		t.Errorf("the second authority made %q, want %q", got, want)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(read(t, next, "ca.crt"))
	if _, err := leaf(t, filepath.Join(old, "planner")).Verify(x509.VerifyOptions{Roots: pool, CurrentTime: start}); err != nil {
		t.Error(err)
	}
}

func TestOrdersThatAreRefused(t *testing.T) {
	ordered := func(o certs.Order) func(string) certs.Order { return func(string) certs.Order { return o } }
	for want, order := range map[string]func(dir string) certs.Order{
		`"../x" is no name of a service`:                           ordered(certs.Order{Services: []string{"../x"}}),
		`host "planner" is the name of another service`:            ordered(certs.Order{Services: []string{"planner", "research"}, Hosts: map[string][]string{"research": {"planner"}}}),
		`host "research" is the name of another service`:           ordered(certs.Order{Services: []string{"planner", "research"}, Hosts: map[string][]string{"": {"research"}}}),
		"it would outlive the authority, which ends on 2036-02-27": ordered(certs.Order{Services: []string{"planner"}, Lifetime: 11 * year}),
		"certificates are renewed where its key is":                func(dir string) certs.Order { remove(t, dir, "ca.key"); return certs.Order{} },
		"ca.key without its certificate":                           func(dir string) certs.Order { remove(t, dir, "ca.crt"); return certs.Order{} },
		"ca.key does not belong to any certificate in":             func(dir string) certs.Order { otherKey(t, dir); return certs.Order{} },
		"ca.crt: it holds no certificate (PEM)":                    func(dir string) certs.Order { write(t, dir, "ca.crt", []byte("x")); return certs.Order{} },
		"ca.key: not a PEM file":                                   func(dir string) certs.Order { write(t, dir, "ca.key", []byte("x")); return certs.Order{} },
	} {
		dir := t.TempDir()
		issue(t, dir, certs.Order{}, start)
		if _, err := certs.Issue(dir, order(dir), start); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

func TestOpenSSLAgrees(t *testing.T) {
	openssl, err := exec.LookPath("openssl")
	if err != nil {
		t.Log("openssl is not installed: crypto/x509 alone has judged")
		return
	}
	dir := t.TempDir()
	issue(t, dir, certs.Order{Services: []string{"planner"}, Lifetime: year}, time.Now())
	for _, purpose := range []string{"sslserver", "sslclient"} {
		out, err := exec.CommandContext(t.Context(), openssl, "verify", "-x509_strict", "-purpose", purpose, "-verify_hostname", "planner",
			"-CAfile", filepath.Join(dir, "ca.crt"), filepath.Join(dir, "planner", "tls.crt")).CombinedOutput()
		if err != nil || !strings.HasSuffix(string(out), "OK\n") {
			t.Errorf("%s: %v: %s", purpose, err, out)
		}
	}
}

func read(tb testing.TB, dir, file string) []byte {
	tb.Helper()
	raw, err := os.ReadFile(filepath.Join(dir, file))
	if err != nil {
		tb.Fatal(err)
	}
	return raw
}

func write(tb testing.TB, dir, file string, raw []byte) {
	tb.Helper()
	if err := os.WriteFile(filepath.Join(dir, file), raw, 0o600); err != nil {
		tb.Fatal(err)
	}
}

func remove(tb testing.TB, dir, file string) {
	tb.Helper()
	if err := os.Remove(filepath.Join(dir, file)); err != nil {
		tb.Fatal(err)
	}
}

func otherKey(tb testing.TB, dir string) {
	tb.Helper()
	other := tb.TempDir()
	issue(tb, other, certs.Order{}, start)
	write(tb, dir, "ca.key", read(tb, other, "ca.key"))
}

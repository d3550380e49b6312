package command_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"sabha.dev/chassis/certs"
	"sabha.dev/cmd/sabha/internal/command"
)

var (
	httpLine    = regexp.MustCompile(`(?m)^  HTTP      (\S+)`)
	consoleLine = regexp.MustCompile(`(?m)^  Console   https://`)
)

func TestAPlatformIsCalledOverTLS(t *testing.T) {
	dir := t.TempDir()
	// By the clock of the machine, on which the platform runs.
	if _, err := certs.Issue(dir, certs.Order{Services: []string{"gateway"}, Lifetime: time.Hour}, time.Now()); err != nil {
		t.Fatal(err)
	}
	ca := filepath.Join(dir, "ca.crt")
	up(t, filepath.Join(t.TempDir(), "data"), func(out string) {
		server, key := httpLine.FindStringSubmatch(out)[1], keyForm.FindString(out)
		if !strings.HasPrefix(server, "https://") || !consoleLine.MatchString(out) || !strings.Contains(out, "sabha ask --server "+server) {
			t.Errorf("up says\n%s", out)
		}
		u := newUser(server)
		u.env["SABHA_KEY"] = key
		if code := u.run(t.Context(), "ask", "--ca", ca, "How long does a lease last?"); code != 0 || !strings.Contains(u.out.String(), "30 seconds") {
			t.Errorf("ask: exit code %d: %s%s", code, u.out.String(), u.err.String())
		}
		u = newUser("")
		u.env["SABHA_CA"] = ca
		if code := u.run(t.Context(), "card", server); code != 0 || !strings.Contains(u.out.String(), "https://localhost:") {
			t.Errorf("card: exit code %d: %s%s", code, u.out.String(), u.err.String())
		}
		u = newUser(server)
		if code := u.run(t.Context(), "task", "list"); code != command.ExitUnavailable || !strings.Contains(u.err.String(), "is of an authority that is not trusted; name the authority with --ca or SABHA_CA") {
			t.Errorf("without the authority: exit code %d: %s", code, u.err.String())
		}
		u = newUser(strings.Replace(server, "https", "http", 1))
		if code := u.run(t.Context(), "task", "list"); code == 0 {
			t.Error("the port serves plain text")
		}
	}, "--public-tls", filepath.Join(dir, "gateway"), "--docs", documents(t))
}

func TestAuthoritiesThatCannotBeRead(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "empty.crt")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]string{empty: "empty.crt holds no certificate (PEM); name the ca.crt that sabha certs made", "nowhere.crt": "the authorities cannot be read: open nowhere.crt"} {
		u := newUser("https://127.0.0.1:1")
		if code := u.run(t.Context(), "task", "list", "--ca", file); code != command.ExitUsage || !strings.Contains(u.err.String(), want) {
			t.Errorf("%s: exit code %d: %s", file, code, u.err.String())
		}
	}
}

package command_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sabha.dev/cmd/sabha/internal/command"
)

func TestKeysMakesAPairForEveryService(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "keys")
	u := newUser("")
	if code := u.run(t.Context(), "keys", dir, "weather", "planner"); code != 0 || !strings.HasPrefix(u.out.String(), dir+" holds the keys of 11 services.") {
		t.Fatalf("exit code %d: %q", code, u.out.String())
	}
	for _, name := range []string{"planner.key", "planner.pub", "gateway.key", "gateway.pub", "weather.key", "weather.pub"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Error(err)
		}
	}
}

func TestCertsTellsWhatThereIsAndUntilWhen(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "certs")
	u := newUser("")
	if code := u.run(t.Context(), "certs", dir, "weather", "--hosts", "gateway=agents.example.com,192.0.2.7"); code != 0 {
		t.Fatalf("exit code %d: %s", code, u.err.String())
	}
	told := func(file, until, note string) bool {
		for line := range strings.Lines(u.out.String()) {
			if f := strings.Fields(line); len(f) == 3 && f[0] == filepath.Join(dir, file) && f[1] == until && f[2] == note {
				return true
			}
		}
		return false
	}
	for file, until := range map[string]string{
		"ca.crt": "2035-12-31", "planner/tls.crt": "2027-01-02", "nats/tls.crt": "2027-01-02", "postgres/tls.crt": "2027-01-02",
		"operator/tls.crt": "2027-01-02", "weather/tls.crt": "2027-01-02",
	} {
		if !told(file, until, "new") {
			t.Errorf("nothing new of %s until %s in\n%s", file, until, u.out.String())
		}
	}
	u = newUser("")
	if code := u.run(t.Context(), "certs", dir, "--hosts", "planner=plans.example.com", "--days", "90"); code != 0 {
		t.Fatalf("exit code %d: %s", code, u.err.String())
	}
	if !told("ca.crt", "2035-12-31", "kept") || !told("gateway/tls.crt", "2027-01-02", "kept") || !told("planner/tls.crt", "2026-04-02", "new") {
		t.Errorf("the second run says\n%s", u.out.String())
	}
}

func TestCertsRefusesWhatCannotBeMeant(t *testing.T) {
	for want, args := range map[string][]string{
		`takes a folder`:                       {"certs"},
		`--days is 0; it must be at least 1`:   {"certs", "x", "--days", "0"},
		`"A b" is no name of a service`:        {"certs", "x", "A b"},
		`--hosts "moon=a" is neither HOST`:     {"certs", "x", "--hosts", "moon=a"},
		`--hosts "planner=" is neither HOST`:   {"certs", "x", "--hosts", "planner="},
		`"../a" is no name of a service; use `: {"keys", "x", "../a"},
	} {
		u := newUser("")
		if code := u.run(t.Context(), args...); code != command.ExitUsage || !strings.Contains(u.err.String(), want) {
			t.Errorf("%v: exit code %d: %s", args, code, u.err.String())
		}
	}
}

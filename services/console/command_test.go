package console

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sabha.dev/chassis/clock"
	"sabha.dev/chassis/service"
)

func TestTheCommandSaysWhatIsWrong(t *testing.T) {
	const good = "address: :8081\nkeys: /keys\npeers: {planner: planner:9100}\ndatabase: sqlite:x\n"
	for name, c := range map[string]struct {
		verb, config string
		code         int
		says         string
	}{
		"good":         {"check-config", good + "hosts: [console.internal]\n", 0, "configuration is good"},
		"no database":  {"check-config", "address: :8081\nkeys: /keys\npeers: {planner: p:1}\n", 2, "database is missing: sqlite:PATH"},
		"no origin":    {"check-config", good + "public_url: console.example.com\n", 2, "must be http:// or https:// with a host"},
		"a path":       {"check-config", good + "public_url: https://example.com/console\n", 2, "and no path"},
		"short":        {"check-config", good + "session_idle: 10s\n", 2, "session_idle must be a minute"},
		"no lifetime":  {"check-config", good + "session_idle: 2h\nsession_lifetime: 1h\n", 2, "session_lifetime not shorter"},
		"no way back":  {"check-config", good + "oidc: {issuer: 'https://idp', client_id: c, client_secret_file: /s, organisations: [acme]}\n", 2, "public_url is missing"},
		"half of OIDC": {"check-config", good + "public_url: https://c\noidc: {issuer: 'https://idp'}\n", 2, "oidc.client_id is missing"},
		"nothing":      {"check-config", "{}", 2, "keys is missing"},
		"no planner":   {"check-config", "address: :8081\nkeys: /keys\npeers: {memory: memory:9100}\n", 2, "peers.planner is missing"},
		"no address":   {"check-config", "keys: /keys\npeers: {planner: p:1}\n", 2, "for example :8081"},
		"a port":       {"check-config", "address: :8081\nkeys: /keys\npeers: {planner: p:1}\nhosts: ['console.internal:8081']\n", 2, "without scheme and port"},
		"typo":         {"check-config", "adress: :8081\n", 2, "line 1: field adress not found"},
		"unknown verb": {"users", "{}", 2, "console user add NAME -config FILE"},
		"not serving":  {"health", good, 1, "http is missing in the configuration"},
		"no keys":      {"serve", "address: 127.0.0.1:0\nkeys: /nowhere\ndatabase: sqlite:DIR/console.db\npeers: {planner: p:1}\n", 1, "no *.pub keys in /nowhere"},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "console.yaml")
			if err := os.WriteFile(file, []byte(strings.ReplaceAll(c.config, "DIR", filepath.Dir(file))), 0o600); err != nil {
				t.Fatal(err)
			}
			var out bytes.Buffer
			env := service.Process
			if c.verb == "serve" {
				env = func() service.Env { e := service.Process(); e.CheckSchema = false; return e }
			}
			code := command{clock: clock.System{}, env: env, out: &out, err: &out}.run(t.Context(), []string{"console", c.verb, "-config", file})
			if code != c.code || !strings.Contains(out.String(), c.says) {
				t.Errorf("exit code %d, want %d with %q: %s", code, c.code, c.says, out.String())
			}
		})
	}
}

func TestWithoutAHostTheAddressIsLoopback(t *testing.T) {
	for address, want := range map[string]string{":8081": "127.0.0.1:8081", "0.0.0.0:8081": "0.0.0.0:8081", "[::1]:8081": "[::1]:8081"} {
		if got := (Config{Address: address}).listen(); got != want {
			t.Errorf("%q listens on %q, want %q", address, got, want)
		}
	}
}

// user runs a command about accounts on a database and gives what it wrote.
func user(t *testing.T, file, stdin string, args ...string) (code int, out, errs string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	c := command{clock: clock.System{}, env: service.Process, in: strings.NewReader(stdin), out: &stdout, err: &stderr}
	code = c.run(t.Context(), append(append([]string{"console"}, args...), "-config", file))
	return code, stdout.String(), stderr.String()
}

func TestAccountsAreKeptFromTheCommandLine(t *testing.T) {
	file := filepath.Join(t.TempDir(), "console.yaml")
	config := "address: :8081\nkeys: /keys\npeers: {planner: p:1}\ndatabase: sqlite:" + filepath.Join(t.TempDir(), "console.db") + "\n"
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, _, errs := user(t, file, "", "user", "list"); code != exitFailed || !strings.Contains(errs, "run console migrate") {
		t.Errorf("before the migration: %d %s", code, errs)
	}
	if code, _, errs := user(t, file, "", "migrate"); code != exitOK {
		t.Fatalf("migrate: %d %s", code, errs)
	}
	for _, c := range []struct {
		stdin string
		args  string
		code  int
		says  string
	}{
		{"", "user add alma -role reviewer -role viewer,operator -group claims -organisation acme", exitOK, "acme/alma signs in with this password, which is shown only now"},
		{"correct horse battery\n", "user add bo -stdin", exitOK, "is the one that was read"},
		{"", "user add bo -stdin", exitFailed, "standard input holds no password"},
		{"short\n", "user add cy -stdin", exitFailed, "at least 12 characters"},
		{"", "user add alma -organisation acme", exitFailed, "there is such an account already"},
		{"", "user add alma -role boss", exitFailed, `"boss" is no role; choose of viewer`},
		{"", "user add", exitUsage, "the name is missing"},
		{"", "user add -role viewer", exitUsage, "the name is missing"},
		{"", "user add a b", exitUsage, `"b" is not understood`},
		{"", "user remove a", exitUsage, "usage:"},
		{"", "user disable alma", exitFailed, "there is no such account"},
		{"", "user disable alma -organisation acme", exitOK, "acme/alma no longer signs in"},
		{"", "user enable alma -organisation acme", exitOK, "may sign in again"},
		{"", "user disable alma -organisation acme", exitOK, "API keys are revoked apart"},
		{"", "user password bo", exitOK, "bo signs in with this password"},
	} {
		code, out, errs := user(t, file, c.stdin, strings.Fields(c.args)...)
		if code != c.code || !strings.Contains(errs, c.says) {
			t.Errorf("%s: exit code %d, want %d with %q: %s", c.args, code, c.code, c.says, errs)
		}
		if made := strings.Contains(errs, "shown only now"); made != (len(out) == 24) {
			t.Errorf("%s: printed %q", c.args, out)
		}
	}
	_, out, _ := user(t, file, "", "user", "list")
	lines := strings.Split(strings.TrimSpace(out), "\n")
	for i, want := range []string{"SIGNS IN AS", "bo bo local", "acme/alma alma operator,reviewer,viewer claims local yes"} {
		if got := strings.Join(strings.Fields(lines[min(i, len(lines)-1)]), " "); !strings.HasPrefix(got, want) || len(lines) != 3 {
			t.Errorf("line %d of %d: %s, want %s", i, len(lines), got, want)
		}
	}
}

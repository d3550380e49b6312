package console

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sabha.dev/chassis/service"
)

func TestTheCommandSaysWhatIsWrong(t *testing.T) {
	for name, c := range map[string]struct {
		verb, config string
		code         int
		says         string
	}{
		"good":         {"check-config", "address: :8081\nkeys: /keys\npeers: {planner: planner:9100}\nhosts: [console.internal]\n", 0, "configuration is good"},
		"nothing":      {"check-config", "{}", 2, "keys is missing"},
		"no planner":   {"check-config", "address: :8081\nkeys: /keys\npeers: {memory: memory:9100}\n", 2, "peers.planner is missing"},
		"no address":   {"check-config", "keys: /keys\npeers: {planner: p:1}\n", 2, "for example :8081"},
		"a port":       {"check-config", "address: :8081\nkeys: /keys\npeers: {planner: p:1}\nhosts: ['console.internal:8081']\n", 2, "without scheme and port"},
		"typo":         {"check-config", "adress: :8081\n", 2, "line 1: field adress not found"},
		"unknown verb": {"migrate", "{}", 2, "usage: console serve|check-config"},
		"not serving":  {"health", "address: :8081\nkeys: /keys\npeers: {planner: p:1}\n", 1, "http is missing in the configuration"},
		"no keys":      {"serve", "address: 127.0.0.1:0\nkeys: /nowhere\npeers: {planner: p:1}\n", 1, "no *.pub keys in /nowhere"},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "console.yaml")
			if err := os.WriteFile(file, []byte(c.config), 0o600); err != nil {
				t.Fatal(err)
			}
			var out bytes.Buffer
			code := run(t.Context(), []string{"console", c.verb, "-config", file}, &out, service.Process)
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

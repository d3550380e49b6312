package gateway_test

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sabha.dev/services/gateway"
	"sabha.dev/testrig/clocktest"
)

const good = `public_grpc: ":9090"
public_http: ":8080"
public_url: https://agents.example.com
database: sqlite:gateway.db
keys: keys
tenants: [research]
peers: {planner: "planner:9100", research: "research:9100", security: "security:9100"}
rate_limit: {caller: {per_second: 50, burst: 100}}
`

func TestCheckConfigSaysWhatIsWrong(t *testing.T) {
	for _, c := range []struct {
		name, change, with string
		code               int
		says               string
	}{
		{"good", "", "", 0, "configuration is good"},
		{"a typo", "public_url", "public_ulr", 2, "line 3: field public_ulr not found"},
		{"no port", `public_grpc: ":9090"` + "\n", "", 2, "public_grpc is missing: the address to serve gRPC"},
		{"no database", "database: sqlite:gateway.db\n", "", 2, "database is missing"},
		{"a tenant without an address", "[research]", "[research, memory]", 2, "peers.memory is missing: the gRPC address of memory"},
		{"a reserved tenant", "[research]", "[tasks]", 2, `tenants: "tasks" is reserved or no name of a service`},
		{"the planner as a tenant", "[research]", "[planner]", 2, `tenants: "planner" is reserved`},
		{"a tenant that is no name", "[research]", `["message:send"]`, 2, `tenants: "message:send" is reserved or no name`},
		{"an address that is no URL", "https://agents.example.com", "agents.example.com", 2, "public_url: \"agents.example.com\" must be http:// or https:// with a host"},
		{"no limit", "per_second: 50", "per_second: 0", 2, "rate_limit.caller: per_second must be above 0 and burst at least 1"},
		{"a limit that is no number", "per_second: 50", "per_second: .nan", 2, "rate_limit.caller: per_second must be above 0"},
		{"half a limit", ", burst: 100", "", 2, "rate_limit.caller"},
	} {
		file := filepath.Join(t.TempDir(), "gateway.yaml")
		if err := os.WriteFile(file, []byte(strings.Replace(good, c.change, c.with, 1)), 0o600); err != nil {
			t.Fatal(err)
		}
		code, out, errs := gateway.RunForTest(t.Context(), []string{"gateway", "check-config", "-config", file})
		if code != c.code || !strings.Contains(errs, c.says) || out != "" {
			t.Errorf("%s: exit %d, %q, %q; want %d and %q", c.name, code, errs, out, c.code, c.says)
		}
	}
}

func TestKeysAreManagedFromTheCommandLine(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "gateway.yaml")
	if err := os.WriteFile(file, []byte(strings.Replace(good, "sqlite:gateway.db", "sqlite:"+dir+"/gateway.db", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	keys := func(want int, args ...string) (string, string) {
		t.Helper()
		code, out, errs := gateway.RunForTest(t.Context(), append([]string{"gateway", "keys"}, args...))
		if code != want {
			t.Fatalf("keys %v: exit %d, want %d: %s", args, code, want, errs)
		}
		return out, errs
	}
	if _, errs := keys(1, "list", "-config", file); !strings.HasSuffix(errs, "run gateway migrate -config FILE first\n") {
		t.Errorf("before its database is there, list says %q", errs)
	}
	if code, _, errs := gateway.RunForTest(t.Context(), []string{"gateway", "migrate", "-config", file}); code != 0 {
		t.Fatalf("migrate: exit %d: %s", code, errs)
	}
	secret, said := keys(0, "create", "-config", file, "-subject", "asha", "-organisation", "acme", "-scopes", "operator, auditor")
	if !strings.HasPrefix(secret, "sk-") || strings.Count(secret, "\n") != 1 || !strings.Contains(said, "acme/asha; it is shown only now") {
		t.Errorf("create prints %q and %q", secret, said)
	}
	list, _ := keys(0, "list", "-config", file)
	lines := strings.Split(strings.TrimSpace(list), "\n")
	if len(lines) != 2 || strings.Join(strings.Fields(lines[1])[1:], " ") != "acme/asha operator,auditor 2026-03-01T08:00:00Z" || strings.Contains(list, strings.TrimSpace(secret)) {
		t.Fatalf("list prints %q", list)
	}
	id := strings.Fields(lines[1])[0]
	if _, said := keys(0, "revoke", "-config", file, "-id", id); !strings.Contains(said, "key "+id+" no longer works") {
		t.Errorf("revoke says %q", said)
	}
	if list, _ := keys(0, "list", "-config", file); strings.Count(list, "2026-03-01T08:00:00Z") != 2 {
		t.Errorf("list afterwards prints %q, want the key revoked", list)
	}
	if _, said := keys(1, "revoke", "-config", file, "-id", "key-none"); !strings.Contains(said, `there is no API key of this id: "key-none"`) {
		t.Errorf("revoking nothing says %q", said)
	}
	if _, said := keys(1, "create", "-config", file, "-subject", "a/b"); !strings.Contains(said, `subject "a/b" must have`) {
		t.Errorf("a bad subject: %q", said)
	}
	for _, wrong := range [][]string{{"create", "-config", file}, {"revoke", "-config", file}, {"create", "-subject", "a"}, {"mend"}, {"list", "-config", file, "more"}, nil} {
		if _, said := keys(2, wrong...); said == "" {
			t.Errorf("keys %v says nothing", wrong)
		}
	}
}

func TestATakenPortIsNamed(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = taken.Close() }()
	r := start(t)
	c := r.config
	c.Database = "sqlite:" + filepath.Join(t.TempDir(), "other.db")
	c.PublicHTTP = taken.Addr().String()
	env := r.env
	env.Key = r.keys["gateway"]
	_, err = gateway.Start(t.Context(), c, env)
	if err == nil || !strings.Contains(err.Error(), `gateway: cannot listen on public_http "`+c.PublicHTTP) || !strings.Contains(err.Error(), "choose another address") {
		t.Errorf("Start = %v", err)
	}
	c.PublicHTTP, c.Tenants = "127.0.0.1:0", []string{"rpc"}
	if _, err = gateway.Start(t.Context(), c, env); err == nil || !strings.Contains(err.Error(), `tenants: "rpc" is reserved`) {
		t.Errorf("Start with a reserved tenant = %v", err)
	}
}

// Two gateways over one database: both know the keys, and there is one first key.
func TestTwoGatewaysInOneProcess(t *testing.T) {
	r := start(t)
	env := r.env
	env.Key, env.Clock = r.keys["gateway"], clocktest.New(r.clock.Now())
	second, err := gateway.Start(t.Context(), r.config, env)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = second.Stop(t.Context()) }()
	if key, err := second.FirstKey(t.Context()); key != "" || err != nil {
		t.Errorf("FirstKey of the second = %q, %v; want none", key, err)
	}
	two := *r
	two.Running, two.conn = second, dial(t, second.GRPCAddr())
	made := r.send(t, "rest", request{skill: "work", id: "same", headers: []string{"X-API-Key: " + r.operator}})
	again := two.send(t, "grpc", request{skill: "work", id: "same", headers: []string{"Authorization: Bearer " + r.operator}})
	if made.task == "" || made.task != again.task {
		t.Errorf("the same message through both: %+v and %+v, want one task", made, again)
	}
}

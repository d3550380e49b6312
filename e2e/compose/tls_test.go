//go:build compose

package compose

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

// withNATS are the services that have a connection to NATS, and with it a name there.
var withNATS = []string{"executor", "memory", "partners", "planner", "research", "review", "security", "validator"}

func TestServicesConnectWithTheirCertificates(t *testing.T) {
	roles := do(t, "compose", "exec", "--no-TTY", "postgres", "psql", "--username", "postgres", "--dbname", "sabha", "--no-align", "--tuples-only", "--command",
		`SELECT DISTINCT a.usename || ' ' || s.client_dn || ' ' || s.version FROM pg_stat_activity a JOIN pg_stat_ssl s USING (pid) WHERE a.client_addr IS NOT NULL ORDER BY 1`)
	var want []string
	for _, s := range append([]string{"console", "gateway"}, withNATS...) { // all that have a database
		want = append(want, s+" /CN="+s+" TLSv1.3")
	}
	slices.Sort(want)
	if got := strings.Split(roles, "\n"); !slices.Equal(got, want) {
		t.Errorf("PostgreSQL has connections %q, want %q", got, want)
	}

	var named []string
	for _, server := range []string{"nats-1", "nats-2", "nats-3"} {
		var list struct {
			Connections []struct {
				Name           string
				AuthorizedUser string `json:"authorized_user"`
				TLSVersion     string `json:"tls_version"`
			}
		}
		raw := do(t, "compose", "exec", "--no-TTY", server, "wget", "-q", "-O", "-", "http://127.0.0.1:8222/connz?auth=true")
		if err := json.Unmarshal([]byte(raw), &list); err != nil {
			t.Fatal(err)
		}
		for _, c := range list.Connections {
			if c.AuthorizedUser != "CN="+c.Name || c.TLSVersion != "1.3" {
				t.Errorf("%s is connected to %s as %q over TLS %q", c.Name, server, c.AuthorizedUser, c.TLSVersion)
			}
			named = append(named, c.Name)
		}
	}
	slices.Sort(named)
	if named = slices.Compact(named); !slices.Equal(named, withNATS) {
		t.Errorf("NATS has connections of %v, want %v", named, withNATS)
	}
}

// Whoever is in the network, but has no certificate, is told nothing.
func TestPlainTextIsRefusedInside(t *testing.T) {
	for _, at := range []string{"planner:9102", "security:9101", "research:9105"} {
		host, port, _ := strings.Cut(at, ":")
		out, err := docker("compose", "exec", "--no-TTY", "nats-1", "sh", "-c", "printf 'PRI * HTTP/2.0\\r\\n\\r\\nSM\\r\\n\\r\\n' | nc -w 5 "+host+" "+port+" | wc -c")
		if err != nil || strings.TrimSpace(out) == "" {
			t.Fatal(out, err)
		}
		// A gRPC port in plain text answers the preface with its settings, 9 bytes or more;
		// one with TLS with an alert, 7 bytes.
		if got := strings.TrimSpace(out); got != "0" && got != "7" {
			t.Errorf("%s answers plain text with %s bytes", at, got)
		}
	}
}

package client

import "testing"

func TestTargetOfACard(t *testing.T) {
	for _, c := range []struct {
		card, server, address string
		tls                   bool
	}{
		{"localhost:9090", "http://localhost:8080", "localhost:9090", false},
		{"agents.example:9090", "https://agents.example", "agents.example:9090", true},
		{"https://agents.example", "http://x", "agents.example:443", true},
		{"grpcs://agents.example:7/", "http://x", "agents.example:7", true},
		{"http://agents.example", "https://x", "agents.example:80", false},
		{"[::1]:9090", "http://x", "[::1]:9090", false},
		{"ftp://x:1", "http://x", "", false},
		{"http://x:1/path", "http://x", "", false},
		{"", "http://x", "", false},
	} {
		server, err := ParseServer(c.server)
		if err != nil {
			t.Fatal(err)
		}
		got, err := parseTarget(c.card, server)
		if c.address == "" {
			if err == nil {
				t.Errorf("%q was taken as %v", c.card, got)
			}
			continue
		}
		if err != nil || got != (target{c.address, c.tls}) {
			t.Errorf("%q: %v, %v", c.card, got, err)
		}
	}
}

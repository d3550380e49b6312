package agreement_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"sabha.dev/services/partners/internal/agreement"
)

// head is what every agreement has before its skills.
const head = `partner: underwriter
version: 3
owner: partnerships@bank.example
review_date: 2027-06-30
organisation: Underwriter plc
`

// good is an agreement that says everything.
const good = head + `card: https://agents.underwriter.example/.well-known/agent-card.json
networks: [10.1.0.0/16]
signatures: {mode: if-present}
credentials: {type: none}
disclosure: {default: refuse}
records: {retention: 30d, figures: 365d, trace: full}
skills:
  underwrite:
    confirm: true
    budget: 60s
    response: {p50: 2s, p95: 10s, p99: 30s}
    availability: 99.5
    throughput: {per_minute: 30, concurrent: 4}
    maintenance: [{days: [sun], from: "02:00", to: "04:00", zone: Europe/London}]
    retries: {max: 3, backoff: 1s, ratio: 0.2}
    breaker: {calls: 10, failures: 0.4, slow: 20s, slow_share: 0.6, open: 1m, probes: 2}
    fallback: broker/underwrite
    escalate: true
  quote: {}
`

// stand is the agreement that the one above falls back on.
const stand = `partner: broker
version: "1"
owner: partnerships@bank.example
review_date: 2027-06-30
organisation: Broker AG
skills:
  underwrite: {}
`

func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		write(t, filepath.Join(dir, name), text)
	}
	return dir
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func parse(t *testing.T, text string) *agreement.Agreement {
	t.Helper()
	a, err := agreement.Parse("underwriter.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// problems of a skill that is written in braces on line 7.
func problems(skill string) string {
	_, err := agreement.Parse("u.yaml", []byte(head+"skills:\n  s: "+skill+"\n"))
	if err == nil {
		return ""
	}
	return err.Error()
}

func at(t *testing.T, text string) time.Time {
	t.Helper()
	when, err := time.Parse(time.RFC3339, text)
	if err != nil {
		t.Fatal(err)
	}
	return when
}

package policy_test

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"sabha.dev/services/review/internal/item"
	"sabha.dev/services/review/internal/policy"
	"sabha.dev/testrig/clocktest"
)

func TestAChangedFileComesIntoForceUnlessItIsWrong(t *testing.T) {
	path := filepath.Join(t.TempDir(), "policy.yaml")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	clock := clocktest.New(at(t, "2026-11-30T08:00:00Z"))
	var log bytes.Buffer
	write(bank)
	f, err := policy.Open(path, clock, slog.New(slog.NewTextHandler(&log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	registry := prometheus.NewRegistry()
	if err := f.Register(registry); err != nil {
		t.Fatal(err)
	}
	refused := func(want string) {
		t.Helper()
		if err := testutil.GatherAndCompare(registry, strings.NewReader("# HELP sabha_review_policy_refused 1 while the policy file has a problem and the policy before it is in force.\n# TYPE sabha_review_policy_refused gauge\nsabha_review_policy_refused "+want+"\n")); err != nil {
			t.Error(err)
		}
	}
	queue := func() string { return f.Terms(item.Subject{}, clock.Now()).Queue }
	if got := queue(); got != "general" {
		t.Errorf("at first: %s", got)
	}
	refused("0")

	write(strings.Replace(bank, "default: general", "default: generals", 1))
	if got := queue(); got != "general" {
		t.Errorf("at once: %s", got)
	}
	clock.Advance(5 * time.Second)
	if got := queue(); got != "general" {
		t.Errorf("a wrong file is in force: %s", got)
	}
	refused("1")
	if err := f.Refused(); err == nil || !strings.Contains(err.Error(), `default: unknown queue "generals" (did you mean "general"?)`) || !strings.Contains(log.String(), "generals") {
		t.Errorf("refused: %v; log %s", err, &log)
	}

	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	clock.Advance(5 * time.Second)
	if got := queue(); got != "general" {
		t.Errorf("without a file: %s", got)
	}
	refused("1")

	write(strings.Replace(bank, "default: general", "default: night", 1))
	clock.Advance(5 * time.Second)
	if got := queue(); got != "night" {
		t.Errorf("a sound file is not in force: %s", got)
	}
	refused("0")
}

func TestAWrongFileIsRefusedAtTheStart(t *testing.T) {
	clock := clocktest.New(at(t, "2026-11-30T08:00:00Z"))
	if _, err := policy.Open(filepath.Join(t.TempDir(), "none.yaml"), clock, slog.New(slog.DiscardHandler)); err == nil || !strings.Contains(err.Error(), "review policy: open") {
		t.Errorf("a file that is not there: %v", err)
	}
	f, err := policy.Open("", clock, slog.New(slog.DiscardHandler))
	if err != nil || f.Current().Queue("high-risk") == nil {
		t.Errorf("without a file: %v, want the policy that is shipped", err)
	}
}

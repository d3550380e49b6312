package command_test

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestUpOffersWhatAFileSaysOverKAP(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "kap.yaml")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	offered := func(out string) string {
		t.Helper()
		res, err := http.Get(address(t, out) + "/.well-known/agent.json") //nolint:noctx // a test's own server
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = res.Body.Close() }()
		card, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return string(card)
	}
	up(t, filepath.Join(dir, "data"), func(out string) {
		if card := offered(out); !strings.Contains(card, `"capabilities":[{"id":"ask",`) {
			t.Errorf("without a file: %s", card)
		}
	}, "--docs", "")
	write("agent: {id: acme-support, organization: Acme Inc}\ncapabilities: [{id: find, name: Find, description: Finds passages, tenant: research, skill: search, anonymous: true}]\n")
	up(t, filepath.Join(dir, "data"), func(out string) {
		card := offered(out)
		for _, want := range []string{`"id":"acme-support"`, `"organization":"Acme Inc"`, `"capabilities":[{"id":"find",`, `{"type":"none"}`} {
			if !strings.Contains(card, want) {
				t.Errorf("no %s in %s", want, card)
			}
		}
	}, "--docs", "", "--kap", file)
	write("capability: []\n")
	if u := newUser(""); u.run(t.Context(), "up", "--kap", file) != 2 || !strings.Contains(u.err.String(), "capability") {
		t.Errorf("a key that is not known: %s", u.err.String())
	}
}

func TestWhatMayLeaveToAModelIsCheckedBeforeTheStart(t *testing.T) {
	file := filepath.Join(t.TempDir(), "model.yaml")
	if err := os.WriteFile(file, []byte("default: hide\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if u := newUser(""); u.run(t.Context(), "up", "--model-disclosure", file) != 2 || !strings.Contains(u.err.String(), `:1: default: "hide" is unknown`) {
		t.Errorf("a word that is not known: %s", u.err.String())
	}
}

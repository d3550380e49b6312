package platform_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sabha.dev/cmd/sabha/platform"
	"sabha.dev/testrig/oidctest"
)

func settings(t *testing.T, text string) platform.Options {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"secret": oidctest.ClientSecret, "console.yaml": text} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(strings.ReplaceAll(text, "DIR", dir)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return platform.Options{
		Data: t.TempDir(), HTTP: "127.0.0.1:0", GRPC: "127.0.0.1:0", Console: "127.0.0.1:0", ConsoleSettings: filepath.Join(dir, "console.yaml"),
		Log: slog.New(slog.NewTextHandler(t.Output(), nil)),
	}
}

func TestTheConsoleOffersTheIdentityProviderOfItsSettings(t *testing.T) {
	provider := oidctest.New(t)
	p, err := platform.Start(t.Context(), settings(t, fmt.Sprintf(`public_url: http://localhost
oidc: {issuer: %q, client_id: %s, client_secret_file: DIR/secret, organisations: [acme]}
`, provider.URL, oidctest.ClientID)))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := p.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	}()
	res, err := http.Get("http://" + p.ConsoleAddr() + "/sign-in")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(res.Body)
	if want := "Sign in with " + strings.TrimPrefix(provider.URL, "http://"); err != nil || !strings.Contains(string(body), want) {
		t.Errorf("%v: no %q in %s", err, want, body)
	}
}

func TestSettingsOfTheConsoleHoldNothingThatThePlatformDecides(t *testing.T) {
	p, err := platform.Start(t.Context(), settings(t, "database: sqlite:elsewhere.db\n"))
	if err == nil {
		_ = p.Stop(context.Background())
	}
	if err == nil || !strings.Contains(err.Error(), "console.yaml: only hosts, public_url,") {
		t.Errorf("%v", err)
	}
}

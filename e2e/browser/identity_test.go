//go:build browser

package browser

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"sabha.dev/testrig/oidctest"
)

// identities runs an identity provider, and writes the console's settings that name it
// into a folder. Whom it signs in is put to the address that it gives, as claims.
func identities(t *testing.T, dir, console string) (settings, people string) {
	t.Helper()
	idp := oidctest.New(t)
	desk := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var claims map[string]any
		if err := json.NewDecoder(r.Body).Decode(&claims); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		idp.SignIn(claims)
	}))
	t.Cleanup(desk.Close)
	settings = filepath.Join(dir, "console.yaml")
	secret := filepath.Join(dir, "client-secret")
	for file, text := range map[string]string{secret: oidctest.ClientSecret, settings: fmt.Sprintf(`public_url: %s
oidc:
  issuer: %s
  client_id: %s
  client_secret_file: %s
  organisations: [acme]
`, console, idp.URL, oidctest.ClientID, secret)} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return settings, desk.URL
}

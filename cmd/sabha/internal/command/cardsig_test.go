package command_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sabha.dev/cmd/sabha/internal/command"
)

// written makes a file and gives its name.
func written(t *testing.T, dir, name, text string) string {
	t.Helper()
	file := filepath.Join(dir, name)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestCardsAreSignedAndVerified(t *testing.T) {
	dir := t.TempDir()
	// say runs the command line and gives what it printed.
	say := func(want command.Code, args ...string) string {
		t.Helper()
		u := newUser("")
		if code := u.run(t.Context(), args...); code != want {
			t.Fatalf("%v: exit code %d, want %d: %s%s", args, code, want, u.out.String(), u.err.String())
		}
		return u.out.String() + u.err.String()
	}
	say(0, "keys", dir, "rates")
	key, public := filepath.Join(dir, "rates.key"), filepath.Join(dir, "rates.pub")
	plain := written(t, dir, "card.json", `{"name": "Rates", "description": "", "version": "1"}`)
	jwks := written(t, dir, "jwks.json", say(0, "card", "keys", key))
	if fromPublic := say(0, "card", "keys", public); fromPublic != readFile(t, jwks) {
		t.Errorf("the public key gives %s", fromPublic)
	}

	var published map[string]string // path: what a server has there
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if body, ok := published[r.URL.Path]; ok {
			_, _ = w.Write([]byte(body))
			return
		}
		w.WriteHeader(http.StatusNotFound)
	}))
	defer server.Close()
	signed := say(0, "card", "sign", plain, "--key", key, "--jku", server.URL+"/keys")
	elsewhere := say(0, "card", "sign", plain, "--key", key, "--jku", "https://elsewhere.example/keys")
	published = map[string]string{
		"/.well-known/agent-card.json": signed, "/keys": readFile(t, jwks),
		"/far/.well-known/agent-card.json": elsewhere,
		"/not/.well-known/agent-card.json": strings.Replace(signed, "Rates", "Rafes", 1),
	}
	file := written(t, dir, "signed.json", signed)

	for _, tt := range []struct {
		name string
		code command.Code
		args []string
		want string
	}{
		{"from its host", 0, []string{"verify", server.URL}, "good  EdDSA"},
		{"the SDKs' form beside it", 0, []string{"verify", server.URL}, "part  EdDSA"},
		{"with keys of one's own", 0, []string{"verify", file, "--keys", jwks}, "good  EdDSA"},
		{"with keys at an address", 0, []string{"verify", file, "--keys", server.URL + "/keys"}, "good  EdDSA"},
		{"changed", 1, []string{"verify", server.URL + "/not"}, "bad   EdDSA"},
		{"keys elsewhere", 1, []string{"verify", server.URL + "/far"}, "its key is published elsewhere than the card; name the keys that you trust with --keys"},
		{"a file proves nothing of a host", 1, []string{"verify", file}, "its key is published elsewhere than the card"},
		{"unsigned", 1, []string{"verify", plain, "--keys", jwks}, "the card is not signed"},
		{"no card there", 7, []string{"verify", server.URL + "/none"}, "no agent card at"},
		{"no keys there", 1, []string{"verify", file, "--keys", server.URL + "/none"}, "/none answers 404 Not Found"},
		{"no JWKS", 2, []string{"verify", file, "--keys", plain}, "the keys are no JWKS"},
		{"no file and no address", 2, []string{"verify", "://"}, "is no file and no address"},
		{"without a key", 2, []string{"sign", plain}, "name the private key with --key FILE; sabha keys DIR makes some"},
		{"with a public key", 2, []string{"sign", plain, "--key", public}, "holds a public key; signing needs the private one"},
		{"no PEM", 2, []string{"sign", plain, "--key", plain}, "card.json is no PEM file"},
		{"no such file", 2, []string{"sign", "none.json", "--key", key}, "none.json: no such file or directory"},
		{"no JSON", 2, []string{"sign", key, "--key", key}, "it is not JSON that all readers read alike"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if said := say(tt.code, append([]string{"card"}, tt.args...)...); !strings.Contains(said, tt.want) {
				t.Errorf("%q, want %q", said, tt.want)
			}
		})
	}
}

func readFile(t *testing.T, name string) string {
	t.Helper()
	raw, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

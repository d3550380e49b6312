package credential_test

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"sabha.dev/chassis/strictyaml"
	"sabha.dev/services/partners/internal/credential"
	"sabha.dev/testrig/clocktest"
)

func parse(text string) (c *credential.Config, err error) {
	err = strictyaml.Parse("u.yaml", []byte(text), func(n strictyaml.Node) { c = credential.Parse(n) })
	return c, err
}

func write(t *testing.T, path, text string, at time.Time) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(path, at, at); err != nil {
		t.Fatal(err)
	}
}

var start = time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)

func TestTheSectionIsReadStrictly(t *testing.T) {
	for text, want := range map[string]string{
		`{type: none}`: "",
		`{type: api-key, name: X-API-Key, file: /k}`:                             "",
		`{type: api-key, in: query, name: api key, file: /k}`:                    "",
		`{type: basic, user: sabha, file: /k, ca: /ca.pem}`:                      "",
		`{type: oauth2, token_url: "https://t.example/", client_id: a, file: k}`: "",
		`{type: mtls, certificate: /c, key: /k}`:                                 "",
		`{file: /k}`:                                                             `the key "type" is missing`,
		`{type: apikey, file: /k}`:                                               `"apikey" is unknown (did you mean "api-key"?)`,
		`{type: api-key, file: /k}`:                                              `the key "name" is missing`,
		`{type: api-key, name: "X Key", file: /k}`:                               `name: is no name of a header`,
		`{type: bearer}`:                                                         `the key "file" is missing`,
		`{type: none, file: /k}`:                                                 `file: does not belong to the type none; remove it`,
		`{type: bearer, file: /k, scopes: [a]}`:                                  `scopes: does not belong to the type bearer; remove it`,
		`{type: basic, user: "a:b", file: /k}`:                                   `user: must not hold colons`,
		`{type: oauth2, token_url: t.example, client_id: a, file: k}`:            `token_url: must be an absolute URL that begins with https://`,
		`{type: mtls, certificate: /c}`:                                          `the key "key" is missing`,
		`{type: none, certificate: /c}`:                                          `certificate and key go together`,
	} {
		_, err := parse(text)
		if (want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

func FuzzSection(f *testing.F) {
	f.Add(`{type: api-key, in: query, name: k, file: /k}`)
	f.Add(`{type: oauth2, token_url: "https://t.example/", client_id: a, file: k, scopes: [x], audience: y, plaintext: true}`)
	f.Fuzz(func(t *testing.T, text string) {
		if c, err := parse(text); err == nil && c.Type == "" {
			t.Error("a section without a type is taken")
		}
	})
}

// show gives the header or the query that a credential puts into a request.
func show(t *testing.T, k *credential.Credential) (string, credential.Shown) {
	t.Helper()
	r := httptest.NewRequest(http.MethodPost, "https://partner.example/rpc?a=b", nil)
	s, err := k.Show(t.Context(), r)
	if err != nil {
		return "error: " + err.Error(), s
	}
	r.Header.Del("A")
	return strings.TrimSpace(r.URL.RawQuery + " " + strings.Join(r.Header["Authorization"], "") + strings.Join(r.Header["X-Key"], "")), s
}

func open(t *testing.T, c *credential.Config, clk *clocktest.Clock) *credential.Credential {
	t.Helper()
	k, err := credential.Open(c, http.DefaultTransport, clk)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func TestSecretsAreReadAgainWhenTheyChange(t *testing.T) {
	path := filepath.Join(t.TempDir(), "secret")
	for _, c := range []struct {
		config *credential.Config
		want   func(secret string) string
	}{
		{&credential.Config{Type: credential.APIKey, In: "header", Name: "X-Key", File: path}, func(s string) string { return "a=b " + s }},
		{&credential.Config{Type: credential.APIKey, In: "query", Name: "key", File: path}, func(s string) string { return "a=b&key=" + s }},
		{&credential.Config{Type: credential.Bearer, File: path}, func(s string) string { return "a=b Bearer " + s }},
		{&credential.Config{Type: credential.Basic, User: "sabha", File: path}, func(s string) string {
			return "a=b Basic " + base64.StdEncoding.EncodeToString([]byte("sabha:"+s))
		}},
	} {
		write(t, path, "one\n", start)
		k := open(t, c.config, clocktest.New(start))
		for i, secret := range []string{"one", "two"} {
			write(t, path, secret+"\n", start.Add(time.Duration(i)*time.Second))
			if got, _ := show(t, k); got != c.want(secret) {
				t.Errorf("%s shows %q, want %q", c.config.Type, got, c.want(secret))
			}
		}
		// Half of a replacement is not used.
		write(t, path, "", start.Add(time.Minute))
		if got, _ := show(t, k); got != c.want("two") {
			t.Errorf("with an empty file %s shows %q", c.config.Type, got)
		}
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		if got, _ := show(t, k); got != "error: "+path+" cannot be read: no such file or directory" {
			t.Errorf("without the file: %q", got)
		}
	}
	var none *credential.Config
	if got, _ := show(t, open(t, none, clocktest.New(start))); got != "a=b" {
		t.Errorf("nothing shows %q", got)
	}
}

func TestTokensAreFetchedAsOftenAsTheyMustBe(t *testing.T) {
	const secret = "p4ssw0rd"
	path := filepath.Join(t.TempDir(), "secret")
	write(t, path, secret, start)
	var fetched atomic.Int32
	var broken atomic.Bool
	endpoint := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id, given, _ := r.BasicAuth()
		if broken.Load() || id != "sabha" || given != secret || r.FormValue("grant_type") != "client_credentials" || r.FormValue("scope") != "ask tell" || r.FormValue("audience") != "acme" {
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = fmt.Fprintf(w, `{"error":"invalid_client","error_description":"%s is wrong"}`, given)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"access_token":"token %d","token_type":"Bearer","expires_in":100}`, fetched.Add(1))
	}))
	defer endpoint.Close()
	clk := clocktest.New(start)
	k := open(t, &credential.Config{
		Type: credential.OAuth2, TokenURL: endpoint.URL, ClientID: "sabha", File: path, Scopes: []string{"ask", "tell"}, Audience: "acme",
	}, clk)
	is := func(what, want string) credential.Shown {
		t.Helper()
		got, s := show(t, k)
		if got != want {
			t.Errorf("%s: %q, want %q", what, got, want)
		}
		return s
	}
	is("at first", "a=b Bearer token 1")
	clk.Advance(80 * time.Second)
	first := is("while it holds", "a=b Bearer token 1")
	clk.Advance(6 * time.Second)
	is("shortly before its end", "a=b Bearer token 2")
	// The first was refused elsewhere: that is known, and costs no token.
	if !k.Renew(first) {
		t.Error("there is nothing else to show")
	}
	second := is("after an old one was refused", "a=b Bearer token 2")
	k.Renew(second)
	is("after it was refused", "a=b Bearer token 3")
	broken.Store(true)
	clk.Advance(time.Hour)
	got, _ := show(t, k)
	if got != "error: the token endpoint refuses with status 401; look at client_id, file and scopes in the agreement" || strings.Contains(got, secret) {
		t.Errorf("a refusal: %q", got)
	}
	if open(t, &credential.Config{Type: credential.Bearer, File: path}, clk).Renew(credential.Shown{}) {
		t.Error("a fixed token is said to be renewed")
	}
}

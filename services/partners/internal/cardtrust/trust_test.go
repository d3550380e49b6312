package cardtrust_test

import (
	"crypto/ed25519"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"sabha.dev/chassis/cardsig"
	"sabha.dev/chassis/fault"
	"sabha.dev/chassis/strictyaml"
	"sabha.dev/services/partners/internal/card"
	"sabha.dev/services/partners/internal/cardtrust"
	"sabha.dev/services/partners/internal/fetch"
	"sabha.dev/testrig/clocktest"
)

const unsigned = `{"name":"Underwriter","description":"Decides.","version":"1","defaultInputModes":["text/plain"],"defaultOutputModes":["text/plain"],"capabilities":{},` +
	`"supportedInterfaces":[{"url":"https://a.example/","protocolBinding":"JSONRPC","protocolVersion":"1.0"}],"skills":[{"id":"a","name":"A","description":"d","tags":["x"]}]}`

var start = time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)

type key struct {
	id      string
	private ed25519.PrivateKey
}

func newKey(t *testing.T, id string) key {
	_, private, err := ed25519.GenerateKey(nil)
	must(t, err)
	return key{id, private}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (k key) sign(t *testing.T, raw, jku string) string {
	t.Helper()
	s, err := cardsig.NewSigner(k.private, k.id, jku)
	must(t, err)
	signed, err := s.Sign([]byte(raw))
	must(t, err)
	return string(signed)
}

// jwk is the published form of the key, with more members.
func (k key) jwk(more string) string {
	x := base64.RawURLEncoding.EncodeToString(k.private.Public().(ed25519.PublicKey))
	return fmt.Sprintf(`{"kty":"OKP","crv":"Ed25519","kid":%q,"x":%q%s}`, k.id, x, more)
}

func set(t *testing.T, jwks ...string) cardsig.KeySet {
	t.Helper()
	s, err := cardsig.ParseKeys([]byte(`{"keys":[` + strings.Join(jwks, ",") + `]}`))
	must(t, err)
	return s
}

func read(t *testing.T, raw string) *card.Card {
	t.Helper()
	c, err := card.Parse([]byte(raw))
	must(t, err)
	return c
}

func fetcher(t *testing.T) *fetch.Fetcher {
	f, err := fetch.New([]string{"127.0.0.0/8"})
	must(t, err)
	t.Cleanup(f.Close)
	return f
}

func TestEachModeAsksForWhatItSays(t *testing.T) {
	k, other := newKey(t, "k1"), newKey(t, "k2")
	signed := k.sign(t, unsigned, "")
	pinned := set(t, k.jwk(""))
	protected := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"none","kid":"k1"}`))
	none := unsigned[:len(unsigned)-1] + `,"signatures":[{"protected":"` + protected + `","signature":""}]}`
	for what, c := range map[string]struct {
		policy cardtrust.Policy
		raw    string
		want   cardtrust.Result
		err    string
	}{
		"off, unsigned":          {cardtrust.Policy{Mode: cardtrust.Off}, unsigned, cardtrust.Unsigned, ""},
		"off, signed":            {cardtrust.Policy{Mode: cardtrust.Off}, signed, cardtrust.Unchecked, ""},
		"if present, unsigned":   {cardtrust.Policy{Mode: cardtrust.IfPresent, Keys: pinned}, unsigned, cardtrust.Unsigned, ""},
		"if present, good":       {cardtrust.Policy{Mode: cardtrust.IfPresent, Keys: pinned}, signed, cardtrust.Good, ""},
		"if present, unknown":    {cardtrust.Policy{Mode: cardtrust.IfPresent}, signed, "", "no pinned key has this id"},
		"required, unsigned":     {cardtrust.Policy{Mode: cardtrust.Required, Keys: pinned}, unsigned, "", "asks for a signature"},
		"required, good":         {cardtrust.Policy{Mode: cardtrust.Required, Keys: pinned}, signed, cardtrust.Good, ""},
		"another card":           {cardtrust.Policy{Mode: cardtrust.Required, Keys: pinned}, strings.Replace(signed, "Decides.", "Pays.", 1), "", "not a signature of this card"},
		"another key's":          {cardtrust.Policy{Mode: cardtrust.Required, Keys: pinned}, key{"k1", other.private}.sign(t, unsigned, ""), "", "not a signature of this card"},
		"another form":           {cardtrust.Policy{Mode: cardtrust.Required, Keys: pinned}, strings.Replace(signed, `"version":"1"`, `"version":"1","x-pays":true`, 1), "", "without its empty and unknown members"},
		"alg none":               {cardtrust.Policy{Mode: cardtrust.IfPresent, Keys: pinned}, none, "", `the algorithm "none" is not allowed`},
		"not on the list":        {cardtrust.Policy{Mode: cardtrust.Required, Keys: pinned, Algorithms: cardsig.Algorithms[1:2]}, signed, "", `the algorithm "EdDSA" is not allowed`},
		"expired":                {cardtrust.Policy{Mode: cardtrust.Required, Keys: set(t, k.jwk(fmt.Sprintf(`,"exp":%d`, start.Unix())))}, signed, "", "the key expired at 2026-05-04 12:00:00Z"},
		"not yet expired":        {cardtrust.Policy{Mode: cardtrust.Required, Keys: set(t, k.jwk(fmt.Sprintf(`,"exp":%d`, start.Unix()+1)))}, signed, cardtrust.Good, ""},
		"revoked":                {cardtrust.Policy{Mode: cardtrust.Required, Keys: set(t, k.jwk(`,"revoked":{"revoked_at":1}`))}, signed, "", "the key has been revoked"},
		"one of two is known":    {cardtrust.Policy{Mode: cardtrust.Required, Keys: pinned}, other.sign(t, signed, ""), cardtrust.Good, ""},
		"the newer of two":       {cardtrust.Policy{Mode: cardtrust.Required, Keys: set(t, other.jwk(""))}, other.sign(t, signed, ""), cardtrust.Good, ""},
		"jku elsewhere":          {cardtrust.Policy{Mode: cardtrust.IfPresent, JKU: []string{"keys.a.example"}}, k.sign(t, unsigned, "https://evil.example/jwks"), "", "evil.example (jku), which is not a host that keys are taken from"},
		"jku of another port":    {cardtrust.Policy{Mode: cardtrust.IfPresent, JKU: []string{"a.example"}}, k.sign(t, unsigned, "https://a.example:8443/jwks"), "", "is not a host that keys are taken from"},
		"jku unencrypted":        {cardtrust.Policy{Mode: cardtrust.IfPresent, JKU: []string{"a.example"}}, k.sign(t, unsigned, "http://a.example/jwks"), "", "does not begin with https://"},
		"jku relative":           {cardtrust.Policy{Mode: cardtrust.IfPresent, JKU: []string{""}}, k.sign(t, unsigned, "/jwks"), "", "is no absolute URL"},
		"jku beside a pinned":    {cardtrust.Policy{Mode: cardtrust.Required, Keys: pinned}, k.sign(t, unsigned, "https://evil.example/jwks"), cardtrust.Good, ""},
		"jku on a private place": {cardtrust.Policy{Mode: cardtrust.IfPresent, JKU: []string{"10.0.0.1"}}, k.sign(t, unsigned, "https://10.0.0.1/jwks"), "", "is not public"},
	} {
		got, err := cardtrust.New(clocktest.New(start)).Check(t.Context(), c.policy, fetcher(t), read(t, c.raw))
		if got != c.want || (err == nil) != (c.err == "") || err != nil && (!strings.Contains(err.Error(), c.err) || !fault.Is(err, fault.CardRefused)) {
			t.Errorf("%s: %q, %v; want %q, %q", what, got, err, c.want, c.err)
		}
	}
}

// publisher serves keys.
type publisher struct {
	*httptest.Server
	body  atomic.Value
	asked atomic.Int32
}

func publish(t *testing.T, jwks ...string) *publisher {
	p := &publisher{}
	p.say(jwks...)
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		p.asked.Add(1)
		body := p.body.Load().(string)
		if body == "" {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		_, _ = w.Write([]byte(body))
	}))
	t.Cleanup(p.Close)
	return p
}

func (p *publisher) say(jwks ...string) { p.body.Store(`{"keys":[` + strings.Join(jwks, ",") + `]}`) }

func (p *publisher) policy() cardtrust.Policy {
	u, _ := url.Parse(p.URL)
	return cardtrust.Policy{Mode: cardtrust.Required, JKU: []string{u.Host}}
}

func TestPublishedKeysAreFetchedHeldAndRenewed(t *testing.T) {
	a, b := newKey(t, "a"), newKey(t, "b")
	p, clock, f := publish(t, a.jwk("")), clocktest.New(start), fetcher(t)
	checker := cardtrust.New(clock)
	check := func(what, raw, want string, asked int32) {
		t.Helper()
		_, err := checker.Check(t.Context(), p.policy(), f, read(t, raw))
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", what, err, want)
		}
		if p.asked.Load() != asked {
			t.Errorf("%s: asked %d times, want %d", what, p.asked.Load(), asked)
		}
	}
	byA, byB := a.sign(t, unsigned, p.URL+"/jwks"), b.sign(t, unsigned, p.URL+"/jwks")
	check("the first card", byA, "", 1)
	check("the second", byA, "", 1)
	check("a key that is not published", byB, "no trusted key has this id", 1)
	p.say(a.jwk(""), b.jwk(""))
	check("published a moment ago", byB, "no trusted key has this id", 1)
	clock.Advance(time.Minute)
	check("a minute later", byB, "", 2)
	p.say(b.jwk(""), a.jwk(`,"revoked":{"revoked_at":1}`))
	check("revoked a moment ago", byA, "", 2)
	clock.Advance(10 * time.Minute)
	check("ten minutes later", byA, "revoked", 3)
	p.body.Store("")
	clock.Advance(10 * time.Minute)
	check("nobody answers", byB, "cannot be fetched", 4)
	_, err := checker.Check(t.Context(), p.policy(), f, read(t, byB))
	if !errors.Is(err, cardtrust.ErrUnreachable) {
		t.Errorf("keys that cannot be had are told from a bad card by the error %v", err)
	}
	p.body.Store(strings.Repeat("x", 70_000))
	clock.Advance(time.Minute)
	check("without end", byB, "more than 65536 bytes", 5)
}

func parsePolicy(t *testing.T, text string) (cardtrust.Policy, error) {
	t.Helper()
	folder := t.TempDir()
	k := newKey(t, "k1")
	der, err := x509.MarshalPKIXPublicKey(k.private.Public())
	must(t, err)
	must(t, os.WriteFile(filepath.Join(folder, "partner.json"), []byte(`{"keys":[`+k.jwk("")+`]}`), 0o600))
	must(t, os.WriteFile(filepath.Join(folder, "release.pem"), pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}), 0o600))
	must(t, os.WriteFile(filepath.Join(folder, "cert.pem"), pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: []byte("x")}), 0o600))
	must(t, os.WriteFile(filepath.Join(folder, "empty.json"), []byte(`{"keys":[]}`), 0o600))
	var p cardtrust.Policy
	err = strictyaml.Parse("partner.yaml", []byte(text), func(root strictyaml.Node) { p = cardtrust.Parse(root, folder) })
	return p, err
}

func TestAPolicyIsReadFromItsSection(t *testing.T) {
	p, err := parsePolicy(t, "mode: required\nkeys: [partner.json, release.pem]\njku: [Keys.Partner.example, 'b.example:8443']\nalgorithms: [EdDSA, ES256]\n")
	must(t, err)
	thumbprint := false
	for id := range p.Keys {
		thumbprint = thumbprint || len(id) == 43
	}
	raw, _ := json.Marshal([]any{p.Mode, p.JKU, p.Algorithms})
	if string(raw) != `["required",["keys.partner.example","b.example:8443"],["EdDSA","ES256"]]` || len(p.Keys) != 3 || !thumbprint {
		t.Errorf("policy %s with the keys %v", raw, p.Keys)
	}
	if _, ok := p.Keys["release"]; !ok {
		t.Error("a PEM file is not found by its name")
	}
	for text, want := range map[string][2]cardtrust.Mode{
		"mode: off\n":                                       {cardtrust.Off, cardtrust.Off},
		"mode: required\njku: [a.example]\n":                {cardtrust.Required, cardtrust.IfPresent},
		"mode: off\npush: required\nkeys: [partner.json]\n": {cardtrust.Off, cardtrust.Required},
		"mode: if-present\npush: off\n":                     {cardtrust.IfPresent, cardtrust.Off},
	} {
		if p, err := parsePolicy(t, text); err != nil || [2]cardtrust.Mode{p.Mode, p.Push} != want {
			t.Errorf("%q: %q and %q for notifications, want %q; %v", text, p.Mode, p.Push, want, err)
		}
	}
	for text, want := range map[string]string{
		"mode: sometimes\n":                                      `partner.yaml:1: mode: "sometimes" is unknown; write off, if-present or required`,
		"keys: []\n":                                             `the key "mode" is missing`,
		"mode: required\n":                                       "nobody's are believed",
		"mode: off\npush: required\n":                            "nobody's are believed",
		"mode: off\npush: always\n":                              `partner.yaml:2: push: "always" is unknown; write off, if-present or required`,
		"mode: if-present\nkeys: [none.json]\n":                  "none.json does not exist",
		"mode: if-present\nkeys: [cert.pem]\n":                   `holds no public key (BEGIN PUBLIC KEY), it holds "CERTIFICATE"`,
		"mode: if-present\nkeys: [empty.json]\n":                 "holds no public key with an id",
		"mode: if-present\njku: ['https://a/x']\n":               "is no host",
		"mode: if-present\njku: ['*.example']\n":                 "is no host",
		"mode: if-present\nalgorithms: [none]\n":                 `"none" is unknown`,
		"mode: if-present\nalgorithms: [HS256]\n":                `"HS256" is unknown`,
		"mode: if-present\nalgorithm: [EdDSA]\n":                 `did you mean "algorithms"`,
		"mode: if-present\nkeys: [partner.json, partner.json]\n": "is in another file too",
	} {
		if _, err := parsePolicy(t, text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

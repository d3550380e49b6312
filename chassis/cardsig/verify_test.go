package cardsig_test

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"sabha.dev/chassis/cardsig"
	"sabha.dev/testrig/clocktest"
)

var now = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

const card = `{
  "name": "Rates",
  "description": "",
  "version": "1",
  "supportedInterfaces": [{"url": "https://rates.example/a2a", "protocolBinding": "JSONRPC", "protocolVersion": "1.0", "tenant": ""}],
  "capabilities": {"streaming": true},
  "defaultInputModes": ["text/plain"],
  "defaultOutputModes": ["text/plain"],
  "skills": [{"id": "convert", "name": "Convert", "description": "Converts.", "tags": [], "securityRequirements": [{}]}],
  "x-tier": "gold"
}`

func must[T any](t *testing.T, v T, err error) T {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// pair is a key with its published form.
func pair(t *testing.T, key crypto.Signer, id string, more string) (*cardsig.Signer, string) {
	t.Helper()
	public, err := (&jose.JSONWebKey{Key: key.Public(), KeyID: id, Use: "sig"}).MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	signer, err := cardsig.NewSigner(key, id, "https://rates.example/keys")
	if err != nil {
		t.Fatal(err)
	}
	return signer, strings.TrimSuffix(string(public), "}") + more + "}"
}

func set(keys ...string) []byte { return []byte(`{"keys": [` + strings.Join(keys, ",") + `]}`) }

func verifier(t *testing.T, keys ...string) *cardsig.Verifier {
	t.Helper()
	s, err := cardsig.ParseKeys(set(keys...))
	return &cardsig.Verifier{Keys: must(t, s, err).Find, Clock: clocktest.New(now)}
}

func ed(t *testing.T) ed25519.PrivateKey {
	t.Helper()
	_, key, err := ed25519.GenerateKey(rand.Reader)
	return must(t, key, err)
}

func sign(t *testing.T, s *cardsig.Signer, card string) string {
	t.Helper()
	signed, err := s.Sign([]byte(card))
	return string(must(t, signed, err))
}

func TestASignedCardIsVerifiedAsReceived(t *testing.T) {
	curve, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, curve, err)
	long, err := rsa.GenerateKey(rand.Reader, 2048)
	must(t, long, err)
	for name, key := range map[string]crypto.Signer{"EdDSA": ed(t), "ES256": curve, "PS256": long} {
		t.Run(name, func(t *testing.T) {
			signer, public := pair(t, key, "k", "")
			signed := sign(t, signer, card)
			if !strings.HasPrefix(signed, strings.TrimSuffix(card, "\n}")) {
				t.Errorf("signing changed the card: %s", signed)
			}
			found, err := verifier(t, public).Verify(t.Context(), []byte(signed))
			if err != nil || found[0].Err != nil || found[0].Algorithm != name || found[0].KeyID != "k" || found[0].JKU != "https://rates.example/keys" {
				t.Fatalf("%+v, %v", found, err)
			}
			// Sent on by a proxy that writes JSON anew: another order, other spaces, the same card.
			var tree any
			if err := json.Unmarshal([]byte(signed), &tree); err != nil {
				t.Fatal(err)
			}
			raw, err := json.MarshalIndent(tree, "", "\t")
			if _, err := verifier(t, public).Verify(t.Context(), must(t, raw, err)); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestAChangedCardIsNotVerified(t *testing.T) {
	signer, public := pair(t, ed(t), "k", "")
	signed := sign(t, signer, card)
	for name, change := range map[string][2]string{
		"its name":                          {`"Rates"`, `"Rates2"`},
		"its address":                       {"https://rates.example/a2a", "https://evil.example/a2a"},
		"a member that nobody knows":        {`"gold"`, `"lead"`},
		"an empty requirement":              {`, "securityRequirements": [{}]`, ""},
		"a required member that is empty":   {`"description": "",`, ""},
		"a member more":                     {`"version": "1"`, `"version": "1", "y": null`},
		"an optional member, set to false":  {`"streaming": true`, `"streaming": true, "pushNotifications": false`},
		"the protected header":              {`"protected":"`, `"protected":"e30`},
		"the signature":                     {`"signature":"`, `"signature":"AAAA`},
		"a second member of the same name":  {`"version": "1"`, `"version": "1", "name": "Evil"`},
		"signatures of another capital":     {`"signatures":`, `"Signatures":`},
		"the protected header's own object": {`"signatures":[{`, `"signatures":["x",{`},
	} {
		t.Run(name, func(t *testing.T) {
			changed := strings.ReplaceAll(signed, change[0], change[1])
			if changed == signed {
				t.Fatal("nothing was changed")
			}
			found, err := verifier(t, public).Verify(t.Context(), []byte(changed))
			if name == "the protected header's own object" { // one of several may be bad
				if err != nil || found[0].Err == nil {
					t.Errorf("%+v, %v", found, err)
				}
				return
			}
			if err == nil {
				t.Errorf("it is verified: %+v", found)
			}
		})
	}
	// What says nothing may come and go.
	same := strings.NewReplacer(`, "tenant": ""`, "", `"name": "Rates",`, `"name": "Rates", "securityRequirements": [],`).Replace(signed)
	if _, err := verifier(t, public).Verify(t.Context(), []byte(same)); err != nil {
		t.Error(err)
	}
}

func entry(header string, signature string) string {
	return fmt.Sprintf(`{"protected": %q, "signature": %q}`, base64.RawURLEncoding.EncodeToString([]byte(header)), signature)
}

func TestSignaturesThatDoNotCount(t *testing.T) {
	key := ed(t)
	signer, public := pair(t, key, "k", "")
	signed := sign(t, signer, card)
	entries := func(list string) string {
		return strings.TrimSuffix(card, "\n}") + `,"signatures": [` + list + `]}`
	}
	for _, tt := range []struct{ name, card, keys, want string }{
		{"none", card, public, "the card is not signed"},
		{"no list", strings.TrimSuffix(card, "\n}") + `,"signatures": {}}`, public, "the card's signatures are not a list"},
		{"alg none", entries(entry(`{"alg":"none","kid":"k","typ":"JOSE"}`, "")), public, `the algorithm "none" is not allowed`},
		{"a shared secret", entries(entry(`{"alg":"HS256","kid":"k"}`, "AAAA")), public, `the algorithm "HS256" is not allowed`},
		{"alg twice", entries(entry(`{"alg":"none","alg":"EdDSA","kid":"k"}`, "AAAA")), public, "its protected header is not a JSON object that can be read"},
		{"alg of another capital", entries(entry(`{"alg":"none","ALG":"EdDSA","kid":"k"}`, "AAAA")), public, `the algorithm "none" is not allowed`},
		{"no kid", entries(entry(`{"alg":"EdDSA"}`, "AAAA")), public, "its protected header names no key (kid)"},
		{"crit", entries(entry(`{"alg":"EdDSA","kid":"k","crit":["b64"],"b64":false}`, "AAAA")), public, "critical parameters"},
		{"no base64", entries(`{"protected": "*", "signature": "AAAA"}`), public, "its protected header is not base64url"},
		{"another key", signed, strings.Replace(public, `"k"`, `"l"`, 1), `key "k": no trusted key has this id`},
		{"another key of the id", signed, func() string { _, other := pair(t, ed(t), "k", ""); return other }(), "it is not a signature of this card"},
		{"expired", signed, strings.TrimSuffix(public, "}") + fmt.Sprintf(`,"exp":%d}`, now.Unix()), "the key expired at 2026-11-30 12:00:00Z"},
		{"revoked", signed, strings.TrimSuffix(public, "}") + fmt.Sprintf(`,"revoked":{"revoked_at":%d}}`, now.Add(time.Hour).Unix()), "the key has been revoked"},
		{"a key for another algorithm", signed, strings.TrimSuffix(public, "}") + `,"alg":"ES256"}`, "the key is for ES256, the signature is EdDSA"},
		{"too many", entries(strings.TrimSuffix(strings.Repeat(entry(`{"alg":"EdDSA","kid":"k"}`, "AAAA")+",", 9), ",")), public, "the card has 9 signatures, more than 8"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			found, err := verifier(t, tt.keys).Verify(t.Context(), []byte(tt.card))
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%+v, %v; want %q", found, err, tt.want)
			}
			if (tt.name == "none") != errors.Is(err, cardsig.ErrUnsigned) {
				t.Errorf("unsigned: %v", err)
			}
		})
	}
	v := verifier(t, strings.TrimSuffix(public, "}")+fmt.Sprintf(`,"exp":%d}`, now.Unix()+1))
	if _, err := v.Verify(t.Context(), []byte(signed)); err != nil {
		t.Error("in its last second:", err)
	}
}

// The reduced form that libraries sign does not protect what they drop.
func TestASignatureOverAnotherFormIsNamed(t *testing.T) {
	signer, public := pair(t, ed(t), "k", "")
	var doc struct{ Signatures []json.RawMessage }
	if err := json.Unmarshal([]byte(sign(t, signer, card)), &doc); err != nil || len(doc.Signatures) != 2 {
		t.Fatal(err, len(doc.Signatures))
	}
	only := strings.TrimSuffix(card, "\n}") + `,"signatures": [` + string(doc.Signatures[1]) + `]}`
	_, err := verifier(t, public).Verify(t.Context(), []byte(only))
	if err == nil || !strings.Contains(err.Error(), "it signs the card without its empty and unknown members, so they are not protected") {
		t.Error(err)
	}
}

func TestKeysRotate(t *testing.T) {
	first, firstKey := pair(t, ed(t), "2026", "")
	second, secondKey := pair(t, ed(t), "2027", "")
	both := sign(t, second, sign(t, first, card))
	for name, key := range map[string]string{"whoever has the old key": firstKey, "whoever has the new key": secondKey} {
		found, err := verifier(t, key).Verify(t.Context(), []byte(both))
		if err != nil || len(found) != 4 {
			t.Errorf("%s: %+v, %v", name, found, err)
		}
	}
}

func TestKeySetsAreRead(t *testing.T) {
	_, public := pair(t, ed(t), "k", "")
	for _, tt := range []struct {
		name, keys, want string
		n                int
	}{
		{name: "no JSON", keys: "<html>", want: "the keys are no JWKS"},
		{name: "no keys", keys: "{}", want: `it has no member "keys"`},
		{name: "none", keys: `{"keys": []}`},
		{name: "one that cannot verify", keys: string(set(public, `{"kty":"oct","k":"AAAA","kid":"s"}`, `{"kty":"NEW","kid":"n"}`)), n: 1},
		{name: "without an id", keys: string(set(strings.Replace(public, `"kid":"k",`, "", 1)))},
		{name: "for encryption", keys: string(set(strings.Replace(public, `"use":"sig"`, `"use":"enc"`, 1)))},
		{name: "two of one id", keys: string(set(public, public)), want: `two keys have the id "k"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, err := cardsig.ParseKeys([]byte(tt.keys))
			if tt.want == "" && (err != nil || len(s) != tt.n) || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("%v, %v; want %d, %q", s, err, tt.n, tt.want)
			}
		})
	}
}

func TestKeysThatCannotSignCards(t *testing.T) {
	curve, err := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	must(t, curve, err)
	if _, err := cardsig.NewSigner(curve, "k", ""); err == nil || err.Error() != "want an elliptic curve of P-256, it is P-384" {
		t.Error(err)
	}
	if _, err := cardsig.NewSigner(ed(t), "", ""); err == nil {
		t.Error("a key without an id")
	}
}

func FuzzVerify(f *testing.F) {
	_, key, _ := ed25519.GenerateKey(rand.Reader)
	signer, err := cardsig.NewSigner(key, "k", "")
	if err != nil {
		f.Fatal(err)
	}
	signed, err := signer.Sign([]byte(card))
	if err != nil {
		f.Fatal(err)
	}
	canonical, err := cardsig.Canonical([]byte(card))
	if err != nil {
		f.Fatal(err)
	}
	public := cardsig.Key{JSONWebKey: jose.JSONWebKey{Key: key.Public(), KeyID: "k"}}
	v := &cardsig.Verifier{Keys: cardsig.KeySet{"k": public}.Find, Clock: clocktest.New(now)}
	f.Add(signed)
	f.Fuzz(func(t *testing.T, raw []byte) {
		if _, err := v.Verify(t.Context(), raw); err != nil {
			return
		}
		// Only one card was ever signed.
		if got, err := cardsig.Canonical(raw); err != nil || !bytes.Equal(got, canonical) {
			t.Fatalf("verified: %s", raw)
		}
	})
}

// vectors is docs/card-signatures.json.
type vectors struct {
	Note    string          `json:"note"`
	Private json.RawMessage `json:"private"`
	Keys    json.RawMessage `json:"jwks"`
	Cases   []vector        `json:"cases"`
}

type vector struct {
	Name string `json:"name"`
	// Card is the text as received.
	Card string `json:"card"`
	// Canonical is what is signed; empty if the card has no such form.
	Canonical string `json:"canonical,omitempty"`
	// Verified says whether one signature is good for the whole card; SDK whether it is
	// for the official JavaScript SDK; Reason why it is not.
	Verified bool   `json:"verified"`
	SDK      bool   `json:"sdk"`
	Reason   string `json:"reason,omitempty"`
}

func TestPublishedVectors(t *testing.T) {
	raw, err := os.ReadFile("../../docs/card-signatures.json")
	must(t, raw, err)
	var doc vectors
	if err := json.Unmarshal(raw, &doc); err != nil || len(doc.Cases) < 8 {
		t.Fatal(err, len(doc.Cases))
	}
	keys, err := cardsig.ParseKeys(doc.Keys)
	v := &cardsig.Verifier{Keys: must(t, keys, err).Find, Clock: clocktest.New(now)}
	var private jose.JSONWebKey
	if err := private.UnmarshalJSON(doc.Private); err != nil {
		t.Fatal(err)
	}
	signer, err := cardsig.NewSigner(private.Key.(crypto.Signer), private.KeyID, "")
	must(t, signer, err)
	for _, c := range doc.Cases {
		t.Run(c.Name, func(t *testing.T) {
			canonical, _ := cardsig.Canonical([]byte(c.Card))
			if string(canonical) != c.Canonical {
				t.Errorf("canonical\n got %s\nwant %s", canonical, c.Canonical)
			}
			_, err := v.Verify(t.Context(), []byte(c.Card))
			if (err == nil) != c.Verified || err != nil && !strings.Contains(err.Error(), c.Reason) {
				t.Errorf("%v; want %v %q", err, c.Verified, c.Reason)
			}
			if before, _, signed := strings.Cut(c.Card, `,"signatures":`); c.Verified && signed {
				if got := sign(t, signer, before+"}"); got != c.Card {
					t.Errorf("signed anew\n got %s\nwant %s", got, c.Card)
				}
			}
		})
	}
}

package push_test

import (
	"bytes"
	"crypto/ed25519"
	"encoding/json"
	"testing"

	"github.com/go-jose/go-jose/v4"

	"sabha.dev/chassis/identity"
	"sabha.dev/chassis/push"
	"sabha.dev/chassis/taskstore"
	"sabha.dev/testrig/clocktest"
)

// A library that knows nothing of ours verifies signatures, and reads the claims.
func TestSignaturesAreCompactJWSOfTheClaims(t *testing.T) {
	public, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		service, url, place string
		key                 taskstore.PushKey
		body                string
	}{
		"plain":      {"planner", "https://hooks.example.com/sabha?x=1&y=2", "1.4", taskstore.PushKey{TaskID: "0190c8f2-0000-7000-8000-000000000000", ID: "hook-1"}, `{"task":{}}`},
		"no body":    {"planner", "http://127.0.0.1:9000/", "12.345", taskstore.PushKey{TaskID: "t", ID: "c"}, ""},
		"odd names":  {`pl"an\ner`, "https://example.com/\"\\<>&'é\u2028漢", "1.1", taskstore.PushKey{TaskID: "a\"\n\x00", ID: "~._-"}, "x"},
		"bad UTF-8":  {"planner", "https://example.com/\xff", "1.1", taskstore.PushKey{TaskID: "t", ID: "c"}, "\xff"},
		"long ones":  {"planner", "https://example.com/" + string(bytes.Repeat([]byte("a"), 2028)), "1.1", taskstore.PushKey{TaskID: "t", ID: "c"}, "x"},
		"empty ones": {},
	} {
		t.Run(name, func(t *testing.T) {
			sign, err := push.Signer(c.service, key, clocktest.New(start))
			if err != nil {
				t.Fatal(err)
			}
			jws, err := jose.ParseSignedCompact(sign(c.url, c.key, c.place, []byte(c.body)), []jose.SignatureAlgorithm{jose.EdDSA})
			if err != nil {
				t.Fatal(err)
			}
			head := jws.Signatures[0].Protected
			if head.KeyID != identity.KeyID(public) || head.ExtraHeaders["typ"] != "JWT" {
				t.Errorf("header %+v", head)
			}
			payload, err := jws.Verify(public)
			if err != nil {
				t.Fatal(err)
			}
			want, err := json.Marshal(push.Claims{
				Issuer: c.service, Audience: c.url, IssuedAt: start.Unix(), Expiry: start.Unix() + 300, ID: c.key.TaskID + "/" + c.key.ID + "/" + c.place,
				Task: c.key.TaskID, Event: c.place, Digest: push.Digest([]byte(c.body)),
			})
			if err != nil {
				t.Fatal(err)
			}
			var got, claimed any
			if err := json.Unmarshal(payload, &got); err != nil {
				t.Fatalf("%s: %v", payload, err)
			}
			if err := json.Unmarshal(want, &claimed); err != nil {
				t.Fatal(err)
			}
			if a, b := encoded(t, got), encoded(t, claimed); a != b {
				t.Errorf("claims\n%s\nwant\n%s", a, b)
			}
			if _, err := jws.Verify(ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize)).Public()); err == nil {
				t.Error("another key verifies it")
			}
		})
	}
}

func encoded(t *testing.T, v any) string {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

package push_test

import (
	"context"
	"crypto/ed25519"
	"errors"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"sabha.dev/chassis/cardsig"
	"sabha.dev/chassis/identity"
	"sabha.dev/chassis/push"
	"sabha.dev/chassis/taskstore"
	"sabha.dev/testrig/clocktest"
)

func TestAReceiverVerifiesWhatIsSent(t *testing.T) {
	public, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	clock := clocktest.New(start)
	sign, err := push.Signer("planner", key, clock)
	if err != nil {
		t.Fatal(err)
	}
	const url, body = "https://a.example/v1/partners/push/secret", `{"task":{}}`
	good := sign(url, taskstore.PushKey{TaskID: "t", ID: "c"}, "1.4", []byte(body))
	id := identity.KeyID(public)
	published := cardsig.Key{JSONWebKey: jose.JSONWebKey{Key: public, KeyID: id}}
	with := func(change func(*cardsig.Key)) cardsig.Keys {
		k := published
		change(&k)
		return func(_ context.Context, kid, _ string) (cardsig.Key, error) {
			if kid != id {
				return cardsig.Key{}, errors.New("no trusted key has this id")
			}
			return k, nil
		}
	}
	same := with(func(*cardsig.Key) {})
	for name, c := range map[string]struct {
		keys            cardsig.Keys
		signature, body string
		algorithms      []jose.SignatureAlgorithm
		after           time.Duration
		want            string
	}{
		"good":                   {keys: same, signature: good, body: body},
		"almost too old":         {keys: same, signature: good, body: body, after: 5*time.Minute + 29*time.Second},
		"too old":                {keys: same, signature: good, body: body, after: 5*time.Minute + 30*time.Second, want: "it is too old"},
		"from a clock ahead":     {keys: same, signature: good, body: body, after: -30 * time.Second},
		"from the future":        {keys: same, signature: good, body: body, after: -31 * time.Second, want: "it is of a time that is yet to come"},
		"another body":           {keys: same, signature: good, body: body + " ", want: "another body was signed"},
		"none":                   {keys: same, body: body, want: "it is no compact JWS of an algorithm that is allowed"},
		"alg none":               {keys: same, signature: "eyJhbGciOiJub25lIn0.e30.", body: body, want: "it is no compact JWS of an algorithm that is allowed"},
		"an algorithm not taken": {keys: same, signature: good, body: body, algorithms: []jose.SignatureAlgorithm{jose.ES256}, want: "it is no compact JWS of an algorithm that is allowed"},
		"altered":                {keys: same, signature: good[:len(good)-4] + "AAAA", body: body, want: "it is not of the key that it names"},
		"without end":            {keys: same, signature: good + string(make([]byte, 8<<10)), body: body, want: "it is too long"},
		"a revoked key":          {keys: with(func(k *cardsig.Key) { k.RevokedAt = start }), signature: good, body: body, want: "its key has been revoked"},
		"an expired key":         {keys: with(func(k *cardsig.Key) { k.NotAfter = start }), signature: good, body: body, want: "its key has expired"},
		"a key for another use":  {keys: with(func(k *cardsig.Key) { k.Algorithm = "ES256" }), signature: good, body: body, want: "its key is for ES256"},
		"no key":                 {keys: cardsig.KeySet{}.Find, signature: good, body: body, want: "no trusted key has this id"},
	} {
		v := &push.Verifier{Keys: c.keys, Clock: clocktest.New(start.Add(c.after)), Algorithms: c.algorithms}
		claims, err := v.Verify(t.Context(), c.signature, url, []byte(c.body))
		got := ""
		if err != nil {
			got = err.Error()
		}
		if got != c.want || err == nil && (claims.Task != "t" || claims.Event != "1.4") {
			t.Errorf("%s: %q %+v, want %q", name, got, claims, c.want)
		}
	}
	v := &push.Verifier{Keys: same, Clock: clock}
	if _, err := v.Verify(t.Context(), good, url+"x", []byte(body)); err == nil || err.Error() != "it is for another receiver" {
		t.Errorf("to another receiver: %v", err)
	}
}

package registry_test

import (
	"crypto"
	"crypto/ed25519"
	"errors"
	"strings"
	"testing"

	"github.com/go-jose/go-jose/v4"

	"sabha.dev/chassis/cardsig"
	"sabha.dev/chassis/push"
	"sabha.dev/services/partners/internal/cardtrust"
	"sabha.dev/services/partners/internal/registry"
)

// Keys of notifications are found like those of cards: pinned, where the signature says if
// that is an allowed host, and otherwise beside the card.
func TestTheKeysOfNotificationsAreThosePinnedOrPublished(t *testing.T) {
	onBothEngines(t, func(r *rig) {
		public := func() (ed25519.PublicKey, string) {
			p, _, err := ed25519.GenerateKey(nil)
			r.must(err)
			id, err := cardsig.KeyID(crypto.PublicKey(p))
			r.must(err)
			return p, id
		}
		published, publishedID := public()
		pinned, pinnedID := public()
		set, err := cardsig.JWKS(published)
		r.must(err)
		r.site.put(push.KeysPath, string(set))
		p := &r.registered().Partner
		host := strings.TrimPrefix(r.site.URL, "http://")
		keys := cardsig.KeySet{pinnedID: {JSONWebKey: jose.JSONWebKey{Key: pinned, KeyID: pinnedID}}}
		for what, c := range map[string]struct {
			rules   *cardtrust.Policy
			id, jku string
			want    string
		}{
			"beside the card, without an agreement": {nil, publishedID, "", ""},
			"beside the card, of an allowed host":   {&cardtrust.Policy{JKU: []string{host}}, publishedID, "", ""},
			"where the signature says":              {&cardtrust.Policy{JKU: []string{host}}, publishedID, r.site.URL + push.KeysPath, ""},
			"a pinned one":                          {&cardtrust.Policy{Keys: keys}, pinnedID, "", ""},
			"of a host that is not allowed":         {&cardtrust.Policy{Keys: keys}, publishedID, "", "which is not a host that keys are taken from"},
			"from elsewhere":                        {&cardtrust.Policy{JKU: []string{host}}, publishedID, "https://evil.example/jwks", "evil.example (jku), which is not a host"},
			"that nobody publishes":                 {&cardtrust.Policy{JKU: []string{host}}, "none", "", "no trusted key has this id"},
		} {
			r.rules["underwriter"] = registry.Rules{Signatures: c.rules}
			k, err := r.NotifierKey(r.Context(), p, c.id, c.jku)
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) || err == nil && k.KeyID != c.id {
				r.Errorf("%s: %v, %v; want %q", what, k.KeyID, err, c.want)
			}
		}
		r.rules["underwriter"] = registry.Rules{Signatures: &cardtrust.Policy{Push: cardtrust.Required}}
		if got := r.Notified(p).Push; got != cardtrust.Required {
			r.Errorf("as agreed: %q", got)
		}
		delete(r.rules, "underwriter")
		if got := r.Notified(p).Push; got != cardtrust.IfPresent {
			r.Errorf("without an agreement: %q", got)
		}
		r.site.remove(push.KeysPath)
		r.clock.Advance(3600e9)
		if _, err := r.NotifierKey(r.Context(), p, publishedID, ""); !errors.Is(err, cardtrust.ErrUnreachable) {
			r.Errorf("keys that are not there: %v", err)
		}
	})
}

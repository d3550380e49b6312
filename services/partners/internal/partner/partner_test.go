package partner_test

import (
	"testing"

	"sabha.dev/services/partners/internal/partner"
)

func TestAnAddressNamesAPartnerAndItsSkill(t *testing.T) {
	for text, want := range map[string]partner.Address{
		"underwriter/underwrite": {Partner: "underwriter", Skill: "underwrite"},
		"acme-2/tickets/create":  {Partner: "acme-2", Skill: "tickets/create"},
	} {
		got, ok := partner.ParseAddress(text)
		if !ok || got != want || got.String() != text {
			t.Errorf("%s is %+v (%v)", text, got, ok)
		}
	}
	for _, text := range []string{"", "underwriter", "/underwrite", "underwriter/", "Upper/x", "2nd/x", "a b/x"} {
		if got, ok := partner.ParseAddress(text); ok {
			t.Errorf("%q is taken for %+v", text, got)
		}
	}
}

func TestOnlyApprovedPartnersThatMayBeCalledAreReady(t *testing.T) {
	for _, s := range []partner.State{partner.Discovered, partner.Verified, partner.Approved, partner.Suspended} {
		for _, callable := range []bool{true, false} {
			p := partner.Partner{State: s, Callable: callable, Discoverable: true}
			if want := s == partner.Approved && callable; p.Ready() != want {
				t.Errorf("%s, callable %v: ready is %v", s, callable, p.Ready())
			}
		}
	}
}

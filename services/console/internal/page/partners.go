package page

import (
	"net/url"
	"strings"

	"google.golang.org/protobuf/types/known/structpb"

	partnersv1 "sabha.dev/gen/sabha/partners/v1"
	registryv1 "sabha.dev/gen/sabha/registry/v1"
	"sabha.dev/services/console/internal/form"
	"sabha.dev/services/console/internal/partners"
)

// PartnerPath is the address of a partner.
func PartnerPath(id string) string { return "/partners/" + url.PathEscape(id) }

// PartnersPath is the address of a list of partners.
func PartnersPath(f partners.Filter) string { return addressed("/partners", f.Values()) }

// stateWord of a partner, and the tone that it has.
func stateWord(s registryv1.State) (word, tone string) {
	word = strings.ToLower(strings.TrimPrefix(s.String(), "STATE_"))
	switch s {
	case registryv1.State_STATE_APPROVED:
		return word, "good"
	case registryv1.State_STATE_SUSPENDED:
		return word, "bad"
	case registryv1.State_STATE_DISCOVERED, registryv1.State_STATE_VERIFIED:
		return word, "info"
	}
	return "unknown", ""
}

// presence of a partner when it was last asked.
func presence(p *registryv1.Partner) (word, tone string) {
	switch {
	case p.GetProbedAt() == nil:
		return "not asked yet", ""
	case p.GetOnline():
		return "online", "good"
	}
	return "offline", "bad"
}

// condition of a card in a word; empty while it is good.
func condition(p *registryv1.Partner) string {
	switch p.GetCondition() {
	case registryv1.Condition_CONDITION_UNSPECIFIED, registryv1.Condition_CONDITION_GOOD:
		return ""
	}
	return "card " + strings.ToLower(strings.TrimPrefix(p.GetCondition().String(), "CONDITION_"))
}

// score from 0 to 1, as one reads it.
func score(f float64) string { return plain(f, 2) }

// cardName is what the card calls the partner, else its id.
func cardName(p *registryv1.Partner) string {
	if name := strings.TrimSpace(p.GetName()); name != "" {
		return name
	}
	return p.GetId()
}

// tripWords say that breakers of a partner hold calls back.
func tripWords(all []*partnersv1.Breaker) string {
	for _, b := range all {
		if b.GetState() == "open" {
			return "breaker open"
		}
	}
	return "breaker half-open"
}

func openTrip(all []*partnersv1.Breaker) string {
	if tripWords(all) == "breaker open" {
		return "bad"
	}
	return "warn"
}

// findingTone of what tests found.
func findingTone(kind string) string {
	if kind == "failing" {
		return "bad"
	}
	return "warn"
}

// shortDigest is enough of a digest to compare it by eye.
func shortDigest(d string) string { return d[:min(len(d), 12)] }

// valueText is a value of a card as one reads it.
func valueText(v *structpb.Value) string { return visible(cut(form.Text(v))) }

// PartnerTitle of the window.
func PartnerTitle(d *partners.Detail) string {
	return excerpt(visible(cardName(d.GetPartner())), 60) + " · Partners"
}

// vouched says who says of which organisation a partner is.
func vouched(by string) string {
	switch by {
	case "card":
		return "its card says so"
	case "person":
		return "we vouch for it"
	case "credential":
		return "its credential says so"
	}
	return ""
}

// pagesOf are the addresses of the newest and of the older of a list of a partner's page,
// each empty where it is of no use. The other lists stay where they are.
func pagesOf(d PartnerView, list, panel string) (newest, older string) {
	at, more := d.At.Values().Get(list), d.More.Values().Get(list)
	to := func(place string) string {
		q := d.At.Values()
		q.Del(list)
		if place != "" {
			q.Set(list, place)
		}
		return addressed(PartnerPath(d.GetPartner().GetId()), q) + "#" + panel
	}
	if at != "" {
		newest = to("")
	}
	if more != "" {
		older = to(more)
	}
	return newest, older
}

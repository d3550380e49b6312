package web_test

import (
	"testing"

	"sabha.dev/chassis/identity"
	partnersv1 "sabha.dev/gen/sabha/partners/v1"
	registryv1 "sabha.dev/gen/sabha/registry/v1"
)

func TestListsOfAPartnerContinueEachByItself(t *testing.T) {
	a := goAbroad(t)
	a.crossed = []*partnersv1.Crossing{{Id: "c1", Partner: "underwriter", Skill: "underwrite"}}
	a.found = []*partnersv1.Finding{{Kind: "drift", Reason: "decisions have shifted"}}
	p := a.page(identity.Operator, "/partners/underwriter")
	shows(t, p, `href="/partners/underwriter?history=h-2#history"`, `href="/partners/underwriter?runs=10#tests"`, `href="/partners/underwriter?crossings=c-2#crossings"`)
	hides(t, p, "Newest", "long ago")
	p = a.page(identity.Operator, "/partners/underwriter?history=h-2&runs=10")
	shows(t, p, "long ago", "acme/old", `href="/partners/underwriter?runs=10#history"`, `href="/partners/underwriter?history=h-2#tests"`,
		`href="/partners/underwriter?crossings=c-2&amp;history=h-2&amp;runs=10#crossings"`, "Newest")
	hides(t, p, "h-2#history")
	shows(t, a.page(identity.Operator, "/partners/underwriter?history=nowhere"), "The list does not continue there. Begin with the newest.")
	if status, _ := a.do(identity.Operator, "GET", "/partners/underwriter?runs=many", nil); status != 400 {
		t.Errorf("runs that are no number: %d", status)
	}
}

func TestPartnersAreFoundByWhatTheyNeed(t *testing.T) {
	a := goAbroad(t)
	shows(t, a.page(identity.Viewer, "/partners?needs=changed"), "No partner matches", "A decision on its card")
	shows(t, a.page(identity.Viewer, "/partners?needs=offline"), "No partner matches")
	a.mu.Lock()
	a.known.Change = &registryv1.Change{PartnerId: "underwriter", Digest: "ffee"}
	a.mu.Unlock()
	shows(t, a.page(identity.Viewer, "/partners?needs=changed"), "change waits", "needs=changed")
	shows(t, a.page(identity.Operator, "/"), "Partners that need a person", "change of the card waits", `href="/partners?needs=changed"`)
	a.mu.Lock()
	a.known.Partner.State, a.known.Partner.Callable, a.known.Partner.Online = registryv1.State_STATE_APPROVED, true, false
	a.mu.Unlock()
	shows(t, a.page(identity.Viewer, "/partners?needs=offline"), "offline")
}

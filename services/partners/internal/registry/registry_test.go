package registry_test

import (
	"strings"
	"testing"
	"time"

	"sabha.dev/chassis/fault"
	"sabha.dev/services/partners/internal/cardtrust"
	"sabha.dev/services/partners/internal/partner"
	"sabha.dev/services/partners/internal/registry"
)

func TestAPartnerIsDiscoveredVerifiedApprovedAndSuspended(t *testing.T) {
	onBothEngines(t, func(r *rig) {
		rec := r.registered()
		if rec.State != partner.Discovered || rec.CardURL != r.site.URL+cardPath || rec.Organisation != "Underwriter plc" || rec.Ready() || rec.Discoverable {
			r.Errorf("registered: %+v", rec)
		}
		approve := func(digest string) error {
			_, err := r.store.Update(r.Context(), "underwriter", func(u *registry.Update) error { return u.Approve("acme/olga", digest, "") })
			return err
		}
		r.says(approve(rec.Digest), "verify it first")
		rec, err := r.Verify(r.Context(), "underwriter", "acme/olga")
		if r.must(err); rec.State != partner.Verified {
			r.Errorf("verified: %+v", rec)
		}
		r.says(approve(strings.Repeat("0", 64)), "is not the one that you were shown")
		for range 2 {
			r.says(approve(rec.Digest), "")
		}
		p, err := r.store.Partner(r.Context(), "underwriter")
		if r.must(err); p.State != partner.Approved || p.Ready() {
			r.Errorf("approved without rights: %+v", p)
		}
		r.must(r.store.Suspend(r.Context(), "underwriter", "acme/olga", "a complaint"))
		r.says(approve(rec.Digest), "")
		if got := r.happened(); got != "registered verified approved suspended approved" {
			r.Errorf("history: %s", got)
		}
	})
}

func TestAnAgentThatDoesNotAnswerIsNotVerified(t *testing.T) {
	onBothEngines(t, func(r *rig) {
		r.registered()
		r.site.put("/a2a", "HTTP 503")
		_, err := r.Verify(r.Context(), "underwriter", "acme/olga")
		r.says(err, "the agent does not answer")
		r.site.put("/a2a", "HTTP 401")
		rec, err := r.Verify(r.Context(), "underwriter", "acme/olga")
		if r.must(err); rec.State != partner.Verified {
			r.Errorf("%+v", rec)
		}
	})
}

func TestACardIsFoundWhereAgentsHaveThem(t *testing.T) {
	onBothEngines(t, func(r *rig) {
		const kapPath = "/.well-known/agent.json"
		kap := `{"protocol":"kap/1.0","agent":{"id":"support","name":"Acme Support","organization":"Acme"},"endpoint":"` + r.site.URL + `/ask","capabilities":[{"id":"ask"}]}`
		for what, c := range map[string]struct {
			pages     map[string]string
			url       string
			from, err string
		}{
			"a KAP card":            {map[string]string{kapPath: kap}, "", kapPath, ""},
			"a page at every path":  {map[string]string{cardPath: "<!doctype html>", kapPath: kap}, "/", kapPath, ""},
			"below a path":          {map[string]string{"/kap" + kapPath: kap}, "/kap/", "/kap" + kapPath, ""},
			"a full URL":            {map[string]string{"/cards/x.json": kap}, "/cards/x.json", "/cards/x.json", ""},
			"nothing":               {nil, "", "", "there is no card at " + r.site.URL + cardPath + " nor at "},
			"a page alone":          {map[string]string{cardPath: "<!doctype html>"}, "", "", "not JSON"},
			"a failure":             {map[string]string{cardPath: "HTTP 500", kapPath: kap}, "", "", "answers with HTTP 500"},
			"oversized":             {map[string]string{cardPath: strings.Repeat("x", 300_000)}, "", "", "more than 262144 bytes"},
			"a redirect here":       {map[string]string{cardPath: "Location /moved.json", "/moved.json": kap}, "", cardPath, ""},
			"a redirect elsewhere":  {map[string]string{cardPath: "Location http://169.254.169.254/latest"}, "", "", "redirects to http://169.254.169.254, which was not named"},
			"redirects without end": {map[string]string{cardPath: "Location " + cardPath}, "", "", "cannot be reached"},
		} {
			r.site.mu.Lock()
			r.site.pages = c.pages
			r.site.mu.Unlock()
			id := strings.ReplaceAll(strings.ToLower(what), " ", "-")
			rec, err := r.Register(r.Context(), registry.Registration{URL: r.site.URL + c.url, ID: id, Vouch: registry.ByCard})
			r.says(err, c.err)
			if err == nil {
				if rec.CardURL != r.site.URL+c.from || rec.Organisation != "Acme" || rec.Protocol != partner.KAP1 {
					r.Errorf("%s: %+v", what, rec)
				}
				// One card is one partner: the next may have it.
				_, err = r.store.Update(r.Context(), id, func(u *registry.Update) error { u.CardURL = "https://" + id + ".example"; return nil })
				r.must(err)
			} else {
				r.T.Log(what, err)
			}
		}
	})
}

func TestWhatCannotBeRegisteredIsRefusedWithTheReason(t *testing.T) {
	onBothEngines(t, func(r *rig) {
		for want, g := range map[string]registry.Registration{
			"card_url: must be an absolute URL":           {URL: "agents.example/x"},
			"card_url: must begin with https://":          {URL: "http://agents.example/x"},
			"id: must be at most 63 small letters":        {URL: r.site.URL, ID: "Upper"},
			"hosts: \"a/b\" is no host":                   {URL: r.site.URL, Hosts: []string{"a/b"}},
			"must not hold credentials":                   {URL: "https://u:p@agents.example/x"},
			"is not public, and its network has not been": {URL: "https://10.0.0.1/x"},
			"belongs to another protocol":                 {URL: "https://agents.example:25/x"},
		} {
			_, err := r.Register(r.Context(), g)
			r.says(err, want)
		}
		// Somebody else's interface, and somebody else's name.
		r.site.put(cardPath, r.site.card("BASE/a2a", "https://bank.example/a2a"))
		_, err := r.Register(r.Context(), registry.Registration{URL: r.site.URL, Vouch: registry.ByCard})
		r.says(err, "is on another site")
		r.site.put(cardPath, r.site.card())
		r.approved()
		other := newSite(t)
		other.put("/card.json", other.card(`"version"`, `"provider":{"organization":"UNDERWRITER PLC"},"version"`))
		// Both are 127.0.0.1, which is one site; the approved one is moved away.
		_, err = r.store.Update(r.Context(), "underwriter", func(u *registry.Update) error { u.CardURL = "https://underwriter.example/x.json"; return nil })
		r.must(err)
		_, err = r.Register(r.Context(), registry.Registration{URL: other.URL + "/card.json", ID: "spoof", Vouch: registry.ByCard})
		r.says(err, `whose partner "underwriter" is from underwriter.example, and comes from 127.0.0.1`)
		_, err = r.Register(r.Context(), registry.Registration{URL: other.URL + "/card.json", ID: "branch", Vouch: registry.ByPerson, Organisation: "Underwriter plc"})
		r.says(err, "")
	})
}

func TestAnIDIsMadeOfTheName(t *testing.T) {
	onBothEngines(t, func(r *rig) {
		for name, want := range map[string]string{"Ünder-Writer 2": "writer-2", "4 Eyes": "eyes", "保険": ""} {
			r.site.put("/"+want+".json", r.site.card(`"name":"Underwriter"`, `"name":"`+name+`"`))
			rec, err := r.Register(r.Context(), registry.Registration{URL: r.site.URL + "/" + want + ".json", Vouch: registry.ByCard})
			switch {
			case want == "":
				r.says(err, "id: is missing")
			case err != nil || rec.ID != want:
				r.Errorf("%s: %+v, %v", name, rec, err)
			}
		}
	})
}

func TestTextIsAdoptedAndStructureWaits(t *testing.T) {
	onBothEngines(t, func(r *rig) {
		before := r.approved()
		if rec, c := r.refreshed(""); rec.Digest != before.Digest || c != nil || r.site.same == 0 {
			r.Errorf("nothing new: %+v, %d answers said so", rec, r.site.same)
		}
		r.site.put(cardPath, r.site.card("yes or no", "perhaps"))
		text, c := r.refreshed("")
		if text.Digest == before.Digest || c != nil || text.Skills[0].Description != "Says perhaps." {
			r.Errorf("text: %+v", text)
		}
		r.site.put(cardPath, r.site.card("yes or no", "perhaps", "BASE/a2a", "BASE/v2"))
		rec, c := r.refreshed("")
		if rec.Digest != text.Digest || c == nil || len(c.Diff) != 1 || c.Diff[0].Path != "/supportedInterfaces/0/url" {
			r.Fatalf("structure: %+v, %+v", rec, c)
		}
		// It goes on waiting, with and without the help of ETags.
		for _, tags := range []bool{true, false} {
			r.site.tags = tags
			if _, again := r.refreshed(""); again == nil || again.Digest != c.Digest {
				r.Errorf("again, tags %v: %+v", tags, again)
			}
		}
		_, err := r.Decide(r.Context(), "underwriter", "acme/olga", text.Digest, true, "")
		r.says(err, "is not the one that you were shown")
		_, err = r.Decide(r.Context(), "underwriter", "acme/olga", c.Digest, false, "not announced")
		r.must(err)
		if rec, c := r.refreshed(""); rec.Digest != text.Digest || c != nil {
			r.Errorf("it is offered again: %+v", c)
		}
		r.site.put(cardPath, r.site.card("yes or no", "perhaps", "BASE/a2a", "BASE/v3"))
		_, c = r.refreshed("")
		rec, err = r.Decide(r.Context(), "underwriter", "acme/olga", c.Digest, true, "announced")
		if r.must(err); rec.Digest != c.Digest || !rec.Ready() || !strings.Contains(string(rec.Card), "/v3") {
			r.Errorf("adopted: %+v", rec)
		}
		_, err = r.Decide(r.Context(), "underwriter", "acme/olga", c.Digest, true, "")
		r.says(err, "no change of the card")
		r.site.put(cardPath, r.site.card("yes or no", "perhaps", "BASE/a2a", "BASE/v4"))
		r.refreshed("")
		r.site.put(cardPath, r.site.card("yes or no", "perhaps", "BASE/a2a", "BASE/v3"))
		if _, c = r.refreshed(""); c != nil {
			r.Errorf("it waits though it was taken back: %+v", c)
		}
		want := "registered verified approved rights text_adopted change_found change_refused change_found change_adopted change_found change_withdrawn"
		if got := r.happened(); got != want {
			r.Errorf("history: %s", got)
		}
	})
}

func TestACardThatIsLostStopsNothingAndIsSeen(t *testing.T) {
	onBothEngines(t, func(r *rig) {
		before := r.approved()
		still := func(what string, rec *registry.Record, want registry.Condition) {
			r.Helper()
			if rec.Condition != want || rec.Digest != before.Digest || !rec.Ready() || (want != registry.Fine) != (rec.Problem != "") {
				r.Errorf("%s: condition %q (%s), ready %v", what, rec.Condition, rec.Problem, rec.Ready())
			}
		}
		r.site.put(cardPath, "HTTP 503")
		rec, _ := r.refreshed("answers with HTTP 503")
		if rec.Condition != registry.Fine || rec.Problem == "" || !rec.Ready() || !rec.FetchAt.Before(start.Add(30*time.Minute)) {
			r.Errorf("a failure for now: %+v", rec)
		}
		r.site.remove(cardPath)
		for range 2 {
			rec, _ = r.refreshed("there is no card")
			still("gone", rec, registry.Vanished)
		}
		r.site.put(cardPath, "<!doctype html>")
		rec, _ = r.refreshed("not JSON")
		still("no card", rec, registry.Invalid)
		r.site.put(cardPath, r.site.card("BASE/a2a", "https://evil.example/a2a"))
		rec, _ = r.refreshed("is on another site")
		still("another's", rec, registry.Invalid)
		r.rules["underwriter"] = registry.Rules{Signatures: &cardtrust.Policy{Mode: cardtrust.Required}}
		r.site.put(cardPath, r.site.card())
		rec, _ = r.refreshed("asks for a signature")
		still("unsigned", rec, registry.Unverified)
		delete(r.rules, "underwriter")
		rec, _ = r.refreshed("")
		still("back", rec, registry.Fine)
		if got := r.happened(); got != "registered verified approved rights card_lost card_lost card_lost card_back" {
			r.Errorf("history: %s", got)
		}
	})
}

func TestWhatIsNotApprovedTakesTheCardAsItIs(t *testing.T) {
	onBothEngines(t, func(r *rig) {
		r.registered()
		r.site.put(cardPath, r.site.card("BASE/a2a", "BASE/v2"))
		rec, c := r.refreshed("")
		if c != nil || !strings.Contains(string(rec.Card), "/v2") || rec.State != partner.Discovered {
			r.Errorf("%+v, %+v", rec, c)
		}
	})
}

func TestListedPartnersAreProbedBeforeTheyAreOnline(t *testing.T) {
	onBothEngines(t, func(r *rig) {
		rec := r.approved()
		wait := func(what string, f func(*registry.Record) bool) {
			r.Helper()
			for limit := time.Now().Add(time.Minute); ; time.Sleep(2 * time.Millisecond) {
				now, err := r.store.Record(r.Context(), "underwriter")
				r.must(err)
				if f(now) {
					return
				}
				if time.Now().After(limit) {
					r.Fatalf("%s: %+v", what, now)
				}
			}
		}
		r.must(r.store.Probed(r.Context(), rec.ID, registry.Probe{Next: start}))
		// The card is read when it is due, here within the hour.
		asked := r.site.times(cardPath)
		r.runs()
		wait("it answers", func(now *registry.Record) bool { return now.Online && now.ProbedAt.Equal(start) })
		r.site.put("/a2a", "HTTP 502")
		r.clock.BlockUntil(1)
		r.clock.Advance(time.Minute)
		wait("it does not", func(now *registry.Record) bool { return !now.Online && strings.Contains(now.ProbeProblem, "HTTP 502") })
		r.clock.BlockUntil(1)
		r.clock.Advance(time.Hour)
		wait("its card was due", func(now *registry.Record) bool {
			return r.site.times(cardPath) > asked && now.FetchAt.After(r.clock.Now())
		})
	})
}

func TestPartnersThatAgreementsNameAreRegistered(t *testing.T) {
	onBothEngines(t, func(r *rig) {
		r.site.remove(cardPath)
		r.Wanted = func() []registry.Registration {
			return []registry.Registration{{URL: r.site.URL + cardPath, ID: "underwriter", Vouch: registry.ByPerson, Organisation: "Underwriter plc", By: "agreement"}}
		}
		r.runs()
		r.clock.BlockUntil(1)
		if _, err := r.store.Record(r.Context(), "underwriter"); !fault.Is(err, fault.PartnerNotFound) {
			r.Errorf("without a card: %v", err)
		}
		r.site.put(cardPath, r.site.card())
		for range 2 { // once registered, it is left alone
			r.clock.Advance(2 * time.Minute)
			for limit := time.Now().Add(time.Minute); ; time.Sleep(2 * time.Millisecond) {
				if rec, err := r.store.Record(r.Context(), "underwriter"); err == nil && rec.State == partner.Discovered && rec.RegisteredBy == "agreement" {
					break
				}
				if time.Now().After(limit) {
					r.Fatal("it was never registered")
				}
			}
			r.clock.BlockUntil(1)
		}
		if got := r.happened(); got != "registered" {
			r.Errorf("history: %s", got)
		}
	})
}

func TestMissingPartnersAreNamed(t *testing.T) {
	onBothEngines(t, func(r *rig) {
		_, _, err := r.Refresh(r.Context(), "nobody")
		if !fault.Is(err, fault.PartnerNotFound) {
			r.Errorf("refresh: %v", err)
		}
		_, err = r.Decide(r.Context(), "nobody", "x", "y", true, "")
		if !fault.Is(err, fault.PartnerNotFound) {
			r.Errorf("decide: %v", err)
		}
	})
}

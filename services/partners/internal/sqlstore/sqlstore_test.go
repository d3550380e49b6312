package sqlstore_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"sabha.dev/chassis/fault"
	"sabha.dev/services/partners/internal/card"
	"sabha.dev/services/partners/internal/cardtrust"
	"sabha.dev/services/partners/internal/partner"
	"sabha.dev/services/partners/internal/registry"
	"sabha.dev/services/partners/internal/sqlstore"
	"sabha.dev/testrig/clocktest"
)

func registered() registry.Entry {
	return registry.Entry{Actor: "acme/olga", What: registry.Registered, Digest: "d1"}
}

func TestAPartnerIsReadAsItWasStored(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *sqlstore.Store, _ *clocktest.Clock) {
		r := record("underwriter")
		r.Hosts, r.Vouch, r.ETag, r.FetchAt = []string{"api.example"}, registry.ByPerson, `"x"`, start.Add(time.Hour)
		must(t, s.Add(t.Context(), r, registered()))
		got, err := s.Record(t.Context(), "underwriter")
		must(t, err)
		if !reflect.DeepEqual(got, r) {
			t.Errorf("it was stored as\n%+v\nand read as\n%+v", r, got)
		}
		p, err := s.Partner(t.Context(), "underwriter")
		must(t, err)
		if !p.Ready() || p.Skill("underwrite-loan") == nil || string(p.Card) != `{"name":"Underwriter"}` {
			t.Errorf("the partner is %+v", p)
		}
		all, err := s.Partners(t.Context())
		if must(t, err); len(all) != 1 || all[0].ID != "underwriter" {
			t.Errorf("all are %v", all)
		}
		for _, id := range []string{"nobody", "no\x00body", ""} {
			if _, err := s.Partner(t.Context(), id); reason(err) != fault.PartnerNotFound {
				t.Errorf("%q: %v", id, err)
			}
		}
	})
}

func TestAnIDAndACardAreRegisteredOnce(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *sqlstore.Store, _ *clocktest.Clock) {
		must(t, s.Add(t.Context(), record("underwriter"), registered()))
		if err := s.Add(t.Context(), record("underwriter"), registered()); reason(err) != fault.PartnerExists || !strings.Contains(err.Error(), "another id") {
			t.Errorf("the same id again: %v", err)
		}
		other := record("other")
		other.CardURL = record("underwriter").CardURL
		if err := s.Add(t.Context(), other, registered()); reason(err) != fault.PartnerExists || !strings.Contains(err.Error(), `"underwriter" already`) {
			t.Errorf("the same card again: %v", err)
		}
	})
}

func TestSearchesFindByWhatCardsSay(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *sqlstore.Store, _ *clocktest.Clock) {
		add := func(id string, change func(*registry.Record)) {
			r := record(id)
			change(r)
			must(t, s.Add(t.Context(), r, registered()))
		}
		add("underwriter", func(r *registry.Record) { r.Trust, r.Online = 0.9, true })
		add("stripe", func(r *registry.Record) {
			r.Organisation, r.Name, r.Description, r.Tags, r.Trust, r.Online = "Stripe", "Billing", "Payment processing for firms", []string{"billing", "payments"}, 0.7, true
			r.Skills = []partner.Skill{{ID: "charge"}}
		})
		add("quiet", func(r *registry.Record) { r.Trust, r.Callable = 0.8, false })
		add("hidden", func(r *registry.Record) { r.Trust, r.Discoverable, r.State = 0.6, false, partner.Discovered })
		for _, c := range []struct {
			f    registry.Filter
			want string
		}{
			{registry.Filter{}, "underwriter quiet stripe hidden"},
			{registry.Filter{Discoverable: true}, "underwriter quiet stripe"},
			{registry.Filter{Callable: true}, "underwriter stripe hidden"},
			{registry.Filter{States: []partner.State{partner.Discovered}}, "hidden"},
			{registry.Filter{Capability: "Charge"}, "stripe"},
			{registry.Filter{Capability: "loan"}, "underwriter quiet hidden"},
			{registry.Filter{Organisation: "STRIPE"}, "stripe"},
			{registry.Filter{Organisation: "underwriter plc", OnlineOnly: true}, "underwriter"},
			{registry.Filter{Query: "pay proc"}, "stripe"},
			{registry.Filter{Query: "payment mortgages"}, ""},
			{registry.Filter{Tags: []string{"billing", "Payments"}}, "stripe"},
			{registry.Filter{Tags: []string{"loans"}, MinTrust: 0.8}, "underwriter quiet"},
			{registry.Filter{Query: "'; DROP TABLE x; --"}, ""},
			{registry.Filter{Limit: 2}, "underwriter quiet"},
			{registry.Filter{Limit: 2, After: &registry.Key{Trust: 0.8, ID: "quiet"}}, "stripe hidden"},
		} {
			if c.f.Limit == 0 {
				c.f.Limit = 10
			}
			got, err := s.Search(t.Context(), c.f)
			must(t, err)
			var ids []string
			for _, r := range got {
				ids = append(ids, r.ID)
			}
			if strings.Join(ids, " ") != c.want {
				t.Errorf("%+v: %q, want %q", c.f, ids, c.want)
			}
		}
	})
}

func TestAnIndexFollowsTheCard(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *sqlstore.Store, _ *clocktest.Clock) {
		must(t, s.Add(t.Context(), record("underwriter"), registered()))
		_, err := s.Update(t.Context(), "underwriter", func(u *registry.Update) error {
			u.Card, u.Digest, u.Description = []byte(`{}`), "d2", "Judges pensions."
			return nil
		})
		must(t, err)
		for query, want := range map[string]int{"mortgages": 0, "pensions": 1} {
			got, err := s.Search(t.Context(), registry.Filter{Query: query, Limit: 9})
			if must(t, err); len(got) != want {
				t.Errorf("%s finds %d", query, len(got))
			}
		}
	})
}

func TestTrustAndProbesChangeBesideTheRest(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *sqlstore.Store, _ *clocktest.Clock) {
		must(t, s.Add(t.Context(), record("underwriter"), registered()))
		_, err := s.Update(t.Context(), "underwriter", func(u *registry.Update) error {
			u.Trust, u.Online, u.Name = 0, false, "New name"
			return nil
		})
		must(t, err)
		must(t, s.SetTrust(t.Context(), "underwriter", 0.75, []byte(`{"uptime":1}`)))
		must(t, s.Probed(t.Context(), "underwriter", registry.Probe{Online: true, At: start, Next: start.Add(time.Minute)}))
		r, err := s.Record(t.Context(), "underwriter")
		must(t, err)
		if r.Trust != 0.75 || string(r.TrustParts) != `{"uptime":1}` || !r.Online || !r.ProbedAt.Equal(start) || r.Name != "New name" || r.Revision != 2 {
			t.Errorf("it is %+v", r)
		}
		if err := s.SetTrust(t.Context(), "nobody", 1, nil); reason(err) != fault.PartnerNotFound {
			t.Errorf("trust in nobody: %v", err)
		}
	})
}

func TestHistoryIsKeptAndTold(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *sqlstore.Store, _ *clocktest.Clock) {
		must(t, s.Add(t.Context(), record("underwriter"), registered()))
		for range 2 {
			must(t, s.Suspend(t.Context(), "underwriter", "trust", "drift of the decisions"))
		}
		h, err := s.History(t.Context(), "underwriter", 0, 10)
		must(t, err)
		if len(h) != 2 || h[0].What != registry.SuspendedNow || h[0].Note != "drift of the decisions" || h[0].Actor != "trust" || h[1].What != registry.Registered || h[1].Seq != 1 {
			t.Errorf("history %+v", h)
		}
		if h, err = s.History(t.Context(), "underwriter", 2, 10); err != nil || len(h) != 1 || h[0].Seq != 1 {
			t.Errorf("below 2: %+v, %v", h, err)
		}
		events, err := s.Events(t.Context(), 10)
		must(t, err)
		var ids []string
		for _, e := range events {
			ids = append(ids, e.ID+" "+e.Subject)
		}
		want := []string{"underwriter/1 sabha.partners.underwriter.registered", "underwriter/2 sabha.partners.underwriter.suspended"}
		if !reflect.DeepEqual(ids, want) || !strings.Contains(string(events[1].Body), `"state":"suspended"`) {
			t.Errorf("events %q", ids)
		}
		must(t, s.EventsTold(t.Context(), []string{"underwriter/1"}))
		if events, err = s.Events(t.Context(), 10); err != nil || len(events) != 1 {
			t.Errorf("after one was told: %v, %v", events, err)
		}
	})
}

func TestAPendingChangeIsOneAndGoes(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *sqlstore.Store, _ *clocktest.Clock) {
		must(t, s.Add(t.Context(), record("underwriter"), registered()))
		for n := range 2 {
			_, err := s.Update(t.Context(), "underwriter", func(u *registry.Update) error {
				u.Pending = &registry.Change{
					Digest: fmt.Sprintf("n%d", n), Card: []byte(`{"v":2}`), Signature: cardtrust.Good, FoundAt: start,
					Diff: []card.Difference{{Path: "/skills/a", Kind: "added", After: []byte(`{}`), Structural: true}},
				}
				return nil
			})
			must(t, err)
		}
		c, err := s.Pending(t.Context(), "underwriter")
		must(t, err)
		if c == nil || c.Digest != "n1" || len(c.Diff) != 1 || c.Diff[0].Path != "/skills/a" || !c.FoundAt.Equal(start) || string(c.Card) != `{"v":2}` {
			t.Errorf("pending %+v", c)
		}
		_, err = s.Update(t.Context(), "underwriter", func(u *registry.Update) error { u.Pending = nil; return nil })
		must(t, err)
		if c, err = s.Pending(t.Context(), "underwriter"); c != nil || err != nil {
			t.Errorf("still pending: %+v, %v", c, err)
		}
	})
}

func TestWhatIsDueIsClaimedOnce(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *sqlstore.Store, clock *clocktest.Clock) {
		for n := range 5 {
			r := record(fmt.Sprintf("p%d", n))
			r.FetchAt, r.ProbeAt = start.Add(time.Duration(n)*time.Minute), start
			if n == 4 {
				r.Discoverable, r.Callable = false, false
			}
			must(t, s.Add(t.Context(), r, registered()))
		}
		now := start.Add(2 * time.Minute)
		for _, c := range []struct {
			what string
			f    func() ([]string, error)
			want []int // how many at each claim
		}{
			{"fetches", func() ([]string, error) { return s.ClaimFetches(t.Context(), now, now.Add(time.Minute), 2) }, []int{2, 1, 0}},
			{"probes", func() ([]string, error) { return s.ClaimProbes(t.Context(), now, now.Add(time.Minute), 3) }, []int{3, 1, 0}},
		} {
			for _, want := range c.want {
				if ids, err := c.f(); err != nil || len(ids) != want {
					t.Errorf("%s: claimed %v, want %d (%v)", c.what, ids, want, err)
				}
			}
		}
	})
}

// What is held of a partner is what it is now, as far as this replica can know.
func TestAPartnerIsHeldUntilItChanges(t *testing.T) {
	for _, engine := range []string{"sqlite", "postgres"} {
		t.Run(engine, func(t *testing.T) {
			db, clock := database(t, engine), clocktest.New(start)
			s, other := sqlstore.New(db, clock), sqlstore.New(db, clock)
			must(t, s.Add(t.Context(), record("underwriter"), registered()))
			ready := func(want bool) {
				t.Helper()
				for range 2 {
					p, err := s.Partner(t.Context(), "underwriter")
					if must(t, err); p.Ready() != want {
						t.Errorf("ready is %v", !want)
					}
				}
			}
			ready(true)
			must(t, s.Suspend(t.Context(), "underwriter", "bank/asha", "it lies"))
			ready(false)
			_, err := other.Update(t.Context(), "underwriter", func(u *registry.Update) error {
				u.Record.State = partner.Approved
				return nil
			})
			must(t, err)
			clock.Advance(time.Second) // what another replica changes counts soon
			ready(true)
		})
	}
}

package review_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	reviewv1 "sabha.dev/gen/sabha/review/v1"
)

func TestAnItemIsHandedToPeopleWhoMayDecide(t *testing.T) {
	onBothEngines(t, func(t *testing.T, database string) {
		r := newRig(t, database, 2)
		id := r.ask("m1", map[string]any{"risk": "high"}) // for lending
		desk, other := r.desks[0], r.desks[1]
		olga := r.as("olga", "operator")
		for _, who := range []struct {
			subject string
			scopes  []string
		}{
			{"lena", []string{"reviewer", "group:lending"}},
			{"ravi", []string{"reviewer", "group:cards"}},
			{"vera", []string{"viewer", "group:lending"}},
			{"lars", []string{"admin", "group:lending"}},
			{"ada", []string{"reviewer", "group:lending"}}, // who asked
		} {
			if _, err := other.ListQueues(r.as(who.subject, who.scopes...), &reviewv1.ListQueuesRequest{}); err != nil {
				t.Fatal(err)
			}
		}
		people := func(want ...string) {
			t.Helper()
			res, err := desk.ListPeople(olga, &reviewv1.ListPeopleRequest{Id: id})
			if err != nil || !slices.Equal(res.GetPeople(), want) {
				t.Errorf("it may be handed to %v, %v; want %v", res.GetPeople(), err, want)
			}
		}
		people("acme/lars", "acme/lena")
		for to, why := range map[string]string{
			"acme/ravi": "acme/ravi is not in the group lending", "acme/vera": "acme/vera has none of the roles reviewer and admin",
			"acme/olga": "acme/olga has none of the roles", "acme/ada": "acme/ada asked for it",
		} {
			_, err := desk.Reassign(olga, &reviewv1.ReassignRequest{Id: id, To: to})
			if said(err) != "INVALID_ARGUMENT" || !strings.Contains(err.Error(), why) {
				t.Errorf("to %s: %v, want %q", to, err, why)
			}
		}
		if _, err := desk.Reassign(olga, &reviewv1.ReassignRequest{Id: id, To: "acme/lena"}); err != nil {
			t.Fatal(err)
		}
		people("acme/lars") // without who holds it
		// What people may do is what they could at their last call.
		if _, err := other.ListQueues(r.as("lars", "admin"), &reviewv1.ListQueuesRequest{}); err != nil {
			t.Fatal(err)
		}
		people()
		r.clock.by.Add(int64(91 * 24 * time.Hour))
		if _, err := other.ListQueues(r.as("rosa", "reviewer", "group:lending"), &reviewv1.ListQueuesRequest{}); err != nil {
			t.Fatal(err)
		}
		people("acme/rosa") // the others have not been here for long
	})
}

// Nobody knows whether there is such a person. The item is not lost with one who never comes.
func TestAnItemThatIsHandedToNobodyComesBack(t *testing.T) {
	onBothEngines(t, func(t *testing.T, database string) {
		r := newRig(t, database, 1)
		id := r.ask("m1", nil)
		olga, rosa := r.as("olga", "operator"), r.as("rosa", "reviewer")
		res, err := r.desks[0].Reassign(olga, &reviewv1.ReassignRequest{Id: id, To: "acme/nobody"})
		if err != nil || res.GetItem().GetHolder() != "acme/nobody" {
			t.Fatalf("%v, %v", res, err)
		}
		if _, err := r.desks[0].Claim(rosa, &reviewv1.ClaimRequest{Id: id}); said(err) != "ITEM_HELD" {
			t.Errorf("meanwhile another is told %v", err)
		}
		r.clock.by.Add(int64(res.GetItem().GetHeldUntil().AsTime().Sub(r.clock.Now())))
		list, err := r.desks[0].ListItems(rosa, &reviewv1.ListItemsRequest{Unassigned: true})
		if err != nil || len(list.GetItems()) != 1 || list.GetUnassigned() != 1 {
			t.Errorf("afterwards nobody holds %v, %v", list, err)
		}
		if _, err := r.desks[0].Claim(rosa, &reviewv1.ClaimRequest{Id: id}); err != nil {
			t.Errorf("afterwards another is told %v", err)
		}
		var what []string
		for _, e := range r.detail(id).GetHistory() {
			what = append(what, e.GetWhat()+" "+e.GetBy()+" "+e.GetNote())
		}
		if got := strings.Join(what[1:], "; "); got != "reassigned acme/olga to acme/nobody; claim-expired policy acme/nobody; claimed acme/rosa " {
			t.Errorf("the history says %q", got)
		}
	})
}

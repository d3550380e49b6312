package review_test

import (
	"slices"
	"strings"
	"testing"

	"sabha.dev/chassis/identity"
	reviewv1 "sabha.dev/gen/sabha/review/v1"
)

// note tells accounts as the console does.
func (r *rig) note(all ...*reviewv1.Account) *reviewv1.NoteAccountsResponse {
	r.t.Helper()
	res, err := r.accounts[0].NoteAccounts(identity.WithOutgoing(r.t.Context(), identity.Call{}), &reviewv1.NoteAccountsRequest{Accounts: all})
	if err != nil {
		r.t.Fatal(err)
	}
	return res
}

func TestItemsAreHandedToPeopleWhoHaveAnAccountAndWereNeverHere(t *testing.T) {
	onBothEngines(t, func(t *testing.T, database string) {
		r := newRig(t, database, 2)
		id := r.ask("m1", map[string]any{"risk": "high"}) // for lending
		olga := r.as("olga", "operator")
		r.note(
			&reviewv1.Account{Person: "acme/lena", Scopes: []string{"viewer", "reviewer", "group:lending"}},
			&reviewv1.Account{Person: "acme/ravi", Scopes: []string{"reviewer", "group:cards"}},
			&reviewv1.Account{Person: "acme/gone", Scopes: []string{"reviewer", "group:lending"}, Disabled: true},
		)
		res, err := r.desks[1].ListPeople(olga, &reviewv1.ListPeopleRequest{Id: id})
		if err != nil || !slices.Equal(res.GetPeople(), []string{"acme/lena"}) {
			t.Errorf("it may be handed to %v, %v", res.GetPeople(), err)
		}
		for to, why := range map[string]string{"acme/ravi": "acme/ravi is not in the group lending", "acme/gone": "acme/gone has none of the roles"} {
			_, err := r.desks[1].Reassign(olga, &reviewv1.ReassignRequest{Id: id, To: to})
			if said(err) != "INVALID_ARGUMENT" || !strings.Contains(err.Error(), why) {
				t.Errorf("to %s: %v, want %q", to, err, why)
			}
		}
		if got, err := r.desks[1].Reassign(olga, &reviewv1.ReassignRequest{Id: id, To: "acme/lena"}); err != nil || got.GetItem().GetHolder() != "acme/lena" {
			t.Errorf("%v, %v", got, err)
		}
		// Only the console by itself tells of accounts.
		if _, err := r.accounts[0].NoteAccounts(r.as("ines", "admin"), &reviewv1.NoteAccountsRequest{}); said(err) != "NOT_PERMITTED" {
			t.Errorf("an administrator is told %v", err)
		}
	})
}

func TestWhoseAccountIsDisabledHoldsNothingAndDecidesNothing(t *testing.T) {
	onBothEngines(t, func(t *testing.T, database string) {
		r := newRig(t, database, 2)
		lena, rosa := r.as("lena", "reviewer"), r.as("rosa", "reviewer")
		account := func(disabled bool) *reviewv1.Account {
			return &reviewv1.Account{Person: "acme/lena", Scopes: []string{"reviewer"}, Disabled: disabled}
		}
		held := []string{r.ask("m1", nil), r.ask("m2", nil)}
		others := r.ask("m3", nil)
		for _, id := range held {
			if _, err := r.desks[0].Claim(lena, &reviewv1.ClaimRequest{Id: id}); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := r.desks[0].Claim(rosa, &reviewv1.ClaimRequest{Id: others}); err != nil {
			t.Fatal(err)
		}
		if n := r.note(account(true)).GetReleased(); n != 2 {
			t.Errorf("%d claims were released, want 2", n)
		}
		if n := r.note(account(true)).GetReleased(); n != 0 {
			t.Errorf("told again, %d more were", n)
		}
		for _, id := range held {
			d := r.detail(id)
			last := d.GetHistory()[len(d.GetHistory())-1]
			if d.GetItem().GetHolder() != "" || last.GetWhat() != "released" || last.GetBy() != "policy" || last.GetNote() != "the account of acme/lena is disabled" {
				t.Errorf("%q holds it, after %v", d.GetItem().GetHolder(), last)
			}
		}
		if holder := r.detail(others).GetItem().GetHolder(); holder != "acme/rosa" {
			t.Errorf("what rosa holds is held by %q", holder)
		}
		// A key or a grant that is still about changes nothing here, at either replica.
		digest := r.detail(held[0]).GetItem().GetDigest()
		for replica, desk := range r.desks {
			_, claim := desk.Claim(lena, &reviewv1.ClaimRequest{Id: held[0]})
			_, decide := desk.Decide(lena, &reviewv1.DecideRequest{Id: held[0], Digest: digest, Approve: true})
			_, batch := desk.DecideBatch(lena, &reviewv1.DecideBatchRequest{Decisions: []*reviewv1.DecideRequest{{Id: held[0], Digest: digest, Approve: true}}})
			_, ask := desk.Ask(lena, &reviewv1.AskRequest{Id: held[0], Question: "Why?"})
			for _, err := range []error{claim, decide, batch, ask} {
				if said(err) != "NOT_PERMITTED" || !strings.Contains(err.Error(), "the account of acme/lena is disabled") {
					t.Errorf("replica %d: %v", replica, err)
				}
			}
			if _, err := desk.GetItem(lena, &reviewv1.GetItemRequest{Id: held[0]}); err != nil {
				t.Errorf("reading is judged where the grant is made: %v", err)
			}
		}
		r.note(account(false))
		if _, err := r.desks[1].Claim(lena, &reviewv1.ClaimRequest{Id: held[0]}); err != nil {
			t.Errorf("with the account enabled again: %v", err)
		}
	})
}

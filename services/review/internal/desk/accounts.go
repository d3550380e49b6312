package desk

import (
	"context"

	"sabha.dev/chassis/fault"
	"sabha.dev/chassis/identity"
	reviewv1 "sabha.dev/gen/sabha/review/v1"
	"sabha.dev/services/review/internal/item"
	"sabha.dev/services/review/internal/roster"
	"sabha.dev/services/review/internal/sqlstore"
)

// maxAccounts bounds how many accounts are told at once, heldAtOnce how many claims of a
// person are looked up at once.
const (
	maxAccounts = 1000
	heldAtOnce  = 200
)

// Accounts implements AccountService.
type Accounts struct {
	reviewv1.UnimplementedAccountServiceServer
	*Desk
}

// NoteAccounts takes down who has an account at the console, and frees what those hold
// whose account is disabled.
func (d Accounts) NoteAccounts(ctx context.Context, req *reviewv1.NoteAccountsRequest) (*reviewv1.NoteAccountsResponse, error) {
	if call, ok := identity.CallOf(ctx); !ok || call.Actor != identity.Console || !call.Principal.Anonymous() {
		return nil, fault.New(fault.NotPermitted, "the console tells who has an account, and nobody else")
	}
	if n := len(req.GetAccounts()); n > maxAccounts {
		return nil, fault.Invalid("accounts", "there are %d; at most %d are told at once", n, maxAccounts)
	}
	all := make([]roster.Account, 0, len(req.GetAccounts()))
	for _, a := range req.GetAccounts() {
		all = append(all, roster.Account{Person: item.PersonWith(a.GetPerson(), a.GetScopes()), Disabled: a.GetDisabled()})
	}
	if err := d.people.NoteAccounts(ctx, all); err != nil {
		return nil, err
	}
	res := &reviewv1.NoteAccountsResponse{}
	for _, a := range all {
		if !a.Disabled {
			continue
		}
		n, err := d.free(ctx, a.Person.Key)
		res.Released += n
		if err != nil {
			return nil, err
		}
	}
	return res, nil
}

// free releases every claim of a person. The person is noted as disabled before, so what is
// claimed in the same instant is all that can stay; that runs out as any claim does.
func (d *Desk) free(ctx context.Context, person string) (n int32, err error) {
	for {
		held, err := d.items.List(ctx, sqlstore.Filter{Mine: person, Now: d.clock.Now(), Limit: heldAtOnce})
		if err != nil || len(held) == 0 {
			return n, err
		}
		for _, i := range held {
			freed := false
			err := d.items.Update(ctx, i.ID, func(i *item.Item) (*item.Change, error) { return i.Vacate(person, d.clock.Now()), nil },
				func(_ *item.Item, c *item.Change) { freed = c != nil })
			if err != nil {
				return n, err
			}
			if freed {
				n++
			}
		}
	}
}

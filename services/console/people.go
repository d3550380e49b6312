package console

import (
	"context"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	"sabha.dev/chassis/identity"
	"sabha.dev/chassis/service"
	reviewv1 "sabha.dev/gen/sabha/review/v1"
	"sabha.dev/services/console/internal/account"
)

// How often the accounts are looked at without a word of a change, which another replica
// or the command line may have made, how soon they are told again when review was not there, and
// how often all are told anew: what review has might be of a backup.
const (
	lookAtAccounts  = 30 * time.Second
	tellAgain       = 5 * time.Second
	tellAllAccounts = time.Hour
	accountsAtOnce  = 1000
	tellWithin      = 10 * time.Second
)

// tellPeople has review know who has an account, so that items are handed to people who
// have not been there, and nobody holds one whose account is disabled.
func (r *Running) tellPeople(base *service.Base, c Config) error {
	if len(c.Peers) > 0 && c.Peers[review] == "" {
		return nil
	}
	conn, err := base.Peer(review)
	if err != nil {
		return err
	}
	t := &teller{people: r.people, review: reviewv1.NewAccountServiceClient(conn), told: map[string]*reviewv1.Account{}}
	ctx, stop := context.WithCancel(context.Background())
	var work sync.WaitGroup
	r.closers = append(r.closers, func() { stop(); work.Wait() })
	work.Go(func() {
		for failed := 0; ctx.Err() == nil; {
			next := lookAtAccounts
			if err := t.tell(ctx, base.Clock.Now()); err == nil {
				failed = 0
			} else if failed++; failed == 1 {
				next = tellAgain // they may have been started together
			} else if failed == 2 && ctx.Err() == nil {
				base.Log.Warn("review does not know of all accounts; it is told again", "error", err)
			}
			select {
			case <-ctx.Done():
			case <-r.people.Changed():
			case <-base.Clock.After(next):
			}
		}
	})
	return nil
}

// teller tells review of accounts.
type teller struct {
	people *account.Directory
	review reviewv1.AccountServiceClient
	// told are those that it knows, by person, and since when all have been told.
	told map[string]*reviewv1.Account
	all  time.Time
}

// tell tells what it does not know yet.
func (t *teller) tell(ctx context.Context, now time.Time) error {
	ctx, cancel := context.WithTimeout(ctx, tellWithin)
	defer cancel()
	accounts, err := t.people.All(ctx)
	if err != nil {
		return err
	}
	if now.Sub(t.all) >= tellAllAccounts {
		clear(t.told)
		t.all = now
	}
	var news []*reviewv1.Account
	for _, a := range accounts {
		one := &reviewv1.Account{Person: a.Principal().Key(), Scopes: a.Principal().Scopes, Disabled: a.Disabled}
		if !proto.Equal(one, t.told[one.GetPerson()]) {
			news = append(news, one)
		}
	}
	for len(news) > 0 {
		n := min(len(news), accountsAtOnce)
		if _, err := t.review.NoteAccounts(identity.WithOutgoing(ctx, identity.Call{}), &reviewv1.NoteAccountsRequest{Accounts: news[:n]}); err != nil {
			return err
		}
		for _, one := range news[:n] {
			t.told[one.GetPerson()] = one
		}
		news = news[n:]
	}
	return nil
}

package sqlstore_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	reviewv1 "sabha.dev/gen/sabha/review/v1"
	"sabha.dev/services/review/internal/item"
	"sabha.dev/services/review/internal/sqlstore"
)

// race lets many people do the same at once on two stores, and gives the outcomes.
func race(t *testing.T, stores []*sqlstore.Store, people int, id string, f func(*item.Item, item.Person) (*item.Change, error)) map[string]int {
	t.Helper()
	var (
		mu       sync.Mutex
		all      sync.WaitGroup
		outcomes = map[string]int{}
		begin    = make(chan struct{})
	)
	for n := range people {
		all.Add(1)
		go func() {
			defer all.Done()
			p := person(fmt.Sprintf("rosa%d", n))
			<-begin
			err := stores[n%len(stores)].Update(t.Context(), id, func(i *item.Item) (*item.Change, error) { return f(i, p) }, nil)
			mu.Lock()
			defer mu.Unlock()
			outcomes[reason(err)]++
		}()
	}
	close(begin)
	all.Wait()
	return outcomes
}

func TestOfManyWhoClaimOneHolds(t *testing.T) {
	onBothEngines(t, func(t *testing.T, open func() *sqlstore.Store) {
		stores := []*sqlstore.Store{open(), open()}
		id := add(t, stores[0], 1, terms())[0]
		claim := func(i *item.Item, p item.Person) (*item.Change, error) { return i.Claim(p, start) }
		const people = 40
		if got := race(t, stores, people, id, claim); got[""] != 1 || got["ITEM_HELD"] != people-1 {
			t.Fatalf("outcomes %v, want one claim", got)
		}
		i, err := stores[1].Get(t.Context(), id)
		if err != nil || i.Version != 2 || i.HolderAt(start.Add(29*time.Minute)) == "" || i.HolderAt(start.Add(30*time.Minute)) != "" {
			t.Fatalf("%+v %v", i, err)
		}
		first := i.Holder
		// The claim has run out: again one of many has it.
		late := func(i *item.Item, p item.Person) (*item.Change, error) { return i.Claim(p, start.Add(time.Hour)) }
		if got := race(t, stores, people, id, late); got[""] != 1 || got["ITEM_HELD"] != people-1 {
			t.Fatalf("outcomes %v, want one claim", got)
		}
		history, err := stores[0].History(t.Context(), id)
		if err != nil || len(history) != 4 || history[1].What != "claimed" || history[2].What != "claim-expired" || history[2].Note != first || history[3].What != "claimed" {
			t.Errorf("history %v %v", history, err)
		}
	})
}

func TestOfManyWhoDecideOneHasDecided(t *testing.T) {
	onBothEngines(t, func(t *testing.T, open func() *sqlstore.Store) {
		stores := []*sqlstore.Store{open(), open()}
		id := add(t, stores[0], 1, terms())[0]
		decide := func(i *item.Item, p item.Person) (*item.Change, error) {
			return i.Decide(p, item.Verdict{Digest: i.Digest, Approve: true}, start)
		}
		const people = 40
		if got := race(t, stores, people, id, decide); got[""] != 1 || got["ITEM_DECIDED"] != people-1 {
			t.Fatalf("outcomes %v, want one decision", got)
		}
		i, err := stores[1].Get(t.Context(), id)
		if err != nil || len(i.Decisions) != 1 || i.State != reviewv1.State_STATE_APPROVED {
			t.Errorf("%+v %v", i, err)
		}
	})
}

func TestTwoOfManyWhoApproveAreCounted(t *testing.T) {
	onBothEngines(t, func(t *testing.T, open func() *sqlstore.Store) {
		stores := []*sqlstore.Store{open(), open()}
		four := terms()
		four.Approvals = 2
		id := add(t, stores[0], 1, four)[0]
		decide := func(i *item.Item, p item.Person) (*item.Change, error) {
			return i.Decide(p, item.Verdict{Digest: i.Digest, Approve: true}, start)
		}
		if got := race(t, stores, 40, id, decide); got[""] != 2 || got["ITEM_DECIDED"] != 38 {
			t.Fatalf("outcomes %v, want two approvals", got)
		}
		i, err := stores[1].Get(t.Context(), id)
		if err != nil || len(i.Decisions) != 2 || i.Decisions[0].Person == i.Decisions[1].Person || i.State != reviewv1.State_STATE_APPROVED {
			t.Errorf("%+v %v", i, err)
		}
	})
}

func TestADecisionThatRacesACancelLeavesOneEnd(t *testing.T) {
	onBothEngines(t, func(t *testing.T, open func() *sqlstore.Store) {
		stores := []*sqlstore.Store{open(), open()}
		for n, id := range add(t, stores[0], 20, terms()) {
			p := person("rosa")
			var both sync.WaitGroup
			both.Add(2)
			var decided error
			go func() {
				defer both.Done()
				decided = stores[0].Update(t.Context(), id, func(i *item.Item) (*item.Change, error) {
					return i.Decide(p, item.Verdict{Digest: i.Digest, Approve: true}, start)
				}, nil)
			}()
			go func() {
				defer both.Done()
				if err := stores[1].Update(t.Context(), id, func(i *item.Item) (*item.Change, error) { return i.Cancel(start), nil }, nil); err != nil {
					t.Error(err)
				}
			}()
			both.Wait()
			i, err := stores[n%2].Get(t.Context(), id)
			if err != nil {
				t.Fatal(err)
			}
			approved := i.State == reviewv1.State_STATE_APPROVED && len(i.Decisions) == 1 && reason(decided) == ""
			canceled := i.State == reviewv1.State_STATE_CANCELED && len(i.Decisions) == 0 && reason(decided) == "ITEM_DECIDED"
			if approved == canceled || i.Version != 2 {
				t.Errorf("%s: %v with %d decisions, version %d; the decision: %v", id, i.State, len(i.Decisions), i.Version, decided)
			}
		}
	})
}

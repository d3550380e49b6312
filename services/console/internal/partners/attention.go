package partners

import (
	"cmp"
	"context"
	"slices"
	"sync"

	registryv1 "sabha.dev/gen/sabha/registry/v1"
)

// Need is why a partner needs a person.
type Need struct {
	ID string
	// Changed says that a change of its card waits, Offline that plans may call it and it
	// does not answer, Tripped that a breaker holds calls back. Found are the kinds of
	// what its golden tasks found.
	Changed, Offline, Tripped bool
	Found                     []string
}

// Needs reads which partners need a person, by id. What cannot be read is left out: it is
// named on the list of partners.
func (s *Source) Needs(ctx context.Context) []Need {
	var (
		b  Board
		wg sync.WaitGroup
	)
	wg.Go(func() { s.beside(ctx, &b) })
	res, err := s.registry.ListPartners(ctx, &registryv1.ListPartnersRequest{States: []registryv1.State{registryv1.State_STATE_APPROVED}, PageSize: maxPage})
	wg.Wait()
	if err != nil {
		s.unread(ctx, "partners that are offline", err)
	}
	all := map[string]*Need{}
	of := func(id string) *Need {
		if all[id] == nil {
			all[id] = &Need{ID: id}
		}
		return all[id]
	}
	for _, p := range res.GetPartners() {
		if p.GetCallable() && !p.GetOnline() && p.GetProbedAt() != nil {
			of(p.GetId()).Offline = true
		}
	}
	for id := range b.Changed {
		of(id).Changed = true
	}
	for id := range b.Breakers {
		of(id).Tripped = true
	}
	for id, found := range b.Findings {
		for _, f := range found {
			of(id).Found = append(of(id).Found, f.GetKind())
		}
	}
	list := make([]Need, 0, len(all))
	for _, n := range all {
		list = append(list, *n)
	}
	slices.SortFunc(list, func(a, b Need) int { return cmp.Compare(a.ID, b.ID) })
	return list
}

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

// manyNeeds bounds how many partners of one kind are named.
const manyNeeds = 50

// Needs reads which partners need a person, by id, and whether there are more than are
// named. What cannot be read is left out: it is named on the list of partners.
func (s *Source) Needs(ctx context.Context) (needs []Need, more bool) {
	var (
		b                Board
		offline, changed *registryv1.ListPartnersResponse
		wg               sync.WaitGroup
	)
	read := func(into **registryv1.ListPartnersResponse, what string, n Filter) {
		wg.Go(func() {
			q := n.request()
			q.PageSize = manyNeeds
			var err error
			if *into, err = s.registry.ListPartners(ctx, q); err != nil {
				s.unread(ctx, what, err)
			}
		})
	}
	wg.Go(func() { s.beside(ctx, &b) })
	read(&offline, "partners that are offline", Filter{Needs: Offline})
	read(&changed, "changes of cards", Filter{Needs: Changed})
	wg.Wait()
	all := map[string]*Need{}
	of := func(id string) *Need {
		if all[id] == nil {
			all[id] = &Need{ID: id}
		}
		return all[id]
	}
	for _, p := range offline.GetPartners() {
		of(p.GetId()).Offline = true
	}
	for _, p := range changed.GetPartners() {
		of(p.GetId()).Changed = true
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
	return list, offline.GetNextPageToken() != "" || changed.GetNextPageToken() != ""
}

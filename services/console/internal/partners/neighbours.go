package partners

import (
	"context"
	"sync"

	partnersv1 "sabha.dev/gen/sabha/partners/v1"
	registryv1 "sabha.dev/gen/sabha/registry/v1"
)

// fewNeighbours are how many partners stand among the agents.
const fewNeighbours = 24

// Neighbour is a partner that plans may call, with how it stands.
type Neighbour struct {
	*registryv1.Partner
	// Breakers that are not closed.
	Breakers []*partnersv1.Breaker
	// Standing over 30 days; nil without an agreement, or when it cannot be read.
	Standing *partnersv1.GetAttainmentResponse
}

// Neighbours reads the partners that plans may call, the most trusted first, and whether
// there are more. The error is ErrUnreachable.
func (s *Source) Neighbours(ctx context.Context) (all []Neighbour, more bool, err error) {
	res, err := s.registry.ListPartners(ctx, &registryv1.ListPartnersRequest{
		States: []registryv1.State{registryv1.State_STATE_APPROVED}, Callable: true, PageSize: fewNeighbours,
	})
	if err != nil {
		return nil, false, s.told(ctx, err)
	}
	for _, p := range res.GetPartners() {
		all = append(all, Neighbour{Partner: p})
	}
	more = res.GetNextPageToken() != ""
	if len(all) == 0 {
		return nil, more, nil
	}
	var wg sync.WaitGroup
	for i := range all {
		wg.Go(func() {
			res, err := s.standing.GetAttainment(ctx, &partnersv1.GetAttainmentRequest{Partner: all[i].GetId(), Window: "30d"})
			if s.trouble(ctx, "attainment", err) == "" {
				all[i].Standing = res
			}
		})
	}
	open, err := s.standing.ListBreakers(ctx, &partnersv1.ListBreakersRequest{})
	wg.Wait()
	if err != nil {
		return nil, false, s.told(ctx, err)
	}
	for i := range all {
		for _, b := range open.GetBreakers() {
			if b.GetPartner() == all[i].GetId() {
				all[i].Breakers = append(all[i].Breakers, b)
			}
		}
	}
	return all, more, nil
}

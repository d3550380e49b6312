// Package partners reads what the console shows of agents of other organisations: who
// they are, how they stand against their agreements, what crossed, and what tests found.
package partners

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"

	"google.golang.org/grpc"

	"sabha.dev/chassis/fault"
	partnersv1 "sabha.dev/gen/sabha/partners/v1"
	registryv1 "sabha.dev/gen/sabha/registry/v1"
)

// Errors of a Source. Others are that the caller may not see it, as the service says.
var (
	// ErrNoPartner says that no partner has the id.
	ErrNoPartner = errors.New("there is no such partner")
	// ErrBadList says that a list cannot be made as it was asked for.
	ErrBadList = errors.New("there is no such list")
	// ErrUnreachable says that the partners service gave no answer.
	ErrUnreachable = errors.New("the partners service cannot be reached")
)

// PageSize is how many partners a page of the list has.
const PageSize = 50

// Source asks the partners service, on behalf of whoever the context of a call is for.
type Source struct {
	registry  registryv1.RegistryServiceClient
	standing  partnersv1.AttainmentServiceClient
	contracts partnersv1.ContractServiceClient
	crossings partnersv1.CrossingServiceClient
	log       *slog.Logger
}

// New makes a source over a connection to the partners service.
func New(conn grpc.ClientConnInterface, log *slog.Logger) *Source {
	return &Source{
		registry: registryv1.NewRegistryServiceClient(conn), standing: partnersv1.NewAttainmentServiceClient(conn),
		contracts: partnersv1.NewContractServiceClient(conn), crossings: partnersv1.NewCrossingServiceClient(conn), log: log,
	}
}

// Registry is the service itself, for what changes partners.
func (s *Source) Registry() registryv1.RegistryServiceClient { return s.registry }

// Contracts is the service that runs golden tasks.
func (s *Source) Contracts() partnersv1.ContractServiceClient { return s.contracts }

// Board is a list of partners with what is known of each beside it.
type Board struct {
	Filter   Filter
	Partners []*registryv1.Partner
	// Next continues the list; empty at its end.
	Next string
	// Breakers are those of partners of which breakers hold calls back, Findings those of
	// which tests have found something.
	Breakers map[string][]*partnersv1.Breaker
	Findings map[string][]*partnersv1.Finding
	// Unknown says what of these could not be read.
	Unknown []string
}

// Board reads a list.
func (s *Source) Board(ctx context.Context, f Filter) (*Board, error) {
	b := &Board{Filter: f}
	var wg sync.WaitGroup
	wg.Go(func() { s.beside(ctx, b) })
	res, err := s.registry.ListPartners(ctx, f.request())
	wg.Wait()
	if err != nil {
		return nil, s.told(ctx, err)
	}
	b.Partners, b.Next = res.GetPartners(), res.GetNextPageToken()
	return b, nil
}

// beside reads what stands beside partners in a list. What cannot be read is named.
func (s *Source) beside(ctx context.Context, b *Board) {
	b.Breakers, b.Findings = map[string][]*partnersv1.Breaker{}, map[string][]*partnersv1.Finding{}
	var (
		wg               sync.WaitGroup
		noTrips, noFound error
	)
	wg.Go(func() {
		var res *partnersv1.ListBreakersResponse
		res, noTrips = s.standing.ListBreakers(ctx, &partnersv1.ListBreakersRequest{})
		for _, t := range res.GetBreakers() {
			b.Breakers[t.GetPartner()] = append(b.Breakers[t.GetPartner()], t)
		}
	})
	wg.Go(func() {
		var res *partnersv1.ListSuitesResponse
		res, noFound = s.contracts.ListSuites(ctx, &partnersv1.ListSuitesRequest{})
		for _, t := range res.GetSuites() {
			if len(t.GetOpen()) > 0 {
				b.Findings[t.GetPartner()] = t.GetOpen()
			}
		}
	})
	wg.Wait()
	for _, one := range []struct {
		what string
		err  error
	}{{"breakers", noTrips}, {"findings of tests", noFound}} {
		if one.err != nil {
			b.Unknown = append(b.Unknown, one.what)
			s.unread(ctx, one.what, one.err)
		}
	}
}

// told makes an error of this package of one of a call.
func (s *Source) told(ctx context.Context, err error) error {
	f := fault.FromStatus(err)
	switch {
	case f == nil:
	case f.Reason == fault.PartnerNotFound:
		return ErrNoPartner
	case f.Reason == fault.InvalidArgument:
		return ErrBadList
	}
	s.unread(ctx, "partners", err)
	return fmt.Errorf("%w: %w", ErrUnreachable, err)
}

func (s *Source) unread(ctx context.Context, what string, err error) {
	if ctx.Err() == nil {
		s.log.Warn("what is shown of partners cannot be read", "what", what, "error", err)
	}
}

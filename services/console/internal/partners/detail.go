package partners

import (
	"context"
	"sync"

	"sabha.dev/chassis/fault"
	partnersv1 "sabha.dev/gen/sabha/partners/v1"
	registryv1 "sabha.dev/gen/sabha/registry/v1"
)

// How many of a list stand on the page of a partner.
const (
	fewCrossings = 15
	fewRuns      = 8
	fewHistory   = 30
)

// Windows over which attainment is shown.
var Windows = []string{"1h", "24h", "30d"}

// Detail is a partner with everything that is shown of it. What could not be read of it
// has a Trouble.
type Detail struct {
	*registryv1.GetPartnerResponse
	// Standing is the attainment over each of Windows; nil where there is no agreement.
	Standing        []*partnersv1.GetAttainmentResponse
	StandingTrouble string
	// Breakers that are not closed.
	Breakers        []*partnersv1.Breaker
	BreakersTrouble string
	// Crossings are the newest.
	Crossings        []*partnersv1.Crossing
	MoreCrossings    bool
	CrossingsTrouble string
	// Verdict of the golden tasks; nil where there are none. Runs are the newest.
	Verdict        *partnersv1.GetVerdictResponse
	Runs           []*partnersv1.Run
	VerdictTrouble string
	// History is the newest first.
	History        []*registryv1.HistoryEntry
	MoreHistory    bool
	HistoryTrouble string
}

// Detail reads a partner.
func (s *Source) Detail(ctx context.Context, id string) (*Detail, error) {
	d := &Detail{}
	var wg sync.WaitGroup
	for _, read := range []func(context.Context, string, *Detail){s.readStanding, s.readBreakers, s.readCrossings, s.readTests, s.readHistory} {
		wg.Go(func() { read(ctx, id, d) })
	}
	var err error
	d.GetPartnerResponse, err = s.registry.GetPartner(ctx, &registryv1.GetPartnerRequest{Id: id})
	wg.Wait()
	if err != nil {
		return nil, s.told(ctx, err)
	}
	return d, nil
}

func (s *Source) readStanding(ctx context.Context, id string, d *Detail) {
	var all []*partnersv1.GetAttainmentResponse
	for _, w := range Windows {
		res, err := s.standing.GetAttainment(ctx, &partnersv1.GetAttainmentRequest{Partner: id, Window: w})
		if err != nil {
			d.StandingTrouble = s.trouble(ctx, "attainment", err)
			return
		}
		all = append(all, res)
	}
	d.Standing = all
}

func (s *Source) readBreakers(ctx context.Context, id string, d *Detail) {
	res, err := s.standing.ListBreakers(ctx, &partnersv1.ListBreakersRequest{Partner: id})
	d.Breakers, d.BreakersTrouble = res.GetBreakers(), s.trouble(ctx, "breakers", err)
}

func (s *Source) readCrossings(ctx context.Context, id string, d *Detail) {
	res, err := s.crossings.ListCrossings(ctx, &partnersv1.ListCrossingsRequest{Partner: id, PageSize: fewCrossings})
	d.Crossings, d.MoreCrossings, d.CrossingsTrouble = res.GetCrossings(), res.GetNextPageToken() != "", s.trouble(ctx, "crossings", err)
}

func (s *Source) readTests(ctx context.Context, id string, d *Detail) {
	var err error
	if d.Verdict, err = s.contracts.GetVerdict(ctx, &partnersv1.GetVerdictRequest{Partner: id}); err != nil {
		d.Verdict, d.VerdictTrouble = nil, s.trouble(ctx, "golden tasks", err)
		return
	}
	res, err := s.contracts.ListRuns(ctx, &partnersv1.ListRunsRequest{Partner: id, PageSize: fewRuns})
	d.Runs, d.VerdictTrouble = res.GetRuns(), s.trouble(ctx, "runs of golden tasks", err)
}

func (s *Source) readHistory(ctx context.Context, id string, d *Detail) {
	res, err := s.registry.ListHistory(ctx, &registryv1.ListHistoryRequest{Id: id, PageSize: fewHistory})
	d.History, d.MoreHistory, d.HistoryTrouble = res.GetEntries(), res.GetNextPageToken() != "", s.trouble(ctx, "history", err)
}

// trouble is why a part is not shown, in a sentence; empty when it is, or when there is
// nothing of it.
func (s *Source) trouble(ctx context.Context, what string, err error) string {
	if err == nil {
		return ""
	}
	f := fault.FromStatus(err)
	switch {
	case f != nil && f.Reason == fault.PartnerNotFound:
		return ""
	case f != nil && f.Reason == fault.PermissionDenied:
		return "You may not see this: " + f.Message + "."
	}
	s.unread(ctx, what, err)
	return "This could not be read just now. It fills itself as soon as there is an answer."
}

package partners

import (
	"context"
	"net/url"
	"strconv"
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

// Place says where lists of a partner's page continue; empty at their newest.
type Place struct{ Crossings, Runs, History string }

// ReadPlace takes a place from the query of an address.
func ReadPlace(q url.Values) Place {
	return Place{Crossings: q.Get("crossings"), Runs: q.Get("runs"), History: q.Get("history")}
}

// Values is the place as the query of an address; ReadPlace takes it back.
func (p Place) Values() url.Values {
	q := url.Values{}
	for name, v := range map[string]string{"crossings": p.Crossings, "runs": p.Runs, "history": p.History} {
		if v != "" {
			q.Set(name, v)
		}
	}
	return q
}

// Detail is a partner with everything that is shown of it. What could not be read of it
// has a Trouble.
type Detail struct {
	*registryv1.GetPartnerResponse
	// At is where its lists begin, More where they continue; a list that ends has none.
	At, More Place
	// Standing is the attainment over each of Windows; nil where there is no agreement.
	Standing        []*partnersv1.GetAttainmentResponse
	StandingTrouble string
	// Breakers that are not closed.
	Breakers        []*partnersv1.Breaker
	BreakersTrouble string
	// Crossings are a page, the newest first.
	Crossings        []*partnersv1.Crossing
	CrossingsTrouble string
	// Verdict of the golden tasks; nil where there are none. Runs are a page, the newest first.
	Verdict        *partnersv1.GetVerdictResponse
	Runs           []*partnersv1.Run
	VerdictTrouble string
	// History is a page, the newest first.
	History        []*registryv1.HistoryEntry
	HistoryTrouble string
}

// Detail reads a partner, and its lists from a place on. The errors are ErrNoPartner,
// ErrBadList when they do not continue there, and ErrUnreachable.
func (s *Source) Detail(ctx context.Context, id string, at Place) (*Detail, error) {
	d := &Detail{At: at}
	if _, err := runBefore(at.Runs); err != nil {
		return nil, ErrBadList
	}
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
	res, err := s.crossings.ListCrossings(ctx, &partnersv1.ListCrossingsRequest{Partner: id, PageSize: fewCrossings, PageToken: d.At.Crossings})
	d.Crossings, d.More.Crossings, d.CrossingsTrouble = res.GetCrossings(), res.GetNextPageToken(), s.trouble(ctx, "crossings", err)
}

func (s *Source) readTests(ctx context.Context, id string, d *Detail) {
	var err error
	if d.Verdict, err = s.contracts.GetVerdict(ctx, &partnersv1.GetVerdictRequest{Partner: id}); err != nil {
		d.Verdict, d.VerdictTrouble = nil, s.trouble(ctx, "golden tasks", err)
		return
	}
	before, _ := runBefore(d.At.Runs) // it was looked at before
	res, err := s.contracts.ListRuns(ctx, &partnersv1.ListRunsRequest{Partner: id, PageSize: fewRuns, Before: before})
	if n := res.GetNextBefore(); n > 0 {
		d.More.Runs = strconv.FormatInt(n, 10)
	}
	d.Runs, d.VerdictTrouble = res.GetRuns(), s.trouble(ctx, "runs of golden tasks", err)
}

func (s *Source) readHistory(ctx context.Context, id string, d *Detail) {
	res, err := s.registry.ListHistory(ctx, &registryv1.ListHistoryRequest{Id: id, PageSize: fewHistory, PageToken: d.At.History})
	d.History, d.More.History, d.HistoryTrouble = res.GetEntries(), res.GetNextPageToken(), s.trouble(ctx, "history", err)
}

// runBefore is the number of a run before which a list begins; 0 for the newest.
func runBefore(text string) (int64, error) {
	if text == "" {
		return 0, nil
	}
	return strconv.ParseInt(text, 10, 64)
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
	case f != nil && f.Reason == fault.InvalidArgument:
		return "The list does not continue there. Begin with the newest."
	case f != nil && f.Reason == fault.PermissionDenied:
		return "You may not see this: " + f.Message + "."
	}
	s.unread(ctx, what, err)
	return "This could not be read just now. It fills itself as soon as there is an answer."
}

package partners

import (
	"context"
	"errors"
	"slices"
	"sync"

	"google.golang.org/grpc"

	"sabha.dev/chassis/service"
	partnersv1 "sabha.dev/gen/sabha/partners/v1"
	"sabha.dev/services/partners/internal/agreement"
	"sabha.dev/services/partners/internal/attainment"
	"sabha.dev/services/partners/internal/gate"
	"sabha.dev/services/partners/internal/registry"
	"sabha.dev/services/partners/internal/remote"
)

// edge is what every call of a partner passes: the agreements, the gate that keeps to them,
// and the ledger of how they are kept.
type edge struct {
	book *agreement.Book
	gate *gate.Gate
	desk *attainment.Desk

	stop  context.CancelFunc
	ended sync.WaitGroup
}

// openEdge reads the agreements, so that a fault in one fails the start with its line, and
// begins to keep the ledger. tell is told of which partner it has written something.
func openEdge(ctx context.Context, c Config, b *service.Base, tell func(partner string)) (*edge, error) {
	book, err := agreement.Open(c.Agreements, b.Clock, b.Log)
	if err != nil {
		return nil, err
	}
	calls, err := gate.NewMetrics(b.Metrics())
	stands, err2 := attainment.NewMetrics(b.Metrics())
	if err := errors.Join(err, err2, book.Register(b.Metrics())); err != nil {
		return nil, err
	}
	ledger := attainment.NewLedger(attainment.NewStore(b.DB, b.Clock), b.Replica)
	ledger.Tell = tell
	e := &edge{book: book, desk: &attainment.Desk{Ledger: ledger, Book: book}}
	work := &attainment.Work{Desk: e.desk, Log: b.Log, Metrics: stands, Folder: c.Reports}
	e.gate = gate.New(gate.Config{Clock: b.Clock, Ledger: ledger, Changed: ledger.Changed, Replicas: work.Replicas, Metrics: calls})
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	e.stop = stop
	e.ended.Go(func() { work.Run(running) })
	return e, nil
}

// rules of a partner's card are those of its agreement.
func (e *edge) rules(id string) registry.Rules {
	var r registry.Rules
	if a := e.book.Agreement(id); a != nil {
		for _, n := range a.Networks {
			r.Networks = append(r.Networks, n.String())
		}
		r.Signatures = a.Signatures
	}
	return r
}

// wanted are the cards that agreements name.
func (e *edge) wanted() []registry.Registration {
	var all []registry.Registration
	for _, a := range e.book.All() {
		if a.Card != "" {
			all = append(all, registry.Registration{URL: a.Card, ID: a.Partner, Organisation: a.Organisation, Vouch: registry.ByPerson, By: "agreement"})
		}
	}
	return all
}

// settings of calls to a partner are those of its agreement.
func (e *edge) settings(open []string) func(id string) remote.Settings {
	return func(id string) remote.Settings {
		s := remote.Settings{Networks: open}
		if a := e.book.Agreement(id); a != nil {
			s.Networks = slices.Concat(open, e.rules(id).Networks)
			s.Credential = a.Credentials
			s.Trace = remote.Trace(a.Records.Trace)
		}
		return s
	}
}

func (e *edge) serve(s grpc.ServiceRegistrar) {
	partnersv1.RegisterAttainmentServiceServer(s, e.desk)
}

// close writes the last counts.
func (e *edge) close() {
	e.stop()
	e.ended.Wait()
}

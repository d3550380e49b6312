package partners

import (
	"context"
	"sync"
	"time"

	"google.golang.org/grpc"

	"sabha.dev/chassis/identity"
	"sabha.dev/chassis/service"
	partnersv1 "sabha.dev/gen/sabha/partners/v1"
	"sabha.dev/services/partners/internal/attainment"
	"sabha.dev/services/partners/internal/contract"
	"sabha.dev/services/partners/internal/sqlstore"
	"sabha.dev/services/partners/internal/trust"
)

// watch is what watches how partners behave: contract tests, and the score that they and
// everything else make.
type watch struct {
	monitor *contract.Monitor
	keeper  *trust.Keeper
	rpc     *contract.RPC
}

// newWatch reads the folder of golden tasks; a file in it with a problem fails the start. tell is told
// of which partner it has found something.
func newWatch(folder string, b *service.Base, tell func(partner string), known *sqlstore.Store, ask contract.Asker) (*watch, error) {
	book, err := contract.OpenBook(folder, b.Clock, b.Log)
	if err != nil {
		return nil, err
	}
	runs := contract.NewStore(b.DB)
	runs.Tell = tell
	monitor, err := contract.NewMonitor(contract.Config{
		Store: runs, Suites: book, Registry: known, Asker: ask, NATS: b.NATS, Clock: b.Clock, Log: b.Log, Metrics: b.Metrics(),
	})
	if err != nil {
		return nil, err
	}
	return &watch{
		monitor: monitor,
		keeper: trust.NewKeeper(trust.Config{
			Registry: known, Ledgers: []trust.Ledger{ledger{attainment.NewStore(b.DB, b.Clock)}, runs}, Records: []trust.Record{runs, known},
			Clock: b.Clock, Log: b.Log,
		}),
		rpc: &contract.RPC{Store: runs, Suites: book, Clock: b.Clock},
	}, nil
}

// run runs golden tasks and scores partners until ctx ends.
func (w *watch) run(ctx context.Context) {
	var both sync.WaitGroup
	both.Go(func() { w.monitor.Run(ctx) })
	both.Go(func() { w.keeper.Run(ctx) })
	both.Wait()
}

func (w *watch) register(s grpc.ServiceRegistrar) { partnersv1.RegisterContractServiceServer(s, w.rpc) }

// policy says that edges call, for people with a role; those who change something are operators.
func (*watch) policy() identity.Policy {
	edges := []string{identity.Gateway, identity.Console}
	readers := identity.Rule{Actors: edges, Scopes: identity.Roles()}
	keepers := identity.Rule{Actors: edges, Scopes: []string{identity.Operator, identity.Admin}}
	return identity.Policy{
		partnersv1.ContractService_ListSuites_FullMethodName: readers,
		partnersv1.ContractService_ListRuns_FullMethodName:   readers,
		partnersv1.ContractService_GetVerdict_FullMethodName: readers,
		partnersv1.ContractService_RunSuite_FullMethodName:   keepers,
		partnersv1.ContractService_Rebaseline_FullMethodName: keepers,
	}
}

// ledger gives what the ledger of agreements knows of days. It does not know who called,
// so calls count as those of one caller.
type ledger struct{ store *attainment.Store }

// Days since a time.
func (l ledger) Days(ctx context.Context, partner string, since time.Time) ([]trust.Day, error) {
	days, err := l.store.Days(ctx, partner, since)
	list := make([]trust.Day, len(days))
	for i, d := range days {
		list[i] = trust.Day{
			At: d.Date, Calls: int(d.Calls), OK: int(d.OK), Invalid: int(d.Invalid), Failed: int(d.Failed), Callers: 1,
			Probes: int(d.Probes), Answered: int(d.ProbesAnswered),
		}
	}
	return list, err
}

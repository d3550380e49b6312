package partners

import (
	"context"
	"database/sql"
	"math/rand/v2"
	"strings"
	"time"

	"google.golang.org/grpc"

	"sabha.dev/chassis/engine"
	"sabha.dev/chassis/push"
	"sabha.dev/chassis/service"
	"sabha.dev/chassis/taskstore"
	"sabha.dev/services/partners/internal/a2aagent"
	"sabha.dev/services/partners/internal/agreement"
	"sabha.dev/services/partners/internal/border"
	"sabha.dev/services/partners/internal/call"
	"sabha.dev/services/partners/internal/crossing"
	"sabha.dev/services/partners/internal/notice"
	"sabha.dev/services/partners/internal/remote"
	"sabha.dev/services/partners/internal/sqlstore"
)

// calls are the calls of partners: the agent that makes them, and the receiver of what
// partners tell of their tasks.
type calls struct {
	agent  *a2aagent.Agent
	heard  *notice.Receiver
	store  *call.Store
	base   *service.Base
	engine *engine.Engine

	book      *agreement.Book
	crossings *crossing.Ledger
	border    *border.Border
}

func newCalls(ctx context.Context, c Config, b *service.Base, e *edge, known *sqlstore.Store, keys notice.Keys, client *remote.Client) (*calls, error) {
	k := &calls{store: call.NewStore(b.DB, b.Clock), base: b, book: e.book}
	var err error
	if k.crossings, err = crossing.Open(ctx, b.DB, k.later); err != nil {
		return nil, err
	}
	k.border = border.New(b.Clock, k.crossings)
	config := a2aagent.Config{
		Directory: known, Book: e.book, Gate: e.gate, Border: k.border, Client: client, Calls: k.store,
		Review: func() (grpc.ClientConnInterface, error) { return b.Peer("review") },
		Clock:  b.Clock, Log: b.Log, Jitter: rand.Float64,
	}
	if c.Callback != "" {
		config.Hooks = strings.TrimSuffix(c.Callback, "/") + push.ReceiverPath
	}
	k.agent = a2aagent.New(config)
	counts, err := notice.NewCounts(b.Metrics())
	k.heard = notice.New(notice.Config{
		Directory: known, Keys: keys, Calls: k.store, Resume: k.resume, Hooks: config.Hooks, Clock: b.Clock, Log: b.Log, Counts: counts,
	})
	return k, err
}

// begin is called when the engine is there, before it runs anything.
func (k *calls) begin(e *engine.Engine) {
	k.engine = e
	e.Beside(k.clear)
}

func (k *calls) resume(ctx context.Context, task string, rows taskstore.Rows) error {
	return k.engine.Resume(ctx, task, rows)
}

func (k *calls) later(what string, rows func(context.Context, *sql.Tx) error) {
	k.engine.Store.Later(what, rows)
}

// What is kept of calls whose tasks have long ended, and how much is removed at once.
const (
	callsKept  = 400 * 24 * time.Hour
	clearEvery = 24 * time.Hour
	clearMost  = 1000
)

// clear removes what is kept no longer: records of crossings as long as their agreement
// says, and what is known of calls after a year.
func (k *calls) clear(ctx context.Context) {
	for {
		if err := k.clearOnce(ctx); err != nil && ctx.Err() == nil {
			k.base.Log.Error("records of old calls were not removed; it is tried tomorrow", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-k.base.Clock.After(clearEvery):
		}
	}
}

func (k *calls) clearOnce(ctx context.Context) error {
	now := k.base.Clock.Now()
	_, err := k.store.Clear(ctx, now.Add(-callsKept))
	for _, a := range k.book.All() {
		for n := int64(clearMost); n == clearMost && err == nil; {
			n, err = k.crossings.Forget(ctx, a.Partner, now.Add(-a.Records.Retention), clearMost)
		}
	}
	return err
}

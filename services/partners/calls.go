package partners

import (
	"context"
	"database/sql"
	"math/rand/v2"
	"net/http"
	"strings"
	"time"

	"google.golang.org/grpc"

	"sabha.dev/chassis/engine"
	"sabha.dev/chassis/service"
	"sabha.dev/services/partners/internal/a2aagent"
	"sabha.dev/services/partners/internal/border"
	"sabha.dev/services/partners/internal/call"
	"sabha.dev/services/partners/internal/remote"
	"sabha.dev/services/partners/internal/sqlstore"
)

// HookPath is where partners notify us of their tasks; the secret of a call follows.
const HookPath = a2aagent.HookPath

// calls are the calls of partners: the agent that makes them, and the receiver of what
// partners tell of their tasks.
type calls struct {
	a2aagent.Receiver
	agent  *a2aagent.Agent
	store  *call.Store
	base   *service.Base
	engine *engine.Engine
}

func newCalls(c Config, b *service.Base, e *edge, known *sqlstore.Store, client *remote.Client) *calls {
	k := &calls{store: call.NewStore(b.DB, b.Clock), base: b}
	k.Receiver = a2aagent.Receiver{Hooked: k.store.Hooked, Resume: k.resume, Log: b.Log}
	config := a2aagent.Config{
		Directory: known, Book: e.book, Gate: e.gate, Border: border.New(b.Clock), Client: client, Calls: k.store, Later: k.later,
		Review: func() (grpc.ClientConnInterface, error) { return b.Peer("review") },
		Clock:  b.Clock, Log: b.Log, Jitter: rand.Float64,
	}
	if c.Callback != "" {
		config.Hooks = strings.TrimSuffix(c.Callback, "/") + HookPath
	}
	k.agent = a2aagent.New(config)
	return k
}

// begin is called when the engine is there, before it runs anything.
func (k *calls) begin(e *engine.Engine) {
	k.engine = e
	e.Beside(k.clear)
}

func (k *calls) resume(ctx context.Context, task string) error {
	return k.engine.Resume(ctx, task, nil)
}

func (k *calls) later(what string, rows func(context.Context, *sql.Tx) error) {
	k.engine.Store.Later(what, rows)
}

// Calls that nothing has happened to for long belong to tasks that have ended.
const (
	callsKept  = 400 * 24 * time.Hour
	clearEvery = 24 * time.Hour
)

func (k *calls) clear(ctx context.Context) {
	for {
		if _, err := k.store.Clear(ctx, k.base.Clock.Now().Add(-callsKept)); err != nil && ctx.Err() == nil {
			k.base.Log.Error("what is kept of old calls was not removed; it is tried tomorrow", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-k.base.Clock.After(clearEvery):
		}
	}
}

var _ http.Handler = (*calls)(nil)

package memory

import (
	"context"
	"crypto/rand"
	"log/slog"
	"time"

	"sabha.dev/chassis/clock"
)

// Store keeps memories.
type Store interface {
	// Add stores a memory once for a receipt, or merges it with the one that says the
	// same, and settles which fact of a topic holds. The oldest memories of a context go
	// until the rest has at most budget tokens; 0 is no budget. The same message again
	// gives the id of then. Errors: ErrConflict, ErrFull.
	Add(ctx context.Context, r Receipt, m Memory, budget int) (Added, error)
	// List gives the memories of an owner that have not expired at now: those of
	// the context, and those seen in every context.
	List(ctx context.Context, owner, contextID string, now time.Time) ([]Memory, error)
	// Export gives everything that is held about an owner, of all contexts and expired or not.
	Export(ctx context.Context, owner string) ([]Memory, error)
	// Remove forgets once for a receipt and gives how many were forgotten, also when
	// the same message did it before. What it removes is gone from the files too, as
	// far as the engine can promise that. Error: ErrConflict.
	Remove(ctx context.Context, r Receipt, s Selector, now time.Time) (int, error)
	// Purge removes what has expired at now, and receipts made before old.
	Purge(ctx context.Context, now, old time.Time) error
}

// Keeper remembers, recalls and forgets. It is safe for concurrent use.
type Keeper struct {
	store Store
	clock clock.Clock
	log   *slog.Logger
	// budget is how many tokens the memories of one context may have; 0 is no bound.
	budget int
}

// NewKeeper makes a keeper over a store. budget is how many tokens the memories of one
// context may have together, 0 for as many as there are.
func NewKeeper(store Store, budget int, clock clock.Clock, log *slog.Logger) *Keeper {
	return &Keeper{store: store, budget: budget, clock: clock, log: log}
}

// Remember stores a memory; id and times are filled in. A lifetime of 0 is for ever.
func (k *Keeper) Remember(ctx context.Context, r Receipt, m Memory, lifetime time.Duration) (Added, error) {
	m.ID, m.Owner = rand.Text(), r.Owner
	m.CreatedAt = k.clock.Now()
	if lifetime > 0 {
		m.ExpiresAt = m.CreatedAt.Add(lifetime)
	}
	told := Telling{At: m.CreatedAt, Context: m.Context}
	if m.Fact != nil {
		if m.Fact.At.IsZero() {
			m.Fact.At = m.CreatedAt
		}
		told.Source = m.Fact.Source
	}
	m.Told = []Telling{told}
	return k.store.Add(ctx, r, m, k.budget)
}

// Recall gives the memories of the owners that answer a query, the best first. Of kind
// only, where kind is not empty. Context memories are those of contextID. A fact that
// another took the place of comes with that one and never by itself.
func (k *Keeper) Recall(ctx context.Context, owners []string, contextID, query string, kind Kind, limit int) ([]Hit, error) {
	now := k.clock.Now()
	var kept []Memory
	earlier := map[string][]Memory{}
	for _, owner := range owners {
		all, err := k.store.List(ctx, owner, contextID, now)
		if err != nil {
			return nil, err
		}
		held := map[string]bool{}
		for _, m := range all {
			held[m.ID] = true
		}
		for _, m := range all {
			switch {
			case held[m.SupersededBy]:
				earlier[m.SupersededBy] = append(earlier[m.SupersededBy], m)
			case kind == "" && m.Kind != EpisodeKind || m.Kind == kind:
				kept = append(kept, m)
			}
		}
	}
	hits := Rank(kept, query, now, limit)
	for i := range hits {
		hits[i].Supersedes = earlier[hits[i].ID]
	}
	return hits, nil
}

// Export gives everything that is held about an owner, the oldest first.
func (k *Keeper) Export(ctx context.Context, owner string) ([]Memory, error) {
	return k.store.Export(ctx, owner)
}

// Forget removes memories of the receipt's owner and gives how many.
func (k *Keeper) Forget(ctx context.Context, r Receipt, s Selector) (int, error) {
	return k.store.Remove(ctx, r, s, k.clock.Now())
}

// purgeEvery is how often expired memories are removed. They are out of sight at
// the moment they expire.
const purgeEvery = time.Minute

// Run removes what has expired until ctx ends.
func (k *Keeper) Run(ctx context.Context) {
	for {
		now := k.clock.Now()
		if err := k.store.Purge(ctx, now, now.Add(-ReceiptLifetime)); err != nil && ctx.Err() == nil {
			k.log.Error("expired memories were not removed; it is tried again", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-k.clock.After(purgeEvery):
		}
	}
}

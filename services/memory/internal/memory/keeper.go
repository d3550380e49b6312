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
	// Add stores a memory once for a receipt and gives its id: the one stored now,
	// or the one that the same message stored before. Errors: ErrConflict, ErrFull.
	Add(ctx context.Context, r Receipt, m Memory) (id string, err error)
	// List gives the memories of an owner that have not expired at now: those of
	// the context, and the long-term ones.
	List(ctx context.Context, owner, contextID string, now time.Time) ([]Memory, error)
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
}

// NewKeeper makes a keeper over a store.
func NewKeeper(store Store, clock clock.Clock, log *slog.Logger) *Keeper {
	return &Keeper{store: store, clock: clock, log: log}
}

// Remember stores a memory; id and times are filled in. A lifetime of 0 is for ever.
func (k *Keeper) Remember(ctx context.Context, r Receipt, m Memory, lifetime time.Duration) (string, error) {
	m.ID, m.Owner = rand.Text(), r.Owner
	m.CreatedAt = k.clock.Now()
	if lifetime > 0 {
		m.ExpiresAt = m.CreatedAt.Add(lifetime)
	}
	return k.store.Add(ctx, r, m)
}

// Recall gives the owner's memories that answer a query, the best first. Of kind
// only, where kind is not empty. Context memories are those of contextID.
func (k *Keeper) Recall(ctx context.Context, owner, contextID, query string, kind Kind, limit int) ([]Hit, error) {
	now := k.clock.Now()
	all, err := k.store.List(ctx, owner, contextID, now)
	if err != nil {
		return nil, err
	}
	kept := all[:0]
	for _, m := range all {
		if kind == "" || m.Kind == kind {
			kept = append(kept, m)
		}
	}
	return Rank(kept, query, now, limit), nil
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

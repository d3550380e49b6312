package sqlstore

import (
	"context"

	"sabha.dev/services/review/internal/item"
)

// AddAll stores items without tasks.
func (s *Store) AddAll(ctx context.Context, items []*item.Item, bodies [][]byte, events []item.Event) error {
	tx, err := s.db.Write.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	for n, i := range items {
		if err := s.insert(ctx, tx, i, bodies[n], events[n]); err != nil {
			return err
		}
	}
	return tx.Commit()
}

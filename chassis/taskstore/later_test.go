package taskstore_test

import (
	"context"
	"database/sql"
	"fmt"
	"testing"
	"time"
)

// Rows that nobody waits for are written, and one that cannot be costs only itself.
func TestRowsOfCallsWithoutATaskAreWrittenLater(t *testing.T) {
	onBothEngines(t, func(t *testing.T, r *rig) {
		s := r.store("a")
		_, err := s.DB().Write.ExecContext(t.Context(), `CREATE TABLE said (word TEXT NOT NULL PRIMARY KEY)`)
		r.must(err)
		const rows = 20
		for i := range rows {
			s.Later("a word", func(ctx context.Context, tx *sql.Tx) error {
				if i == 3 {
					_, err := tx.ExecContext(ctx, `INSERT INTO said (word) VALUES (NULL)`)
					return err
				}
				_, err := tx.ExecContext(ctx, `INSERT INTO said (word) VALUES ($1)`, fmt.Sprint(i))
				return err
			})
		}
		var n int
		for limit := time.Now().Add(30 * time.Second); n < rows-1 && time.Now().Before(limit); time.Sleep(10 * time.Millisecond) {
			r.must(s.DB().Read.QueryRowContext(t.Context(), `SELECT COUNT(*) FROM said`).Scan(&n))
		}
		if n != rows-1 {
			t.Errorf("%d words are there, want %d", n, rows-1)
		}
	})
}

package sqlstore

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"time"

	"sabha.dev/services/memory/internal/memory"
)

// Add stores a memory once for a receipt, or merges it with the one that says the same.
func (s *Store) Add(ctx context.Context, r memory.Receipt, m memory.Memory, budget int) (memory.Added, error) {
	added := memory.Added{ID: m.ID}
	err := s.write(ctx, func(tx *sql.Tx) error {
		before, err := receive(ctx, tx, r, m.ID, m.CreatedAt)
		if err != nil || before != "" {
			added.ID = before
			return err
		}
		alike, err := related(ctx, tx, m)
		if err != nil {
			return err
		}
		for _, o := range alike {
			if m.Fact == nil || m.Fact.Same(*o.Fact) {
				added.ID, added.Merged = o.ID, true
				o.Again(m)
				return merge(ctx, tx, r, o)
			}
		}
		var count int
		if err := tx.QueryRowContext(ctx, `SELECT count(*) FROM memories WHERE owner = $1`, m.Owner).Scan(&count); err != nil {
			return err
		}
		if count >= memory.MaxPerOwner {
			return memory.ErrFull
		}
		for _, o := range alike {
			if m.Better(o) {
				added.Superseded++
				continue
			}
			added.SupersededBy, m.SupersededBy = o.ID, o.ID
		}
		if err := insert(ctx, tx, m); err != nil {
			return err
		}
		if added.Superseded > 0 && m.SupersededBy == "" {
			if err := supersede(ctx, tx, m); err != nil {
				return err
			}
		}
		added.Dropped, err = fit(ctx, tx, m, budget)
		return err
	})
	if err == nil && added.Dropped > 0 {
		s.unscrubbed.Store(true)
		err = s.scrub(ctx)
	}
	return added, err
}

// related finds what the memory may repeat or take the place of: the holding facts
// of its topic, or the texts of its shape in its place.
func related(ctx context.Context, tx *sql.Tx, m memory.Memory) ([]memory.Memory, error) {
	column, key := "topic", topic(m)
	if m.Fact == nil {
		column, key = "shape", shape(m)
	}
	if key == "" {
		return nil, nil
	}
	rows, err := tx.QueryContext(ctx, `SELECT `+columns+` FROM memories
		WHERE owner = $1 AND `+column+` = $2 AND context = $3 AND kind = $4 AND superseded_by = '' AND (expires_at = 0 OR expires_at > $5)`,
		m.Owner, key, m.Context, string(m.Kind), micros(m.CreatedAt))
	if err != nil {
		return nil, err
	}
	return scan(rows, m.Owner)
}

func merge(ctx context.Context, tx *sql.Tx, r memory.Receipt, m memory.Memory) error {
	labels, details, err := encode(m)
	if err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, `UPDATE memories SET labels = $3, details = $4, expires_at = $5 WHERE owner = $1 AND id = $2`,
		m.Owner, m.ID, labels, details, micros(m.ExpiresAt)); err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, `UPDATE memory_receipts SET answer = $3 WHERE owner = $1 AND message_id = $2`, r.Owner, r.MessageID, m.ID)
	return err
}

func insert(ctx context.Context, tx *sql.Tx, m memory.Memory) error {
	labels, details, err := encode(m)
	if err != nil {
		return err
	}
	tags, err := json.Marshal(append([]string{}, m.Tags...))
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx,
		`INSERT INTO memories (id, owner, context, kind, body, tags, labels, created_at, expires_at, topic, shape, superseded_by, details)
		 VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)`,
		m.ID, m.Owner, m.Context, string(m.Kind), m.Text, string(tags), labels, micros(m.CreatedAt), micros(m.ExpiresAt), topic(m), shape(m), m.SupersededBy, details)
	return err
}

// supersede lets the other facts of the topic, and what they had superseded, point at m.
func supersede(ctx context.Context, tx *sql.Tx, m memory.Memory) error {
	_, err := tx.ExecContext(ctx, `UPDATE memories SET superseded_by = $3 WHERE owner = $1 AND topic = $2 AND id <> $3`, m.Owner, topic(m), m.ID)
	return err
}

// fit drops the oldest memories of m's context until what is left has at most budget tokens. m itself stays.
func fit(ctx context.Context, tx *sql.Tx, m memory.Memory, budget int) (int, error) {
	if budget == 0 || m.Kind != memory.Context {
		return 0, nil
	}
	rows, err := tx.QueryContext(ctx, `SELECT id, body FROM memories WHERE owner = $1 AND context = $2 AND id <> $3 ORDER BY created_at DESC, id`, m.Owner, m.Context, m.ID)
	if err != nil {
		return 0, err
	}
	defer func() { _ = rows.Close() }()
	left := budget - memory.Tokens(m.Text)
	var over []string
	for rows.Next() {
		var id, body string
		if err := rows.Scan(&id, &body); err != nil {
			return 0, err
		}
		if left -= memory.Tokens(body); left < 0 {
			over = append(over, id)
		}
	}
	if err := rows.Err(); err != nil {
		return 0, err
	}
	_ = rows.Close()
	for _, id := range over {
		if _, err := erase(ctx, tx, `owner = $1 AND id = $2`, m.Owner, id); err != nil {
			return 0, err
		}
	}
	return len(over), nil
}

func topic(m memory.Memory) string {
	if m.Fact == nil {
		return ""
	}
	return digest(m.Fact.Topic())
}

// shape is that of a note: facts have topics, and every episode is one of its own.
func shape(m memory.Memory) string {
	if m.Fact != nil || m.Episode != nil {
		return ""
	}
	return digest(memory.Shape(m.Text))
}

// digest keeps a key short enough for an index; that of nothing is nothing. It is
// deleted with its memory, since a short text can be guessed from it.
func digest(key string) string {
	if key == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(key))
	return hex.EncodeToString(sum[:])
}

// List gives the owner's memories of a context and those of every context.
func (s *Store) List(ctx context.Context, owner, contextID string, now time.Time) ([]memory.Memory, error) {
	rows, err := s.db.Read.QueryContext(ctx, `SELECT `+columns+` FROM memories
		 WHERE owner = $1 AND context IN ('', $2) AND (expires_at = 0 OR expires_at > $3)`, owner, contextID, micros(now))
	if err != nil {
		return nil, err
	}
	return scan(rows, owner)
}

// Export gives everything that is held about an owner, the oldest first.
func (s *Store) Export(ctx context.Context, owner string) ([]memory.Memory, error) {
	rows, err := s.db.Read.QueryContext(ctx, `SELECT `+columns+` FROM memories WHERE owner = $1 ORDER BY created_at, id`, owner)
	if err != nil {
		return nil, err
	}
	return scan(rows, owner)
}

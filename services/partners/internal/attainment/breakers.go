package attainment

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"time"

	"sabha.dev/services/partners/internal/gate"
	"sabha.dev/services/partners/internal/registry"
)

// Breaker is one that is not closed, of a replica.
type Breaker struct {
	Replica, Partner, Skill string
	State, Why              string
	Since, RetryAt          time.Time
}

// Changed keeps a change of a breaker of this replica: it is told as an event, and others
// see it, as soon as it is written.
func (l *Ledger) Changed(c gate.Change) {
	l.mu.Lock()
	l.changes = append(l.changes, c)
	l.mu.Unlock()
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// event is what is published of a change, on sabha.partners.PARTNER.breaker-STATE.
type event struct {
	Partner string    `json:"partner"`
	Skill   string    `json:"skill"`
	What    string    `json:"what"`
	From    string    `json:"from"`
	To      string    `json:"to"`
	Why     string    `json:"why"`
	At      time.Time `json:"at"`
	RetryAt time.Time `json:"retry_at,omitzero"`
	Replica string    `json:"replica"`
}

// changed writes changes of breakers with the events of them. Events are told by whoever
// tells those of the registry.
func changed(ctx context.Context, tx *sql.Tx, replica, batch string, changes []gate.Change) error {
	for i, c := range changes {
		what := "breaker-" + c.To.String()
		body, err := json.Marshal(event{
			Partner: c.Address.Partner, Skill: c.Address.Skill, What: what, From: c.From.String(), To: c.To.String(), Why: string(c.Why),
			At: c.At.UTC(), RetryAt: c.RetryAt.UTC(), Replica: replica,
		})
		if err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, `INSERT INTO partner_events (id, subject, body, at) VALUES ($1,$2,$3,$4)`,
			fmt.Sprintf("%s-%d", batch, i), registry.Subject(c.Address.Partner, what), string(body), c.At.UnixMicro()); err != nil {
			return err
		}
		if c.To == gate.Shut {
			_, err = tx.ExecContext(ctx, `DELETE FROM partner_breakers WHERE replica = $1 AND partner = $2 AND skill = $3`, replica, c.Address.Partner, c.Address.Skill)
		} else {
			_, err = tx.ExecContext(ctx, `INSERT INTO partner_breakers (replica, partner, skill, state, why, since, retry_at) VALUES ($1,$2,$3,$4,$5,$6,$7)
				ON CONFLICT (replica, partner, skill) DO UPDATE SET state = excluded.state, why = excluded.why, since = excluded.since, retry_at = excluded.retry_at`,
				replica, c.Address.Partner, c.Address.Skill, c.To.String(), string(c.Why), c.At.UnixMicro(), micros(c.RetryAt))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Breakers lists those that are not closed, of replicas that live; of one partner, or of
// all where none is named.
func (s *Store) Breakers(ctx context.Context, partner string) ([]Breaker, error) {
	var list []Breaker
	err := each(ctx, s.db.Read, func(rows *sql.Rows) error {
		var b Breaker
		var since, retryAt int64
		if err := rows.Scan(&b.Replica, &b.Partner, &b.Skill, &b.State, &b.Why, &since, &retryAt); err != nil {
			return err
		}
		b.Since = time.UnixMicro(since).UTC()
		if retryAt != 0 {
			b.RetryAt = time.UnixMicro(retryAt).UTC()
		}
		list = append(list, b)
		return nil
	}, `SELECT replica, partner, skill, state, why, since, retry_at FROM partner_breakers
		WHERE ($1 = '' OR partner = $1) AND replica IN (SELECT id FROM replicas WHERE expires_at >= $2) ORDER BY partner, skill, replica`, partner, s.clock.Now().UnixNano())
	return list, err
}

// living counts the replicas of the service whose lease holds.
func (s *Store) living(ctx context.Context) (n int, err error) {
	err = s.db.Read.QueryRowContext(ctx, `SELECT COUNT(*) FROM replicas WHERE expires_at >= $1`, s.clock.Now().UnixNano()).Scan(&n)
	return n, err
}

func micros(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}

package notice

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"sabha.dev/chassis/sqldb"
	"sabha.dev/services/review/internal/item"
)

// Told writes what is to be told of events of an item, in the transaction that
// changes the item.
func (s *Sender) Told(ctx context.Context, tx *sql.Tx, i *item.Item, events []item.Event) error {
	for n, e := range events {
		body, err := published(i, e.What, e.By, e.At)
		if err != nil {
			return err
		}
		list := []Notice{{ID: fmt.Sprintf("%s/%d.%d/event", i.ID, i.Version, n), Channel: Event, What: e.What, Body: body, SendAt: e.At}}
		switch e.What {
		case created:
			list = append(list, s.toPeople(i, e.What, e.What, e.At)...)
			list = append(list, s.inTime(i)...)
		case escalated:
			list = append(list, s.toPeople(i, e.What, fmt.Sprintf("%s-%d", e.What, i.Escalations), e.At)...)
		}
		for _, x := range list {
			x.ItemID, x.Queue = i.ID, i.Queue
			if err := insert(ctx, tx, x); err != nil {
				return err
			}
		}
	}
	s.poke()
	return nil
}

// toPeople is a notice for each channel that the queue has.
func (s *Sender) toPeople(i *item.Item, what, once string, at time.Time) (list []Notice) {
	r := s.policy.Recipients(i.Queue)
	if len(r.Mail) > 0 && s.mail != nil {
		list = append(list, Notice{ID: i.ID + "/" + once + "/mail", Channel: Mail, What: what, SendAt: at})
	}
	if r.Chat != "" {
		list = append(list, Notice{ID: i.ID + "/" + once + "/chat", Channel: Chat, What: what, SendAt: at})
	}
	return list
}

// inTime are the notices that have a time of their own.
func (s *Sender) inTime(i *item.Item) (list []Notice) {
	tell := func(what string, at time.Time) {
		list = append(list, Notice{ID: i.ID + "/" + what + "/event", Channel: Event, What: what, SendAt: at})
		list = append(list, s.toPeople(i, what, what, at)...)
	}
	if at := s.policy.WarnAt(i.Terms); !at.IsZero() {
		tell(dueSoon, at)
	}
	if !i.DueAt.IsZero() {
		tell(overdue, i.DueAt)
	}
	return list
}

func insert(ctx context.Context, tx *sql.Tx, n Notice) error {
	_, err := tx.ExecContext(ctx, `INSERT INTO review_notices (id, item_id, channel, what, queue, body, send_at, attempts, problem)
		VALUES ($1,$2,$3,$4,$5,$6,$7,0,'') ON CONFLICT (id) DO NOTHING`,
		n.ID, n.ItemID, string(n.Channel), n.What, n.Queue, string(n.Body), n.SendAt.UnixMicro())
	return err
}

// rows are the notices of the database.
type rows struct{ db *sqldb.DB }

// claim takes up to limit notices that are due: events, or what is told people. No other
// replica takes them before until. What is not removed or put off by then is due again.
func (r rows) claim(ctx context.Context, events bool, now, until time.Time, limit int) ([]Notice, error) {
	which := ` AND channel <> 'event'`
	if events {
		which = ` AND channel = 'event'`
	}
	var due int
	err := r.db.Read.QueryRowContext(ctx, `SELECT count(*) FROM (SELECT 1 FROM review_notices WHERE send_at <= $1`+which+` LIMIT 1) AS x`, now.UnixMicro()).Scan(&due)
	if err != nil || due == 0 {
		return nil, err
	}
	// PostgreSQL looks at send_at again before it writes a row that another has just claimed.
	found, err := r.db.Write.QueryContext(ctx, `UPDATE review_notices SET send_at = $1, attempts = attempts + 1
		WHERE send_at <= $2 AND id IN (SELECT id FROM review_notices WHERE send_at <= $2`+which+` ORDER BY send_at, id LIMIT $3)
		RETURNING id, item_id, channel, what, queue, body, attempts`, until.UnixMicro(), now.UnixMicro(), limit)
	if err != nil {
		return nil, err
	}
	defer func() { _ = found.Close() }()
	var list []Notice
	for found.Next() {
		n := Notice{SendAt: until}
		if err := found.Scan(&n.ID, &n.ItemID, &n.Channel, &n.What, &n.Queue, &n.Body, &n.Attempts); err != nil {
			return nil, err
		}
		list = append(list, n)
	}
	return list, found.Err()
}

// remove takes notices out that are told, or are not to be told any more.
func (r rows) remove(ctx context.Context, list []Notice) error {
	return r.each(ctx, list, func(tx *sql.Tx, n Notice) error {
		_, err := tx.ExecContext(ctx, `DELETE FROM review_notices WHERE id = $1`, n.ID)
		return err
	})
}

// putOff has notices told at another time.
func (r rows) putOff(ctx context.Context, list []Notice, problem string) error {
	return r.each(ctx, list, func(tx *sql.Tx, n Notice) error {
		_, err := tx.ExecContext(ctx, `UPDATE review_notices SET send_at = $1, attempts = $2, problem = $3 WHERE id = $4`, n.SendAt.UnixMicro(), n.Attempts, problem, n.ID)
		return err
	})
}

func (r rows) each(ctx context.Context, list []Notice, change func(*sql.Tx, Notice) error) error {
	if len(list) == 0 {
		return nil
	}
	tx, err := r.db.Write.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	for _, n := range list {
		if err := change(tx, n); err != nil {
			return err
		}
	}
	return tx.Commit()
}

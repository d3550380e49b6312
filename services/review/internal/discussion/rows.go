package discussion

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"time"

	"sabha.dev/chassis/taskstore"
)

// Insert gives the rows of a new discussion, to be written with its task. One that is
// there already stays as it is.
func Insert(d Discussion) taskstore.Rows {
	return func(ctx context.Context, tx *sql.Tx) error {
		tags, err := json.Marshal(append([]string{}, d.Tags...))
		if err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, `INSERT INTO review_discussions (id, author, organisation, title, question, tags, asked_at, last_activity_at, replies, remarks)
			VALUES ($1,$2,$3,$4,$5,$6,$7,$7,0,0) ON CONFLICT (id) DO NOTHING`,
			d.ID, d.Author, d.Organisation, d.Title, d.Question, string(tags), nanos(d.AskedAt))
		return err
	}
}

// Remark gives the rows of the author's n-th further message, which is a reply that
// completes nothing. One that is there already stays as it is.
func Remark(id, author string, n int, text string, at time.Time) taskstore.Rows {
	return func(ctx context.Context, tx *sql.Tx) error {
		var number int
		err := tx.QueryRowContext(ctx, `UPDATE review_discussions SET remarks = remarks + 1, replies = replies + 1, last_activity_at = $1
			WHERE id = $2 AND remarks < $3 RETURNING replies`, nanos(at), id, n).Scan(&number)
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		if err != nil {
			return err
		}
		return insertReply(ctx, tx, id, Reply{Number: number, Author: author, Text: text, At: at})
	}
}

// appendReply adds a reply, whose number it fills in, and counts it as the newest activity.
func appendReply(ctx context.Context, tx *sql.Tx, id string, r *Reply) error {
	err := tx.QueryRowContext(ctx, `UPDATE review_discussions SET replies = replies + 1, last_activity_at = $1 WHERE id = $2 RETURNING replies`,
		nanos(r.At), id).Scan(&r.Number)
	if err != nil {
		return err
	}
	return insertReply(ctx, tx, id, *r)
}

func insertReply(ctx context.Context, tx *sql.Tx, id string, r Reply) error {
	_, err := tx.ExecContext(ctx, `INSERT INTO review_replies (discussion_id, number, author, text, at) VALUES ($1,$2,$3,$4,$5)`,
		id, r.Number, r.Author, r.Text, nanos(r.At))
	return err
}

// Times are kept as those of tasks are, so that a task ends exactly when its reply
// was made.
func nanos(t time.Time) int64 { return t.UnixNano() }

func moment(nanos int64) time.Time { return time.Unix(0, nanos).UTC() }

package discussion

import (
	"context"
	"database/sql"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"

	"sabha.dev/chassis/clock"
	"sabha.dev/chassis/fault"
	"sabha.dev/chassis/sqldb"
)

// Board is where discussions are kept and read.
type Board struct {
	db    *sqldb.DB
	clock clock.Clock
	tell  func(id string)
	tasks atomic.Pointer[Tasks]
}

// NewBoard makes a board over a migrated database of the service. tell is told which
// discussion has changed, after it has.
func NewBoard(db *sqldb.DB, c clock.Clock, tell func(id string)) *Board {
	return &Board{db: db, clock: c, tell: tell}
}

// Serve tells the board the tasks behind the questions, before anybody replies.
func (b *Board) Serve(t Tasks) { b.tasks.Store(&t) }

// write changes a discussion.
func (b *Board) write(ctx context.Context, id string, change func(*sql.Tx) error) error {
	tx, err := b.db.Write.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	if err := change(tx); err != nil {
		return err
	}
	if err := tx.Commit(); err != nil {
		return err
	}
	b.tell(id)
	return nil
}

// Filter of a list.
type Filter struct {
	// Waiting for a reply; Mine, asked by the reader; Unread, the reader's inbox: asked
	// or replied to by the reader, with replies that are not acknowledged.
	Waiting, Mine, Unread bool
	// Limit from 1.
	Limit int
	// Token continues after a page; empty for the first.
	Token string
}

// unread counts replies of others that the person ($1) has not acknowledged.
const unread = `(SELECT count(*) FROM review_replies r WHERE r.discussion_id = d.id AND r.author <> $1
	AND r.number > COALESCE((SELECT up_to FROM review_acknowledgements a WHERE a.person = $1 AND a.discussion_id = d.id), 0))`

// selected reads discussions with the state of their tasks, which are in the same database.
const selected = `SELECT d.id, d.author, d.organisation, d.title, d.question, d.tags, d.asked_at, d.last_activity_at, d.replies, COALESCE(t.state, 0), ` + unread + `
	FROM review_discussions d LEFT JOIN tasks t ON t.id = d.id `

// List lists discussions that a person may see, the newest activity first, and the
// token of the next page; empty when there is none.
func (b *Board) List(ctx context.Context, who Person, f Filter) ([]Discussion, string, error) {
	where, args := []string{`d.organisation = $2`}, []any{who.Key, who.Organisation}
	if f.Mine || !who.all {
		where = append(where, `d.author = $1`)
	}
	if f.Waiting {
		where = append(where, `t.state IN (`+waitingStates+`)`)
	}
	if f.Unread {
		where = append(where, `(d.author = $1 OR EXISTS (SELECT 1 FROM review_replies m WHERE m.discussion_id = d.id AND m.author = $1))`, unread+` > 0`)
	}
	if f.Token != "" {
		at, id, err := readToken(f.Token)
		if err != nil {
			return nil, "", err
		}
		where = append(where, `(d.last_activity_at < $3 OR d.last_activity_at = $3 AND d.id < $4)`)
		args = append(args, at, id)
	}
	args = append(args, f.Limit+1)
	list, err := b.query(ctx, selected+`WHERE `+strings.Join(where, ` AND `)+fmt.Sprintf(` ORDER BY d.last_activity_at DESC, d.id DESC LIMIT $%d`, len(args)), args...)
	if err != nil || len(list) <= f.Limit {
		return list, "", err
	}
	list = list[:f.Limit]
	last := list[f.Limit-1]
	return list, base64.RawURLEncoding.EncodeToString([]byte(strconv.FormatInt(nanos(last.LastActivityAt), 10) + " " + last.ID)), nil
}

// waitingStates are those of a task that waits for a reply.
var waitingStates = fmt.Sprintf("%d,%d", a2apb.TaskState_TASK_STATE_SUBMITTED, a2apb.TaskState_TASK_STATE_WORKING)

func readToken(token string) (int64, string, error) {
	raw, err := base64.RawURLEncoding.DecodeString(token)
	at, id, ok := strings.Cut(string(raw), " ")
	n, nerr := strconv.ParseInt(at, 10, 64)
	if err != nil || nerr != nil || !ok || !plain(id) {
		return 0, "", fault.Invalid("page_token", "is not a token of this list; begin without one")
	}
	return n, id, nil
}

func (b *Board) query(ctx context.Context, q string, args ...any) ([]Discussion, error) {
	rows, err := b.db.Read.QueryContext(ctx, q, args...)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	var list []Discussion
	for rows.Next() {
		var d Discussion
		var tags string
		var asked, active int64
		var state int32
		if err := rows.Scan(&d.ID, &d.Author, &d.Organisation, &d.Title, &d.Question, &tags, &asked, &active, &d.Replies, &state, &d.Unread); err != nil {
			return nil, err
		}
		if err := json.Unmarshal([]byte(tags), &d.Tags); err != nil {
			return nil, fmt.Errorf("tags of discussion %s: %w", d.ID, err)
		}
		d.AskedAt, d.LastActivityAt = moment(asked), moment(active)
		if state != 0 {
			d.State = a2apb.TaskState(state).String()
		}
		list = append(list, d)
	}
	return list, rows.Err()
}

// find reads a discussion that the person may see.
func (b *Board) find(ctx context.Context, who Person, id string) (Discussion, error) {
	if id == "" || !plain(id) {
		return Discussion{}, fault.Invalid("id", "is missing; name the discussion")
	}
	list, err := b.query(ctx, selected+`WHERE d.id = $2`, who.Key, id)
	if err != nil {
		return Discussion{}, err
	}
	if len(list) == 0 || list[0].Organisation != who.Organisation || !who.all && list[0].Author != who.Key {
		return Discussion{}, missing(id)
	}
	return list[0], nil
}

// Get reads a discussion with its replies. It changes nothing.
func (b *Board) Get(ctx context.Context, who Person, id string) (Discussion, []Reply, error) {
	d, err := b.find(ctx, who, id)
	if err != nil {
		return Discussion{}, nil, err
	}
	list, err := b.replies(ctx, id, 1)
	return d, list, err
}

// replies reads the replies of a discussion from a number on.
func (b *Board) replies(ctx context.Context, id string, from int) ([]Reply, error) {
	rows, err := b.db.Read.QueryContext(ctx, `SELECT number, author, text, at FROM review_replies WHERE discussion_id = $1 AND number >= $2 ORDER BY number`, id, from)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	var list []Reply
	for rows.Next() {
		var r Reply
		var at int64
		if err := rows.Scan(&r.Number, &r.Author, &r.Text, &at); err != nil {
			return nil, err
		}
		r.At = moment(at)
		list = append(list, r)
	}
	return list, rows.Err()
}

// Acknowledge notes that a person has taken note of the replies up to a number. It
// changes no task and no order, and taking note of less than before changes nothing.
func (b *Board) Acknowledge(ctx context.Context, who Person, id string, upTo int) error {
	d, err := b.find(ctx, who, id)
	if err != nil {
		return err
	}
	if upTo < 1 || upTo > d.Replies {
		return fault.Invalid("up_to", "must be the number of a reply, from 1 to %d", d.Replies)
	}
	return b.write(ctx, id, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `INSERT INTO review_acknowledgements (person, discussion_id, up_to) VALUES ($1,$2,$3)
			ON CONFLICT (person, discussion_id) DO UPDATE SET up_to = excluded.up_to WHERE excluded.up_to > review_acknowledgements.up_to`,
			who.Key, id, upTo)
		return err
	})
}

// exists tells whether the question of a task has been put up.
func (b *Board) exists(ctx context.Context, id string) (bool, error) {
	var one int
	err := b.db.Read.QueryRowContext(ctx, `SELECT 1 FROM review_discussions WHERE id = $1`, id).Scan(&one)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return err == nil, err
}

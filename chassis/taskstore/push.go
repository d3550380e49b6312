package taskstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/protobuf/proto"
)

// ErrNoPush means that a task has no push configuration of that id.
var ErrNoPush = errors.New("no such push configuration")

// PushKey names a push configuration.
type PushKey struct{ TaskID, ID string }

// Push is a push configuration of a task with its place in the task's events.
type Push struct {
	PushKey
	Config    *a2apb.TaskPushNotificationConfig
	CreatedAt time.Time
	// Version of the newest event that was delivered, or that was there before the
	// configuration; Target of the newest one committed.
	Version, Target int64
	// DueAt is when the next attempt is due; zero when nothing is to be delivered.
	DueAt time.Time
	// ClaimedBy is the replica that delivers; Claim rises with every claim and every
	// replacement of the configuration, so that a former claim settles nothing.
	ClaimedBy string
	Claim     int64
	// Failures in a row, and why the last attempt failed.
	Failures int
	Reason   string
	// DisabledAt is when it was given up; zero while it is not.
	DisabledAt time.Time
}

// Disabled tells whether nothing is delivered any more.
func (p *Push) Disabled() bool { return !p.DisabledAt.IsZero() }

const pushColumns = `task_id, id, created_at, config, version, target, due_at, claimed_by, claim, failures, reason, disabled_at`

func scanPush(row scanner) (*Push, error) {
	var (
		p             Push
		created       int64
		config        []byte
		due, disabled sql.NullInt64
		claimedBy     sql.NullString
	)
	err := row.Scan(&p.TaskID, &p.ID, &created, &config, &p.Version, &p.Target, &due, &claimedBy, &p.Claim, &p.Failures, &p.Reason, &disabled)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, ErrNoPush
	}
	if err != nil {
		return nil, err
	}
	p.CreatedAt, p.DueAt, p.DisabledAt, p.ClaimedBy = time.Unix(0, created).UTC(), timeOf(due), timeOf(disabled), claimedBy.String
	p.Config = &a2apb.TaskPushNotificationConfig{}
	if err := proto.Unmarshal(config, p.Config); err != nil {
		return nil, fmt.Errorf("push configuration %s of task %s: %w", p.ID, p.TaskID, err)
	}
	return &p, nil
}

func timeOf(n sql.NullInt64) time.Time {
	if !n.Valid {
		return time.Time{}
	}
	return time.Unix(0, n.Int64).UTC()
}

func scanPushes(rows *sql.Rows, err error) ([]*Push, error) {
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	var list []*Push
	for rows.Next() {
		p, err := scanPush(rows)
		if err != nil {
			return nil, err
		}
		list = append(list, p)
	}
	return list, rows.Err()
}

// PutPush writes a push configuration in the transaction of a change of its task
// (Change.Rows, Begin, Create) and makes the task's commits look for it; the
// mutation sets Record.Push. One of the same id is replaced. It delivers what is
// committed after version. Where due is set, the newest state is owed already.
func (s *Store) PutPush(c *a2apb.TaskPushNotificationConfig, version int64, due bool) (Rows, error) {
	config, err := proto.Marshal(c)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, tx *sql.Tx) error {
		now := s.clock.Now()
		target, dueAt := version, any(nil)
		if due {
			target, dueAt = version+1, now.UnixNano()
		}
		_, err := tx.StmtContext(ctx, s.stmts.putPush).ExecContext(ctx, c.GetTaskId(), c.GetId(), now.UnixNano(), config, version, target, dueAt)
		if err != nil {
			return err
		}
		_, err = tx.StmtContext(ctx, s.stmts.pushed).ExecContext(ctx, c.GetTaskId())
		return err
	}, nil
}

const putPush = `INSERT INTO push_configs (` + pushColumns + `) VALUES ($1,$2,$3,$4,$5,$6,$7,NULL,1,0,'',NULL)
	ON CONFLICT (task_id, id) DO UPDATE SET created_at = excluded.created_at, config = excluded.config, version = excluded.version,
		target = excluded.target, due_at = excluded.due_at, claimed_by = NULL, claim = push_configs.claim + 1, failures = 0, reason = '', disabled_at = NULL`

// Push reads one configuration. The error is ErrNoPush when there is none.
func (s *Store) Push(ctx context.Context, k PushKey) (*Push, error) {
	return scanPush(s.db.Read.QueryRowContext(ctx, `SELECT `+pushColumns+` FROM push_configs WHERE task_id = $1 AND id = $2`, k.TaskID, k.ID))
}

// Pushes lists the configurations of a task by id, at most limit, those after an id.
func (s *Store) Pushes(ctx context.Context, taskID, after string, limit int) ([]*Push, error) {
	return scanPushes(s.db.Read.QueryContext(ctx, `SELECT `+pushColumns+` FROM push_configs
		WHERE task_id = $1 AND id > $2 ORDER BY id LIMIT $3`, taskID, after, limit))
}

// DeletePush removes a configuration. One that is not there is no error.
func (s *Store) DeletePush(ctx context.Context, k PushKey) error {
	return s.committer.do(ctx, func(ctx context.Context, b *batch) error {
		_, err := b.tx.ExecContext(ctx, `DELETE FROM push_configs WHERE task_id = $1 AND id = $2`, k.TaskID, k.ID)
		return err
	})
}

// DeadPushes lists configurations that were disabled with events undelivered, the
// newest first: those disabled before a time, or then and after a key in order.
func (s *Store) DeadPushes(ctx context.Context, before time.Time, after PushKey, limit int) ([]*Push, error) {
	if before.IsZero() {
		return scanPushes(s.db.Read.QueryContext(ctx, `SELECT `+pushColumns+` FROM push_configs
			WHERE disabled_at IS NOT NULL ORDER BY disabled_at DESC, task_id, id LIMIT $1`, limit))
	}
	return scanPushes(s.db.Read.QueryContext(ctx, `SELECT `+pushColumns+` FROM push_configs
		WHERE disabled_at IS NOT NULL AND (disabled_at < $1 OR (disabled_at = $2 AND (task_id > $3 OR (task_id = $4 AND id > $5))))
		ORDER BY disabled_at DESC, task_id, id LIMIT $6`, before.UnixNano(), before.UnixNano(), after.TaskID, after.TaskID, after.ID, limit))
}

// CountDeadPushes counts them.
func (s *Store) CountDeadPushes(ctx context.Context) (int, error) {
	var n int
	err := s.db.Read.QueryRowContext(ctx, `SELECT COUNT(*) FROM push_configs WHERE disabled_at IS NOT NULL`).Scan(&n)
	return n, err
}

// ResendPush enables a disabled configuration again, due at once. The error is
// ErrNoPush when there is none that is disabled.
func (s *Store) ResendPush(ctx context.Context, k PushKey) error {
	return s.committer.do(ctx, func(ctx context.Context, b *batch) error {
		b.mark = true // it finds nothing to do a second time
		res, err := b.tx.ExecContext(ctx, `UPDATE push_configs SET disabled_at = NULL, failures = 0, reason = '', due_at = $1, claimed_by = NULL
			WHERE task_id = $2 AND id = $3 AND disabled_at IS NOT NULL`, s.clock.Now().UnixNano(), k.TaskID, k.ID)
		if err != nil {
			return err
		}
		if n, err := res.RowsAffected(); err != nil || n == 0 {
			if err != nil {
				return err
			}
			return refused{ErrNoPush}
		}
		return nil
	})
}

package taskstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
)

// Pusher delivers events to push configurations.
type Pusher interface {
	// Pushed is told of every commit of this replica to a task with configurations, in
	// the order of commits. It must not wait.
	Pushed(Pushed)
	// Room tells whether it can take more configurations; those it has no room for stay
	// due for whoever looks for them.
	Room() bool
}

// Pushed is what a commit means for the push configurations of a task.
type Pushed struct {
	// Events are committed together; the last has the version Target of each of Configs.
	// They must not be changed.
	Events      []*a2apb.StreamResponse
	Traceparent string
	// Configs are those that this replica delivers to.
	Configs []*Push
}

// SetPusher sets who delivers to push configurations. Call it before the first write;
// without it nobody on this replica does.
func (s *Store) SetPusher(p Pusher) { s.pusher = p }

// markPushes notes new events on the configurations of their task. Those that had
// nothing to deliver are claimed by this replica in the same commit, so that
// nobody has to be told and nothing has to be claimed later.
func (s *Store) markPushes(ctx context.Context, b *batch, r *Record, events []*a2apb.StreamResponse) error {
	var claimant any
	if s.pusher != nil && s.pusher.Room() {
		claimant = s.replica
	}
	rows, err := b.tx.StmtContext(ctx, s.stmts.markPushes).QueryContext(ctx, r.Version, claimant, s.clock.Now().UnixNano(), r.Task.GetId())
	marked, err := scanPushes(rows, err)
	if err != nil {
		return err
	}
	p := Pushed{Events: events, Traceparent: r.Info.traceparent()}
	for _, c := range marked {
		if c.ClaimedBy == s.replica && !c.Disabled() {
			p.Configs = append(p.Configs, c)
		}
	}
	if len(p.Configs) > 0 {
		b.pushed = append(b.pushed, p)
	}
	return nil
}

// idle is the condition of a configuration that is enabled and has nothing to deliver.
const idle = `due_at IS NULL AND disabled_at IS NULL`

const markPushes = `UPDATE push_configs SET target = $1,
	claimed_by = CASE WHEN ` + idle + ` THEN $2 ELSE claimed_by END,
	claim = CASE WHEN ` + idle + ` THEN claim + 1 ELSE claim END,
	due_at = CASE WHEN ` + idle + ` THEN $3 ELSE due_at END
	WHERE task_id = $4 RETURNING ` + pushColumns

// DuePushes lists configurations that are due and that this replica may claim:
// those that nobody has claimed and those of replicas whose lease has run out; with
// own instead those that it has claimed itself. At most limit.
func (s *Store) DuePushes(ctx context.Context, own bool, limit int) ([]*Push, error) {
	now := s.clock.Now().UnixNano()
	due := `SELECT ` + pushColumns + ` FROM push_configs WHERE due_at IS NOT NULL AND due_at <= $1 AND `
	if own {
		return scanPushes(s.db.Read.QueryContext(ctx, due+`claimed_by = $2`, now, s.replica))
	}
	return scanPushes(s.db.Read.QueryContext(ctx, due+`(claimed_by IS NULL OR claimed_by NOT IN (SELECT id FROM replicas WHERE expires_at >= $2))
		ORDER BY due_at LIMIT $3`, now, now, limit))
}

// NextPush is when the next configuration that nobody has claimed is due; zero when there is none.
func (s *Store) NextPush(ctx context.Context) (time.Time, error) {
	var at sql.NullInt64
	err := s.db.Read.QueryRowContext(ctx, `SELECT MIN(due_at) FROM push_configs WHERE due_at IS NOT NULL AND claimed_by IS NULL`).Scan(&at)
	return timeOf(at), err
}

// ClaimPushes claims configurations for this replica, each with the claim that
// DuePushes has read. It returns those that nobody else was faster with.
func (s *Store) ClaimPushes(ctx context.Context, list []*Push) ([]*Push, error) {
	var mine []*Push
	err := s.committer.do(ctx, func(ctx context.Context, b *batch) error {
		mine = nil
		b.mark = true // what it claimed it could not claim again
		for _, p := range list {
			claimed, err := scanPush(b.tx.QueryRowContext(ctx, `UPDATE push_configs SET claimed_by = $1, claim = claim + 1
				WHERE task_id = $2 AND id = $3 AND claim = $4 AND due_at IS NOT NULL
				RETURNING `+pushColumns, s.replica, p.TaskID, p.ID, p.Claim))
			switch {
			case errors.Is(err, ErrNoPush):
			case err != nil:
				return err
			default:
				mine = append(mine, claimed)
			}
		}
		return nil
	})
	return mine, err
}

// Settlement is what became of a claimed configuration.
type Settlement struct {
	PushKey
	Claim int64
	// Version of the newest event that was delivered.
	Version int64
	// RetryAt releases the claim until then, after a failure; zero when nothing failed.
	RetryAt time.Time
	// Failures in a row, and the reason of the last one.
	Failures int
	Reason   string
	// Disable gives the configuration up.
	Disable bool
}

// Settled is a settlement as it was stored.
type Settled struct {
	PushKey
	Claim int64
	// Lost says that the claim was no longer this replica's, or the configuration is gone.
	Lost bool
	// Target is the version of the newest event; while it is above the settled one and
	// nothing failed, the claim goes on.
	Target int64
}

const settlePush = `UPDATE push_configs SET version = $1, failures = $2, reason = $3, disabled_at = $4,
	due_at = CASE WHEN $5 = 1 THEN $6 WHEN target > $7 THEN due_at ELSE NULL END,
	claimed_by = CASE WHEN $8 = 1 OR target <= $9 THEN NULL ELSE claimed_by END
	WHERE task_id = $10 AND id = $11 AND claim = $12 AND claimed_by = $13 RETURNING target`

// SettlePushes stores settlements with the next commit and tells afterwards, in
// the order of commits. A commit that fails tells nothing but its error.
func (s *Store) SettlePushes(list []Settlement, done func([]Settled, error)) {
	var out []Settled
	s.committer.lazy(&write{
		do: func(ctx context.Context, b *batch) error {
			out = out[:0]
			stmt := b.tx.StmtContext(ctx, s.stmts.settlePush)
			for _, l := range list {
				settled := Settled{PushKey: l.PushKey, Claim: l.Claim}
				failed, disabledAt := 0, any(nil)
				if !l.RetryAt.IsZero() || l.Disable {
					failed = 1
				}
				if l.Disable {
					disabledAt = s.clock.Now().UnixNano()
				}
				err := stmt.QueryRowContext(ctx, l.Version, l.Failures, l.Reason, disabledAt, failed, nullTime(l.RetryAt), l.Version,
					failed, l.Version, l.TaskID, l.ID, l.Claim, s.replica).Scan(&settled.Target)
				settled.Lost = errors.Is(err, sql.ErrNoRows)
				if err != nil && !settled.Lost {
					return err
				}
				out = append(out, settled)
			}
			return nil
		},
		done: func(err error) { done(out, err) },
	})
}

// repairPushes makes due what a release that knew no push, or a restored backup,
// has left unmarked. It runs once at the start of a replica.
func (s *Store) repairPushes(ctx context.Context, tx *sql.Tx, now time.Time) error {
	newest := `(SELECT version FROM tasks WHERE id = push_configs.task_id)`
	_, err := tx.ExecContext(ctx, `UPDATE push_configs SET target = `+newest+`, due_at = COALESCE(due_at, $1)
		WHERE disabled_at IS NULL AND target < `+newest, now.UnixNano())
	if err != nil {
		return fmt.Errorf("task store: %w", err)
	}
	return nil
}

// releasePushes gives claims of this replica free, due as they were.
func (s *Store) releasePushes(ctx context.Context, tx *sql.Tx) error {
	_, err := tx.ExecContext(ctx, `UPDATE push_configs SET claimed_by = NULL WHERE due_at IS NOT NULL AND claimed_by = $1`, s.replica)
	return err
}

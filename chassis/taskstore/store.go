// Package taskstore keeps tasks, their ownership and their events in SQL. One
// transaction changes a task, writes its events to the outbox and its audit
// row; nothing is acknowledged before it. Both SQLite and PostgreSQL serve it.
package taskstore

import (
	"context"
	"database/sql"
	"embed"
	"fmt"
	"io/fs"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"

	"sabha.dev/chassis/clock"
	"sabha.dev/chassis/metrics"
	"sabha.dev/chassis/sqldb"
)

//go:embed migrations/*.sql
var migrations embed.FS

// Options of a store.
type Options struct {
	// Replica names this process among those that share the database. It must be new
	// for every start.
	Replica string
	// Agent versions go into audit rows.
	AgentVersion string
	Clock        clock.Clock
	Log          *slog.Logger
	// Lease is how long a replica that renews nothing keeps its tasks. 0 means 10 s.
	Lease time.Duration
	// Metrics, when nil, count for nobody.
	Metrics *metrics.Metrics
	// Exclusive says that no other process uses the database, so whatever replicas
	// it still names are dead and their tasks are free at once.
	Exclusive bool
}

// Store is the task store of one replica.
type Store struct {
	db        *sqldb.DB
	clock     clock.Clock
	log       *slog.Logger
	metrics   *metrics.Metrics
	replica   string
	version   string
	lease     time.Duration
	committer *committer
	stmts     statements
	searches  *sqldb.Prepared
	decoded   decoded
	epoch     int64
	tenure    tenure

	listener atomic.Pointer[Listener]
	outbox   outbox
	burst    burst
	// laterKept counts writes of Later that wait until the database is back.
	laterKept atomic.Int64
	pusher    Pusher
	stop      context.CancelFunc
	stopped   sync.WaitGroup
}

// Listener hears of committed events of tasks, in the order of commits.
type Listener interface {
	// Committed is called once for each task of a commit, before the writer is told.
	// The events must not be changed. version is that of the last event.
	Committed(rec Snapshot, events []*a2apb.StreamResponse)
}

// Snapshot is what a listener needs of a task without copying it.
type Snapshot struct {
	TaskID, ContextID, Agent string
	Epoch, Version           int64
	State                    a2apb.TaskState
	ParentTask, Caller       string
	Skill                    string
	// Age is the time from acceptance to the newest status.
	Age time.Duration
}

type statements struct {
	insertTask, insertMessage, update, outbox, forget, hop, hops, get, known, putPush, pushed, markPushes, settlePush *sql.Stmt
}

// Component is the store's tables.
func Component() sqldb.Component {
	files, err := fs.Sub(migrations, "migrations")
	if err != nil {
		panic(err) // the folder is embedded
	}
	return sqldb.Component{Name: "tasks", Files: files}
}

// Migrate brings the store's tables up to date.
func Migrate(ctx context.Context, db *sqldb.DB) error {
	c := Component()
	return sqldb.Migrate(ctx, db, c.Name, c.Files)
}

// Open starts a store over a migrated database: it registers the replica and
// begins to commit. Close it.
func Open(ctx context.Context, db *sqldb.DB, o Options) (*Store, error) {
	s := &Store{
		db: db, clock: o.Clock, log: o.Log, replica: o.Replica, version: o.AgentVersion, lease: o.Lease,
		searches: db.Prepared(), outbox: outbox{ready: make(chan struct{}, 1)},
	}
	if s.lease == 0 {
		s.lease = 10 * time.Second
	}
	if s.metrics = o.Metrics; s.metrics == nil {
		var err error
		if s.metrics, err = metrics.New(nil); err != nil {
			return nil, err
		}
	}
	s.outbox.waiting = s.metrics.OutboxWaiting
	s.committer = &committer{store: s, wake: make(chan struct{}, 1), ended: make(chan struct{})}
	if err := s.prepare(ctx); err != nil {
		return nil, err
	}
	if err := s.register(ctx, o.Exclusive); err != nil {
		return nil, err
	}
	run, stop := context.WithCancel(context.WithoutCancel(ctx))
	s.stop = stop
	s.stopped.Add(1)
	go func() {
		defer s.stopped.Done()
		s.committer.run(run)
	}()
	return s, nil
}

func (s *Store) prepare(ctx context.Context) error {
	for dst, query := range map[**sql.Stmt]string{
		&s.stmts.insertTask: `INSERT INTO tasks (id, owner, context_id, agent, skill, root_task_id, state, status_at, created_at,
			version, rev, run_owner, run_epoch, wake_at, deadline, attempts, takeovers, cancel_requested, info, body)
			VALUES ($1,$2,$3,$4,$5,$6,$7,$8,$9,$10,$11,$12,$13,$14,$15,$16,$17,$18,$19,$20)`,
		&s.stmts.insertMessage: `INSERT INTO task_messages (owner, message_id, task_id, digest) VALUES ($1,$2,$3,$4)
			ON CONFLICT (owner, message_id) DO NOTHING`,
		&s.stmts.update: `UPDATE tasks SET state=$1, status_at=$2, version=$3, rev=$4, run_owner=$5, run_epoch=$6, wake_at=$7,
			deadline=$8, attempts=$9, takeovers=$10, cancel_requested=$11, info=$12, body=$13 WHERE id=$14 AND rev=$15`,
		&s.stmts.outbox:     `INSERT INTO outbox (replica, seq, body) VALUES ($1,$2,$3)`,
		&s.stmts.forget:     `DELETE FROM outbox WHERE replica = $1 AND seq <= $2`,
		&s.stmts.putPush:    putPush,
		&s.stmts.pushed:     `UPDATE tasks SET push = 1 WHERE id = $1`,
		&s.stmts.markPushes: markPushes,
		&s.stmts.settlePush: settlePush,
		&s.stmts.hop:        insertHops(1),
		&s.stmts.hops:       insertHops(hopsAtOnce),
	} {
		stmt, err := s.db.Write.PrepareContext(ctx, s.db.Placeholders(query))
		if err != nil {
			return fmt.Errorf("task store: %w", err)
		}
		*dst = stmt
	}
	for dst, query := range map[**sql.Stmt]string{
		&s.stmts.get:   `SELECT ` + recordColumns + ` FROM tasks WHERE id = $1`,
		&s.stmts.known: known,
	} {
		stmt, err := s.db.Read.PrepareContext(ctx, s.db.Placeholders(query))
		if err != nil {
			return fmt.Errorf("task store: %w", err)
		}
		*dst = stmt
	}
	return nil
}

// Listen sets who hears of committed events. Call it before the first write.
func (s *Store) Listen(l Listener) { s.listener.Store(&l) }

// Epoch is the restore epoch: cursors of another epoch are void.
func (s *Store) Epoch() int64 { return s.epoch }

// Replica is the name of this process.
func (s *Store) Replica() string { return s.replica }

// DB is the database, for the service's own tables.
func (s *Store) DB() *sqldb.DB { return s.db }

// Close commits what is queued, gives the replica's tasks free and leaves. The
// database stays open.
func (s *Store) Close(ctx context.Context) error {
	s.stop()
	s.stopped.Wait()
	return s.leave(ctx)
}

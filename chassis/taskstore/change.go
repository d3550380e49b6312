package taskstore

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/protobuf/proto"

	eventv1 "sabha.dev/gen/sabha/event/v1"
)

// Change is what a mutation of a record writes beside the record itself.
type Change struct {
	// Events are applied in order; each takes the next version.
	Events []*a2apb.StreamResponse
	// Rows writes more rows in the same transaction, after the task's.
	Rows Rows
	// First writes rows before the task's (Update only). Its error refuses this change
	// alone, so it must come before anything was written.
	First Rows
	// MessageID and Digest of a further message of the client, remembered for
	// deduplication (Update only).
	MessageID, Digest string
}

// Rows writes rows of its caller in a transaction. It may be called again when the
// transaction has to be repeated.
type Rows = func(context.Context, *sql.Tx) error

// Mutation changes a record and says what else to write. It may be called again
// on a fresher record, so it must only read what it is given.
type Mutation func(*Record) (Change, error)

// Digest is the SHA-256 of a message's content, without what transports add.
func Digest(m *a2apb.Message) string {
	raw, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:])
}

// Existing is the error of a message id that its sender has used before.
type Existing struct {
	TaskID string
	// Same tells whether the message is the same; otherwise it conflicts.
	Same bool
}

// Error says so.
func (e *Existing) Error() string { return "the message id was used for task " + e.TaskID }

// Create stores a new task, owned and about to be run by this replica. messageID
// is that of its first message; the error is *Existing when the owner has used it
// before. An empty one is not remembered. A caller who leaves while it waits is
// told all the same: a task that is stored must be run. rows are stored with it.
func (s *Store) Create(ctx context.Context, r *Record, messageID string, rows ...Rows) (*Handle, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	h, stored := s.Begin(r, messageID, rows...)
	s.committer.hurry()
	if err := s.committer.await(stored); err != nil {
		return nil, err
	}
	return h, nil
}

// Begin is Create without the wait: the handle can be worked with while the task
// is on its way to the disk, and what changes meanwhile is stored with it at
// once. The channel tells when it is stored, or that it is not.
func (s *Store) Begin(r *Record, messageID string, rows ...Rows) (*Handle, <-chan error) {
	r.CreatedAt, r.Version, r.Rev, r.RunOwner, r.RunEpoch = s.clock.Now(), 1, 1, s.replica, 1
	h := &Handle{store: s, rec: r}
	w := &pendingWrite{rec: r, rows: rows, first: &first{
		messageID: messageID,
		event:     &a2apb.StreamResponse{Payload: &a2apb.StreamResponse_Task{Task: shallow(r.Task)}},
	}}
	stored := make(chan error, 1)
	w.waiters = []waiter{{mutation: -1, result: stored}}
	h.open = w
	s.committer.lazy(h.pending(w))
	return h, stored
}

// Stored waits for what Begin has begun. A store that is closed gives an error.
func (s *Store) Stored(stored <-chan error) error { return s.committer.await(stored) }

// insert writes a new task with all that happened to it before it was stored.
func (s *Store) insert(ctx context.Context, b *batch, w *pendingWrite) error {
	r := w.rec
	if err := s.remember(ctx, b.tx, r.Owner, w.first.messageID, r.Task.GetId(), r.Info.Digest); err != nil {
		return err
	}
	info, body, err := encode(r)
	if err != nil {
		return err
	}
	st := r.Task.GetStatus()
	if _, err := b.tx.StmtContext(ctx, s.stmts.insertTask).ExecContext(ctx, r.Task.GetId(), r.Owner, r.Task.GetContextId(), r.Agent, r.Skill,
		r.RootTask, int32(st.GetState()), st.GetTimestamp().AsTime().UnixNano(), r.CreatedAt.UnixNano(), r.Version, r.Rev,
		nullString(r.RunOwner), r.RunEpoch, nullTime(r.WakeAt), nanos(r.Deadline), r.Attempts, r.Takeovers, boolInt(r.CancelRequested), info, body); err != nil {
		return err
	}
	events := w.told()
	bundle, err := s.bundle(r, events)
	if err != nil {
		return err
	}
	b.bundles = append(b.bundles, bundle)
	return s.writeRows(ctx, b, r, events, w.rows)
}

// remember records a message id, or tells that it is known.
func (s *Store) remember(ctx context.Context, tx *sql.Tx, owner, messageID, taskID, digest string) error {
	if owner == "" || messageID == "" {
		return nil
	}
	res, err := tx.StmtContext(ctx, s.stmts.insertMessage).ExecContext(ctx, owner, messageID, taskID, digest)
	if err != nil {
		return err
	}
	if n, err := res.RowsAffected(); err != nil || n == 1 {
		return err
	}
	e, err := scanExisting(tx.QueryRowContext(ctx, known, owner, messageID), digest)
	if err != nil {
		return err
	}
	return refused{e}
}

// known is the statement that looks a message id up.
const known = `SELECT task_id, digest FROM task_messages WHERE owner = $1 AND message_id = $2`

func scanExisting(row *sql.Row, digest string) (*Existing, error) {
	var e Existing
	var was string
	if err := row.Scan(&e.TaskID, &was); err != nil {
		return nil, err
	}
	e.Same = was == digest
	return &e, nil
}

// Known looks a message id up. It returns nil when the owner has not used it.
func (s *Store) Known(ctx context.Context, owner, messageID, digest string) (*Existing, error) {
	e, err := scanExisting(s.stmts.known.QueryRowContext(ctx, owner, messageID), digest)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	return e, err
}

// Update changes a task that this replica need not own: a cancel, a follow-up, a
// claim. It reads, mutates and writes by compare-and-set.
func (s *Store) Update(ctx context.Context, id string, mutate Mutation) (*Record, error) {
	var out *Record
	var snapshot Snapshot
	var events []*a2apb.StreamResponse
	err := s.committer.do(ctx, func(ctx context.Context, b *batch) error {
		for range 8 {
			r, err := s.loadForUpdate(ctx, b.tx, id)
			if err != nil {
				return refused{err}
			}
			ch, err := s.mutate(r, mutate)
			if err != nil {
				return refused{err}
			}
			if ch.First != nil {
				b.mark = true // they cannot be written twice
				if err := ch.First(ctx, b.tx); err != nil {
					return refused{err}
				}
			}
			if ch.MessageID != "" {
				b.mark = true // it cannot be remembered twice
				if err := s.remember(ctx, b.tx, r.Owner, ch.MessageID, id, ch.Digest); err != nil {
					return err
				}
			}
			ok, err := s.write(ctx, b, r, ch.Events, []Rows{ch.Rows})
			if err != nil {
				return err
			}
			if ok {
				out, events, snapshot = r, ch.Events, s.snapshot(r)
				return nil
			}
		}
		return fmt.Errorf("task %s: too many concurrent writers", id)
	}, func() { s.tell(snapshot, events) })
	if err != nil {
		return nil, err
	}
	return out, nil
}

// mutate applies a mutation and its events to a record and raises its revision.
func (s *Store) mutate(r *Record, mutate Mutation) (Change, error) {
	ch, err := mutate(r)
	if err != nil {
		return ch, err
	}
	now := s.clock.Now()
	for _, ev := range ch.Events {
		if err := r.apply(ev, now); err != nil {
			return ch, err
		}
	}
	if r.Ended() {
		r.RunOwner, r.WakeAt = "", time.Time{}
	}
	r.Rev++
	return ch, nil
}

// write stores a mutated record if nobody else has in the meantime, with its
// events, further rows and, when it has ended, its audit row.
func (s *Store) write(ctx context.Context, b *batch, r *Record, events []*a2apb.StreamResponse, rows []Rows) (bool, error) {
	info, body, err := encode(r)
	if err != nil {
		return false, err
	}
	ok, err := s.store(ctx, b, r, r.Rev-1, info, body)
	if err != nil || !ok {
		return ok, err
	}
	if len(events) > 0 {
		bundle, err := s.bundle(r, events)
		if err != nil {
			return false, err
		}
		b.bundles = append(b.bundles, bundle)
	}
	return true, s.writeRows(ctx, b, r, events, rows)
}

func (s *Store) store(ctx context.Context, b *batch, r *Record, expect int64, info string, body []byte) (bool, error) {
	st := r.Task.GetStatus()
	res, err := b.tx.StmtContext(ctx, s.stmts.update).ExecContext(ctx, int32(st.GetState()), st.GetTimestamp().AsTime().UnixNano(), r.Version, r.Rev,
		nullString(r.RunOwner), r.RunEpoch, nullTime(r.WakeAt), nanos(r.Deadline), r.Attempts, r.Takeovers, boolInt(r.CancelRequested),
		info, body, r.Task.GetId(), expect)
	if err != nil {
		return false, err
	}
	n, err := res.RowsAffected()
	return n == 1, err
}

func (s *Store) writeRows(ctx context.Context, b *batch, r *Record, events []*a2apb.StreamResponse, rows []Rows) error {
	for _, f := range rows {
		if f == nil {
			continue
		}
		if err := f(ctx, b.tx); err != nil {
			return err
		}
	}
	if len(events) == 0 {
		return nil
	}
	if r.Push {
		if err := s.markPushes(ctx, b, r, events); err != nil {
			return err
		}
	}
	if r.Ended() {
		return s.hop(ctx, b.tx, r)
	}
	return nil
}

// bundle makes the outbox form of a record's newest events.
func (s *Store) bundle(r *Record, events []*a2apb.StreamResponse) (*eventv1.Bundle, error) {
	b := &eventv1.Bundle{
		Service: r.Agent, TaskId: r.Task.GetId(), ContextId: r.Task.GetContextId(), Epoch: s.epoch, Traceparent: r.Info.traceparent(),
	}
	first := r.Version - int64(len(events)) + 1
	for i, ev := range events {
		raw, err := proto.Marshal(ev)
		if err != nil {
			return nil, err
		}
		b.Events = append(b.Events, &eventv1.Event{Version: first + int64(i), StreamResponse: raw})
	}
	return b, nil
}

func (s *Store) snapshot(r *Record) Snapshot {
	return Snapshot{
		TaskID: r.Task.GetId(), ContextID: r.Task.GetContextId(), Agent: r.Agent, Epoch: s.epoch, Version: r.Version,
		State: r.Task.GetStatus().GetState(), ParentTask: r.Info.ParentTask, Caller: r.Info.Caller, Skill: r.Skill,
		Age: r.Task.GetStatus().GetTimestamp().AsTime().Sub(r.CreatedAt),
	}
}

func (s *Store) tell(snap Snapshot, events []*a2apb.StreamResponse) {
	if l := s.listener.Load(); l != nil && len(events) > 0 {
		(*l).Committed(snap, events)
	}
}

func encode(r *Record) (string, []byte, error) {
	info, err := json.Marshal(r.Info)
	if err != nil {
		return "", nil, err
	}
	body, err := proto.Marshal(r.Task)
	return string(info), body, err
}

func nullString(s string) any {
	if s == "" {
		return nil
	}
	return s
}

func nullTime(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UnixNano()
}

func nanos(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixNano()
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

package taskstore

import (
	"context"
	"errors"
	"sync"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
)

// Handle is a task that this replica runs. Its changes are applied to the record
// in memory at once and committed in order; those that queue up behind a commit
// share the next one.
type Handle struct {
	store *Store

	mu sync.Mutex
	// rec is the record with every change so far, committed or on the way.
	rec *Record
	// open is the write that can still take more changes.
	open *pendingWrite
	// lost is set once a commit has failed: nothing after it can stand.
	lost error
}

// pendingWrite gathers the changes of one task for one commit.
type pendingWrite struct {
	mutations []Mutation
	events    []*a2apb.StreamResponse
	rows      []Rows
	expect    int64
	// rec is the record as it will be stored.
	rec     *Record
	waiters []waiter
	// first is set on the write that stores a new task.
	first *first
	// refused are the mutations that what others wrote forbids, by index.
	refused map[int]error
}

// first is what a new task has beyond its record.
type first struct {
	messageID string
	// event shows the task as it was accepted.
	event *a2apb.StreamResponse
}

// told are the events of a write in order.
func (w *pendingWrite) told() []*a2apb.StreamResponse {
	if w.first == nil {
		return w.events
	}
	return append([]*a2apb.StreamResponse{w.first.event}, w.events...)
}

// waiter waits for the commit of one mutation.
type waiter struct {
	mutation int
	result   chan error
}

// Adopt makes a handle of a record that Claim returned.
func (s *Store) Adopt(r *Record) *Handle { return &Handle{store: s, rec: r} }

// Record is a copy of the current record, changes on their way included.
func (h *Handle) Record() *Record {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.rec.clone()
}

// Final is the record of a run that is over, when nothing of it is on its way any
// more. Its elements are shared and must not be changed.
func (h *Handle) Final() *Record {
	h.mu.Lock()
	defer h.mu.Unlock()
	r := *h.rec
	r.Task = shallow(h.rec.Task)
	return &r
}

// View calls f with the current record, which f must neither change nor keep.
func (h *Handle) View(f func(*Record)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	f(h.rec)
}

// Err tells why a change could not be stored; then the record in memory is ahead
// of the stored one and nothing more is written through this handle.
func (h *Handle) Err() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.lost
}

// Commit applies a change and waits until it is durable.
func (h *Handle) Commit(ctx context.Context, mutate Mutation) error {
	result, err := h.apply(mutate, true)
	if err != nil {
		return err
	}
	select {
	case err := <-result:
		return err
	case <-ctx.Done():
		return ctx.Err()
	case <-h.store.committer.ended:
		return h.store.committer.await(result)
	}
}

// Note applies a change and leaves its commit to the background: it joins the next
// one, within flushAfter. A failure shows at the next call.
func (h *Handle) Note(mutate Mutation) error {
	_, err := h.apply(mutate, false)
	return err
}

func (h *Handle) apply(mutate Mutation, wait bool) (chan error, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.lost != nil {
		return nil, h.lost
	}
	before := h.rec.Rev
	next := *h.rec
	next.Task = shallow(h.rec.Task)
	ch, err := h.store.mutate(&next, mutate)
	if err != nil {
		return nil, err
	}
	w := h.open
	if w == nil {
		w = &pendingWrite{expect: before}
	} else {
		next.Rev = h.rec.Rev // one write, one revision
	}
	h.rec = &next
	w.mutations = append(w.mutations, mutate)
	w.events = append(w.events, ch.Events...)
	w.rows = append(w.rows, ch.Rows)
	w.rec = &next
	var result chan error
	if wait {
		result = make(chan error, 1)
		w.waiters = append(w.waiters, waiter{len(w.mutations) - 1, result})
	}
	if h.open == nil {
		h.open = w
		h.store.committer.lazy(h.pending(w))
	}
	if wait {
		h.store.committer.hurry()
	}
	return result, nil
}

// pending is a handle's write as the committer sees it.
func (h *Handle) pending(w *pendingWrite) *write {
	return &write{
		of:   w,
		take: func() { h.take(w) },
		do:   func(ctx context.Context, b *batch) error { return h.write(ctx, b, w) },
		done: func(err error) { h.done(w, err) },
	}
}

// take closes a write: its commit begins.
func (h *Handle) take(w *pendingWrite) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.open == w {
		h.open = nil
	}
}

// write stores the record as it was prepared. When somebody else wrote in the
// meantime and the task is still ours, the changes are applied to what they left.
func (h *Handle) write(ctx context.Context, b *batch, w *pendingWrite) error {
	// Once a write was refused, the revision that this one was prepared for may be
	// what somebody else wrote.
	if err := h.Err(); err != nil {
		return refused{err}
	}
	if w.first != nil {
		return h.store.insert(ctx, b, w)
	}
	// Encoded only now, once for all the changes that share the commit.
	info, body, err := encode(w.rec)
	if err != nil {
		return err
	}
	ok, err := h.store.store(ctx, b, w.rec, w.expect, info, body)
	if err != nil {
		return err
	}
	if ok {
		if len(w.events) > 0 {
			bundle, err := h.store.bundle(w.rec, w.events)
			if err != nil {
				return err
			}
			b.bundles = append(b.bundles, bundle)
		}
		return h.store.writeRows(ctx, b, w.rec, w.events, w.rows)
	}
	return h.rebase(ctx, b, w)
}

func (h *Handle) rebase(ctx context.Context, b *batch, w *pendingWrite) error {
	s := h.store
	fresh, err := s.loadForUpdate(ctx, b.tx, w.rec.Task.GetId())
	if err != nil {
		return refused{err}
	}
	// Should the transaction be repeated, what was prepared on the old record never
	// fits: it starts here again.
	w.expect = -1
	w.refused = nil
	// The record in memory shares the events that are completed anew below.
	h.mu.Lock()
	fresh, err = h.replay(fresh, w)
	h.mu.Unlock()
	if err != nil {
		return refused{err}
	}
	ok, err := s.write(ctx, b, fresh, w.events, w.rows)
	if err != nil {
		return err
	}
	if !ok {
		return errors.New("taskstore: the row changed within a transaction")
	}
	w.rec = fresh
	h.mu.Lock()
	if h.open == nil {
		h.rec = fresh
	} else {
		// Changes that came later stand on the old record. They are replayed on the
		// fresh one when their commit finds the revision changed; until then the
		// record in memory is theirs.
		h.open.expect = -1
	}
	h.mu.Unlock()
	return nil
}

// replay applies the mutations of a write to what others left. One that a cancel
// request forbids is left out and only it fails. The caller holds the lock.
func (h *Handle) replay(fresh *Record, w *pendingWrite) (*Record, error) {
	if fresh.Ended() {
		return nil, ErrEnded
	}
	if fresh.RunOwner != h.store.replica || fresh.RunEpoch != h.rec.RunEpoch {
		return nil, ErrFenced
	}
	rev := fresh.Rev
	w.events, w.rows = nil, nil
	for i, m := range w.mutations {
		next := *fresh
		next.Task = shallow(fresh.Task)
		ch, err := h.store.mutate(&next, m)
		if errors.Is(err, ErrCanceling) {
			if w.refused == nil {
				w.refused = map[int]error{}
			}
			w.refused[i] = err
			continue
		}
		if err != nil {
			return nil, err
		}
		fresh = &next
		w.events = append(w.events, ch.Events...)
		w.rows = append(w.rows, ch.Rows)
	}
	fresh.Rev = rev + 1
	return fresh, nil
}

func (h *Handle) done(w *pendingWrite, err error) {
	if err == nil {
		h.store.tell(h.store.snapshot(w.rec), w.told())
	} else {
		h.mu.Lock()
		h.lost = err
		h.mu.Unlock()
		if errors.Is(err, ErrFenced) {
			h.store.metrics.Fenced.Inc()
		}
	}
	for _, c := range w.waiters {
		if err == nil {
			c.result <- w.refused[c.mutation]
			continue
		}
		c.result <- err
	}
}

// Refresh commits what is on its way and reads the stored record, so that what
// others wrote (a cancel request, a follow-up) is seen. It returns ErrFenced or
// ErrEnded when the task is no longer this replica's to run.
func (h *Handle) Refresh(ctx context.Context) error {
	h.mu.Lock()
	pending := h.open != nil
	h.mu.Unlock()
	if pending { // its commit meets what others wrote
		if err := h.Commit(ctx, func(*Record) (Change, error) { return Change{}, nil }); err != nil {
			return err
		}
	}
	h.mu.Lock()
	id, epoch, rev, lost := h.rec.Task.GetId(), h.rec.RunEpoch, h.rec.Rev, h.lost
	h.mu.Unlock()
	if lost != nil {
		return lost
	}
	fresh, err := h.store.Get(ctx, id)
	if err != nil {
		return err
	}
	if fresh.Ended() {
		return ErrEnded
	}
	if fresh.RunOwner != h.store.replica || fresh.RunEpoch != epoch {
		return ErrFenced
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.open == nil && h.rec.Rev == rev && fresh.Rev > rev:
		h.rec = fresh
	case fresh.CancelRequested && !h.rec.CancelRequested:
		// A change is on its way again. It will meet the rest; this may not wait.
		next := *h.rec
		next.CancelRequested = true
		h.rec = &next
	}
	return nil
}

// shallow copies a task so that replacing its fields and appending to its lists
// leaves the original alone. Elements are shared and never changed in place.
func shallow(t *a2apb.Task) *a2apb.Task {
	return &a2apb.Task{
		Id: t.GetId(), ContextId: t.GetContextId(), Status: t.GetStatus(), Metadata: t.GetMetadata(),
		Artifacts: append([]*a2apb.Artifact(nil), t.GetArtifacts()...),
		History:   append([]*a2apb.Message(nil), t.GetHistory()...),
	}
}

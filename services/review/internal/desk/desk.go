// Package desk serves reviewers: it lists items, keeps claims and takes decisions
// (sabha.review.v1.ReviewService). Every call is made by a person, the principal of
// the call, and is judged by that person's scopes here.
package desk

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"strings"
	"time"
	"unicode/utf8"

	"sabha.dev/chassis/clock"
	"sabha.dev/chassis/fault"
	"sabha.dev/chassis/identity"
	"sabha.dev/chassis/taskstore"
	reviewv1 "sabha.dev/gen/sabha/review/v1"
	"sabha.dev/services/review/internal/item"
	"sabha.dev/services/review/internal/roster"
	"sabha.dev/services/review/internal/sqlstore"
)

// Items are where items are kept.
type Items interface {
	Get(ctx context.Context, id string) (*item.Item, error)
	GetAll(ctx context.Context, ids []string) ([]*item.Item, error)
	Snapshot(ctx context.Context, id string) (*item.Snapshot, error)
	History(ctx context.Context, id string) ([]item.Event, error)
	Exchanges(ctx context.Context, id string) ([]item.Exchange, error)
	List(ctx context.Context, f sqlstore.Filter) ([]*item.Item, error)
	Counts(ctx context.Context, person string, now time.Time) (sqlstore.Counts, error)
	Queues(ctx context.Context, now time.Time) (map[string]sqlstore.QueueCounts, error)
	Attained(ctx context.Context, since time.Time) (map[string]sqlstore.QueueCounts, error)
	Rows(id string, f item.Make, done func(*item.Item, *item.Change)) func(context.Context, *sql.Tx) error
	Update(ctx context.Context, id string, f item.Make, done func(*item.Item, *item.Change)) error
}

var _ Items = (*sqlstore.Store)(nil)

// Tasks lets the task of an item go on, in one transaction with the rows that say why.
type Tasks interface {
	Resume(ctx context.Context, taskID string, rows taskstore.Rows) error
}

// Queues are those that the policy knows.
type Queues interface {
	Queues() []item.Queue
	// Version names the policy in force.
	Version() string
}

// People are who has been at the desk or has an account.
type People interface {
	Note(ctx context.Context, p item.Person) error
	NoteAccounts(ctx context.Context, all []roster.Account) error
	Disabled(ctx context.Context, key string) (bool, error)
	Find(ctx context.Context, key string) (item.Person, bool, error)
	Lately(ctx context.Context) ([]item.Person, error)
}

var _ People = (*roster.Roster)(nil)

// Config is what a desk works with.
type Config struct {
	Items  Items
	Tasks  Tasks
	Queues Queues
	People People
	Clock  clock.Clock
	Log    *slog.Logger
}

// Desk implements ReviewService.
type Desk struct {
	reviewv1.UnimplementedReviewServiceServer
	items  Items
	tasks  Tasks
	queues Queues
	people People
	clock  clock.Clock
	log    *slog.Logger
}

var _ reviewv1.ReviewServiceServer = (*Desk)(nil)

// New makes the desk.
func New(c Config) *Desk {
	return &Desk{items: c.Items, tasks: c.Tasks, queues: c.Queues, people: c.People, clock: c.Clock, log: c.Log}
}

// person is who calls, and may read.
func (d *Desk) person(ctx context.Context) (item.Person, error) {
	call, ok := identity.CallOf(ctx)
	if !ok || call.Principal.Anonymous() {
		return item.Person{}, fault.New(fault.Unauthenticated, "reviews are for people who are known; sign in, or send an API key")
	}
	p := item.PersonOf(call.Principal)
	if !p.MayRead() {
		return p, fault.New(fault.NotPermitted, "seeing reviews needs one of the scopes viewer, reviewer, operator, auditor and admin")
	}
	if err := d.people.Note(ctx, p); err != nil && ctx.Err() == nil {
		d.log.WarnContext(ctx, "it was not noted who is at the desk", "person", p.Key, "error", err)
	}
	return p, nil
}

// worker is who calls, and may still change something: the account of who came with a key
// or a grant may be disabled since.
func (d *Desk) worker(ctx context.Context) (item.Person, error) {
	p, err := d.person(ctx)
	if err != nil {
		return p, err
	}
	disabled, err := d.people.Disabled(ctx, p.Key)
	if disabled {
		err = fault.New(fault.NotPermitted, "the account of %s is disabled; an administrator of the console can enable it", p.Key)
	}
	return p, err
}

// change has a person change an item.
func (d *Desk) change(ctx context.Context, id string, f func(*item.Item, item.Person, time.Time) (*item.Change, error)) (*reviewv1.Item, error) {
	p, err := d.worker(ctx)
	if err != nil {
		return nil, err
	}
	var after *item.Item
	err = d.items.Update(ctx, id, func(i *item.Item) (*item.Change, error) { return f(i, p, d.clock.Now()) },
		func(i *item.Item, _ *item.Change) { after = i })
	if err != nil {
		return nil, err
	}
	return d.shown(after, p), nil
}

// resume has a person change an item in a way that its task goes on by.
func (d *Desk) resume(ctx context.Context, id string, p item.Person, f item.Make) (*reviewv1.Item, error) {
	// Most refusals are seen without a transaction, and a batch shares its own.
	i, err := d.items.Get(ctx, id)
	if err != nil {
		return nil, err
	}
	if c, err := f(i); err != nil || c == nil {
		return d.answer(i, p, err)
	}
	err = d.tasks.Resume(ctx, id, d.items.Rows(id, f, func(now *item.Item, _ *item.Change) { i = now }))
	switch {
	case errors.Is(err, taskstore.ErrCanceling), errors.Is(err, taskstore.ErrNotFound):
		err = fault.New(fault.ItemDecided, "item %s has ended: its task was canceled", id)
	case errors.Is(err, taskstore.ErrEnded):
		err = d.orphaned(ctx, id, f)
	}
	return d.answer(i, p, err)
}

// orphaned says why a change came too late for the task. An item that was left open
// by a task that failed is closed.
func (d *Desk) orphaned(ctx context.Context, id string, f item.Make) error {
	return d.items.Update(ctx, id, func(i *item.Item) (*item.Change, error) {
		if _, err := f(i); err != nil {
			return nil, err
		}
		return i.Cancel(d.clock.Now()), nil
	}, nil)
}

func (d *Desk) answer(i *item.Item, p item.Person, err error) (*reviewv1.Item, error) {
	if err != nil {
		return nil, err
	}
	return d.shown(i, p), nil
}

// Claim makes the caller the holder.
func (d *Desk) Claim(ctx context.Context, req *reviewv1.ClaimRequest) (*reviewv1.ClaimResponse, error) {
	i, err := d.change(ctx, req.GetId(), (*item.Item).Claim)
	return &reviewv1.ClaimResponse{Item: i}, err
}

// Release gives a claim back.
func (d *Desk) Release(ctx context.Context, req *reviewv1.ReleaseRequest) (*reviewv1.ReleaseResponse, error) {
	if err := text("note", req.GetNote()); err != nil {
		return nil, err
	}
	i, err := d.change(ctx, req.GetId(), func(i *item.Item, p item.Person, now time.Time) (*item.Change, error) {
		return i.Release(p, req.GetNote(), now)
	})
	return &reviewv1.ReleaseResponse{Item: i}, err
}

// Ask asks the requester.
func (d *Desk) Ask(ctx context.Context, req *reviewv1.AskRequest) (*reviewv1.AskResponse, error) {
	p, err := d.worker(ctx)
	if err == nil {
		err = text("question", req.GetQuestion())
	}
	if err != nil {
		return nil, err
	}
	i, err := d.resume(ctx, req.GetId(), p, func(i *item.Item) (*item.Change, error) { return i.Ask(p, req.GetQuestion(), d.clock.Now()) })
	return &reviewv1.AskResponse{Item: i}, err
}

// text checks what a person has written.
func text(field, s string) error {
	if len(s) > item.MaxText || strings.ContainsRune(s, 0) || !utf8.ValidString(s) {
		return fault.Invalid(field, "must have at most %d bytes and no character U+0000", item.MaxText)
	}
	return nil
}

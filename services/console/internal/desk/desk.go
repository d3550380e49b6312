// Package desk is what a reviewer works on: items that wait for a decision, one item
// with everything that the decision rests on, and items that are decided together.
package desk

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"sabha.dev/chassis/fault"
	reviewv1 "sabha.dev/gen/sabha/review/v1"
)

// Errors of a Desk.
var (
	// ErrNoItem says that there is no such item, or none that the caller may see.
	ErrNoItem = errors.New("there is no such item")
	// ErrBadList says that a list cannot be made as it was asked for.
	ErrBadList = errors.New("there is no such list")
	// ErrForbidden says that the caller may not see items.
	ErrForbidden = errors.New("the caller may not see this")
	// ErrUnreachable says that the review service gave no answer.
	ErrUnreachable = errors.New("the review service cannot be reached")
)

// Bounds of lists.
const (
	// PageSize is how many items a list has.
	PageSize = 50
	// lately is how many decided items stand below a list of open ones.
	lately = 5
	// BatchSize is how many items are decided together at most.
	BatchSize = 200
)

// Desk asks the review service, on behalf of whoever the context of a call is for.
type Desk struct {
	reviews reviewv1.ReviewServiceClient
	log     *slog.Logger
	seen    *seen
}

// New makes a desk.
func New(reviews reviewv1.ReviewServiceClient, log *slog.Logger) *Desk {
	return &Desk{reviews: reviews, log: log, seen: newSeen()}
}

// Client is the service itself, for what changes items.
func (d *Desk) Client() reviewv1.ReviewServiceClient { return d.reviews }

// Board is a list of items with what stands around it.
type Board struct {
	Filter Filter
	Items  []*reviewv1.Item
	// Next continues the list; empty at its end.
	Next string
	// Mine, Unassigned, Open and Overdue count items whatever the filter.
	Mine, Unassigned, Open, Overdue int64
	Queues                          []*reviewv1.Queue
	// Decided are the items that were decided last; none on a list of decided ones.
	Decided []*reviewv1.Item
}

// Board reads a list. The errors are ErrBadList, ErrForbidden and ErrUnreachable.
func (d *Desk) Board(ctx context.Context, f Filter) (*Board, error) {
	q := f.request()
	q.PageSize, q.PageToken = PageSize, f.After
	res, err := d.reviews.ListItems(ctx, q)
	if err != nil {
		return nil, d.told(ctx, err)
	}
	b := &Board{
		Filter: f, Items: res.GetItems(), Next: res.GetNextPageToken(),
		Mine: res.GetMine(), Unassigned: res.GetUnassigned(), Open: res.GetOpen(), Overdue: res.GetOverdue(),
	}
	queues, err := d.reviews.ListQueues(ctx, &reviewv1.ListQueuesRequest{})
	if err != nil {
		return nil, d.told(ctx, err)
	}
	b.Queues = queues.GetQueues()
	if f.Tab != Done {
		done := Filter{Tab: Done, Queue: f.Queue, Product: f.Product, Risk: f.Risk}.request()
		done.PageSize = lately
		res, err := d.reviews.ListItems(ctx, done)
		if err != nil {
			return nil, d.told(ctx, err)
		}
		b.Decided = res.GetItems()
	}
	return b, nil
}

// Item reads an item. The errors are ErrNoItem, ErrForbidden and ErrUnreachable.
func (d *Desk) Item(ctx context.Context, id string) (*reviewv1.Detail, error) {
	res, err := d.reviews.GetItem(ctx, &reviewv1.GetItemRequest{Id: id})
	if err != nil {
		return nil, d.told(ctx, err)
	}
	return res.GetDetail(), nil
}

// People are those to whom an item may be handed, as far as the service knows them. The
// errors are those of Item.
func (d *Desk) People(ctx context.Context, id string) ([]string, error) {
	res, err := d.reviews.ListPeople(ctx, &reviewv1.ListPeopleRequest{Id: id})
	if status.Code(err) == codes.Unimplemented || status.Code(err) == codes.PermissionDenied {
		return nil, nil // of a release that knows nobody
	}
	if err != nil {
		return nil, d.told(ctx, err)
	}
	return res.GetPeople(), nil
}

// Next is the item to go on with after one of a list has been decided: the one that
// is due after it, else the first; nil when there is none that the caller may decide.
func (d *Desk) Next(ctx context.Context, f Filter, after *reviewv1.Item) (*reviewv1.Item, error) {
	if f.Tab == Done {
		return nil, nil
	}
	q := f.request()
	q.PageSize = BatchSize
	res, err := d.reviews.ListItems(ctx, q)
	if err != nil {
		return nil, d.told(ctx, err)
	}
	var first *reviewv1.Item
	for _, i := range res.GetItems() {
		if !i.GetMayDecide() || i.GetId() == after.GetId() || i.GetState() != reviewv1.State_STATE_OPEN {
			continue
		}
		if first == nil {
			first = i
		}
		if later(i, after) {
			return i, nil
		}
	}
	return first, nil
}

// later tells whether an item stands after another one in a list of open items.
func later(i, than *reviewv1.Item) bool {
	a, b := i.GetDueAt().AsTime(), than.GetDueAt().AsTime()
	return a.After(b) || (a.Equal(b) && i.GetId() > than.GetId())
}

// told makes an error of this package of one of a call.
func (d *Desk) told(ctx context.Context, err error) error {
	if f := fault.FromStatus(err); f != nil {
		switch f.Reason {
		case fault.ItemNotFound, fault.TaskNotFound:
			return ErrNoItem
		case fault.InvalidArgument:
			return ErrBadList
		case fault.NotPermitted, fault.PermissionDenied:
			return ErrForbidden
		}
	}
	if ctx.Err() == nil {
		d.log.Warn("reviews cannot be read", "error", err)
	}
	return fmt.Errorf("%w: %w", ErrUnreachable, err)
}

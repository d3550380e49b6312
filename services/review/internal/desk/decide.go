package desk

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"sabha.dev/chassis/fault"
	reviewv1 "sabha.dev/gen/sabha/review/v1"
	"sabha.dev/services/review/internal/item"
)

// Decide decides on exactly what the caller was shown.
func (d *Desk) Decide(ctx context.Context, req *reviewv1.DecideRequest) (*reviewv1.DecideResponse, error) {
	p, err := d.worker(ctx)
	if err != nil {
		return nil, err
	}
	i, err := d.decide(ctx, p, req)
	return &reviewv1.DecideResponse{Item: i}, err
}

func (d *Desk) decide(ctx context.Context, p item.Person, req *reviewv1.DecideRequest) (*reviewv1.Item, error) {
	if req.GetDigest() == "" {
		return nil, fault.Invalid("digest", "is missing; name the digest of what you were shown")
	}
	if err := text("reason", req.GetReason()); err != nil {
		return nil, err
	}
	v := item.Verdict{Digest: req.GetDigest(), Approve: req.GetApprove(), Reason: req.GetReason()}
	if req.GetEdited() != nil {
		var err error
		if v.Edited, err = d.edited(ctx, req); err != nil {
			return nil, err
		}
	}
	return d.resume(ctx, req.GetId(), p, func(i *item.Item) (*item.Change, error) {
		if i.Repeats(p, v) {
			return nil, nil
		}
		return i.Decide(p, v, d.clock.Now())
	})
}

// edited reads and checks an edited content. One that changes nothing is none.
func (d *Desk) edited(ctx context.Context, req *reviewv1.DecideRequest) ([]byte, error) {
	raw, err := req.GetEdited().MarshalJSON()
	if err != nil {
		return nil, fault.Invalid("edited", "cannot be read as JSON")
	}
	edited, err := item.Deterministic(raw)
	if err != nil {
		return nil, fault.Invalid("edited", "cannot be read as JSON")
	}
	if len(edited) > item.MaxEdited {
		return nil, fault.Invalid("edited", "has %d bytes; at most %d are kept", len(edited), item.MaxEdited)
	}
	i, err := d.items.Get(ctx, req.GetId())
	if err != nil {
		return nil, err
	}
	s, err := d.items.Snapshot(ctx, req.GetId())
	if err != nil {
		return nil, err
	}
	now := s.Content
	if e := i.Edited(); e != nil {
		now = e
	}
	if string(now) == string(edited) {
		return nil, nil
	}
	return edited, s.CheckEdit(edited)
}

// maxBatch bounds how many items are decided together.
const maxBatch = 200

// DecideBatch decides several items of one kind. They are decided at once, so that
// they share transactions, and each has an outcome of its own.
func (d *Desk) DecideBatch(ctx context.Context, req *reviewv1.DecideBatchRequest) (*reviewv1.DecideBatchResponse, error) {
	p, err := d.worker(ctx)
	if err != nil {
		return nil, err
	}
	decisions := req.GetDecisions()
	if len(decisions) == 0 || len(decisions) > maxBatch {
		return nil, fault.Invalid("decisions", "there are %d; a batch has 1 to %d", len(decisions), maxBatch)
	}
	if err := d.alike(ctx, decisions); err != nil {
		return nil, err
	}
	res := &reviewv1.DecideBatchResponse{Outcomes: make([]*reviewv1.BatchOutcome, len(decisions))}
	var deciding sync.WaitGroup
	for _, n := range inOrder(decisions) {
		deciding.Add(1)
		go func() {
			defer deciding.Done()
			i, err := d.decide(ctx, p, decisions[n])
			res.Outcomes[n] = outcome(decisions[n].GetId(), i, err)
		}()
	}
	deciding.Wait()
	return res, nil
}

// inOrder gives the places of the decisions by id: batches that overlap then take
// their items in the same order.
func inOrder(decisions []*reviewv1.DecideRequest) []int {
	order := make([]int, len(decisions))
	for n := range order {
		order[n] = n
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(decisions[a].GetId(), decisions[b].GetId()) })
	return order
}

// alike refuses a batch of what cannot be decided alike. Items that do not exist are
// left to their outcomes.
func (d *Desk) alike(ctx context.Context, decisions []*reviewv1.DecideRequest) error {
	ids := make([]string, len(decisions))
	for n, r := range decisions {
		if ids[n] = strings.ReplaceAll(r.GetId(), "\x00", ""); slices.Contains(ids[:n], r.GetId()) {
			return fault.Invalid(fmt.Sprintf("decisions[%d].id", n), "names an item a second time")
		}
	}
	items, err := d.items.GetAll(ctx, ids)
	if err != nil {
		return err
	}
	for _, i := range items {
		if i.BatchKey != items[0].BatchKey {
			return fault.Invalid("decisions", "items %s and %s are of different kinds; a batch has items of one batch key", items[0].ID, i.ID)
		}
	}
	return nil
}

func outcome(id string, i *reviewv1.Item, err error) *reviewv1.BatchOutcome {
	if err == nil {
		return &reviewv1.BatchOutcome{Id: id, Item: i}
	}
	if f := fault.As(err); f != nil {
		return &reviewv1.BatchOutcome{Id: id, ErrorReason: string(f.Reason), Error: f.Message}
	}
	s := fault.Status(err)
	return &reviewv1.BatchOutcome{Id: id, ErrorReason: string(fault.Unavailable), Error: s.Message()}
}

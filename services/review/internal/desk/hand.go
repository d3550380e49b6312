package desk

import (
	"context"
	"strings"
	"time"

	"sabha.dev/chassis/fault"
	reviewv1 "sabha.dev/gen/sabha/review/v1"
	"sabha.dev/services/review/internal/item"
)

// maxPerson bounds the name of a person, bytes.
const maxPerson = 256

// Reassign hands an item to a person.
func (d *Desk) Reassign(ctx context.Context, req *reviewv1.ReassignRequest) (*reviewv1.ReassignResponse, error) {
	_, subject, ok := strings.Cut(req.GetTo(), "/")
	if !ok || subject == "" || len(req.GetTo()) > maxPerson || strings.ContainsRune(req.GetTo(), 0) {
		return nil, fault.Invalid("to", "must name a person as organisation/subject, with at most %d bytes", maxPerson)
	}
	if err := text("note", req.GetNote()); err != nil {
		return nil, err
	}
	var known *item.Person
	if p, found, err := d.people.Find(ctx, req.GetTo()); err != nil {
		return nil, err
	} else if found {
		known = &p
	}
	i, err := d.change(ctx, req.GetId(), func(i *item.Item, p item.Person, now time.Time) (*item.Change, error) {
		return i.Reassign(p, req.GetTo(), known, req.GetNote(), now)
	})
	return &reviewv1.ReassignResponse{Item: i}, err
}

// ListPeople gives those who have been at the desk lately and to whom the item may be handed.
func (d *Desk) ListPeople(ctx context.Context, req *reviewv1.ListPeopleRequest) (*reviewv1.ListPeopleResponse, error) {
	if _, err := d.person(ctx); err != nil {
		return nil, err
	}
	i, err := d.items.Get(ctx, req.GetId())
	if err != nil {
		return nil, err
	}
	all, err := d.people.Lately(ctx)
	if err != nil {
		return nil, err
	}
	res := &reviewv1.ListPeopleResponse{}
	for _, p := range all {
		if i.MayNotGet(p) == "" && p.Key != i.HolderAt(d.clock.Now()) {
			res.People = append(res.People, p.Key)
		}
	}
	return res, nil
}

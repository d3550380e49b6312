package client

import (
	"context"

	reviewv1 "sabha.dev/gen/sabha/review/v1"
)

// Reviews lists a page of what waits for people.
func (c *Client) Reviews(ctx context.Context, req *reviewv1.ListItemsRequest) (*reviewv1.ListItemsResponse, error) {
	ctx, cancel := c.call(ctx)
	defer cancel()
	res, err := c.reviews.ListItems(ctx, req)
	return res, c.fault(err)
}

// Review reads an item with everything that a decision rests on.
func (c *Client) Review(ctx context.Context, id string) (*reviewv1.Detail, error) {
	ctx, cancel := c.call(ctx)
	defer cancel()
	res, err := c.reviews.GetItem(ctx, &reviewv1.GetItemRequest{Id: id})
	return res.GetDetail(), c.fault(err)
}

// Claim makes the caller the holder of an item.
func (c *Client) Claim(ctx context.Context, id string) (*reviewv1.Item, error) {
	ctx, cancel := c.call(ctx)
	defer cancel()
	res, err := c.reviews.Claim(ctx, &reviewv1.ClaimRequest{Id: id})
	return res.GetItem(), c.fault(err)
}

// Release gives a claim back.
func (c *Client) Release(ctx context.Context, id, note string) (*reviewv1.Item, error) {
	ctx, cancel := c.call(ctx)
	defer cancel()
	res, err := c.reviews.Release(ctx, &reviewv1.ReleaseRequest{Id: id, Note: note})
	return res.GetItem(), c.fault(err)
}

// Reassign hands an item to a person, organisation/subject.
func (c *Client) Reassign(ctx context.Context, id, to, note string) (*reviewv1.Item, error) {
	ctx, cancel := c.call(ctx)
	defer cancel()
	res, err := c.reviews.Reassign(ctx, &reviewv1.ReassignRequest{Id: id, To: to, Note: note})
	return res.GetItem(), c.fault(err)
}

// People are those to whom an item may be handed.
func (c *Client) People(ctx context.Context, id string) ([]string, error) {
	ctx, cancel := c.call(ctx)
	defer cancel()
	res, err := c.reviews.ListPeople(ctx, &reviewv1.ListPeopleRequest{Id: id})
	return res.GetPeople(), c.fault(err)
}

// Decide decides on an item.
func (c *Client) Decide(ctx context.Context, req *reviewv1.DecideRequest) (*reviewv1.Item, error) {
	ctx, cancel := c.call(ctx)
	defer cancel()
	res, err := c.reviews.Decide(ctx, req)
	return res.GetItem(), c.fault(err)
}

// AskRequester asks whoever an item is for.
func (c *Client) AskRequester(ctx context.Context, id, question string) (*reviewv1.Item, error) {
	ctx, cancel := c.call(ctx)
	defer cancel()
	res, err := c.reviews.Ask(ctx, &reviewv1.AskRequest{Id: id, Question: question})
	return res.GetItem(), c.fault(err)
}

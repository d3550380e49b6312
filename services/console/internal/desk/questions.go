package desk

import (
	"context"
	"log/slog"
	"net/url"
	"slices"

	reviewv1 "sabha.dev/gen/sabha/review/v1"
)

// View is a choice of discussions.
type View string

// The views, in their order. Waiting is the one that is shown when none is named.
const (
	Waiting   View = "waiting"
	Unread    View = "unread"
	MyOwn     View = "mine"
	Discussed View = "all"
)

// Views are all of them.
var Views = []View{Waiting, Unread, MyOwn, Discussed}

// Questions are those that agents and people ask people.
type Questions struct {
	client reviewv1.DiscussionServiceClient
	desk   *Desk
}

// NewQuestions makes the questions of a review service.
func NewQuestions(client reviewv1.DiscussionServiceClient, log *slog.Logger) *Questions {
	return &Questions{client: client, desk: &Desk{log: log}}
}

// Client is the service itself, for what changes discussions.
func (q *Questions) Client() reviewv1.DiscussionServiceClient { return q.client }

// Choice says which discussions a list has, and where it continues.
type Choice struct {
	View  View
	After string
}

// ReadChoice takes a choice from the query of an address.
func ReadChoice(q url.Values) Choice {
	c := Choice{View: View(q.Get("view")), After: q.Get("after")}
	if !slices.Contains(Views, c.View) {
		c.View = Waiting
	}
	return c
}

// Values is the choice as the query of an address; ReadChoice takes it back.
func (c Choice) Values() url.Values {
	q := url.Values{}
	if c.View != Waiting {
		q.Set("view", string(c.View))
	}
	if c.After != "" {
		q.Set("after", c.After)
	}
	return q
}

// List reads discussions, the newest activity first. The errors are those of Board.
func (q *Questions) List(ctx context.Context, c Choice) ([]*reviewv1.Discussion, string, error) {
	res, err := q.client.ListDiscussions(ctx, &reviewv1.ListDiscussionsRequest{
		Waiting: c.View == Waiting, Unread: c.View == Unread, Mine: c.View == MyOwn, PageSize: PageSize, PageToken: c.After,
	})
	if err != nil {
		return nil, "", q.desk.told(ctx, err)
	}
	return res.GetDiscussions(), res.GetNextPageToken(), nil
}

// Discussion reads a question with its replies. The errors are those of Item.
func (q *Questions) Discussion(ctx context.Context, id string) (*reviewv1.GetDiscussionResponse, error) {
	res, err := q.client.GetDiscussion(ctx, &reviewv1.GetDiscussionRequest{Id: id})
	if err != nil {
		return nil, q.desk.told(ctx, err)
	}
	return res, nil
}

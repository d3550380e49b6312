package client

import (
	"context"

	adminv1 "sabha.dev/gen/sabha/admin/v1"
)

// Overseen lists tasks of every caller, at most limit, with the counts of the first
// page. What a search has to read little by little is read until limit is reached.
func (c *Client) Overseen(ctx context.Context, q *adminv1.ListTasksRequest, limit int) (*adminv1.ListTasksResponse, error) {
	var all *adminv1.ListTasksResponse
	for {
		q.PageSize = int32(pageSize)
		if all != nil {
			q.PageSize = int32(min(pageSize, limit-len(all.GetTasks())))
		} else if limit < pageSize {
			q.PageSize = int32(limit)
		}
		page, err := c.overseenPage(ctx, q)
		if err != nil {
			return nil, err
		}
		if all == nil {
			all = page
		} else {
			all.Tasks, all.NextPageToken = append(all.GetTasks(), page.GetTasks()...), page.GetNextPageToken()
		}
		if q.PageToken = page.GetNextPageToken(); q.GetPageToken() == "" || len(all.GetTasks()) >= limit {
			return all, nil
		}
	}
}

func (c *Client) overseenPage(ctx context.Context, q *adminv1.ListTasksRequest) (*adminv1.ListTasksResponse, error) {
	ctx, cancel := c.call(ctx)
	defer cancel()
	res, err := c.overseer.ListTasks(ctx, q)
	return res, c.fault(err)
}

// CancelFor cancels tasks of any caller for a reason, each with its outcome.
func (c *Client) CancelFor(ctx context.Context, q *adminv1.CancelTasksRequest) ([]*adminv1.CancelOutcome, error) {
	ctx, cancel := c.call(ctx)
	defer cancel()
	res, err := c.overseer.CancelTasks(ctx, q)
	return res.GetOutcomes(), c.fault(err)
}

package desk

import (
	"context"
	"encoding/base64"
	"slices"
	"strconv"
	"strings"
	"time"

	"sabha.dev/chassis/fault"
	reviewv1 "sabha.dev/gen/sabha/review/v1"
	"sabha.dev/services/review/internal/item"
	"sabha.dev/services/review/internal/sqlstore"
)

// Bounds of a page, and of what is searched for.
const (
	defaultPage = 50
	maxPage     = 200
	maxWords    = 8
	maxQuery    = 200 // bytes
)

// The span in which ended items are counted, seconds.
const (
	minSpan = 60
	maxSpan = 7 * 24 * 3600
)

// ended are the states in which items end.
var ended = []reviewv1.State{
	reviewv1.State_STATE_APPROVED, reviewv1.State_STATE_REJECTED, reviewv1.State_STATE_EXPIRED, reviewv1.State_STATE_CANCELED,
}

// ListItems lists items: those that are open by due time, then, where they are asked
// for, those that have ended, the newest first.
func (d *Desk) ListItems(ctx context.Context, req *reviewv1.ListItemsRequest) (*reviewv1.ListItemsResponse, error) {
	p, err := d.person(ctx)
	if err != nil {
		return nil, err
	}
	f, err := d.filter(req, p)
	if err != nil {
		return nil, err
	}
	counts, err := d.items.Counts(ctx, p.Key, f.Now)
	if err != nil {
		return nil, err
	}
	items, next, err := d.page(ctx, f, req.GetStates())
	if err != nil {
		return nil, err
	}
	res := &reviewv1.ListItemsResponse{
		NextPageToken: next, Mine: counts.Mine, Unassigned: counts.Unassigned, Open: counts.Open, Overdue: counts.Overdue,
	}
	for _, i := range items {
		res.Items = append(res.Items, d.shown(i, p))
	}
	return res, nil
}

// filter reads a request. Its Limit is the size of a page and one more.
func (d *Desk) filter(req *reviewv1.ListItemsRequest, p item.Person) (sqlstore.Filter, error) {
	size := int(req.GetPageSize())
	if size == 0 {
		size = defaultPage
	}
	words := strings.Fields(req.GetQuery())
	f := sqlstore.Filter{
		Unassigned: req.GetUnassigned(), Now: d.clock.Now(), Queue: req.GetQueue(), Product: req.GetProduct(), Risk: req.GetRisk(),
		BatchKey: req.GetBatchKey(), Words: words, Limit: size + 1,
	}
	if req.GetMine() {
		f.Mine = p.Key
	}
	switch {
	case size < 1 || size > maxPage:
		return f, fault.Invalid("page_size", "must be from 1 to %d, or 0 for %d", maxPage, defaultPage)
	case len(req.GetQuery()) > maxQuery || len(words) > maxWords:
		return f, fault.Invalid("query", "must have at most %d words and %d bytes", maxWords, maxQuery)
	case strings.ContainsRune(req.GetQuery()+req.GetQueue()+req.GetProduct()+req.GetRisk()+req.GetBatchKey(), 0):
		return f, fault.Invalid("query", "must not contain the character U+0000")
	}
	for _, s := range req.GetStates() {
		if reviewv1.State_name[int32(s)] == "" || s == reviewv1.State_STATE_UNSPECIFIED {
			return f, fault.Invalid("states", "%d is not a state", s)
		}
	}
	if req.GetPageToken() != "" {
		var err error
		if f.Ended, f.After, err = readToken(req.GetPageToken()); err != nil {
			return f, err
		}
	}
	return f, nil
}

// page reads a page across what is open and what has ended.
func (d *Desk) page(ctx context.Context, f sqlstore.Filter, states []reviewv1.State) (items []*item.Item, next string, err error) {
	size := f.Limit - 1
	done := slices.DeleteFunc(slices.Clone(states), func(s reviewv1.State) bool { return !slices.Contains(ended, s) })
	open := slices.DeleteFunc(slices.Clone(states), func(s reviewv1.State) bool { return slices.Contains(ended, s) })
	if !f.Ended && (len(open) > 0 || len(states) == 0) {
		f.States = open
		if items, err = d.items.List(ctx, f); err != nil {
			return nil, "", err
		}
		f.After = sqlstore.Key{}
	}
	if left := f.Limit - len(items); left > 0 && len(done) > 0 {
		f.Ended, f.States, f.Limit = true, done, left
		more, err := d.items.List(ctx, f)
		if err != nil {
			return nil, "", err
		}
		items = append(items, more...)
	}
	if len(items) > size {
		items = items[:size]
		next = writeToken(items[size-1])
	}
	return items, next, nil
}

// writeToken makes the token of the page after an item.
func writeToken(i *item.Item) string {
	kind := "o"
	if i.Ended() {
		kind = "e"
	}
	k := sqlstore.KeyOf(i)
	return base64.RawURLEncoding.EncodeToString([]byte(kind + " " + strconv.FormatInt(k.At, 36) + " " + k.ID))
}

func readToken(token string) (ended bool, k sqlstore.Key, err error) {
	raw, err := base64.RawURLEncoding.DecodeString(token)
	parts := strings.SplitN(string(raw), " ", 3)
	if err != nil || len(parts) != 3 || parts[0] != "o" && parts[0] != "e" || parts[2] == "" || strings.ContainsRune(parts[2], 0) {
		return false, k, errToken
	}
	if k.At, err = strconv.ParseInt(parts[1], 36, 64); err != nil {
		return false, k, errToken
	}
	k.ID = parts[2]
	return parts[0] == "e", k, nil
}

var errToken = fault.Invalid("page_token", "is not a token of this list; begin without one")

// ListQueues gives the queues of the policy, and those that items are in all the same,
// with what waits in them.
func (d *Desk) ListQueues(ctx context.Context, req *reviewv1.ListQueuesRequest) (*reviewv1.ListQueuesResponse, error) {
	p, err := d.person(ctx)
	if err != nil {
		return nil, err
	}
	now, span := d.clock.Now(), req.GetSeconds()
	if span != 0 && (span < minSpan || span > maxSpan) {
		return nil, fault.Invalid("seconds", "must be from %d to %d, or 0 to count only what is open", minSpan, maxSpan)
	}
	counts, err := d.items.Queues(ctx, now)
	if err != nil {
		return nil, err
	}
	if span != 0 {
		attained, err := d.items.Attained(ctx, now.Add(-time.Duration(span)*time.Second))
		if err != nil {
			return nil, err
		}
		for name, a := range attained {
			c := counts[name]
			c.Ended, c.InTime = a.Ended, a.InTime
			counts[name] = c
		}
	}
	queues := d.queues.Queues()
	var former []string
	for name := range counts {
		if !slices.ContainsFunc(queues, func(q item.Queue) bool { return q.Name == name }) {
			former = append(former, name)
		}
	}
	slices.Sort(former)
	for _, name := range former { // of a policy of before
		queues = append(slices.Clone(queues), item.Queue{Name: name, Title: name, Former: true})
	}
	res := &reviewv1.ListQueuesResponse{PolicyVersion: d.queues.Version()}
	for _, q := range queues {
		c := counts[q.Name]
		res.Queues = append(res.Queues, &reviewv1.Queue{
			Name: q.Name, Title: q.Title, Groups: q.Groups, Open: c.Open, Overdue: c.Overdue, Ended: c.Ended, InTime: c.InTime,
			MayDecide: !q.Former && p.MayNotServe(q.Groups) == "",
		})
	}
	return res, nil
}

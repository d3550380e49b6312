package web

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"sabha.dev/chassis/fault"
	reviewv1 "sabha.dev/gen/sabha/review/v1"
	"sabha.dev/services/console/internal/desk"
	"sabha.dev/services/console/internal/page"
)

// reviewBatch compares the items of a kind, or those with the ids.
func (s *Site) reviewBatch(r *http.Request) page.View {
	q := r.URL.Query()
	key, ids := q.Get("key"), q["item"]
	if key == "" && len(ids) > 0 {
		d, err := s.desk.Item(r.Context(), ids[0])
		if err != nil {
			return s.unread(err)
		}
		key = d.GetItem().GetBatchKey()
	}
	return s.batchView(r, page.ReviewBatch{Key: key}, ids)
}

func (s *Site) batchView(r *http.Request, b page.ReviewBatch, ids []string) page.View {
	if b.Key == "" {
		return problem(http.StatusBadRequest, "Nothing is selected", "Select items of one kind in the list, and compare them.")
	}
	var err error
	if b.Batch, err = s.desk.Batch(r.Context(), b.Key, ids); err != nil {
		return s.unread(err)
	}
	b.Me = me(r)
	return page.View{Section: page.Review, Title: "Batch · Review", Wakes: []string{wakeReviews}, Wide: true, Body: page.ReviewBatchPage(b)}
}

// unread is the page for what a reader cannot be shown.
func (s *Site) unread(err error) page.View {
	switch {
	case errors.Is(err, desk.ErrNoItem):
		return problem(http.StatusNotFound, "There is no such item", "No item has this id.")
	case errors.Is(err, desk.ErrBadList):
		return problem(http.StatusBadRequest, "The list does not continue here", "The item at which it should has gone. Begin with what is due first.")
	case errors.Is(err, desk.ErrForbidden):
		return problem(http.StatusForbidden, "You may not see reviews", "An administrator can give you the role of a reviewer or a viewer.")
	}
	return page.View{Section: page.Review, Title: "Review", Unread: reviewService}
}

// decideBatch decides the selected items alike and shows what became of each.
func (s *Site) decideBatch(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	if err := r.ParseForm(); err != nil {
		s.show(w, r, problem(http.StatusBadRequest, "That was too much", "A form may bring 1 MiB. Nothing was changed."))
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), actWithin)
	defer cancel()
	r = r.WithContext(ctx)
	b := page.ReviewBatch{Key: r.PostFormValue("key"), Reason: strings.TrimSpace(r.PostFormValue("reason"))}
	ids := r.PostForm["item"]
	q := &reviewv1.DecideBatchRequest{}
	for _, id := range ids {
		q.Decisions = append(q.Decisions, &reviewv1.DecideRequest{
			Id: id, Digest: r.PostFormValue("digest." + id), Approve: r.PostFormValue("approve") == "true", Reason: b.Reason,
		})
	}
	if len(ids) == 0 || len(ids) > desk.BatchSize {
		b.Problem = "Select from 1 to 200 items; nothing was decided."
		s.showBatch(w, r, b, nil, http.StatusUnprocessableEntity)
		return
	}
	// What is told about the items later is what they are now: afterwards they are in no batch.
	before, err := s.desk.Batch(ctx, b.Key, ids)
	if err != nil {
		s.show(w, r, s.unread(err))
		return
	}
	res, err := s.desk.Client().DecideBatch(ctx, q)
	if err != nil {
		b.Problem = "The review service gave no answer. Load the page again to see what was decided."
		if f := fault.FromStatus(err); f != nil && f.Message != "" {
			b.Problem = f.Message
		}
		s.showBatch(w, r, b, ids, http.StatusConflict)
		return
	}
	b.Batch, b.Outcomes = before, map[string]*reviewv1.BatchOutcome{}
	for _, o := range res.GetOutcomes() {
		b.Outcomes[o.GetId()] = o
	}
	b.Batch.Complete(ids, b.Outcomes)
	s.show(w, r, page.View{Section: page.Review, Title: "Decided · Review", Wide: true, Still: true, Body: page.ReviewBatchPage(b)})
}

func (s *Site) showBatch(w http.ResponseWriter, r *http.Request, b page.ReviewBatch, ids []string, status int) {
	v := s.batchView(r, b, ids)
	if v.Status == 0 {
		v.Status = status
	}
	v.Still = true
	s.show(w, r, v)
}

package web

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"

	"sabha.dev/chassis/fault"
	"sabha.dev/chassis/identity"
	reviewv1 "sabha.dev/gen/sabha/review/v1"
	"sabha.dev/services/console/internal/desk"
	"sabha.dev/services/console/internal/page"
	"sabha.dev/services/console/internal/person"
)

// reviewService is the subject of a sentence that says that it cannot be reached.
const reviewService = "The review service"

// Names under which pages of reviews are woken (see Happened).
const (
	wakeReviews = "reviews"
	wakeReview  = "review:"
)

// actWithin bounds what a form has done.
const actWithin = 10 * time.Second

// OpenDesk serves the pages of reviewers.
func (s *Site) OpenDesk(d *desk.Desk) {
	s.desk = d
	s.screen("GET /review", s.reviewList)
	s.screen("GET /review/{id}", s.reviewItem)
	s.screen("GET /review/batch", s.reviewBatch)
	s.screens.HandleFunc("POST /review/batch", s.decideBatch)
	s.act("claim", s.claim)
	s.act("release", s.release)
	s.act("reassign", s.reassign)
	s.act("ask", s.askRequester)
	s.act("decide", s.decide)
	s.act("preview", s.preview)
}

// action is a form of an item that was sent.
type action struct {
	w      http.ResponseWriter
	r      *http.Request
	id     string
	filter desk.Filter
}

// act registers what is done with an item.
func (s *Site) act(name string, do func(context.Context, action)) {
	s.screens.HandleFunc("POST /review/{id}/"+name, func(w http.ResponseWriter, r *http.Request) {
		r.Body = http.MaxBytesReader(w, r.Body, maxForm)
		if err := r.ParseForm(); err != nil {
			s.show(w, r, problem(http.StatusBadRequest, "That was too much", "A form may bring 1 MiB. Nothing was changed."))
			return
		}
		ctx, cancel := context.WithTimeout(r.Context(), actWithin)
		defer cancel()
		do(ctx, action{w, r, r.PathValue("id"), desk.Read(r.URL.Query())})
	})
}

// here is the page of the item.
func (a action) here() string { return page.ItemPath(a.filter, a.id) }

func (s *Site) reviewList(r *http.Request) page.View {
	return s.deskView(r, page.ReviewDesk{Board: &desk.Board{Filter: desk.Read(r.URL.Query())}})
}

func (s *Site) reviewItem(r *http.Request) page.View {
	q := r.URL.Query()
	d := page.ReviewDesk{Board: &desk.Board{Filter: desk.Read(q)}, ID: r.PathValue("id"), Was: q.Get("was")}
	if q.Get("edit") != "" {
		d.Edit = &page.Edit{}
	}
	return s.deskView(r, d)
}

// deskView reads the list and the item, and completes what the reader edits.
func (s *Site) deskView(r *http.Request, d page.ReviewDesk) page.View {
	v := page.View{Section: page.Review, Title: "Review", Wakes: []string{wakeReviews}, Wide: true}
	d.Me, d.Now = me(r), s.clock.Now()
	b, err := s.desk.Board(r.Context(), d.Board.Filter)
	if err == nil {
		d.Board = b
		if d.ID != "" {
			v.Wakes = append(v.Wakes, wakeReview+d.ID)
			d.Item, err = s.desk.Item(r.Context(), d.ID)
		}
	}
	if p, ok := person.Of(r.Context()); ok {
		d.Operates = p.Has(identity.Operator) || p.Has(identity.Admin)
	}
	if err == nil && d.HandsOver() {
		d.People, err = s.desk.People(r.Context(), d.ID)
	}
	if errors.Is(err, desk.ErrNoItem) {
		d.Absent, v.Status = true, http.StatusNotFound
	} else if err != nil {
		return s.unread(err)
	}
	if d.Item == nil || desk.HasEnded(d.Item.GetItem()) || !d.Item.GetItem().GetMayDecide() {
		d.Edit = nil
	}
	if d.Edit != nil {
		d.Edit.Fill(d.Item)
	}
	v.Title, v.Body = d.Title(), page.ReviewPage(d)
	return v
}

func (s *Site) claim(ctx context.Context, a action) {
	res, err := s.desk.Client().Claim(ctx, &reviewv1.ClaimRequest{Id: a.id})
	if err != nil {
		s.refused(a.w, a.r, err, a.here())
		return
	}
	s.done(a.w, a.r, "You hold it until "+res.GetItem().GetHeldUntil().AsTime().UTC().Format("15:04 UTC")+".", a.here())
}

func (s *Site) release(ctx context.Context, a action) {
	if _, err := s.desk.Client().Release(ctx, &reviewv1.ReleaseRequest{Id: a.id, Note: a.r.PostFormValue("note")}); err != nil {
		s.refused(a.w, a.r, err, a.here())
		return
	}
	s.done(a.w, a.r, "Released. Others can claim it now.", a.here())
}

func (s *Site) reassign(ctx context.Context, a action) {
	to := strings.TrimSpace(a.r.PostFormValue("to"))
	if _, err := s.desk.Client().Reassign(ctx, &reviewv1.ReassignRequest{Id: a.id, To: to, Note: a.r.PostFormValue("note")}); err != nil {
		s.refused(a.w, a.r, err, a.here())
		return
	}
	s.done(a.w, a.r, "Handed over to "+to+".", a.here())
}

func (s *Site) askRequester(ctx context.Context, a action) {
	res, err := s.desk.Client().Ask(ctx, &reviewv1.AskRequest{Id: a.id, Question: strings.TrimSpace(a.r.PostFormValue("question"))})
	if err != nil {
		s.refused(a.w, a.r, err, a.here())
		return
	}
	s.goOn(ctx, a, res.GetItem(), "The requester was asked.")
}

func (s *Site) decide(ctx context.Context, a action) {
	q := &reviewv1.DecideRequest{
		Id: a.id, Digest: a.r.PostFormValue("digest"), Approve: a.r.PostFormValue("approve") != "false", Reason: strings.TrimSpace(a.r.PostFormValue("reason")),
	}
	if a.r.PostFormValue("approve") == "edited" {
		detail, err := s.desk.Item(ctx, a.id)
		if err != nil {
			s.refused(a.w, a.r, err, a.here())
			return
		}
		edited, err := page.Edited(detail, a.r.PostForm)
		if err != nil {
			s.unedited(a, err)
			return
		}
		if !proto.Equal(edited, detail.GetContent()) {
			q.Edited = edited
		}
	}
	res, err := s.desk.Client().Decide(ctx, q)
	if err != nil {
		s.undecided(a, q, err)
		return
	}
	s.goOn(ctx, a, res.GetItem(), verdict(res.GetItem(), q))
}

// verdict says what a decision has done.
func verdict(i *reviewv1.Item, q *reviewv1.DecideRequest) string {
	switch {
	case !q.GetApprove():
		return "Rejected."
	case !desk.HasEnded(i):
		return "Your approval is noted; another person has to approve it too."
	case q.GetEdited() != nil:
		return "Approved with your edits."
	}
	return "Approved."
}

// goOn leads to the next item of the list.
func (s *Site) goOn(ctx context.Context, a action, item *reviewv1.Item, said string) {
	next, err := s.desk.Next(ctx, a.filter, item)
	if err != nil || next == nil {
		s.done(a.w, a.r, said+" Nothing else waits for you here.", a.here())
		return
	}
	s.done(a.w, a.r, said+" This is the next item.", page.ItemPath(a.filter, next.GetId()))
}

// undecided says why a decision was not taken.
func (s *Site) undecided(a action, q *reviewv1.DecideRequest, err error) {
	f := fault.FromStatus(err)
	if f != nil && f.Reason == fault.ItemChanged {
		s.tell(a.w, a.r, http.StatusConflict, page.Toast{Tone: page.Warn, Text: "The item has changed, so nothing was decided."}, page.ChangedPath(a.filter, a.id, q.GetDigest()))
		return
	}
	if f != nil && q.GetEdited() != nil && f.Reason == fault.InvalidArgument {
		s.unedited(a, f)
		return
	}
	s.refused(a.w, a.r, err, a.here())
}

// unedited gives an edit back that cannot be taken as it is.
func (s *Site) unedited(a action, why error) {
	text := why.Error()
	if f := (*fault.Error)(nil); errors.As(why, &f) && len(f.Fields) > 0 {
		text = f.Fields[0].Path + " " + f.Fields[0].Problem
	}
	if wantsJSON(a.r) {
		s.tell(a.w, a.r, http.StatusUnprocessableEntity, page.Toast{Tone: page.Bad, Text: text}, a.here())
		return
	}
	s.showEdit(a, text, http.StatusUnprocessableEntity)
}

// preview shows what an edit changes: as a part of the page, or as the page.
func (s *Site) preview(ctx context.Context, a action) {
	if a.r.Header.Get("Sabha-Part") != "preview" {
		s.showEdit(a, "", http.StatusOK)
		return
	}
	e := &page.Edit{Sent: a.r.PostForm}
	detail, err := s.desk.Item(ctx, a.id)
	if err != nil {
		s.refused(a.w, a.r, err, a.here())
		return
	}
	e.Fill(detail)
	s.write(a.w, a.r, http.StatusOK, page.Preview(e))
}

func (s *Site) showEdit(a action, why string, status int) {
	v := s.deskView(a.r, page.ReviewDesk{Board: &desk.Board{Filter: a.filter}, ID: a.id, Edit: &page.Edit{Sent: a.r.PostForm, Problem: why}})
	if v.Status == 0 {
		v.Status = status
	}
	v.Still = true
	s.show(a.w, a.r, v)
}

// me is who looks at a page: organisation/subject; empty for nobody who is known.
func me(r *http.Request) string {
	p, ok := person.Of(r.Context())
	if !ok {
		return ""
	}
	return p.Key()
}

func wantsJSON(r *http.Request) bool {
	return strings.HasPrefix(r.Header.Get("Accept"), "application/json")
}

package web

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"

	reviewv1 "sabha.dev/gen/sabha/review/v1"
	"sabha.dev/services/console/internal/desk"
	"sabha.dev/services/console/internal/page"
)

// wakeQuestions is the name under which pages of questions are woken (see Happened).
const wakeQuestions = "questions"

// OpenQuestions serves the pages of questions to people.
func (s *Site) OpenQuestions(q *desk.Questions) {
	s.asked = q
	s.screen("GET /questions", s.questions)
	s.screen("GET /questions/{id}", s.questions)
	s.screens.HandleFunc("POST /questions/{id}", s.answer)
}

// questions shows the list, and one of them when the address names it.
func (s *Site) questions(r *http.Request) page.View {
	v := page.View{Section: page.Questions, Title: "Questions", Wakes: []string{wakeQuestions}, Wide: true}
	d := page.QuestionDesk{Choice: desk.ReadChoice(r.URL.Query()), ID: r.PathValue("id"), Me: me(r)}
	var err error
	if d.All, d.Next, err = s.asked.List(r.Context(), d.Choice); err == nil && d.ID != "" {
		d.Open, err = s.asked.Discussion(r.Context(), d.ID)
	}
	if errors.Is(err, desk.ErrNoItem) {
		d.Absent, v.Status = true, http.StatusNotFound
	} else if err != nil {
		return s.unread(err)
	}
	v.Title, v.Body = d.Title(), page.QuestionsPage(d)
	return v
}

// answer adds a reply, or notes that the reader has taken note of those that are there.
func (s *Site) answer(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	if err := r.ParseForm(); err != nil {
		s.show(w, r, problem(http.StatusBadRequest, "That was too much", "A form may bring 1 MiB. Nothing was changed."))
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), actWithin)
	defer cancel()
	id := r.PathValue("id")
	here := page.QuestionPath(desk.ReadChoice(r.URL.Query()), id)
	if r.PostFormValue("do") == "acknowledge" {
		n, err := strconv.ParseInt(r.PostFormValue("up_to"), 10, 32)
		if err != nil {
			s.show(w, r, problem(http.StatusBadRequest, "There is no such reply", "Load the question again."))
			return
		}
		if _, err := s.asked.Client().Acknowledge(ctx, &reviewv1.AcknowledgeRequest{Id: id, UpTo: int32(n)}); err != nil {
			s.refused(w, r, err, here)
			return
		}
		s.done(w, r, "Taken note.", here)
		return
	}
	if _, err := s.asked.Client().Reply(ctx, &reviewv1.ReplyRequest{Id: id, Text: strings.TrimSpace(r.PostFormValue("text"))}); err != nil {
		s.refused(w, r, err, here)
		return
	}
	s.done(w, r, "Your reply is in the discussion.", here)
}

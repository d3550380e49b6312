package web_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	reviewv1 "sabha.dev/gen/sabha/review/v1"
	"sabha.dev/services/console/internal/live"
)

func TestAQuestionIsAnsweredAndTakenNoteOf(t *testing.T) {
	o := openOffice(t)
	o.service.AskPeople("q1", "acme/asha", "Which <b>vendor</b>?", "Which vendor delivers \u202echips?")
	o.service.AskPeople("q2", "globex/alma", "Another one", "Who knows?")
	_, page := o.get("bo", "/questions")
	shows(t, page, "Which &lt;b&gt;vendor&lt;/b&gt;?", "Another one", "Waiting", "0 replies", "Choose a question")
	_, page = o.get("bo", "/questions/q1")
	shows(t, page, "Which vendor delivers ⟦U+202E⟧chips?", "asha (acme)", "answers the question", "token of bo")
	if told := o.sent("bo", "/questions/q1", url.Values{"do": {"reply"}, "text": {" "}}); told.Tone != "bad" {
		t.Errorf("%+v", told)
	}
	if told := o.sent("bo", "/questions/q1", url.Values{"do": {"reply"}, "text": {"The one in Utrecht."}}); told.Text != "Your reply is in the discussion." {
		t.Errorf("%+v", told)
	}
	_, page = o.get("asha", "/questions?view=unread")
	shows(t, page, "Answered", "1 reply", "1 new")
	hides(t, page, "Another one")
	_, page = o.get("asha", "/questions/q1?view=unread")
	shows(t, page, "The one in Utrecht.", "1 reply you have not taken note of.")
	status, to := o.do("asha", http.MethodPost, "/questions/q1?view=unread", url.Values{"do": {"acknowledge"}, "up_to": {"1"}}, false)
	if status != http.StatusSeeOther || to != "/questions/q1?view=unread" {
		t.Errorf("%d %s", status, to)
	}
	_, page = o.get("asha", to)
	shows(t, page, "You have read everything", "The one in Utrecht.")
	hides(t, page, "1 reply you have")
	_, page = o.get("asha", "/questions?view=mine")
	shows(t, page, "Which &lt;b&gt;vendor")
	hides(t, page, "Another one")
	if status, page := o.get("asha", "/questions/none"); status != http.StatusNotFound || !strings.Contains(page, "There is no such question") {
		t.Errorf("%d: %s", status, page)
	}
	if status, _ := o.do("asha", http.MethodPost, "/questions/q1", url.Values{"do": {"acknowledge"}, "up_to": {"all"}}, false); status != http.StatusBadRequest {
		t.Error(status)
	}
	o.service.SetDown(true)
	if status, page := o.get("asha", "/questions"); status != http.StatusServiceUnavailable || !strings.Contains(page, "The review service cannot be reached.") {
		t.Errorf("%d: %s", status, page)
	}
}

func TestRepliesAreOnAnOpenPageAtOnce(t *testing.T) {
	o := openOffice(t)
	o.service.AskPeople("q1", "acme/ada", "Which vendor?", "Which vendor delivers chips?")
	w := o.watch("/questions/q1", "discussions", live.Followed{Lists: []string{"questions"}})
	if _, err := reviewv1.NewDiscussionServiceClient(o.conn).Reply(o.by("bo"), &reviewv1.ReplyRequest{Id: "q1", Text: "The one in Utrecht."}); err != nil {
		t.Fatal(err)
	}
	w.shows("The one in Utrecht.")
}

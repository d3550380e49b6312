package web_test

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"sabha.dev/chassis/identity"
	reviewv1 "sabha.dev/gen/sabha/review/v1"
	"sabha.dev/services/console/internal/desk"
	"sabha.dev/services/console/internal/person"
	"sabha.dev/services/console/internal/reviewtest"
	"sabha.dev/services/console/internal/web"
	"sabha.dev/testrig/clocktest"
)

// office is a console over a review service, and the people who use it.
type office struct {
	t       *testing.T
	service *reviewtest.Service
	server  *httptest.Server
	site    *web.Site
	clock   *clocktest.Clock
	conn    *grpc.ClientConn
	reviews reviewv1.ReviewServiceClient
	now     time.Time
}

func openOffice(t *testing.T) *office {
	t.Helper()
	c := clocktest.New(time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC))
	o := &office{t: t, service: reviewtest.New(c.Now), clock: c, now: c.Now()}
	log := slog.New(slog.NewTextHandler(t.Output(), nil))
	site, err := web.New(&source{}, web.Options{}, c, log)
	if err != nil {
		t.Fatal(err)
	}
	conn := o.service.Serve(t)
	site.OpenQuestions(desk.NewQuestions(reviewv1.NewDiscussionServiceClient(conn), log))
	o.site, o.conn, o.reviews = site, conn, reviewv1.NewReviewServiceClient(conn)
	site.OpenDesk(desk.New(o.reviews, log))
	o.server = httptest.NewServer(site.Handler(signedIn(func(r *http.Request) person.Person {
		who := r.Header.Get("Test-Person")
		return person.Person{Name: who, CSRF: "token of " + who, Principal: identity.Principal{Organisation: "acme", Subject: who}}
	})))
	t.Cleanup(func() {
		site.Stop()
		o.server.Close()
	})
	return o
}

// item puts an item of a text into the queue, due so many minutes from now.
func (o *office) item(n, due int, change func(*reviewv1.Detail)) string {
	o.t.Helper()
	d := &reviewv1.Detail{
		Item: &reviewv1.Item{
			Id: reviewtest.ID(n), Title: "Item " + reviewtest.ID(n)[35:], Queue: "general", Product: "general", Risk: "low", Requester: "globex/alma",
			DueAt: timestamppb.New(o.now.Add(time.Duration(due) * time.Minute)), BatchKey: "k",
		},
		Content: structpb.NewStringValue("It takes forty minutes."),
	}
	if change != nil {
		change(d)
	}
	o.service.Add(d)
	return d.GetItem().GetId()
}

func (o *office) get(who, path string) (int, string) {
	o.t.Helper()
	return o.do(who, http.MethodGet, path, nil, false)
}

// do sends a request as a person; asked says that it is sent by the script.
func (o *office) do(who, method, path string, form url.Values, asked bool) (int, string) {
	o.t.Helper()
	ctx, cancel := context.WithTimeout(o.t.Context(), 30*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, o.server.URL+path, strings.NewReader(form.Encode()))
	if err != nil {
		o.t.Fatal(err)
	}
	req.Header.Set("Test-Person", who)
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if asked {
		req.Header.Set("Accept", "application/json")
	}
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	res, err := client.Do(req)
	if err != nil {
		o.t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		o.t.Fatal(err)
	}
	if to := res.Header.Get("Location"); to != "" {
		return res.StatusCode, to
	}
	return res.StatusCode, string(body)
}

// sent is what the script is told of a form.
func (o *office) sent(who, path string, form url.Values) (told struct{ Tone, Text, Go string }) {
	o.t.Helper()
	_, body := o.do(who, http.MethodPost, path, form, true)
	if err := json.Unmarshal([]byte(body), &told); err != nil {
		o.t.Fatalf("%v in %s", err, body)
	}
	return told
}

func shows(t *testing.T, page string, all ...string) {
	t.Helper()
	for _, want := range all {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not show %q:\n%s", want, page)
		}
	}
}

func hides(t *testing.T, page string, all ...string) {
	t.Helper()
	for _, not := range all {
		if strings.Contains(page, not) {
			t.Errorf("the page shows %q:\n%s", not, page)
		}
	}
}

func object(t *testing.T, raw string) *structpb.Value {
	t.Helper()
	v := &structpb.Value{}
	if err := protojson.Unmarshal([]byte(raw), v); err != nil {
		t.Fatal(err)
	}
	return v
}

func TestTheListShowsWhatIsDueFirstAndWhoHoldsIt(t *testing.T) {
	o := openOffice(t)
	late, soon := o.item(1, -5, nil), o.item(2, 10, func(d *reviewv1.Detail) { d.Item.Holder = "acme/bo" })
	mine := o.item(3, 20, func(d *reviewv1.Detail) { d.Item.Holder = "acme/asha" })
	status, page := o.get("asha", "/review")
	if status != http.StatusOK {
		t.Fatal(status)
	}
	shows(t, page, "1 overdue", "bo (acme)", "you", `Assigned to me <span class="count">1</span>`, `Unassigned <span class="count">1</span>`, `All <span class="count">3</span>`, "Choose an item", "select for a batch")
	if a, b, c := strings.Index(page, "item-"+late), strings.Index(page, "item-"+soon), strings.Index(page, "item-"+mine); a > b || b > c {
		t.Errorf("the order is %d, %d, %d", a, b, c)
	}
	_, page = o.get("asha", "/review?tab=mine")
	shows(t, page, "item-"+mine)
	hides(t, page, "item-"+late, "item-"+soon)
	_, page = o.get("asha", "/review?risk=high")
	shows(t, page, "No item matches", "Clear the filter")
	if status, page = o.get("asha", "/review?after=wrong"); status != http.StatusBadRequest {
		t.Errorf("%d: %s", status, page)
	}
	if status, page = o.get("asha", "/review/nowhere"); status != http.StatusNotFound || !strings.Contains(page, "There is no such item") || !strings.Contains(page, "item-"+late) {
		t.Errorf("%d: %s", status, page)
	}
	o.service.SetDown(true)
	if status, page = o.get("asha", "/review"); status != http.StatusServiceUnavailable || !strings.Contains(page, "The review service cannot be reached.") {
		t.Errorf("%d: %s", status, page)
	}
}

func TestAnItemShowsWhatTheDecisionRestsOn(t *testing.T) {
	o := openOffice(t)
	confidence := 0.42
	id := o.item(1, 10, func(d *reviewv1.Detail) {
		d.Item.Confidence, d.Item.Playbook, d.Item.Step, d.Item.RootTaskId = &confidence, "general", "draft", "root-1"
		d.Effect, d.Request, d.Reasons = "the answer is sent to alma", "How long does it take?", []string{"Claim 2 is in no passage."}
		d.Sources = []*reviewv1.Source{{Title: "Backups", Document: "operations.md", Location: "Restore", Text: "A restore takes forty minutes."}}
		d.Labels = object(t, `{"integrity":"untrusted","classes":["customer"]}`).GetStructValue()
		d.Plan = object(t, `{"steps":[{"step":"draft","agent":"planner","skill":"synthesise","state":"COMPLETED","output":{"n":7}}]}`).GetStructValue()
		d.History = []*reviewv1.Event{{At: timestamppb.New(o.now), By: "policy", What: "escalated", Note: "to the leads"}}
		d.Exchanges = []*reviewv1.Exchange{{AskedBy: "acme/bo", Question: "Production only?", AskedAt: timestamppb.New(o.now), Answer: "Yes.", AnsweredAt: timestamppb.New(o.now)}}
	})
	_, page := o.get("asha", "/review/"+id)
	shows(t, page, "It takes forty minutes.", "Approval will do this:", "The answer is sent to alma.", "Confidence 42 %", "Claim 2 is in no passage.", "operations.md · Restore",
		"A restore takes forty minutes.", "How long does it take?", "untrusted", "customer", "planner · synthesise", "&#34;n&#34;: 7", "The policy", "escalated it", "to the leads",
		"Production only?", "Yes.", `href="/tasks/root-1"`, "alma (globex)", "Nobody holds this item", `data-key="c"`, `data-key="a"`, `data-key="x"`, `data-key="e"`, `data-key="q"`, "token of asha")
}

func TestAClaimOfAnotherIsShownWithItsEnd(t *testing.T) {
	o := openOffice(t)
	id := o.item(1, 10, nil)
	if told := o.sent("bo", "/review/"+id+"/claim", nil); told.Text != "You hold it until 09:15 UTC." || told.Tone != "good" {
		t.Errorf("%+v", told)
	}
	_, page := o.get("asha", "/review/"+id)
	shows(t, page, "Bo (acme) holds this item.", "2026-03-02 09:15:00 UTC")
	hides(t, page, `id="decide"`, `data-key="c"`, `id="reassign"`)
	if told := o.sent("asha", "/review/"+id+"/claim", nil); told.Tone != "bad" || !strings.Contains(told.Text, "acme/bo holds it") {
		t.Errorf("%+v", told)
	}
	_, page = o.get("bo", "/review/"+id)
	shows(t, page, "You hold this item.", `data-key="r"`, `id="reassign"`, `<option value="acme/ben">`, "1 person who may decide on it")
	if told := o.sent("bo", "/review/"+id+"/release", nil); told.Tone != "good" {
		t.Errorf("%+v", told)
	}
	_, page = o.get("asha", "/review/"+id)
	shows(t, page, "Nobody holds this item")
	if told := o.sent("asha", "/review/"+id+"/reassign", url.Values{"to": {" acme/cy "}}); told.Text != "Handed over to acme/cy." {
		t.Errorf("%+v", told)
	}
}

func TestThePlanOfAnItemIsDrawnAsItWas(t *testing.T) {
	o := openOffice(t)
	steps := `{"steps":[{"step":"look-up","agent":"research","skill":"search","state":"COMPLETED","needs":[]},
		{"step":"<b>ask","agent":"review","skill":"review","state":"PENDING","needs":["look-up"]}]}`
	id := o.item(1, 10, func(d *reviewv1.Detail) { d.Plan = object(t, steps).GetStructValue() })
	_, page := o.get("asha", "/review/"+id)
	shows(t, page, `aria-label="Plan as a graph"`, `href="#at-look-up"`, `id="at-look-up"`, `id="node-look-up"`, `class="edge`, "&lt;b&gt;ask")
	hides(t, page, "<b>ask")
	older := o.item(2, 20, func(d *reviewv1.Detail) {
		d.Plan = object(t, `{"steps":[{"step":"look-up","agent":"research"}]}`).GetStructValue()
	})
	_, page = o.get("asha", "/review/"+older)
	shows(t, page, `id="at-look-up"`)
	hides(t, page, `aria-label="Plan as a graph"`)
}

func TestWhoHoldsWhatTheyMayNotDecideCanLetGo(t *testing.T) {
	o := openOffice(t)
	id := o.item(1, 10, func(d *reviewv1.Detail) { d.Item.Requester = "acme/bo" })
	o.sent("asha", "/review/"+id+"/reassign", url.Values{"to": {"acme/bo"}})
	_, page := o.get("bo", "/review/"+id)
	shows(t, page, "You hold this item, and may not decide on it.", "You asked for it yourself", `data-key="r"`, `id="reassign"`)
	hides(t, page, `id="decide"`, `id="ask"`)
	if told := o.sent("bo", "/review/"+id+"/release", nil); told.Tone != "good" {
		t.Errorf("%+v", told)
	}
}

func TestADecisionLeadsToTheNextItem(t *testing.T) {
	o := openOffice(t)
	first, second, third := o.item(1, 10, nil), o.item(2, 20, nil), o.item(3, 30, nil)
	told := o.sent("asha", "/review/"+second+"/decide?risk=low", url.Values{"digest": {"digest-1"}, "approve": {"true"}})
	if told.Tone != "good" || told.Go != "/review/"+third+"?risk=low" || !strings.HasPrefix(told.Text, "Approved.") {
		t.Errorf("%+v", told)
	}
	if told := o.sent("asha", "/review/"+third+"/decide", url.Values{"digest": {"digest-1"}, "approve": {"false"}}); told.Tone != "bad" || !strings.Contains(told.Text, "a rejection says why") {
		t.Errorf("%+v", told)
	}
	// After the last one it goes on from the beginning, without a script too.
	status, to := o.do("asha", http.MethodPost, "/review/"+third+"/decide", url.Values{"digest": {"digest-1"}, "approve": {"false"}, "reason": {"Too vague"}}, false)
	if status != http.StatusSeeOther || to != "/review/"+first {
		t.Errorf("%d %s", status, to)
	}
	_, page := o.get("asha", "/review/"+third)
	shows(t, page, "Rejected", "Rejected by acme/asha: Too vague.", "Decided lately", "item-"+second)
	hides(t, page, `id="decide"`)
	_, page = o.get("asha", "/review?tab=done")
	shows(t, page, "item-"+second, "item-"+third, "by you")
	hides(t, page, "item-"+first)
	if told := o.sent("asha", "/review/"+first+"/ask", url.Values{"question": {"Which one?"}}); told.Text != "The requester was asked. Nothing else waits for you here." {
		t.Errorf("%+v", told)
	}
	_, page = o.get("asha", "/review/"+first)
	shows(t, page, "The requester was asked", "Which one?", "Not answered yet.")
}

func TestAnEditIsShownAsADifferenceAndKept(t *testing.T) {
	o := openOffice(t)
	id := o.item(1, 10, nil)
	_, page := o.get("asha", "/review/"+id+"?edit=1")
	shows(t, page, `<textarea id="edit-text"`, "It takes forty minutes.</textarea>", "Approve with edits", "Discard edits")
	_, page = o.do("asha", http.MethodPost, "/review/"+id+"/preview", url.Values{"text": {"It takes sixty minutes."}, "reason": {"Checked"}}, false)
	shows(t, page, "Your changes", "[removed: </span>forty", "[added: </span>sixty", "It takes sixty minutes.</textarea>", ">Checked</textarea>")
	told := o.sent("asha", "/review/"+id+"/decide", url.Values{"digest": {"digest-1"}, "approve": {"edited"}, "text": {"wrong"}})
	if told.Tone != "bad" || told.Text != "edited does not match the schema" {
		t.Errorf("%+v", told)
	}
	// Without a script what was written is not lost.
	status, page := o.do("asha", http.MethodPost, "/review/"+id+"/decide", url.Values{"digest": {"digest-1"}, "approve": {"edited"}, "text": {"wrong as well"}}, false)
	if status != http.StatusUnprocessableEntity {
		t.Error(status)
	}
	shows(t, page, "wrong as well</textarea>", "Edited does not match the schema.")
	told = o.sent("asha", "/review/"+id+"/decide", url.Values{"digest": {"digest-1"}, "approve": {"edited"}, "text": {"It takes sixty minutes."}})
	if !strings.HasPrefix(told.Text, "Approved with your edits.") {
		t.Errorf("%+v", told)
	}
	_, page = o.get("bo", "/review/"+id)
	shows(t, page, "Edited by asha (acme)", "Original and edit", "[removed: </span>forty", "[added: </span>sixty")
}

func TestAFlatObjectIsEditedByItsFields(t *testing.T) {
	o := openOffice(t)
	id := o.item(1, 10, func(d *reviewv1.Detail) {
		d.Content = object(t, `{"amount": 12.5, "payee": "Ada"}`)
		d.Schema = object(t, `{"type":"object","properties":{"amount":{"type":"number","title":"Amount"},"payee":{"type":"string"}}}`).GetStructValue()
	})
	_, page := o.get("asha", "/review/"+id+"?edit=1")
	shows(t, page, `name="field.amount" value="12.5"`, `name="field.payee" value="Ada"`)
	told := o.sent("asha", "/review/"+id+"/decide", url.Values{"digest": {"digest-1"}, "approve": {"edited"}, "field.amount": {"many"}, "field.payee": {"Ada"}})
	if told.Text != "Amount must be a number" {
		t.Errorf("%+v", told)
	}
	told = o.sent("asha", "/review/"+id+"/decide", url.Values{"digest": {"digest-1"}, "approve": {"edited"}, "field.amount": {"10"}, "field.payee": {"Ada"}})
	if !strings.HasPrefix(told.Text, "Approved with your edits.") {
		t.Errorf("%+v", told)
	}
	_, page = o.get("bo", "/review/"+id)
	shows(t, page, "[removed: </span>12.5<", "[added: </span>10<")
}

func TestAnItemThatHasChangedIsLookedAtAgain(t *testing.T) {
	o := openOffice(t)
	id := o.item(1, 10, func(d *reviewv1.Detail) { d.Item.ApprovalsNeeded = 2 })
	if told := o.sent("bo", "/review/"+id+"/decide", url.Values{"digest": {"digest-1"}, "approve": {"edited"}, "text": {"It takes sixty minutes."}}); !strings.HasPrefix(told.Text, "Your approval is noted") {
		t.Errorf("%+v", told)
	}
	_, page := o.get("bo", "/review/"+id)
	shows(t, page, "1 of 2 approvals", "by you", "You have approved it already")
	told := o.sent("asha", "/review/"+id+"/decide", url.Values{"digest": {"digest-1"}, "approve": {"true"}})
	if told.Tone != "warn" || told.Go != "/review/"+id+"?was=digest-1" {
		t.Errorf("%+v", told)
	}
	_, page = o.get("asha", told.Go)
	shows(t, page, "has changed since you looked at it, so nothing was decided", "What has changed in the content", "[removed: </span>forty", `name="digest" value="digest-1&#39;"`)
	if told := o.sent("asha", "/review/"+id+"/decide", url.Values{"digest": {"digest-1'"}, "approve": {"true"}}); !strings.HasPrefix(told.Text, "Approved.") {
		t.Errorf("%+v", told)
	}
}

func TestWhoAskedMayNotDecide(t *testing.T) {
	o := openOffice(t)
	id := o.item(1, 10, func(d *reviewv1.Detail) { d.Item.Requester = "acme/asha" })
	_, page := o.get("asha", "/review/"+id)
	shows(t, page, "You may not decide on this item.", "You asked for it yourself, and somebody else has to decide.")
	hides(t, page, `id="decide"`, `class="pick" name="item"`)
}

func TestABatchIsComparedAndDecidedTogether(t *testing.T) {
	o := openOffice(t)
	var ids []string
	for n := range 3 {
		ids = append(ids, o.item(n+1, 10+n, func(d *reviewv1.Detail) {
			d.Content = object(t, `{"amount": `+reviewtest.ID(n)[35:]+`, "terms": {"currency": "EUR"}}`)
		}))
	}
	o.item(9, 5, func(d *reviewv1.Detail) { d.Item.BatchKey = "other" })
	_, page := o.get("asha", "/review/batch?key=k")
	shows(t, page, "3 items of one kind", "The same in all", "terms.currency", `<th scope="col">amount</th>`, `name="digest.`+ids[2]+`"`)
	hides(t, page, `<th scope="col">terms.currency</th>`, reviewtest.ID(9))
	_, page = o.get("asha", "/review/batch?item="+ids[0]+"&item="+ids[2])
	shows(t, page, "2 items of one kind")
	hides(t, page, "row-"+ids[1])
	form := url.Values{"key": {"k"}, "approve": {"true"}, "reason": {"As agreed"}, "item": ids}
	for _, id := range ids {
		form.Set("digest."+id, "digest-1")
	}
	form.Set("digest."+ids[1], "another")
	status, page := o.do("asha", http.MethodPost, "/review/batch", form, false)
	if status != http.StatusOK {
		t.Error(status)
	}
	shows(t, page, "2 items decided, 1 not", "Not decided", "is not what you were shown any more", "Approved by acme/asha.")
	_, page = o.get("asha", "/review/batch?key=k")
	shows(t, page, "1 item of one kind", ids[1])
	status, page = o.do("asha", http.MethodPost, "/review/batch", url.Values{"key": {"k"}, "approve": {"true"}}, false)
	if status != http.StatusUnprocessableEntity || !strings.Contains(page, "Select from 1 to 200 items; nothing was decided.") {
		t.Errorf("%d: %s", status, page)
	}
	_, page = o.get("asha", "/review/batch?key=nothing")
	shows(t, page, "Nothing of this kind waits for you")
}

func TestHostileItemsAreTextAndNothingElse(t *testing.T) {
	o := openOffice(t)
	evil := "<script>alert(1)</script> \u202e001 YAP\u202c <img src=x onerror=alert(1)>"
	id := o.item(1, 10, func(d *reviewv1.Detail) {
		d.Item.Title, d.Item.Product, d.Item.Requester, d.Item.Queue, d.Item.Playbook, d.Item.Step = evil, evil, "a/"+evil, evil, evil, evil
		d.Content, d.Effect, d.Request, d.Reasons = structpb.NewStringValue(evil), evil, evil, []string{evil}
		d.Sources = []*reviewv1.Source{{Title: evil, Document: evil, Location: evil, Text: evil}}
		d.History = []*reviewv1.Event{{By: "a/" + evil, What: evil, Note: evil}}
		d.Plan = object(t, `{"steps":[{"step":"<script>","agent":"<b>","state":"<i>"}]}`).GetStructValue()
		d.Labels = object(t, `{"<x>":"<script>","classes":["<script>"]}`).GetStructValue()
	})
	for _, path := range []string{"/review", "/review/" + id, "/review/" + id + "?edit=1", "/review/batch?key=k"} {
		_, page := o.get("asha", path)
		shows(t, page, "&lt;script&gt;")
		body := page[strings.Index(page, "<main"):]
		hides(t, body, "<script", "<img")
		if path != "/review/"+id+"?edit=1" { // what is edited is edited as it is
			hides(t, body, "\u202e")
			shows(t, body, "⟦U+202E⟧001 YAP⟦U+202C⟧")
		}
	}
}

func TestWhatWasDoneIsToldOnTheNextPage(t *testing.T) {
	o := openOffice(t)
	id, next := o.item(1, 10, nil), o.item(2, 20, nil)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, o.server.URL+"/review/"+id+"/decide", strings.NewReader(url.Values{"digest": {"digest-1"}, "approve": {"true"}}.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Test-Person", "asha")
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Accept", "application/json")
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	client := http.Client{Jar: jar}
	res, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	for n, want := range []bool{true, false} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, o.server.URL+"/review/"+next, nil)
		if err != nil {
			t.Fatal(err)
		}
		res, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(res.Body)
		_ = res.Body.Close()
		if err != nil || strings.Contains(string(body), "Approved. This is the next item.") != want {
			t.Errorf("page %d, %v: %s", n, err, body)
		}
	}
}

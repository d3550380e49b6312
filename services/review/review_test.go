package review_test

import (
	"slices"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/protobuf/types/known/structpb"

	"sabha.dev/chassis/ext"
	reviewv1 "sabha.dev/gen/sabha/review/v1"
)

func TestAnApprovalWithAnEditResumesTheTask(t *testing.T) {
	onBothEngines(t, func(t *testing.T, database string) {
		r := newRig(t, database, 2)
		id := r.ask("m1", map[string]any{"schema": map[string]any{
			"type": "object", "required": []any{"answer"}, "properties": map[string]any{"limit": map[string]any{"type": "number", "maximum": 100.0}},
		}})
		r.until("the task says that it waits", func() bool { return r.task(id).GetMetadata().GetFields()[ext.Wait] != nil })
		task := r.task(id)
		wait := task.GetMetadata().GetFields()[ext.Wait].GetStructValue().AsMap()
		if task.GetStatus().GetState() != a2apb.TaskState_TASK_STATE_WORKING || wait["for"] != "person" || wait["queue"] != "general" || wait["due"] == nil || wait["until"] != nil {
			t.Errorf("the task waits as %v: %v", task.GetStatus(), wait)
		}

		d := r.detail(id)
		if i := d.GetItem(); i.GetState() != reviewv1.State_STATE_OPEN || i.GetRequester() != "acme/ada" || i.GetConfidence() != 0.41 ||
			i.GetRootTaskId() != id || d.GetContent().GetStructValue().GetFields()["answer"].GetStringValue() != "yes" || len(d.GetSources()) != 1 {
			t.Errorf("shown: %v", d)
		}
		desk := r.desks[1]
		decide := func(edited map[string]any) error {
			v, err := structpb.NewValue(edited)
			if err != nil {
				t.Fatal(err)
			}
			_, err = desk.Decide(r.reviewer("rosa"), &reviewv1.DecideRequest{Id: id, Digest: d.GetItem().GetDigest(), Approve: true, Edited: v})
			return err
		}
		if err := decide(map[string]any{"answer": "yes", "limit": 200.0}); said(err) != "INVALID_ARGUMENT" {
			t.Errorf("an edit against the schema: %v", err)
		}
		if err := decide(map[string]any{"answer": "yes, gladly", "limit": 90.0}); err != nil {
			t.Fatal(err)
		}
		got := r.ended(id)
		content, original := got["content"].(map[string]any), got["original"].(map[string]any)
		decisions := got["decisions"].([]any)
		if got["decision"] != "approved" || got["edited"] != true || content["limit"] != 90.0 || original["limit"] != 100.0 || got["item"] != id ||
			len(decisions) != 1 || decisions[0].(map[string]any)["person"] != "acme/rosa" || decisions[0].(map[string]any)["digest"] != d.GetItem().GetDigest() {
			t.Errorf("the task ends with %v", got)
		}
		after := r.detail(id)
		if after.GetOriginal() == nil || after.GetContent().GetStructValue().GetFields()["limit"].GetNumberValue() != 90 || len(after.GetHistory()) != 2 ||
			after.GetHistory()[1].GetWhat() != "approved" || after.GetHistory()[1].GetBy() != "acme/rosa" {
			t.Errorf("kept: %v", after)
		}
		if err := decide(map[string]any{"answer": "no"}); said(err) != "ITEM_DECIDED" {
			t.Errorf("a second decision: %v", err)
		}
	})
}

func TestARejectionNeedsAReasonAndEndsTheTask(t *testing.T) {
	onBothEngines(t, func(t *testing.T, database string) {
		r := newRig(t, database, 1)
		id := r.ask("m1", nil)
		digest := r.detail(id).GetItem().GetDigest()
		reject := func(reason, digest string) error {
			_, err := r.desks[0].Decide(r.reviewer("rosa"), &reviewv1.DecideRequest{Id: id, Digest: digest, Reason: reason})
			return err
		}
		if err := reject(" ", digest); said(err) != "INVALID_ARGUMENT" {
			t.Errorf("without a reason: %v", err)
		}
		if err := reject("not true", "0000"); said(err) != "ITEM_CHANGED" {
			t.Errorf("of something else: %v", err)
		}
		if err := reject("not true", digest); err != nil {
			t.Fatal(err)
		}
		if err := reject("not true", digest); err != nil {
			t.Errorf("the same call again: %v", err)
		}
		got := r.ended(id)
		if got["decision"] != "rejected" || got["content"] != nil || got["reason"] != "rejected by acme/rosa: not true" {
			t.Errorf("the task ends with %v", got)
		}
	})
}

func TestPeopleMayOnlyDoWhatTheirScopesSay(t *testing.T) {
	onBothEngines(t, func(t *testing.T, database string) {
		r := newRig(t, database, 1)
		low, high := r.ask("m1", nil), r.ask("m2", map[string]any{"risk": "high"})
		for _, c := range []struct {
			who    string
			scopes []string
			item   string
			want   string
		}{
			{"nina", nil, low, "NOT_PERMITTED"},
			{"vera", []string{"viewer"}, low, "NOT_PERMITTED"},
			{"olga", []string{"operator", "auditor"}, low, "NOT_PERMITTED"},
			{"adam", []string{"admin"}, high, "NOT_PERMITTED"},
			{"ada", []string{"reviewer"}, low, "NOT_PERMITTED"}, // who asked
			{"rosa", []string{"reviewer"}, high, "NOT_PERMITTED"},
			{"rosa", []string{"reviewer"}, "nothing", "ITEM_NOT_FOUND"},
			{"rosa", []string{"reviewer"}, "no\x00thing", "ITEM_NOT_FOUND"},
			{"rosa", []string{"reviewer"}, low, ""},
			{"lena", []string{"reviewer", "group:lending"}, high, ""},
		} {
			_, err := r.desks[0].Claim(r.as(c.who, c.scopes...), &reviewv1.ClaimRequest{Id: c.item})
			if said(err) != c.want {
				t.Errorf("%s with %v claims %s: %v, want %s", c.who, c.scopes, c.item, err, c.want)
			}
		}
		list, err := r.desks[0].ListItems(r.as("ada", "reviewer", "group:lending"), &reviewv1.ListItemsRequest{})
		if err != nil || len(list.GetItems()) != 2 {
			t.Fatalf("%v %v", list, err)
		}
		for _, i := range list.GetItems() {
			if i.GetMayDecide() || i.GetMayNotBecause() != "you asked for it yourself, and somebody else has to decide" {
				t.Errorf("ada may decide on %s: %s", i.GetId(), i.GetMayNotBecause())
			}
		}
		if _, err := r.desks[0].ListItems(r.as("nina"), &reviewv1.ListItemsRequest{}); said(err) != "NOT_PERMITTED" {
			t.Errorf("nobody's list: %v", err)
		}
	})
}

func TestTwoDifferentPeopleApproveWhatIsHighRisk(t *testing.T) {
	onBothEngines(t, func(t *testing.T, database string) {
		r := newRig(t, database, 2)
		id := r.ask("m1", map[string]any{"risk": "high"})
		approve := func(who string, edited *structpb.Value) (*reviewv1.Item, error) {
			res, err := r.desks[0].Decide(r.reviewer(who), &reviewv1.DecideRequest{Id: id, Digest: r.detail(id).GetItem().GetDigest(), Approve: true, Edited: edited})
			return res.GetItem(), err
		}
		if i, err := approve("rosa", nil); err != nil || i.GetState() != reviewv1.State_STATE_OPEN || i.GetHolder() != "" || i.GetMayDecide() {
			t.Fatalf("after the first: %v %v", i, err)
		}
		if _, err := approve("rosa", nil); said(err) != "NOT_PERMITTED" {
			t.Errorf("the same person again: %v", err)
		}
		// An edit is something else than what was approved before.
		edited, err := structpb.NewValue(map[string]any{"answer": "no"})
		if err != nil {
			t.Fatal(err)
		}
		if i, err := approve("lena", edited); err != nil || i.GetState() != reviewv1.State_STATE_OPEN {
			t.Fatalf("after an edit: %v %v", i, err)
		}
		if i, err := approve("rosa", nil); err != nil || i.GetState() != reviewv1.State_STATE_APPROVED || i.GetOutcomeReason() != "approved by acme/lena and acme/rosa" {
			t.Fatalf("after the last: %v %v", i, err)
		}
		got := r.ended(id)
		if got["decision"] != "approved" || got["content"].(map[string]any)["answer"] != "no" || len(got["decisions"].([]any)) != 3 {
			t.Errorf("the task ends with %v", got)
		}
	})
}

func TestTheRequesterIsAskedAndAnswers(t *testing.T) {
	onBothEngines(t, func(t *testing.T, database string) {
		r := newRig(t, database, 2)
		id := r.ask("m1", nil)
		before := r.detail(id).GetItem()
		res, err := r.desks[1].Ask(r.reviewer("rosa"), &reviewv1.AskRequest{Id: id, Question: "For how long?"})
		if err != nil || res.GetItem().GetState() != reviewv1.State_STATE_ASKED || res.GetItem().GetHolder() != "acme/rosa" {
			t.Fatalf("%v %v", res, err)
		}
		if _, err := r.desks[1].Ask(r.reviewer("rosa"), &reviewv1.AskRequest{Id: id, Question: "And why?"}); said(err) != "ITEM_ASKED" {
			t.Errorf("a second question: %v", err)
		}
		r.until("the task asks", func() bool { return r.task(id).GetStatus().GetState() == a2apb.TaskState_TASK_STATE_INPUT_REQUIRED })
		if q := r.task(id).GetStatus().GetMessage().GetParts()[0].GetText(); q != "For how long?" {
			t.Errorf("the task asks %q", q)
		}
		_, err = r.agent[0].SendMessage(r.as("ada"), &a2apb.SendMessageRequest{
			Message: &a2apb.Message{
				MessageId: "m2", TaskId: id, Role: a2apb.Role_ROLE_USER, Parts: []*a2apb.Part{{Content: &a2apb.Part_Text{Text: "Ten years."}}},
			},
			Configuration: &a2apb.SendMessageConfiguration{ReturnImmediately: true},
		})
		if err != nil {
			t.Fatal(err)
		}
		r.until("the item is open again", func() bool { return r.detail(id).GetItem().GetState() == reviewv1.State_STATE_OPEN })
		d := r.detail(id)
		x := d.GetExchanges()
		if len(x) != 1 || x[0].GetQuestion() != "For how long?" || x[0].GetAnswer() != "Ten years." || d.GetItem().GetHolder() != "acme/rosa" ||
			d.GetItem().GetDigest() == before.GetDigest() || d.GetItem().GetDueAt().AsTime().Before(before.GetDueAt().AsTime()) {
			t.Errorf("after the answer: %v", d)
		}
		decide := func(digest string) error {
			_, err := r.desks[0].Decide(r.reviewer("rosa"), &reviewv1.DecideRequest{Id: id, Digest: digest, Approve: true})
			return err
		}
		if err := decide(before.GetDigest()); said(err) != "ITEM_CHANGED" {
			t.Errorf("a decision without the answer: %v", err)
		}
		if err := decide(d.GetItem().GetDigest()); err != nil {
			t.Fatal(err)
		}
		if got := r.ended(id); got["decision"] != "approved" || got["edited"] != false {
			t.Errorf("the task ends with %v", got)
		}
	})
}

func TestACancelEndsTheItem(t *testing.T) {
	onBothEngines(t, func(t *testing.T, database string) {
		r := newRig(t, database, 2)
		id := r.ask("m1", nil)
		for range 2 {
			if _, err := r.agent[1].CancelTask(r.as("ada"), &a2apb.CancelTaskRequest{Id: id}); err != nil {
				t.Fatal(err)
			}
		}
		r.until("the item is canceled", func() bool { return r.detail(id).GetItem().GetState() == reviewv1.State_STATE_CANCELED })
		r.until("the task is canceled", func() bool { return r.task(id).GetStatus().GetState() == a2apb.TaskState_TASK_STATE_CANCELED })
		_, err := r.desks[0].Decide(r.reviewer("rosa"), &reviewv1.DecideRequest{Id: id, Digest: r.detail(id).GetItem().GetDigest(), Approve: true})
		if said(err) != "ITEM_DECIDED" {
			t.Errorf("a decision afterwards: %v", err)
		}
		if h := r.detail(id).GetHistory(); len(h) != 2 || h[1].GetWhat() != "canceled" {
			t.Errorf("history: %v", h)
		}
	})
}

func TestWhatNobodyDecidesExpires(t *testing.T) {
	onBothEngines(t, func(t *testing.T, database string) {
		r := newRig(t, database, 1)
		id := r.ask("m1", map[string]any{"product": "quick"})
		r.clock.by.Store(int64(time.Minute + time.Second))
		got := r.ended(id)
		if got["decision"] != "expired" || got["reason"] != "nobody was quick enough" {
			t.Errorf("the task ends with %v", got)
		}
		if i := r.detail(id).GetItem(); i.GetState() != reviewv1.State_STATE_EXPIRED || i.GetExpiresAt() == nil {
			t.Errorf("the item: %v", i)
		}
	})
}

func TestAQueueCountsWhatWasDecidedInTime(t *testing.T) {
	onBothEngines(t, func(t *testing.T, database string) {
		r := newRig(t, database, 1)
		rosa := r.as("rosa", "reviewer")
		decide := func(id string) {
			t.Helper()
			if _, err := r.desks[0].Decide(rosa, &reviewv1.DecideRequest{Id: id, Digest: r.detail(id).GetItem().GetDigest(), Approve: true}); err != nil {
				t.Fatal(err)
			}
		}
		ids := []string{r.ask("m1", nil), r.ask("m2", nil), r.ask("m3", nil), r.ask("m4", nil)} // due in 8 h
		decide(ids[0])
		decide(ids[1])
		if _, err := r.agent[0].CancelTask(r.as("ada"), &a2apb.CancelTaskRequest{Id: ids[2]}); err != nil {
			t.Fatal(err)
		}
		r.until("the third is canceled", func() bool { return r.detail(ids[2]).GetItem().GetState() == reviewv1.State_STATE_CANCELED })
		r.clock.by.Add(int64(9 * time.Hour))
		decide(ids[3])
		general := func(seconds int64) *reviewv1.Queue {
			t.Helper()
			res, err := r.desks[0].ListQueues(rosa, &reviewv1.ListQueuesRequest{Seconds: seconds})
			if err != nil {
				t.Fatal(err)
			}
			return res.GetQueues()[slices.IndexFunc(res.GetQueues(), func(q *reviewv1.Queue) bool { return q.GetName() == "general" })]
		}
		for seconds, want := range map[int64][2]int64{86400: {3, 2}, 3600: {1, 0}, 0: {0, 0}} {
			if q := general(seconds); q.GetEnded() != want[0] || q.GetInTime() != want[1] {
				t.Errorf("in %d s %d ended, %d in time; want %v", seconds, q.GetEnded(), q.GetInTime(), want)
			}
		}
		for _, seconds := range []int64{-1, 59, 604801} {
			if _, err := r.desks[0].ListQueues(rosa, &reviewv1.ListQueuesRequest{Seconds: seconds}); said(err) != "INVALID_ARGUMENT" {
				t.Errorf("%d seconds: %v", seconds, err)
			}
		}
	})
}

package review_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"

	reviewv1 "sabha.dev/gen/sabha/review/v1"
)

// many asks for n reviews at once and gives their items.
func (r *rig) many(n int) []*reviewv1.Item {
	r.t.Helper()
	var asking sync.WaitGroup
	for k := range n {
		asking.Add(1)
		go func() {
			defer asking.Done()
			if _, err := r.tryAsk(fmt.Sprintf("m%d", k), wanted(map[string]any{"title": fmt.Sprintf("Answer %d", k)})); err != nil {
				r.t.Error(err)
			}
		}()
	}
	asking.Wait()
	var items []*reviewv1.Item
	r.until("all items are there", func() bool {
		res, err := r.desks[0].ListItems(r.as("vera", "viewer"), &reviewv1.ListItemsRequest{PageSize: 200})
		if err != nil {
			r.t.Fatal(err)
		}
		items = res.GetItems()
		return len(items) == n
	})
	return items
}

func TestABatchIsDecidedItemByItem(t *testing.T) {
	onBothEngines(t, func(t *testing.T, database string) {
		r := newRig(t, database, 2)
		items := r.many(30)
		for _, i := range items {
			if i.GetBatchKey() != items[0].GetBatchKey() {
				t.Fatalf("%s and %s have different batch keys", i.GetId(), items[0].GetId())
			}
		}
		if _, err := r.desks[0].Claim(r.reviewer("lena"), &reviewv1.ClaimRequest{Id: items[0].GetId()}); err != nil {
			t.Fatal(err)
		}
		batch := &reviewv1.DecideBatchRequest{}
		for n, i := range items {
			d := &reviewv1.DecideRequest{Id: i.GetId(), Digest: i.GetDigest(), Approve: true}
			switch n {
			case 1:
				d.Digest = "of another"
			case 2:
				d.Approve = false
			case 3:
				d.Approve, d.Reason = false, "not this one"
			}
			batch.Decisions = append(batch.Decisions, d)
		}
		batch.Decisions = append(batch.Decisions, &reviewv1.DecideRequest{Id: "nothing", Digest: "d", Approve: true})
		res, err := r.desks[1].DecideBatch(r.reviewer("rosa"), batch)
		if err != nil || len(res.GetOutcomes()) != len(batch.GetDecisions()) {
			t.Fatalf("%v %v", res, err)
		}
		refused := map[int]string{0: "ITEM_HELD", 1: "ITEM_CHANGED", 2: "INVALID_ARGUMENT", 30: "ITEM_NOT_FOUND"}
		for n, o := range res.GetOutcomes() {
			want := reviewv1.State_STATE_APPROVED
			if n == 3 {
				want = reviewv1.State_STATE_REJECTED
			}
			if o.GetId() != batch.GetDecisions()[n].GetId() || o.GetErrorReason() != refused[n] || (refused[n] == "" && o.GetItem().GetState() != want) {
				t.Errorf("%d: %v, want %v or %s", n, o, want, refused[n])
			}
		}
		for n, i := range items {
			if refused[n] == "" && r.ended(i.GetId()) == nil {
				t.Errorf("task %s has no answer", i.GetId())
			}
		}

		other := r.ask("another", map[string]any{"step": "another"})
		batch.Decisions = []*reviewv1.DecideRequest{{Id: items[1].GetId(), Digest: items[1].GetDigest(), Approve: true}, {Id: other, Digest: "d", Approve: true}}
		if _, err := r.desks[0].DecideBatch(r.reviewer("rosa"), batch); said(err) != "INVALID_ARGUMENT" {
			t.Errorf("a batch of different kinds: %v", err)
		}
		batch.Decisions = []*reviewv1.DecideRequest{batch.Decisions[0], batch.Decisions[0]}
		if _, err := r.desks[0].DecideBatch(r.reviewer("rosa"), batch); said(err) != "INVALID_ARGUMENT" {
			t.Errorf("an item twice: %v", err)
		}
	})
}

func TestOfBatchesThatRaceEachItemHasOneDecision(t *testing.T) {
	onBothEngines(t, func(t *testing.T, database string) {
		r := newRig(t, database, 2)
		items := r.many(24)
		var racing sync.WaitGroup
		outcomes := make([][]*reviewv1.BatchOutcome, 4)
		for n := range outcomes {
			batch := &reviewv1.DecideBatchRequest{}
			for k := range items {
				i := items[(k*7+n*13)%len(items)] // each in an order of its own
				batch.Decisions = append(batch.Decisions, &reviewv1.DecideRequest{Id: i.GetId(), Digest: i.GetDigest(), Approve: n%2 == 0, Reason: "so"})
			}
			ctx := r.reviewer(fmt.Sprintf("rosa%d", n))
			racing.Add(1)
			go func() {
				defer racing.Done()
				res, err := r.desks[n%2].DecideBatch(ctx, batch)
				if err != nil {
					t.Error(err)
				}
				outcomes[n] = res.GetOutcomes()
			}()
		}
		racing.Wait()
		won := map[string]int{}
		for _, all := range outcomes {
			for _, o := range all {
				switch o.GetErrorReason() {
				case "":
					won[o.GetId()]++
				case "ITEM_DECIDED":
				default:
					t.Errorf("%v", o)
				}
			}
		}
		for _, i := range items {
			d := r.detail(i.GetId())
			if won[i.GetId()] != 1 || len(d.GetItem().GetDecisions()) != 1 {
				t.Errorf("%s: %d calls have won, kept are %v", i.GetId(), won[i.GetId()], d.GetItem().GetDecisions())
				continue
			}
			got := r.ended(i.GetId())
			want := strings.ToLower(strings.TrimPrefix(d.GetItem().GetState().String(), "STATE_"))
			if got["decision"] != want {
				t.Errorf("%s: the task ends with %v, the item is %s", i.GetId(), got["decision"], want)
			}
		}
	})
}

func TestACancelThatRacesADecisionLeavesTaskAndItemAgreed(t *testing.T) {
	onBothEngines(t, func(t *testing.T, database string) {
		r := newRig(t, database, 2)
		for _, i := range r.many(8) {
			id, reviewer, ada := i.GetId(), r.reviewer("rosa"), r.as("ada")
			var racing sync.WaitGroup
			racing.Add(2)
			go func() {
				defer racing.Done()
				_, err := r.desks[0].Decide(reviewer, &reviewv1.DecideRequest{Id: id, Digest: i.GetDigest(), Approve: true})
				if got := said(err); got != "" && got != "ITEM_DECIDED" {
					t.Error(err)
				}
			}()
			go func() {
				defer racing.Done()
				_, err := r.agent[1].CancelTask(ada, &a2apb.CancelTaskRequest{Id: id})
				if got := said(err); got != "" && got != "TASK_NOT_CANCELABLE" {
					t.Error(err)
				}
			}()
			racing.Wait()
			ended := func() bool {
				s := r.task(id).GetStatus().GetState()
				return s == a2apb.TaskState_TASK_STATE_COMPLETED || s == a2apb.TaskState_TASK_STATE_CANCELED
			}
			r.until("the task ends", ended)
			canceled := r.task(id).GetStatus().GetState() == a2apb.TaskState_TASK_STATE_CANCELED
			switch state := r.detail(id).GetItem().GetState(); {
			case state == reviewv1.State_STATE_CANCELED && canceled, state == reviewv1.State_STATE_APPROVED && !canceled:
			case state == reviewv1.State_STATE_APPROVED && canceled: // decided in the instant before
			default:
				t.Errorf("the task is %v, the item %v", r.task(id).GetStatus().GetState(), state)
			}
		}
	})
}

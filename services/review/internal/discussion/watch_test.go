package discussion_test

import (
	"slices"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"

	"sabha.dev/chassis/identity"
	adminv1 "sabha.dev/gen/sabha/admin/v1"
	reviewv1 "sabha.dev/gen/sabha/review/v1"
)

func TestWhateverChangesADiscussionIsTold(t *testing.T) {
	onBothEngines(t, func(t *testing.T, f *forum) {
		stream, err := f.watch.Watch(identity.WithOutgoing(t.Context(), identity.Call{}), &adminv1.WatchRequest{Kind: "discussions"})
		if err == nil {
			_, err = stream.Recv()
		}
		if err != nil {
			t.Fatal(err)
		}
		heard := make(chan []string, 100)
		go func() {
			for {
				res, err := stream.Recv()
				if err != nil {
					return
				}
				heard <- res.GetIds()
			}
		}()
		tells := func(what, id string) {
			t.Helper()
			f.until(func() bool {
				select {
				case ids := <-heard:
					return slices.Contains(ids, id)
				default:
					return false
				}
			})
			t.Logf("%s was told", what)
		}
		asha, bo := f.as("asha", "acme"), f.as("bo", "acme", "viewer")
		id := f.asked(asha, "m1", "Who knows why parcel 17 changed its zone?")
		tells("the question", id)
		f.reply(asha, id, "The north part of it.")
		tells("a remark of who asked", id)
		f.reply(bo, id, "The river did.")
		tells("the reply that answers it", id)
		f.reply(bo, id, "In 1998.")
		tells("a further reply", id)
		if _, err := f.talk.Acknowledge(asha, &reviewv1.AcknowledgeRequest{Id: id, UpTo: 3}); err != nil {
			t.Fatal(err)
		}
		tells("that she has taken note", id)
		if state := f.task(asha, id).GetStatus().GetState(); state != a2apb.TaskState_TASK_STATE_COMPLETED {
			t.Errorf("the task is %s", state)
		}
	})
}

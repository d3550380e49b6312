package review_test

import (
	"slices"
	"testing"

	"google.golang.org/grpc"

	"sabha.dev/chassis/identity"
	adminv1 "sabha.dev/gen/sabha/admin/v1"
	reviewv1 "sabha.dev/gen/sabha/review/v1"
)

func (r *rig) begin(replica int) (grpc.ServerStreamingClient[adminv1.WatchResponse], error) {
	return r.watches[replica].Watch(identity.WithOutgoing(r.t.Context(), identity.Call{}), &adminv1.WatchRequest{Kind: "items"})
}

// watch watches at a replica as the console: what it hears of comes from the channel,
// until the stream ends with the error.
func (r *rig) watch(replica int) (heard <-chan []string, end <-chan error) {
	r.t.Helper()
	stream, err := r.begin(replica)
	if err != nil {
		r.t.Fatal(err)
	}
	if first, err := stream.Recv(); err != nil || len(first.GetIds()) > 0 || first.GetKind() != "items" || first.GetMore() {
		r.t.Fatalf("a watch begins with %v, %v", first, err)
	}
	ids, ends := make(chan []string, 100), make(chan error, 1)
	go func() {
		for {
			res, err := stream.Recv()
			if err != nil {
				ends <- err
				return
			}
			ids <- res.GetIds()
		}
	}()
	return ids, ends
}

func TestWhateverChangesAnItemIsToldAtEveryReplica(t *testing.T) {
	onBothEngines(t, func(t *testing.T, database string) {
		r := newRig(t, database, 2)
		id := r.ask("m1", nil)
		rosa, ravi := r.as("rosa", "reviewer"), r.as("ravi", "reviewer")
		near, _ := r.watch(0)
		far, _ := r.watch(1)
		for _, step := range []struct {
			what string
			do   func() error
		}{
			{"a claim", func() error { _, err := r.desks[0].Claim(rosa, &reviewv1.ClaimRequest{Id: id}); return err }},
			{"a release", func() error { _, err := r.desks[0].Release(rosa, &reviewv1.ReleaseRequest{Id: id}); return err }},
			{"a reassignment", func() error {
				_, err := r.desks[0].Reassign(r.as("olga", "operator"), &reviewv1.ReassignRequest{Id: id, To: "acme/ravi"})
				return err
			}},
			{"a question", func() error {
				_, err := r.desks[0].Ask(ravi, &reviewv1.AskRequest{Id: id, Question: "How much?"})
				return err
			}},
			{"a decision", func() error {
				_, err := r.desks[0].Decide(ravi, &reviewv1.DecideRequest{Id: id, Digest: r.detail(id).GetItem().GetDigest(), Approve: true})
				return err
			}},
		} {
			for _, heard := range []<-chan []string{near, far} { // of what came before
				for len(heard) > 0 {
					<-heard
				}
			}
			if err := step.do(); err != nil {
				t.Fatalf("%s: %v", step.what, err)
			}
			for who, heard := range map[string]<-chan []string{"the replica": near, "another replica": far} {
				r.until(who+" hears of "+step.what, func() bool {
					select {
					case ids := <-heard:
						return slices.Contains(ids, id)
					default:
						return false
					}
				})
			}
		}
		refused, err := r.watches[0].Watch(identity.WithOutgoing(t.Context(), identity.Call{}), &adminv1.WatchRequest{Kind: "people"})
		if err == nil {
			_, err = refused.Recv()
		}
		if said(err) != "INVALID_ARGUMENT" {
			t.Errorf("who watches what nobody tells of is told %v", err)
		}
	})
}

func TestWithoutNATSAWatchEndsAndWhatWasMissedIsToldLater(t *testing.T) {
	onBothEngines(t, func(t *testing.T, database string) {
		r := newRig(t, database, 2)
		id := r.ask("m1", nil)
		_, ended := r.watch(1)
		r.nats.Stop()
		if err := <-ended; said(err) != "UNAVAILABLE" {
			t.Errorf("the watch ended with %v", err)
		}
		if _, err := r.desks[0].Claim(r.as("rosa", "reviewer"), &reviewv1.ClaimRequest{Id: id}); err != nil {
			t.Fatalf("a claim without NATS: %v", err)
		}
		stream, err := r.begin(1)
		if err == nil {
			_, err = stream.Recv()
		}
		if said(err) != "UNAVAILABLE" {
			t.Errorf("a watch without NATS is told %v", err)
		}
		if i := r.detail(id).GetItem(); i.GetHolder() != "acme/rosa" {
			t.Errorf("meanwhile %q holds it", i.GetHolder())
		}
		if err := r.nats.Start(); err != nil {
			t.Fatal(err)
		}
		var heard <-chan []string
		r.until("a watch begins again", func() bool {
			stream, err := r.begin(1)
			if err != nil {
				return false
			}
			if _, err = stream.Recv(); err != nil {
				return false
			}
			heard, _ = r.watch(1)
			return true
		})
		if _, err := r.desks[0].Release(r.as("rosa", "reviewer"), &reviewv1.ReleaseRequest{Id: id}); err != nil {
			t.Fatal(err)
		}
		r.until("the watch hears of it", func() bool {
			select {
			case ids := <-heard:
				return slices.Contains(ids, id)
			default:
				return false
			}
		})
	})
}

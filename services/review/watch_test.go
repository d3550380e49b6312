package review_test

import (
	"context"
	"slices"
	"testing"

	"sabha.dev/chassis/identity"
	reviewv1 "sabha.dev/gen/sabha/review/v1"
)

// watch watches at a replica: what it hears of comes from the channel, until the
// stream ends with the error.
func (r *rig) watch(replica int, ctx context.Context) (heard <-chan []string, end <-chan error) {
	r.t.Helper()
	stream, err := r.desks[replica].Watch(ctx, &reviewv1.WatchRequest{})
	if err != nil {
		r.t.Fatal(err)
	}
	if first, err := stream.Recv(); err != nil || len(first.GetItemIds()) > 0 || first.GetMore() {
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
			ids <- res.GetItemIds()
		}
	}()
	return ids, ends
}

func TestWhateverChangesAnItemIsToldAtEveryReplica(t *testing.T) {
	onBothEngines(t, func(t *testing.T, database string) {
		r := newRig(t, database, 2)
		id := r.ask("m1", nil)
		rosa, ravi := r.as("rosa", "reviewer"), r.as("ravi", "reviewer")
		viewer, _ := r.watch(1, r.as("vera", "viewer"))
		console, _ := r.watch(1, identity.WithOutgoing(t.Context(), identity.Call{}))
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
			for _, heard := range []<-chan []string{viewer, console} { // of what came before
				for len(heard) > 0 {
					<-heard
				}
			}
			if err := step.do(); err != nil {
				t.Fatalf("%s: %v", step.what, err)
			}
			for who, heard := range map[string]<-chan []string{"a viewer": viewer, "the console": console} {
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
		refused, err := r.desks[0].Watch(r.as("ada", "client"), &reviewv1.WatchRequest{})
		if err == nil {
			_, err = refused.Recv()
		}
		if said(err) != "NOT_PERMITTED" {
			t.Errorf("a client who watches is told %v", err)
		}
	})
}

func TestWithoutNATSAWatchEndsAndWhatWasMissedIsToldLater(t *testing.T) {
	onBothEngines(t, func(t *testing.T, database string) {
		r := newRig(t, database, 2)
		id := r.ask("m1", nil)
		vera := r.as("vera", "viewer")
		_, ended := r.watch(1, vera)
		r.nats.Stop()
		if err := <-ended; said(err) != "UNAVAILABLE" {
			t.Errorf("the watch ended with %v", err)
		}
		if _, err := r.desks[0].Claim(r.as("rosa", "reviewer"), &reviewv1.ClaimRequest{Id: id}); err != nil {
			t.Fatalf("a claim without NATS: %v", err)
		}
		stream, err := r.desks[1].Watch(vera, &reviewv1.WatchRequest{})
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
			stream, err := r.desks[1].Watch(vera, &reviewv1.WatchRequest{})
			if err != nil {
				return false
			}
			if _, err = stream.Recv(); err != nil {
				return false
			}
			heard, _ = r.watch(1, vera)
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

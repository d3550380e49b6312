package web_test

import (
	"bufio"
	"context"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"sabha.dev/chassis/identity"
	reviewv1 "sabha.dev/gen/sabha/review/v1"
	"sabha.dev/services/console/internal/desk"
	"sabha.dev/services/console/internal/live"
	"sabha.dev/services/console/internal/person"
)

// What others do with items is on open pages before they are read again anyway: the
// clock goes on by less than a second in all.
func TestWhatOthersDoIsOnAnOpenPageAtOnce(t *testing.T) {
	o := openOffice(t)
	id := o.item(1, 10, nil)
	ctx, stop := context.WithCancel(t.Context())
	t.Cleanup(stop)
	begun := make(chan struct{})
	changes := desk.Changes(o.reviews)
	go o.site.Follow(ctx, live.Followed{
		Lists: []string{"reviews"}, Each: "review:", Whole: true,
		Changes: func(ctx context.Context, first func(), told func([]string, bool)) error {
			return changes(ctx, func() { first(); close(begun) }, told)
		},
	})
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, o.server.URL+"/events?watch=/review/"+id, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Test-Person", "ada")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = res.Body.Close() })
	var held, free atomic.Bool
	go func() {
		lines := bufio.NewScanner(res.Body)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			if strings.Contains(lines.Text(), " holds this item.</strong>") {
				held.Store(true)
			}
			if held.Load() && strings.Contains(lines.Text(), "Nobody holds this item") {
				free.Store(true)
			}
		}
	}()
	<-begun
	left := 990 * time.Millisecond
	within := func(what string, shown *atomic.Bool) {
		t.Helper()
		for ; !shown.Load() && left > 0; left -= 60 * time.Microsecond {
			o.clock.Advance(60 * time.Microsecond)
			time.Sleep(time.Millisecond)
		}
		if !shown.Load() {
			t.Fatalf("the page does not show that %s", what)
		}
	}
	ravi := person.With(t.Context(), person.Person{Principal: identity.Principal{Organisation: "acme", Subject: "ravi"}})
	if _, err := o.reviews.Claim(ravi, &reviewv1.ClaimRequest{Id: id}); err != nil {
		t.Fatal(err)
	}
	within("ravi holds it", &held)
	if _, err := o.reviews.Release(ravi, &reviewv1.ReleaseRequest{Id: id}); err != nil {
		t.Fatal(err)
	}
	within("nobody does any more", &free)
}

package web_test

import (
	"bufio"
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"sabha.dev/chassis/identity"
	adminv1 "sabha.dev/gen/sabha/admin/v1"
	reviewv1 "sabha.dev/gen/sabha/review/v1"
	"sabha.dev/services/console/internal/live"
	"sabha.dev/services/console/internal/oversight"
	"sabha.dev/services/console/internal/person"
)

// watched is an open page whose changes are told, and a clock that goes on by less than a
// second in all: the page is not read again in its turn meanwhile.
type watched struct {
	*office
	left  time.Duration
	lines chan string
}

// watch opens a page for ada.
func (o *office) watch(path, kind string, f live.Followed) *watched {
	o.t.Helper()
	ctx, stop := context.WithCancel(o.t.Context())
	o.t.Cleanup(stop)
	begun := make(chan struct{})
	changes := oversight.Changes(adminv1.NewAdminServiceClient(o.conn), kind)
	f.Whole = true
	f.Changes = func(ctx context.Context, first func(), told func([]string, bool)) error {
		return changes(ctx, func() { first(); close(begun) }, told)
	}
	go o.site.Follow(ctx, f)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, o.server.URL+"/events?watch="+path, nil)
	if err != nil {
		o.t.Fatal(err)
	}
	req.Header.Set("Test-Person", "ada")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		o.t.Fatal(err)
	}
	o.t.Cleanup(func() { _ = res.Body.Close() })
	w := &watched{office: o, left: 990 * time.Millisecond, lines: make(chan string, 10_000)}
	go func() {
		lines := bufio.NewScanner(res.Body)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			w.lines <- lines.Text()
		}
	}()
	<-begun
	return w
}

// shows waits until the page shows a text.
func (w *watched) shows(text string) {
	w.t.Helper()
	for w.left > 0 {
		select {
		case line := <-w.lines:
			if strings.Contains(line, text) {
				return
			}
		case <-time.After(time.Millisecond):
			w.left -= 60 * time.Microsecond
			w.clock.Advance(60 * time.Microsecond)
		}
	}
	w.t.Fatalf("the page does not show %q", text)
}

// by is a call of another person.
func (o *office) by(who string) context.Context {
	return person.With(o.t.Context(), person.Person{Principal: identity.Principal{Organisation: "acme", Subject: who}})
}

func TestWhatOthersDoIsOnAnOpenPageAtOnce(t *testing.T) {
	o := openOffice(t)
	id := o.item(1, 10, nil)
	w := o.watch("/review/"+id, "items", live.Followed{Lists: []string{"reviews"}, Each: "review:"})
	if _, err := o.reviews.Claim(o.by("ravi"), &reviewv1.ClaimRequest{Id: id}); err != nil {
		t.Fatal(err)
	}
	w.shows(" holds this item.</strong>")
	if _, err := o.reviews.Release(o.by("ravi"), &reviewv1.ReleaseRequest{Id: id}); err != nil {
		t.Fatal(err)
	}
	w.shows("Nobody holds this item")
}

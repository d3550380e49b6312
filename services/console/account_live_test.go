package console_test

import (
	"bufio"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"sabha.dev/testrig/consoletest"
)

// ownAccount opens the page of somebody's own account, and gives what waits until it
// shows one of some texts.
func (r *rig) ownAccount(t *testing.T, web *http.Client) (shows func(texts ...string)) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, r.url+"/events?watch=/account", nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := web.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = res.Body.Close() })
	if res.StatusCode != http.StatusOK {
		t.Fatal(res.Status)
	}
	lines := make(chan string)
	go func() {
		defer close(lines)
		for s := bufio.NewScanner(res.Body); s.Scan(); {
			select {
			case lines <- s.Text():
			case <-t.Context().Done():
				return
			}
		}
	}()
	return func(texts ...string) {
		t.Helper()
		for late := time.After(time.Minute); ; {
			select {
			case l, ok := <-lines:
				if !ok {
					t.Fatalf("the stream ended before it showed %q", texts)
				}
				for _, text := range texts {
					if strings.Contains(l, text) {
						return
					}
				}
			case <-late:
				t.Fatalf("%q is not shown", texts)
			}
		}
	}
}

// Somebody's own account shows what happens to it elsewhere, on the page that is open.
func TestOnesOwnAccountIsLive(t *testing.T) {
	r := start(t, "planner")
	defer close(r.release)
	here := r.somebody(t, "bo", "viewer")
	change := func(form url.Values) {
		t.Helper()
		if status, said := r.sends(t, r.web, "/accounts/change", form); status >= 400 {
			t.Fatal(status, said)
		}
	}
	shows := r.ownAccount(t, here)
	shows("1 browser<")
	elsewhere := consoletest.SignIn(t, r.url, "bo", ownPassword)
	shows("2 browsers<")
	if status, said := r.sends(t, elsewhere, "/sign-out", url.Values{}); status >= 400 {
		t.Fatal(status, said)
	}
	shows("1 browser<")
	change(url.Values{"account": {"bo"}, "display": {"Bo the second"}, "role": {"viewer"}})
	shows("Bo the second")
	// What changes a person's rights ends the stream too, with its next beat: that says so first
	// when the beat is due.
	change(url.Values{"account": {"bo"}, "role": {"viewer", "reviewer"}})
	shows("viewer, reviewer", "reviewer, viewer", "event: ended")
	shows = r.ownAccount(t, here)
	shows("1 browser<")
	change(url.Values{"account": {"bo"}, "role": {"viewer"}, "disabled": {"yes"}})
	shows("You are signed out", "event: ended")
}

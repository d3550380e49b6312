package push_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"sabha.dev/chassis/push"
	"sabha.dev/chassis/taskstore"
)

func status(code int) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
}

func TestEveryEventArrivesInOrderOneAtATime(t *testing.T) {
	r := newRig(t)
	p := r.start("a")
	one, two := r.receiver(nil), r.receiver(nil)
	h := p.create("t1", one.URL, two.URL)
	want := []string{"task 1.1"}
	for i := range 10 {
		p.tell(h, fmt.Sprint(2*i), fmt.Sprint(2*i+1))
		want = append(want, fmt.Sprintf("event 1.%d %d", 2*i+2, 2*i), fmt.Sprintf("event 1.%d %d", 2*i+3, 2*i+1))
	}
	p.tell(h, "end")
	want = append(want, "event 1.22 end")
	for _, v := range []*receiver{one, two} {
		r.wantGot(v, want...)
		if v.most.Load() != 1 {
			t.Errorf("%d were on their way at once", v.most.Load())
		}
	}
	r.soon("the place is stored and given back", func() bool {
		c := p.push("t1", "c0")
		return c.Version == 22 && c.DueAt.IsZero() && c.ClaimedBy == ""
	})
	r.soon("nothing is kept", func() bool { events, cursors := p.Held(); return events == 0 && cursors == 0 })
	if n := p.counted("sabha_push_deliveries_total", "delivered"); n != 44 {
		t.Errorf("%v deliveries are counted, want 44", n)
	}
}

func TestAfterAFailureTheReceiverGetsTheTaskAsItIs(t *testing.T) {
	r := newRig(t)
	p := r.start("a")
	var failing atomic.Bool
	failing.Store(true)
	v := r.receiver(func(w http.ResponseWriter, _ *http.Request) {
		if failing.Load() {
			w.WriteHeader(http.StatusInternalServerError)
		}
	})
	h := p.create("t1", v.URL)
	r.soon("the failure is stored", func() bool { return p.push("t1", "c0").Failures == 1 })
	if c := p.push("t1", "c0"); c.Reason != "HTTP 500" || c.DueAt != start.Add(time.Second) || c.ClaimedBy != "" {
		t.Errorf("stored %+v", c)
	}
	p.tell(h, "x")
	p.tell(h, "y", "z")
	r.clock.Advance(999 * time.Millisecond)
	p.Kick()
	failing.Store(false)
	time.Sleep(20 * time.Millisecond)
	if got := v.list(); len(got) != 1 {
		t.Errorf("tried again too early: %v", got)
	}
	r.clock.Advance(time.Millisecond)
	p.Kick()
	r.wantGot(v, "task 1.1", "task 1.4 z gap")
	p.tell(h, "end")
	r.wantGot(v, "task 1.1", "task 1.4 z gap", "event 1.5 end")
	r.soon("the failures are forgotten", func() bool { c := p.push("t1", "c0"); return c.Version == 5 && c.Failures == 0 && c.Reason == "" })
}

func TestFailuresInARowDisableWithTheReason(t *testing.T) {
	r := newRig(t)
	p := r.start("a")
	v := r.receiver(status(http.StatusBadGateway))
	h := p.create("t1", v.URL)
	p.tell(h, "end")
	r.eventually("it is disabled", func() bool { return p.push("t1", "c0").Disabled() })
	if c := p.push("t1", "c0"); c.Failures != 5 || c.Reason != "HTTP 502" || c.Version != 0 || c.Target != 2 {
		t.Errorf("stored %+v", c)
	}
	if waited := r.clock.Now().Sub(start); waited < 15*time.Second { // 1 + 2 + 4 + 8, jitter at its most
		t.Errorf("disabled after %s", waited)
	}
	if got := len(v.list()); got != 5 {
		t.Errorf("%d attempts, want 5", got)
	}
	r.eventually("it is counted", func() bool { return p.counted("sabha_push_dead", "") == 1 })
	p.tell(p.create("t2", v.URL), "end") // another configuration has its own count
	r.must(p.store.ResendPush(t.Context(), taskstore.PushKey{TaskID: "t1", ID: "c0"}))
	p.Kick()
	r.soon("it is tried again", func() bool { return p.push("t1", "c0").Failures == 1 })
}

func TestGoneDisablesAtOnceAndARefusedAddressSaysSo(t *testing.T) {
	r := newRig(t)
	p := r.start("a", func(c *push.Config) { c.MaxFailures = 1 })
	gone := r.receiver(status(http.StatusGone))
	moved := r.receiver(func(w http.ResponseWriter, q *http.Request) {
		http.Redirect(w, q, gone.URL, http.StatusPermanentRedirect)
	})
	huge := r.receiver(func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("X", strings.Repeat("x", 1<<20)) })
	closed := r.receiver(nil)
	closed.Close()
	for url, reason := range map[string]string{
		gone.URL:                   "HTTP 410: the receiver wants no more notifications",
		moved.URL:                  "HTTP 308: redirects are not followed; name the address that they lead to",
		huge.URL:                   "the connection broke before an answer",
		closed.URL:                 "connection refused",
		"http://10.0.0.1/":         "the receiver's address is not public; whoever runs the sender can open its network with push.allow",
		"http://name.invalid./":    "the receiver's name does not resolve",
		"https://" + gone.URL[7:]:  "the receiver does not speak TLS",
		"http://[::ffff:10.0.0.1]": "the receiver's address is not public; whoever runs the sender can open its network with push.allow",
	} {
		id := fmt.Sprintf("task-%d", len(url))
		id += strings.Map(func(r rune) rune {
			if r == '/' || r == ':' {
				return '-'
			}
			return r
		}, url)
		p.create(id, url)
		r.soon(url+" is given up", func() bool { return p.push(id, "c0").Disabled() })
		if c := p.push(id, "c0"); c.Reason != reason {
			t.Errorf("%s: %q, want %q", url, c.Reason, reason)
		}
	}
	if len(gone.list()) != 1 {
		t.Errorf("the receiver that is gone got %v", gone.list())
	}
}

// The first replica stalls while its POST is on the way; nobody is told.
func TestAnotherReplicaGoesOnAfterTheLease(t *testing.T) {
	r := newRig(t)
	stalled := r.start("stalled")
	reached, release := make(chan struct{}, 1), make(chan struct{})
	var first atomic.Bool
	v := r.receiver(func(http.ResponseWriter, *http.Request) {
		if first.CompareAndSwap(false, true) {
			reached <- struct{}{}
			<-release
		}
	})
	h := stalled.create("t1", v.URL)
	<-reached
	stalled.tell(h, "x")
	stalled.tell(h, "end")
	living := r.start("living")
	living.Kick()
	time.Sleep(20 * time.Millisecond)
	if got := v.list(); len(got) != 1 {
		t.Errorf("the living replica did not wait for the lease: %v", got)
	}
	r.alive = []*replica{living}
	r.pass(lease + time.Second)
	living.Kick()
	r.wantGot(v, "task 1.1", "task 1.3 end gap")
	r.soon("the end is stored", func() bool { c := living.push("t1", "c0"); return c.Version == 3 && c.DueAt.IsZero() })

	// The first one wakes up. It still holds events 2 and 3, which nobody needs any more.
	close(release)
	r.soon("it lets go", func() bool { _, cursors := stalled.Held(); return cursors == 0 })
	r.wantGot(v, "task 1.1", "task 1.3 end gap")
}

func TestAReplicaThatStopsLetsWhatIsOnItsWayArrive(t *testing.T) {
	r := newRig(t)
	p := r.start("a")
	reached, release := make(chan struct{}, 8), make(chan struct{})
	v := r.receiver(func(http.ResponseWriter, *http.Request) { reached <- struct{}{}; <-release })
	h := p.create("t1", v.URL)
	<-reached
	p.tell(h, "x", "y")
	stopped := make(chan struct{})
	go func() { p.stop(); close(stopped) }()
	r.soon("it takes no more", func() bool { return !p.Room() })
	close(release)
	<-stopped
	other := r.start("b")
	r.wantGot(v, "task 1.1", "task 1.3 y gap")
	r.soon("the end is stored", func() bool { return other.push("t1", "c0").Version == 3 })
}

// hang makes receivers that do not answer after the first answers of theirs.
func (r *rig) hang(n, answers int, release chan struct{}) []*receiver {
	var list []*receiver
	for range n {
		var given atomic.Int32
		list = append(list, r.receiver(func(w http.ResponseWriter, _ *http.Request) {
			if int(given.Add(1)) <= answers {
				w.WriteHeader(http.StatusInternalServerError)
				return
			}
			<-release
		}))
	}
	return list
}

// flying is how many notifications are on their way to receivers, at most one to each.
func (r *rig) flying(list []*receiver) (n int) {
	for _, v := range list {
		n += int(v.flying.Load())
		if v.most.Load() > 1 {
			r.Errorf("%d are on their way to one receiver that does not answer", v.most.Load())
		}
	}
	return n
}

// A receiver that answers is not held up by however many that never do.
func TestReceiversThatNeverAnswerDoNotDelayOthers(t *testing.T) {
	r := newRig(t)
	p := r.start("a")
	p.Within(time.Hour) // a slow machine must not end an attempt
	healthy := r.receiver(nil)
	h := p.create("healthy", healthy.URL)
	r.soon("the healthy receiver answers", func() bool { return len(healthy.list()) == 1 })
	release := make(chan struct{})
	defer close(release)
	hanging := r.hang(push.MaxFresh+20, 0, release)
	for i, v := range hanging {
		for n := range 3 {
			p.create(fmt.Sprintf("hang-%d-%d", i, n), v.URL)
		}
	}
	r.soon("those that hang have their share", func() bool { return r.flying(hanging) >= push.MaxFresh })
	for i := range 200 {
		p.tell(h, fmt.Sprint(i))
		r.soon("the healthy receiver hears of it", func() bool { return len(healthy.list()) == i+2 })
	}
	if n := r.flying(hanging); n != push.MaxFresh {
		t.Errorf("%d are on their way to receivers that never answered, want %d", n, push.MaxFresh)
	}
}

// Nor is one that has not been tried yet held up by those that are known to fail.
func TestReceiversThatFailDoNotDelayNewOnes(t *testing.T) {
	r := newRig(t)
	p := r.start("a")
	p.Within(time.Hour) // a slow machine must not end an attempt
	release := make(chan struct{})
	defer close(release)
	failing := r.hang(push.MaxBad+20, 1, release)
	for i, v := range failing {
		p.create(fmt.Sprintf("fail-%d", i), v.URL)
	}
	r.soon("all have failed once", func() bool {
		list, err := p.store.DuePushes(t.Context(), false, 1)
		return err == nil && len(list) == 0 && p.counted("sabha_push_deliveries_total", "failed") == float64(len(failing))
	})
	r.eventually("they hang at their next attempt", func() bool { return r.flying(failing) >= push.MaxBad })
	for i := range 20 {
		v := r.receiver(nil)
		p.tell(p.create(fmt.Sprintf("new-%d", i), v.URL), "end")
		r.wantGot(v, "task 1.1", "event 1.2 end")
	}
	if n := r.flying(failing); n != push.MaxBad {
		t.Errorf("%d are on their way to receivers that fail, want %d", n, push.MaxBad)
	}
}

func TestEndlessAndSlowAnswersAreBounded(t *testing.T) {
	r := newRig(t)
	p := r.start("a")
	p.Within(500 * time.Millisecond)
	var sent atomic.Int64
	endless := r.receiver(func(w http.ResponseWriter, q *http.Request) {
		chunk := []byte(strings.Repeat("x", 1024))
		for q.Context().Err() == nil {
			n, err := w.Write(chunk)
			if err != nil {
				return
			}
			sent.Add(int64(n))
		}
	})
	slow := r.receiver(func(w http.ResponseWriter, q *http.Request) {
		w.WriteHeader(http.StatusOK)
		_ = http.NewResponseController(w).Flush()
		<-q.Context().Done()
	})
	silent := r.receiver(func(_ http.ResponseWriter, q *http.Request) { <-q.Context().Done() })
	p.create("endless", endless.URL)
	p.create("slow", slow.URL)
	p.create("silent", silent.URL)
	for _, id := range []string{"endless", "slow"} { // their status says that it arrived
		r.soon(id+" is delivered", func() bool { return p.push(id, "c0").Version == 1 })
	}
	r.soon("silence is a failure", func() bool { return p.push("silent", "c0").Failures == 1 })
	if c := p.push("silent", "c0"); c.Reason != "no answer within 10s" {
		t.Errorf("reason %q", c.Reason)
	}
	for _, v := range []*receiver{endless, slow, silent} {
		r.soon("its connection is let go", func() bool { return v.flying.Load() == 0 })
	}
	if n := sent.Load(); n > 16<<20 {
		t.Errorf("%d bytes of an answer were taken", n)
	}
}

func TestAReplacedConfigurationIsSentToItsNewAddress(t *testing.T) {
	r := newRig(t)
	p := r.start("a")
	reached, release := make(chan struct{}, 1), make(chan struct{})
	before := r.receiver(func(http.ResponseWriter, *http.Request) { reached <- struct{}{}; <-release })
	after := r.receiver(nil)
	h := p.create("t1", before.URL)
	<-reached
	_, err := p.store.Update(t.Context(), "t1", func(rec *taskstore.Record) (taskstore.Change, error) {
		rows, err := p.store.PutPush(config("t1", "c0", after.URL), rec.Version, false)
		return taskstore.Change{Rows: rows}, err
	})
	r.must(err)
	p.tell(h, "x")
	p.tell(h, "end")
	close(release)
	r.wantGot(after, "event 1.2 x", "event 1.3 end")
	r.wantGot(before, "task 1.1")
	r.soon("the end is stored", func() bool { return p.push("t1", "c0").Version == 3 })
}

func TestAReceiverThatFallsFarBehindGetsTheTask(t *testing.T) {
	r := newRig(t)
	p := r.start("a")
	reached, release := make(chan struct{}, 1000), make(chan struct{})
	v := r.receiver(func(http.ResponseWriter, *http.Request) { reached <- struct{}{}; <-release })
	h := p.create("t1", v.URL)
	<-reached
	for i := range push.MaxHeldEach + 10 {
		p.tell(h, fmt.Sprint(i))
	}
	if events, _ := p.Held(); events > push.MaxHeldEach {
		t.Errorf("%d events are kept", events)
	}
	p.tell(h, "end")
	close(release)
	last := push.MaxHeldEach + 12
	r.soon("the end arrives", func() bool {
		got := v.list()
		return strings.Contains(got[len(got)-1], fmt.Sprintf("1.%d end", last))
	})
	if got := v.list(); got[1] != fmt.Sprintf("task 1.%d end gap", last) {
		t.Errorf("the second notification is %q", got[1])
	}
}

func TestWhatRetryAfterAsksForIsBounded(t *testing.T) {
	for value, want := range map[string]time.Duration{
		"": 0, "soon": 0, "-5": 0, "7": 7 * time.Second, "99999999": time.Hour, "99999999999999999999": 0,
		start.Add(90 * time.Second).Format(http.TimeFormat): 90 * time.Second, start.Add(-time.Hour).Format(http.TimeFormat): 0,
		start.Add(48 * time.Hour).Format(http.TimeFormat): time.Hour,
	} {
		if got := push.RetryAfter(value, start); got != want {
			t.Errorf("%q: %s, want %s", value, got, want)
		}
	}
	r := newRig(t)
	p := r.start("a")
	v := r.receiver(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "120")
		w.WriteHeader(http.StatusTooManyRequests)
	})
	p.create("t1", v.URL)
	r.soon("the failure is stored", func() bool { return p.push("t1", "c0").Failures == 1 })
	if c := p.push("t1", "c0"); c.DueAt != start.Add(2*time.Minute) || c.Reason != "HTTP 429" {
		t.Errorf("stored %+v", c)
	}
}

func TestTheBackoffDoublesUpToItsBoundWithFullJitter(t *testing.T) {
	var most, half []time.Duration
	for _, n := range []int{1, 2, 3, 10, 11, 12, 1000} {
		most = append(most, push.Backoff(n, 1))
		half = append(half, push.Backoff(n, 0.5))
	}
	want := []time.Duration{1 * time.Second, 2 * time.Second, 4 * time.Second, 512 * time.Second, 900 * time.Second, 900 * time.Second, 900 * time.Second}
	if !slices.Equal(most, want) {
		t.Errorf("at most %v, want %v", most, want)
	}
	for i := range want {
		want[i] /= 2
	}
	if !slices.Equal(half, want) {
		t.Errorf("in the middle %v, want %v", half, want)
	}
	if least := push.Backoff(20, 0); least < time.Millisecond {
		t.Errorf("at least %s", least)
	}
}

func TestSecretsAreNotLogged(t *testing.T) {
	r := newRig(t)
	p := r.start("a", func(c *push.Config) { c.MaxFailures = 2 })
	v := r.receiver(status(http.StatusForbidden))
	p.create("t1", v.URL+"/?key=in-the-query", "http://10.0.0.1/?key=in-the-query")
	r.eventually("both are given up", func() bool { return p.push("t1", "c0").Disabled() && p.push("t1", "c1").Disabled() })
	for _, secret := range []string{"secret-token", "c2VjcmV0", "in-the-query"} {
		if strings.Contains(r.log.String(), secret) {
			t.Errorf("the log has %q:\n%s", secret, r.log)
		}
	}
	if !strings.Contains(r.log.String(), "a push configuration is disabled") {
		t.Error("the log does not say that a configuration was disabled")
	}
}

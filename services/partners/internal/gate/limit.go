package gate

import "time"

// minute remembers when the last calls began, so that never more than was agreed on begin
// within any minute.
type minute struct {
	began []int64 // a ring, nanoseconds since 1970; 0: nothing yet
	next  int     // the oldest, and where the next one goes
}

// sized makes the ring as long as what was agreed on, and keeps the latest.
func (m *minute) sized(size int) {
	if len(m.began) == size {
		return
	}
	ring := make([]int64, size)
	for back := 1; back <= min(size, len(m.began)); back++ {
		ring[size-back] = m.began[(m.next-back+len(m.began))%len(m.began)]
	}
	m.began, m.next = ring, 0
}

// free tells whether another call may begin now, of so many that are allowed, else when.
func (m *minute) free(now time.Time, allowed int) (time.Time, bool) {
	began := m.began[(m.next-allowed+len(m.began))%len(m.began)]
	at := time.Unix(0, began).Add(time.Minute)
	return at.In(now.Location()), !now.Before(at)
}

// add notes that a call begins.
func (m *minute) add(now time.Time) {
	m.began[m.next] = now.UnixNano()
	m.next = (m.next + 1) % len(m.began)
}

// The retry budget is taken over a time, in steps. So many retries are free in it: a skill
// that is called once an hour could never be asked again otherwise.
const (
	retryWindow = 5 * time.Minute
	retryStep   = 30 * time.Second
	freeRetries = 3
)

// retries counts calls and retries of the last minutes.
type retries struct {
	steps [retryWindow / retryStep]struct{ calls, retries int }
	at    int64 // the step that is counted in, since 1970
}

// turn clears the steps that are over.
func (r *retries) turn(now time.Time) {
	at := now.UnixNano() / int64(retryStep)
	n := int64(len(r.steps))
	for i := max(r.at+1, at-n+1); i <= at; i++ {
		r.steps[i%n] = struct{ calls, retries int }{}
	}
	r.at = max(r.at, at)
}

// call counts a call, whichever attempt it is.
func (r *retries) call(now time.Time) {
	r.turn(now)
	r.steps[r.at%int64(len(r.steps))].calls++
}

// take counts a retry, unless there would then be more than the ratio allows.
func (r *retries) take(now time.Time, ratio float64) bool {
	r.turn(now)
	calls, made := 0, 0
	for _, s := range r.steps {
		calls, made = calls+s.calls, made+s.retries
	}
	if made >= freeRetries && float64(made+1) > ratio*float64(calls) {
		return false
	}
	r.steps[r.at%int64(len(r.steps))].retries++
	return true
}

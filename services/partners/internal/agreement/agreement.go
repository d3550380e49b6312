// Package agreement reads the operating agreements with partners: which of their skills
// may be called, in which time, how often, and what happens when they do not answer. One
// YAML file says it for one partner; what a file does not name is not allowed.
package agreement

import (
	"fmt"
	"net/netip"
	"time"

	"sabha.dev/chassis/calendar"
	"sabha.dev/chassis/disclosure"
	"sabha.dev/services/partners/internal/cardtrust"
	"sabha.dev/services/partners/internal/credential"
	"sabha.dev/services/partners/internal/partner"
)

// Agreement is what one file says. It does not change and is safe for concurrent use.
type Agreement struct {
	Partner string
	// Version as the file states it, Digest the SHA-256 of the file, hex.
	Version, Digest string
	// Owner answers for the agreement; ReviewDate is the day on which it is looked at again.
	Owner        string
	ReviewDate   calendar.Date
	Organisation string
	// Card is the URL of the partner's card; empty: it is registered by hand.
	Card string
	// Networks are private ranges that calls to this partner may reach beside public ones.
	Networks []netip.Prefix
	Records  Records
	// Signatures that its cards need, Credentials that we show it, and Disclosure, which
	// says what may leave to it; nil where the file says nothing.
	Signatures  *cardtrust.Policy
	Credentials *credential.Config
	Disclosure  *disclosure.Policy
	// Skills in the order of the file.
	Skills []*Terms
}

// Trace says what of our trace ids a partner is told.
type Trace string

// What is shared of a trace.
const (
	TraceFull Trace = "full" // traceparent goes along
	TraceID   Trace = "id"   // the trace id only, in the request's metadata
	TraceNone Trace = "none"
)

// Records says how long is kept what passes between the platform and the partner.
type Records struct {
	// Retention of crossings and calls; Figures that of the counts by day.
	Retention, Figures time.Duration
	Trace              Trace
}

// Terms are those of one skill of a partner.
type Terms struct {
	Address   partner.Address
	Agreement *Agreement
	// Confirm asks a person before each call.
	Confirm bool
	// Direct answers with a direct Message, without a task: for skills that answer at once.
	Direct bool
	// Budget is the longest that one call may take.
	Budget   time.Duration
	Response Response
	// Availability is the least share of calls that are answered well, in percent; 0: none agreed.
	Availability float64
	Throughput   Throughput
	Maintenance  []Window
	Retries      Retries
	Breaker      Breaker
	// Fallback is asked when this one does not answer; zero: none.
	Fallback partner.Address
	// Escalate gives the call to people when nobody has answered.
	Escalate bool
}

// Response times that the partner undertakes for a share of its answers; 0: none agreed.
type Response struct{ P50, P95, P99 time.Duration }

// Throughput that the partner undertakes to serve, and that is not exceeded.
type Throughput struct {
	// PerMinute is how many calls begin within any minute, Concurrent how many run at once.
	PerMinute, Concurrent int
}

// Retries of a call at the same partner.
type Retries struct {
	// Max is how many follow the first attempt.
	Max int
	// Backoff before the first; it doubles with each.
	Backoff time.Duration
	// Ratio of retries to calls that is not exceeded.
	Ratio float64
}

// Breaker says when calls are held back.
type Breaker struct {
	// Calls is how many of the last minute must have ended before shares are looked at.
	Calls int
	// Failures is the share of failed calls, and SlowShare that of calls that took longer
	// than Slow, from which on it opens.
	Failures, SlowShare float64
	Slow                time.Duration
	// Open is how long it holds back all calls; then Probes of them must go well.
	Open   time.Duration
	Probes int
}

// What holds where a file says nothing.
var defaults = Terms{
	Budget:     30 * time.Second,
	Throughput: Throughput{PerMinute: 600, Concurrent: 16},
	Retries:    Retries{Max: 2, Backoff: 500 * time.Millisecond, Ratio: 0.1},
	Breaker:    Breaker{Calls: 20, Failures: 0.5, SlowShare: 0.8, Open: 30 * time.Second, Probes: 1},
}

// Bounds of what a file may say.
const (
	MaxBudget       = 24 * time.Hour
	MaxPerMinute    = 60_000
	MaxConcurrent   = 1000
	MaxRetries      = 5
	MaxWindows      = 20
	MinRetention    = 24 * time.Hour
	MaxRetention    = 3660 * 24 * time.Hour
	DefaultRetained = 90 * 24 * time.Hour
	// MinFigures covers the last month and this one, which reports and windows need.
	MinFigures     = 62 * 24 * time.Hour
	DefaultFigures = 400 * 24 * time.Hour
)

// Terms of a skill, or nil when the agreement does not allow it.
func (a *Agreement) Terms(skill string) *Terms {
	for _, t := range a.Skills {
		if t.Address.Skill == skill {
			return t
		}
	}
	return nil
}

// Overdue is a note when the review of the agreement is past, or empty.
func (a *Agreement) Overdue(now time.Time) string {
	r := a.ReviewDate
	if now.Before(time.Date(r.Year, r.Month, r.Day+1, 0, 0, 0, 0, time.UTC)) {
		return ""
	}
	return fmt.Sprintf("the agreement with %s was due for review by %s on %s", a.Partner, a.Owner, r)
}

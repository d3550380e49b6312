// Package trust scores how far a partner is trusted, from 0 to 1, by what it has done: a
// formula over days, so that neither many calls in a day nor a new name raise it. The
// formula and its figures are in docs/trust.md.
package trust

import (
	"math"
	"time"
)

// The constants of the formula.
const (
	// fullCalls, fullTests and fullProbes of one day are all that a day can tell.
	fullCalls  = 10
	fullTests  = 10
	fullProbes = 24
	// fullCallers: fewer different callers show a part of a day.
	fullCallers = 2
	// harm is how many good answers a bad one undoes.
	harm = 5
	// halfLife of what a day tells of uptime and answers, in days, and of history.
	halfLife        = 30
	halfLifeHistory = 90
	// sure and surer are how many standard errors below the estimate the score stays.
	sure  = 2
	surer = 4
	// Exponents of the parts; their sum is 1.
	ofUptime, ofAnswers, ofHistory = 0.3, 0.4, 0.3
	// Since is how far back days are read.
	Since = 400 * 24 * time.Hour
)

// Day is what one day showed, in UTC.
type Day struct {
	At time.Time
	// Calls of plans: OK, Invalid (an answer that is not good) and Failed (none) are of
	// them, by so many different Callers.
	Calls, OK, Invalid, Failed, Callers int
	// Probes of the registry, and those that were answered.
	Probes, Answered int
	// Tests are answers to golden tasks, Good those that were good.
	Tests, Good int
}

// Kind of a mark.
type Kind string

// The kinds of marks.
const (
	Drift     Kind = "drift"
	Failing   Kind = "failing"
	Suspended Kind = "suspended"
)

// Mark is something that counts against a partner.
type Mark struct {
	Kind    Kind      `json:"kind"`
	Partner string    `json:"partner"`
	At      time.Time `json:"at"`
	// Open says that it stands.
	Open bool `json:"open"`
	// Other says that it is of another partner of the organisation.
	Other bool `json:"other"`
	// Factor by which it multiplies the score.
	Factor float64 `json:"factor"`
}

// Part of a score.
type Part struct {
	Score float64 `json:"score"`
	// Good and Bad are days' worth, weighted by age.
	Good float64 `json:"good"`
	Bad  float64 `json:"bad"`
}

// Score with what it is made of.
type Score struct {
	Score   float64 `json:"score"`
	Uptime  Part    `json:"uptime"`
	Answers Part    `json:"answers"`
	History Part    `json:"history"`
	// Marks and the product of their factors.
	Marks    []Mark  `json:"marks,omitempty"`
	Standing float64 `json:"standing"`
}

// Of scores what is known at a time. Nothing known is 0.
func Of(days []Day, marks []Mark, now time.Time) Score {
	var s Score
	for _, d := range days {
		age := max(0, now.Sub(d.At).Hours()/24)
		short, long := math.Exp2(-age/halfLife), math.Exp2(-age/halfLifeHistory)
		upGood, upBad := d.uptime()
		good, bad := d.answers()
		s.Uptime.Good += short * upGood
		s.Uptime.Bad += short * upBad
		s.Answers.Good += short * good
		s.Answers.Bad += short * bad
		s.History.Good += long * min(upGood, good)
		s.History.Bad += long * max(upBad, bad)
	}
	s.Uptime.Score = lower(s.Uptime.Good, s.Uptime.Bad, sure)
	s.Answers.Score = lower(s.Answers.Good, s.Answers.Bad, sure)
	s.History.Score = lower(s.History.Good, s.History.Bad, surer)
	s.Standing = 1
	for _, m := range marks {
		m.Factor = m.factor(now)
		s.Standing *= m.Factor
		s.Marks = append(s.Marks, m)
	}
	s.Score = s.Standing * math.Pow(s.Uptime.Score, ofUptime) * math.Pow(s.Answers.Score, ofAnswers) * math.Pow(s.History.Score, ofHistory)
	return s
}

// uptime is what a day tells of being there: good by the probes, which are ours; by calls
// only where there are none. Bad is the worse of both, so calls do not hide probes.
func (d Day) uptime() (good, bad float64) {
	good, bad = evidence(d.Answered, d.Probes, fullProbes)
	answered, failed := evidence(d.OK, d.OK+d.Failed, fullCalls)
	if d.Probes == 0 {
		good = answered * d.callers()
	}
	return good, max(bad, failed)
}

// answers is what a day tells of answers: good by tests or by calls, bad by the worse of
// both, so neither hides the other.
func (d Day) answers() (good, bad float64) {
	good, bad = evidence(d.Good, d.Tests, fullTests)
	ok, invalid := evidence(d.OK, d.OK+d.Invalid, fullCalls)
	return max(good, ok*d.callers()), max(bad, invalid)
}

// callers is how much of a day the calls of so few callers can show.
func (d Day) callers() float64 { return min(float64(d.Callers), fullCallers) / fullCallers }

// evidence is the share of a day that so many of a number show, at most all of it.
func evidence(good, of, full int) (yes, no float64) {
	if of <= 0 {
		return 0, 0
	}
	day := min(1, float64(of)/float64(full))
	yes = day * float64(good) / float64(of)
	return yes, day - yes
}

// lower is the lower end of Wilson's interval for the share of good days, each bad one
// counted harm times: 0 when nothing is known, and near 0 while little is.
func lower(good, bad, z float64) float64 {
	n := good + harm*bad
	if n <= 0 {
		return 0
	}
	p := good / n
	return max(0, (p+z*z/(2*n)-z*math.Sqrt(p*(1-p)/n+z*z/(4*n*n)))/(1+z*z/n))
}

// factor of a mark: half the score while it stands, then less by its age.
func (m Mark) factor(now time.Time) float64 {
	age := max(0, now.Sub(m.At).Hours()/24)
	off := 0.5
	switch {
	case m.Open:
	case m.Kind == Suspended:
		off = 0.5 * math.Exp2(-age/halfLifeHistory)
	default:
		off = 0.3 * math.Exp2(-age/halfLifeHistory)
	}
	if m.Other {
		off /= 2
	}
	return 1 - off
}

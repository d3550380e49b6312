package policy

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	reviewv1 "sabha.dev/gen/sabha/review/v1"
	"sabha.dev/services/review/internal/item"
)

// kept is what the policy wants to know later about an item, stored with it.
type kept struct {
	// Version and Digest of the policy that made the terms.
	Version     string       `json:"version"`
	Digest      string       `json:"digest"`
	Escalations []escalation `json:"escalations,omitempty"`
	Expiry      *expiry      `json:"expiry,omitempty"`
	// WarnAt is when people are told that the item will be due.
	WarnAt time.Time `json:"warn_at,omitzero"`
}

type escalation struct {
	At       time.Time `json:"at"`
	Groups   []string  `json:"groups,omitempty"`
	Priority int       `json:"priority,omitempty"`
}

type expiry struct {
	At     time.Time `json:"at"`
	Means  Meaning   `json:"means"`
	Reason string    `json:"reason"`
}

// Route finds the queue of a subject: that of the first rule that takes it, else the
// default.
func (p *Policy) Route(s item.Subject) *Queue {
	for i := range p.rules {
		if p.rules[i].takes(s) {
			return p.rules[i].queue
		}
	}
	return p.fallback
}

// Terms of an item of a subject that is created at a time.
func (p *Policy) Terms(s item.Subject, created time.Time) item.Terms {
	q := p.Route(s)
	after := func(d time.Duration) time.Time { return q.Calendar.Add(created, d) }
	k := kept{Version: p.Version, Digest: p.Digest}
	t := item.Terms{
		Queue: q.Name, Groups: q.Groups, Priority: q.Priority, Approvals: q.Approvals, RequesterMayDecide: q.RequesterMayDecide,
		ClaimFor: q.ClaimFor, DueAt: after(q.Due), Policy: fmt.Sprintf("version %s (%.12s)", p.Version, p.Digest),
	}
	for _, e := range q.Escalations {
		k.Escalations = append(k.Escalations, escalation{At: after(e.After), Groups: e.Groups, Priority: e.Priority})
	}
	if x := q.Expiry; x != nil {
		reason := x.Reason
		if reason == "" {
			reason = fmt.Sprintf("nobody decided in time; queue %s rejects then", q.Name)
		}
		k.Expiry = &expiry{At: after(x.After), Means: x.Means, Reason: reason}
		t.ExpiresAt = k.Expiry.At
	}
	if q.Notify.BeforeDue > 0 {
		k.WarnAt = after(q.Due - q.Notify.BeforeDue)
	}
	t.Next = k.next(0, 0)
	t.Rest, _ = json.Marshal(k) // nothing in it can fail
	return t
}

// next is when the policy has something to do after a number of escalations, which
// are put off by as long as the requester was awaited; zero: never.
func (k *kept) next(escalated int, paused time.Duration) time.Time {
	var at time.Time
	if k.Expiry != nil {
		at = k.Expiry.At
	}
	if escalated < len(k.Escalations) {
		if e := k.Escalations[escalated].At.Add(paused); at.IsZero() || e.Before(at) {
			at = e
		}
	}
	return at
}

// lookAgain is how soon the policy looks again at an item whose requester is awaited:
// the time does not count against the reviewers, and how long it is nobody knows.
const lookAgain = 5 * time.Minute

// Next is what happens to an open item at a time, by the terms that were stored with
// it. Escalations that were missed come one by one, unless the item has expired by now.
func (p *Policy) Next(i *item.Item, now time.Time) item.Step { return Next(i, now) }

// Next is the same without a policy: the terms of an item need none.
func Next(i *item.Item, now time.Time) item.Step {
	var k kept
	if json.Unmarshal(i.Rest, &k) != nil || i.Ended() {
		return item.Step{}
	}
	if x := k.Expiry; x != nil && !now.Before(x.At) {
		end := reviewv1.State_STATE_EXPIRED
		if x.Means == Approve {
			end = reviewv1.State_STATE_APPROVED
		}
		return item.Step{End: end, Reason: x.Reason}
	}
	paused, asked := i.Paused, i.State == reviewv1.State_STATE_ASKED
	if asked {
		paused += max(now.Sub(i.AskedAt), 0)
	}
	at := k.next(i.Escalations, paused)
	if at.IsZero() || now.Before(at) {
		if soonest := now.Add(lookAgain); asked && at.Before(soonest) && !at.IsZero() {
			at = soonest
			if x := k.Expiry; x != nil && x.At.Before(at) {
				at = x.At
			}
		}
		return item.Step{Next: at}
	}
	e := k.Escalations[i.Escalations]
	step := item.Step{Escalate: true, Groups: i.Groups, Priority: i.Priority, Next: k.next(i.Escalations+1, paused)}
	if len(i.Groups) > 0 { // nobody is named: every reviewer may decide
		for _, g := range e.Groups {
			if !slices.Contains(step.Groups, g) {
				step.Groups = append(slices.Clip(step.Groups), g)
			}
		}
	}
	if e.Priority > 0 {
		step.Priority = e.Priority
	}
	step.Note = note(i, step)
	return step
}

// note says what an escalation does, in a sentence.
func note(i *item.Item, s item.Step) string {
	text := "nobody decided in time"
	if more := s.Groups[len(i.Groups):]; len(more) > 0 {
		text += "; " + joined(more) + " may decide too"
	}
	if s.Priority != i.Priority {
		text += fmt.Sprintf("; priority %d", s.Priority)
	}
	return text
}

func joined(list []string) string {
	text := list[0]
	for n, s := range list[1:] {
		if n == len(list)-2 {
			text += " and " + s
			continue
		}
		text += ", " + s
	}
	return text
}

// WarnAt is when people are told that an item will be due; zero: they are not.
func WarnAt(t item.Terms) time.Time {
	var k kept
	_ = json.Unmarshal(t.Rest, &k)
	return k.WarnAt
}

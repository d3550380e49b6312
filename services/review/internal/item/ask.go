package item

import (
	"strings"
	"time"

	"sabha.dev/chassis/fault"
	reviewv1 "sabha.dev/gen/sabha/review/v1"
)

// Ask asks the requester. The person holds the item then.
func (i *Item) Ask(p Person, question string, now time.Time) (*Change, error) {
	if err := i.refused(p, now); err != nil {
		return nil, err
	}
	question = strings.TrimSpace(question)
	switch {
	case question == "":
		return nil, fault.Invalid("question", "is missing; ask something")
	case i.State == reviewv1.State_STATE_ASKED:
		return nil, fault.New(fault.ItemAsked, "the requester of item %s has a question to answer already; wait for that answer, or decide without it", i.ID)
	}
	c := i.change()
	c.take(p.Key, now)
	c.After.State, c.After.AskedAt = reviewv1.State_STATE_ASKED, now
	c.After.Exchanges++
	c.Exchange = &Exchange{Number: c.After.Exchanges, AskedBy: p.Key, Question: question, AskedAt: now}
	c.note(now, p.Key, asked, question)
	return c, nil
}

// Answer takes the next message of the requester: the answer to the open question, or
// a remark. It is part of what is decided on from then on. The time of the question
// does not count for the reviewers: the item is due later by as much, and who asked
// holds it again unless another has claimed it since. When the item expires does not
// change: that is what the client was told.
func (i *Item) Answer(e *Exchange, text string, now time.Time) *Change {
	c := i.change()
	c.After.Messages++
	if e == nil {
		c.After.Exchanges++
		e = &Exchange{Number: c.After.Exchanges}
	}
	done := *e
	done.Answer, done.AnsweredAt = text, now
	c.Exchange = &done
	c.After.Digest = chained(i.Digest, []byte(text))
	if i.State == reviewv1.State_STATE_ASKED {
		waited := max(now.Sub(i.AskedAt), 0)
		c.After.State, c.After.AskedAt = reviewv1.State_STATE_OPEN, time.Time{}
		c.After.Paused += waited
		if !i.DueAt.IsZero() {
			c.After.DueAt = i.DueAt.Add(waited)
		}
		if i.Holder != "" {
			c.After.HeldUntil = now.Add(i.ClaimFor)
		}
	}
	c.note(now, i.Requester, answered, text)
	return c
}

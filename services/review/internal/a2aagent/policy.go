package a2aagent

import (
	"time"

	"sabha.dev/services/review/internal/item"
)

// Policy says who decides on what until when, and what happens then.
type Policy interface {
	// Terms of a new item.
	Terms(s item.Subject, created time.Time) item.Terms
	// Next is what happens to an open item now: the policy is asked at Terms.Next, and
	// again whenever a step names a time.
	Next(i *item.Item, now time.Time) item.Step
}

// Package notice tells of what happens to items: every event on NATS, and by mail
// and chat where the policy asks for it. What is to be told is a row that is written
// with the item, so nothing is told that did not happen, and nothing that happened is
// left out. Telling comes later and in no one's way: any replica takes the rows up,
// tries again when it fails, and removes them when it is done.
package notice

import (
	"time"

	"sabha.dev/services/review/internal/item"
)

// Channel is how something is told.
type Channel string

// Channels.
const (
	Event Channel = "event" // NATS
	Mail  Channel = "mail"
	Chat  Channel = "chat"
)

// What people are told of beside the events of an item's history.
const (
	dueSoon = "due-soon"
	overdue = "overdue"
)

// Of the events of an item's history, these are told by mail and chat.
const (
	created   = "created"
	escalated = "escalated"
)

// Notice is one thing to tell.
type Notice struct {
	// ID says what is told of which item by which channel; nothing is told twice.
	ID      string
	ItemID  string
	Channel Channel
	What    string
	Queue   string
	// Body is what is published; empty where it is made when the time has come.
	Body []byte
	// SendAt is when to tell it, or to try again.
	SendAt   time.Time
	Attempts int
}

// Recipients are those of a queue.
type Recipients struct {
	Mail []string
	// Chat is the file with the URL of the chat's webhook; empty for none.
	Chat string
	// Title of the queue, and the zone in which its people read times.
	Title string
	Zone  *time.Location
}

// Policy says who is told.
type Policy interface {
	// Recipients of a queue; none for one that is not known any more.
	Recipients(queue string) Recipients
	// WarnAt is when people are told that an item will be due; zero: they are not.
	WarnAt(t item.Terms) time.Time
}

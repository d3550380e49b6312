// Package memory is what agents remember for a principal: notes of a context,
// which last as long as the conversation matters and fit a budget of tokens, long-term
// ones, facts of which the newest or best sourced holds, and episodes, the traces of plans.
//
// Everything is scoped to its owner, a principal. No operation tells whether a
// memory of another owner exists.
package memory

import (
	"errors"
	"time"

	"sabha.dev/chassis/label"
)

// Kind of a memory.
type Kind string

// Kinds.
const (
	// Context memories are seen in one context of their owner.
	Context Kind = "context"
	// LongTerm memories are seen in every context of their owner.
	LongTerm Kind = "long_term"
	// FactKind memories are facts, seen in every context of their owner.
	FactKind Kind = "fact"
	// EpisodeKind memories are traces of finished plans, seen in every context of their owner.
	EpisodeKind Kind = "episode"
)

// Kinds there are.
func Kinds() []Kind { return []Kind{Context, LongTerm, FactKind, EpisodeKind} }

// Memory is one thing remembered.
type Memory struct {
	ID      string
	Owner   string
	Context string // empty for LongTerm
	Kind    Kind
	Text    string
	Tags    []string
	// Labels say whether it may be believed and whom it may reach.
	Labels label.Labels
	// CreatedAt in microseconds' precision. ExpiresAt is zero for never.
	CreatedAt, ExpiresAt time.Time
	// Fact and Episode are what memories of these kinds hold.
	Fact    *Fact
	Episode *Episode
	// Told is when and where it was told, the oldest first.
	Told []Telling
	// SupersededBy is the id of the fact that holds instead; empty for what holds.
	SupersededBy string
}

// Added is what became of a memory that was to be stored.
type Added struct {
	// ID of the memory that holds it: its own, or the one that it was merged with.
	ID string
	// Merged says that it was told before.
	Merged bool
	// Superseded is how many facts it took the place of, SupersededBy the fact that holds instead of it.
	Superseded   int
	SupersededBy string
	// Dropped is how many of the oldest memories of the context made room for it.
	Dropped int
}

// Receipt names the message that asks for a change. The same message again gives
// the same answer and changes nothing.
type Receipt struct {
	Owner, MessageID string
	// Digest of the message, to tell a repeated message from another one with its id.
	Digest string
}

// Selector says what to forget, of one owner. Exactly one of ID, Context and All is set.
type Selector struct {
	ID      string
	Context string
	All     bool
}

// Bounds of what is taken.
const (
	// MaxText is the length of one memory in bytes.
	MaxText = 16 << 10
	// MaxTags and MaxTag bound the tags of one memory: their number, and bytes of each.
	MaxTags, MaxTag = 20, 100
	// MaxPerOwner is how many memories one owner may have.
	MaxPerOwner = 10_000
	// MaxLifetime is the longest time to live that can be asked for.
	MaxLifetime = 10 * 365 * 24 * time.Hour
	// MaxLimit is how many memories one recall gives at most.
	MaxLimit = 50
)

// ReceiptLifetime is how long a message that is sent again is recognised.
const ReceiptLifetime = 7 * 24 * time.Hour

// Errors of a change.
var (
	// ErrConflict: the message id was used before, by a message with another content.
	ErrConflict = errors.New("the message id was used before with another content")
	// ErrFull: the owner has MaxPerOwner memories.
	ErrFull = errors.New("the owner has too many memories")
)

// Package discussion holds questions to people: the question, what people replied,
// and who has taken note of it. A question is a task of the skill ask-network. Its
// discussion outlives the task: cancelling ends the task and keeps the discussion,
// and reading changes neither.
package discussion

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"sabha.dev/chassis/fault"
	"sabha.dev/chassis/identity"
)

// Bounds of what a discussion holds.
const (
	MaxQuestion = 16 << 10 // bytes
	MaxReply    = 16 << 10 // bytes
	MaxTitle    = 200      // bytes
	MaxTags     = 20
	MaxTag      = 50 // bytes
	// MaxReplies in one discussion.
	MaxReplies = 500
)

// Discussion is a question with what is known of its replies.
type Discussion struct {
	// ID is that of the task that asked.
	ID string
	// Author is whoever asked, as organisation/subject.
	Author, Organisation string
	Title, Question      string
	Tags                 []string
	AskedAt              time.Time
	LastActivityAt       time.Time
	// State of the task by name; empty when the task is no longer kept.
	State   string
	Replies int
	// Unread counts replies of others that the reader has not acknowledged.
	Unread int
}

// Reply is one reply. Number counts from 1 in a discussion.
type Reply struct {
	Number int
	Author string
	Text   string
	At     time.Time
}

// Question is what somebody asks.
type Question struct {
	Title, Text string
	Tags        []string
}

// Check refuses a question that nobody can answer. path is what the client calls it.
func (q Question) Check(path string) error {
	switch {
	case strings.TrimSpace(q.Text) == "":
		return fault.Invalid(path, "asks nothing; send a text part, or a data part with question")
	case len(q.Text) > MaxQuestion:
		return fault.Invalid(path, "the question has %d bytes; it may have %d at most", len(q.Text), MaxQuestion)
	case len(q.Title) > MaxTitle:
		return fault.Invalid(path, "the title has %d bytes; it may have %d at most", len(q.Title), MaxTitle)
	case len(q.Tags) > MaxTags:
		return fault.Invalid(path, "there are %d tags; there may be %d at most", len(q.Tags), MaxTags)
	case !plain(q.Text + q.Title + strings.Join(q.Tags, "")):
		return fault.Invalid(path, "must be UTF-8 without the character U+0000")
	}
	for i, tag := range q.Tags {
		if tag == "" || len(tag) > MaxTag {
			return fault.Invalid(fmt.Sprintf("%s.tags[%d]", path, i), "must have 1 to %d bytes", MaxTag)
		}
	}
	return nil
}

// checkReply refuses a reply that says nothing.
func checkReply(text string) error {
	switch {
	case strings.TrimSpace(text) == "":
		return fault.Invalid("text", "is empty; write a reply")
	case len(text) > MaxReply:
		return fault.Invalid("text", "has %d bytes; a reply may have %d at most", len(text), MaxReply)
	case !plain(text):
		return fault.Invalid("text", "must be UTF-8 without the character U+0000")
	}
	return nil
}

func plain(s string) bool { return utf8.ValidString(s) && !strings.ContainsRune(s, 0) }

// Headline is the title, or the beginning of the question where there is none.
func (q Question) Headline() string {
	if q.Title != "" {
		return q.Title
	}
	line, _, _ := strings.Cut(strings.TrimSpace(q.Text), "\n")
	const most = 120
	if len(line) <= most {
		return line
	}
	cut := most
	for !utf8.RuneStart(line[cut]) {
		cut--
	}
	return line[:cut] + "…"
}

// Person is whoever reads and replies.
type Person struct {
	// Key is organisation/subject.
	Key, Organisation string
	// all says that the person sees every discussion of the organisation, not only
	// those they asked; mute that they may read and not reply.
	all, mute bool
}

// PersonOf gives the person that a call is made by. Whoever has asked may always read
// and reply; beside them everybody of the same organisation with one of the scopes
// viewer, reviewer, operator and admin, and to read an auditor.
func PersonOf(p identity.Principal) (Person, error) {
	if p.Anonymous() {
		return Person{}, fault.New(fault.Unauthenticated, "discussions are for people who are known; sign in")
	}
	who := Person{Key: p.Key(), Organisation: p.Organisation}
	for _, scope := range []string{"viewer", "reviewer", "operator", "admin"} {
		who.all = who.all || p.Has(scope)
	}
	if !who.all && p.Has("auditor") {
		who.all, who.mute = true, true
	}
	return who, nil
}

// missing is the answer for a discussion that is not there and for one that the
// person may not see: the two cannot be told apart.
func missing(id string) error {
	return fault.New(fault.TaskNotFound, "there is no discussion %q that you may see", clip(id))
}

// clip shortens what a client sent before it is quoted.
func clip(s string) string {
	const most = 60
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}

package kap

import (
	"encoding/json"
	"math"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"sabha.dev/chassis/fault"
)

// Request is a request of KAP as it was sent, checked for its form.
type Request struct {
	ID         string
	Capability string
	Input      string
	// From is what the request says of its sender. Nothing is believed of it.
	From From
	// Thread is the caller's name of the conversation; empty for none.
	Thread string
	// Task whose question the request answers; empty: it asks for something new.
	Task string
	// Metadata are the parameters of the capability; nil for none.
	Metadata map[string]any
	// Wait is how long the answer is waited for.
	Wait time.Duration
}

// From is who a request says that it comes from.
type From struct{ ID, Name, Organization string }

// Decode reads a request. The errors are made for callers.
func Decode(body []byte) (Request, error) {
	object, err := readJSON(body)
	if err != nil {
		return Request{}, err
	}
	f := fields{object: object, err: &err}
	q := Request{ID: f.name("id", maxID)}
	if q.ID == "" {
		f.wrong("id", "is missing; choose one for each request, and send the same again to hear of it again")
	}
	switch version := f.name("protocol", maxName); version {
	case Version:
	case "":
		f.wrong("protocol", "is missing; send %q", Version)
	default:
		f.wrong("protocol", "is not spoken here; send %q", Version)
	}
	if q.Capability = f.name("capability", maxName); q.Capability == "" {
		f.wrong("capability", "is missing; name one of the card at %s", CardPath)
	}
	q.Input = f.text("input")
	from := f.within("from")
	q.From = From{from.name("id", maxName), from.name("name", maxName), from.name("organization", maxName)}
	context := f.within("context")
	q.Thread, q.Task = context.name("threadId", maxThread), context.name("taskId", maxName)
	q.Metadata = context.within("metadata").object
	q.Wait = inTime(f.milliseconds("timeout", defaultWait, longestWait))
	if at := f.text("timestamp"); at != "" {
		if _, err := time.Parse(time.RFC3339Nano, at); err != nil {
			f.wrong("timestamp", "must be a time of RFC 3339, such as 2025-01-15T10:30:00Z")
		}
	}
	if strings.TrimSpace(q.Input) == "" && len(q.Metadata) == 0 {
		f.wrong("input", "is missing; say what you want, or send the parameters of the capability in context.metadata")
	}
	return q, err
}

// IDOf is the id of a body that may not be a request at all, for the answer to it;
// empty if it cannot be told.
func IDOf(body []byte) string {
	var object map[string]any
	_ = json.Unmarshal(body, &object)
	id, _ := object["id"].(string)
	if utf8.RuneCountInString(id) > maxID || control(id) {
		return ""
	}
	return id
}

// fields reads the fields of an object and remembers the first thing that is wrong. A
// field that is null is one that is not there.
type fields struct {
	path   string
	object map[string]any
	err    *error
}

func (f fields) wrong(name, format string, args ...any) {
	if *f.err == nil {
		*f.err = fault.Invalid(below(f.path, name), format, args...)
	}
}

func (f fields) text(name string) string {
	s, ok := f.object[name].(string)
	if v := f.object[name]; !ok && v != nil {
		f.wrong(name, "must be a string")
	}
	return s
}

// name is a text of at most so many characters on one line.
func (f fields) name(name string, most int) string {
	s := f.text(name)
	switch {
	case utf8.RuneCountInString(s) > most:
		f.wrong(name, "has more than %d characters", most)
	case control(s):
		f.wrong(name, "must not hold control characters")
	}
	return s
}

func control(s string) bool { return strings.ContainsFunc(s, unicode.IsControl) }

func (f fields) within(name string) fields {
	object, ok := f.object[name].(map[string]any)
	if v := f.object[name]; !ok && v != nil {
		f.wrong(name, "must be an object")
	}
	return fields{path: below(f.path, name), object: object, err: f.err}
}

// inTime is how long may be waited so that the answer arrives before a timeout that its
// sender measures as well.
func inTime(timeout time.Duration) time.Duration { return timeout - min(timeout/10, time.Second) }

// milliseconds is a duration; more than most is most.
func (f fields) milliseconds(name string, absent, most time.Duration) time.Duration {
	v := f.object[name]
	if v == nil {
		return absent
	}
	n, _ := v.(json.Number)
	ms, err := n.Float64()
	if err != nil || ms < 0 || math.IsInf(ms, 0) {
		f.wrong(name, "must be a number of milliseconds, 0 or more")
		return 0
	}
	return time.Duration(min(ms, float64(most/time.Millisecond)) * float64(time.Millisecond))
}

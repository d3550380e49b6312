package remote

import (
	"bytes"
	"encoding/json"
	"errors"
)

var errEnvelope = errors.New("no object of JSON whose names are there once")

// members calls each with the members of a JSON object, in order. A value is a piece of
// the text, found by its brackets and quotes: whoever reads it finds out whether it is
// JSON. So an answer is read once, and not once more for its envelope.
func members(text []byte, each func(name string, value []byte) error) error {
	s := &pieces{text: text}
	if !s.skip('{') {
		return errEnvelope
	}
	var seen []string
	for first := true; !s.skip('}'); first = false {
		if !first && !s.skip(',') {
			return errEnvelope
		}
		s.space()
		var name string
		quoted := s.quoted()
		if quoted == nil || json.Unmarshal(quoted, &name) != nil || !s.skip(':') {
			return errEnvelope
		}
		for _, before := range seen {
			if before == name {
				return errEnvelope
			}
		}
		if seen = append(seen, name); len(seen) > maxMembers {
			return errEnvelope
		}
		value := s.value()
		if len(value) == 0 {
			return errEnvelope
		}
		if err := each(name, value); err != nil {
			return err
		}
	}
	if s.space(); s.at != len(text) {
		return errEnvelope
	}
	return nil
}

// maxMembers bounds the names of one envelope. JSON-RPC has four.
const maxMembers = 32

// pieces is a text that is read from a place on.
type pieces struct {
	text []byte
	at   int
}

func (s *pieces) space() {
	for s.at < len(s.text) {
		switch s.text[s.at] {
		case ' ', '\t', '\r', '\n':
			s.at++
		default:
			return
		}
	}
}

// skip skips a character, with spaces before it, if it is there.
func (s *pieces) skip(c byte) bool {
	if s.space(); s.at < len(s.text) && s.text[s.at] == c {
		s.at++
		return true
	}
	return false
}

// quoted gives the string that begins here, or nil.
func (s *pieces) quoted() []byte {
	if s.at >= len(s.text) || s.text[s.at] != '"' {
		return nil
	}
	for from := s.at + 1; ; {
		n := bytes.IndexByte(s.text[from:], '"')
		if n < 0 {
			return nil
		}
		end := from + n
		escapes := 0
		for end-1-escapes > s.at && s.text[end-1-escapes] == '\\' {
			escapes++
		}
		if from = end + 1; escapes%2 == 0 {
			whole := s.text[s.at:from]
			s.at = from
			return whole
		}
	}
}

// value gives the value that begins here after spaces, or nothing.
func (s *pieces) value() []byte {
	s.space()
	from, depth := s.at, 0
	for s.at < len(s.text) {
		switch s.text[s.at] {
		case '"':
			if s.quoted() == nil {
				return nil
			}
			if depth == 0 {
				return s.text[from:s.at]
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth == 0 {
				return s.text[from:s.at]
			}
			if depth--; depth == 0 {
				s.at++
				return s.text[from:s.at]
			}
		case ',', ' ', '\t', '\r', '\n':
			if depth == 0 {
				return s.text[from:s.at]
			}
		}
		s.at++
	}
	return nil
}

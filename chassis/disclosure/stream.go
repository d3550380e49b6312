package disclosure

import (
	"errors"

	"sabha.dev/chassis/label"
	"sabha.dev/chassis/sensitive"
)

// Stream decides about a text that comes in pieces. What it holds back is bounded,
// whatever the length of the text. It is for one goroutine.
type Stream struct {
	c       crossing
	scanner *sensitive.Scanner
	held    []byte
	at      int64 // of held in the text
	refused error
}

// Stream begins a text with the labels for a recipient. A label that alone forbids it
// refuses the first piece.
func (p *Policy) Stream(to Recipient, labels label.Labels) *Stream {
	s := &Stream{c: crossing{policy: p.orStrict(), to: to, labels: labels}, scanner: sensitive.NewScanner()}
	above := label.Join(labels, label.Labels{Confidentiality: s.c.policy.greatest}).Confidentiality != s.c.policy.greatest
	if above && len(labels.Classes) == 0 {
		s.label(Labelled)
	}
	for _, class := range labels.Classes {
		if above && formless(sensitive.Class(class)) {
			s.label(sensitive.Class(class))
		}
	}
	return s
}

// label decides about a class that only the label names. A stream cannot be replaced as a
// whole, so anything but leave to pass refuses it.
func (s *Stream) label(class sensitive.Class) {
	if s.c.decide("", sensitive.Finding{Class: class}, "") != Allow {
		f := &s.c.findings[len(s.c.findings)-1]
		f.Action, f.Why = Refuse, "its label calls it "+string(class)+", and what comes in pieces cannot be changed as a whole"
		s.refused = errors.New(s.c.refusal())
	}
}

// Write takes a piece and gives what may leave now. After an error, whose text is for
// whoever asked for the disclosure, nothing more may leave.
func (s *Stream) Write(piece string) (string, error) {
	if s.refused != nil {
		return "", s.refused
	}
	s.held = append(s.held, piece...)
	found := s.scanner.Write([]byte(piece))
	return s.leave(found, s.scanner.Settled())
}

// Close says that the text has ended, and gives the rest of what may leave.
func (s *Stream) Close() (string, error) {
	if s.refused != nil {
		return "", s.refused
	}
	return s.leave(s.scanner.Close(), s.at+int64(len(s.held)))
}

// leave gives what is held up to a place, with what was found in its form.
func (s *Stream) leave(found []sensitive.Finding, settled int64) (string, error) {
	var out []byte
	for _, f := range found {
		out = append(out, s.take(f.Start)...)
		value := string(s.take(f.End))
		out = append(out, s.c.form("", f, value)...)
		if s.c.findings[len(s.c.findings)-1].Action == Refuse {
			s.refused = errors.New(s.c.refusal())
			return string(out), s.refused
		}
	}
	out = append(out, s.take(settled)...)
	if len(s.held) == 0 {
		s.held = nil
	}
	return string(out), nil
}

// take takes what is held up to a place.
func (s *Stream) take(to int64) []byte {
	n := max(0, min(to-s.at, int64(len(s.held))))
	taken := s.held[:n:n]
	s.held = s.held[n:]
	s.at += n
	return taken
}

// Findings so far.
func (s *Stream) Findings() []Finding { return s.c.findings }

// Tokens resolve what has been replaced so far.
func (s *Stream) Tokens() Tokens { return s.c.issuer.tokens }

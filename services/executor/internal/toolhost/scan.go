package toolhost

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"strings"
)

// message is what is looked at of a JSON-RPC message before the SDK reads it.
type message struct {
	id     []byte // raw JSON, nil for none
	method bool   // it has a method: a request or a notification
	// problem is why its content cannot be taken, in our words; empty for none.
	problem string
}

const (
	maxDepth = 200
	// maxKeys bounds the members of one object.
	maxKeys = 50_000
)

var errNotJSON = errors.New("it is no JSON object")

// scanner goes through one JSON value. It is lenient: the SDK's decoder says what is no
// JSON. It finds what that decoder does not: keys that stand twice, and whole numbers
// that it would round.
type scanner struct {
	text []byte
	at   int
	m    *message
}

// inspect looks at one message.
func inspect(text []byte) (message, error) {
	m := message{}
	s := &scanner{text: text, m: &m}
	if err := s.value(nil, 0, false); err != nil {
		return m, err
	}
	if s.space(); s.at != len(s.text) {
		return m, errNotJSON
	}
	return m, nil
}

func (s *scanner) problem(format string, args ...any) {
	if s.m.problem == "" {
		s.m.problem = fmt.Sprintf(format, args...)
	}
}

func (s *scanner) space() {
	for s.at < len(s.text) && (s.text[s.at] == ' ' || s.text[s.at] == '\n' || s.text[s.at] == '\r' || s.text[s.at] == '\t') {
		s.at++
	}
}

// value goes through a value. key is the name that it has in the outermost object or in
// its result, at depth 1 or 2; exact says that its whole numbers must keep their value.
func (s *scanner) value(key []byte, depth int, exact bool) error {
	if depth > maxDepth {
		return fmt.Errorf("it is nested more than %d deep", maxDepth)
	}
	s.space()
	if s.at >= len(s.text) {
		return errNotJSON
	}
	switch c := s.text[s.at]; c {
	case '{':
		return s.object(key, depth, exact)
	case '[':
		return s.array(depth, exact)
	case '"':
		_, err := s.str()
		return err
	default:
		begin := s.at
		for s.at < len(s.text) && !bytes.ContainsRune([]byte(",]} \n\r\t"), rune(s.text[s.at])) {
			s.at++
		}
		if s.at == begin {
			return errNotJSON
		}
		if exact && (c == '-' || c >= '0' && c <= '9') && !exactly(s.text[begin:s.at]) {
			s.problem("it holds the whole number %s, which a data part cannot carry exactly; the tool should give it as text", clip(string(s.text[begin:s.at]), 40))
		}
		return nil
	}
}

// exactly tells whether a 64-bit float holds a number's value. What is written with a
// fraction or an exponent is no whole number, and may be rounded.
func exactly(digits []byte) bool {
	if len(digits) < 16 || bytes.ContainsAny(digits, ".eE") {
		return true
	}
	whole, ok := new(big.Int).SetString(string(digits), 10)
	if !ok {
		return true
	}
	_, accuracy := new(big.Float).SetInt(whole).Float64()
	return accuracy == big.Exact
}

// str goes through a string and gives its raw text, with the quotes.
func (s *scanner) str() ([]byte, error) {
	begin := s.at
	for s.at++; s.at < len(s.text); s.at++ {
		switch s.text[s.at] {
		case '\\':
			s.at++
		case '"':
			s.at++
			return s.text[begin:s.at], nil
		}
	}
	return nil, errNotJSON
}

func (s *scanner) array(depth int, exact bool) error {
	for s.at++; ; {
		if s.space(); s.at < len(s.text) && s.text[s.at] == ']' {
			s.at++
			return nil
		}
		if err := s.value(nil, depth+1, exact); err != nil {
			return err
		}
		if done, err := s.next(']'); done || err != nil {
			return err
		}
	}
}

// next goes over a comma, or the end of what it is in.
func (s *scanner) next(end byte) (done bool, _ error) {
	if s.space(); s.at >= len(s.text) {
		return false, errNotJSON
	}
	c := s.text[s.at]
	s.at++
	if c != ',' && c != end {
		return false, errNotJSON
	}
	return c == end, nil
}

func (s *scanner) object(in []byte, depth int, exact bool) error {
	var (
		few  [16][]byte
		keys = few[:0]
		many map[string]bool
	)
	for s.at++; ; {
		if s.space(); s.at >= len(s.text) {
			return errNotJSON
		}
		if s.text[s.at] == '}' {
			s.at++
			return nil
		}
		if s.text[s.at] != '"' {
			return errNotJSON
		}
		raw, err := s.str()
		if err != nil {
			return err
		}
		key := name(raw)
		if many == nil && len(keys) == cap(few[:]) {
			many = map[string]bool{}
			for _, k := range keys {
				many[string(k)] = true
			}
		}
		twice := many[string(key)]
		for _, k := range keys {
			twice = twice || bytes.Equal(k, key)
		}
		if twice {
			s.problem("it holds the key %q twice in one object", clip(string(key), 60))
		}
		if many != nil {
			many[string(key)] = true
		} else {
			keys = append(keys, key)
		}
		if len(many) > maxKeys {
			return fmt.Errorf("it holds an object of more than %d keys", maxKeys)
		}
		if s.space(); s.at >= len(s.text) || s.text[s.at] != ':' {
			return errNotJSON
		}
		s.at++
		s.space()
		begin := s.at
		below := exact || depth == 1 && string(in) == "result" && string(key) == "structuredContent"
		if err := s.value(key, depth+1, below); err != nil {
			return err
		}
		if depth == 0 {
			switch string(key) {
			case "id":
				s.m.id = s.text[begin:s.at]
			case "method":
				s.m.method = true
			}
		}
		if done, err := s.next('}'); done || err != nil {
			return err
		}
	}
}

// name is a key as a decoder sees it.
func name(raw []byte) []byte {
	if !bytes.ContainsRune(raw, '\\') {
		return raw[1 : len(raw)-1]
	}
	var text string
	if json.Unmarshal(raw, &text) != nil {
		return raw
	}
	return []byte(text)
}

func clip(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}

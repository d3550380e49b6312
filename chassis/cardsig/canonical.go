// Package cardsig signs agent cards and verifies their signatures, as the A2A
// specification 1.0 says in section 8.4: a JWS whose payload, which is not sent, is the
// canonical form (RFC 8785) of the card's JSON without its signatures.
//
// What is verified is the JSON as it was received, not what a library makes of it:
// members that nobody here knows are signed with the rest.
package cardsig

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// Bounds of a card.
const (
	MaxSize  = 1 << 20 // bytes
	maxDepth = 64
)

// Canonical gives the bytes that are signed. Members with the default value of their
// field are left out unless the specification requires the field or tells set from
// unset (8.4.1); members that it does not know stay. The card has to be one JSON object
// that every reader reads alike: UTF-8, no member twice, no half of a surrogate pair, no
// number beyond a double.
func Canonical(card []byte) ([]byte, error) {
	tree, err := parse(card)
	if err != nil {
		return nil, err
	}
	return canonicalOf(tree), nil
}

// canonicalOf uses the tree up.
func canonicalOf(tree map[string]any) []byte {
	delete(tree, signaturesMember)
	present(tree)
	return appendValue(nil, tree)
}

// parse reads a card so strictly that no two readers can see different things in it.
func parse(card []byte) (map[string]any, error) {
	switch {
	case len(card) > MaxSize:
		return nil, fmt.Errorf("it is larger than %d bytes", MaxSize)
	case !utf8.Valid(card):
		return nil, errors.New("it is not UTF-8")
	}
	if at := halfSurrogate(card); at >= 0 {
		return nil, fmt.Errorf("byte %d: half of a surrogate pair, which readers read differently", at)
	}
	dec := json.NewDecoder(bytes.NewReader(card))
	dec.UseNumber()
	value, err := parseValue(dec, 0)
	if err == nil {
		if _, more := dec.Token(); !errors.Is(more, io.EOF) {
			err = errors.New("something follows the JSON object")
		}
	}
	if err != nil {
		return nil, fmt.Errorf("it is not JSON that all readers read alike: %w", err)
	}
	tree, ok := value.(map[string]any)
	if !ok {
		return nil, errors.New("it is not a JSON object")
	}
	return tree, nil
}

func parseValue(dec *json.Decoder, depth int) (any, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("nested deeper than %d levels", maxDepth)
	}
	token, err := dec.Token()
	if err != nil {
		return nil, err
	}
	switch t := token.(type) {
	case json.Delim:
		if t == '[' {
			return parseArray(dec, depth)
		}
		return parseObject(dec, depth)
	case json.Number:
		f, err := strconv.ParseFloat(string(t), 64)
		if err != nil || math.IsInf(f, 0) {
			return nil, fmt.Errorf("the number %.40s is beyond a double", t)
		}
		return f, nil
	}
	return token, nil
}

func parseArray(dec *json.Decoder, depth int) (any, error) {
	list := []any{}
	for dec.More() {
		v, err := parseValue(dec, depth+1)
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	_, err := dec.Token()
	return list, err
}

func parseObject(dec *json.Decoder, depth int) (any, error) {
	tree := map[string]any{}
	for dec.More() {
		token, err := dec.Token()
		if err != nil {
			return nil, err
		}
		name, ok := token.(string)
		if !ok {
			return nil, fmt.Errorf("%v is no name of a member", token)
		}
		if _, twice := tree[name]; twice {
			return nil, fmt.Errorf("the member %q stands twice in an object", name)
		}
		if tree[name], err = parseValue(dec, depth+1); err != nil {
			return nil, err
		}
	}
	_, err := dec.Token()
	return tree, err
}

// halfSurrogate finds an escaped half of a surrogate pair, which the decoder would
// replace without a word; -1 for none. What is no JSON is left to the decoder.
func halfSurrogate(b []byte) int {
	unit := func(i int) rune {
		if i+6 > len(b) || b[i] != '\\' || b[i+1] != 'u' {
			return -1
		}
		n, err := strconv.ParseUint(string(b[i+2:i+6]), 16, 16)
		if err != nil {
			return -1
		}
		return rune(n)
	}
	for i := 0; i < len(b); i++ {
		if b[i] != '\\' {
			continue
		}
		switch r := unit(i); {
		case !utf16.IsSurrogate(r):
			i++ // also over an escaped backslash
		case utf16.DecodeRune(r, unit(i+6)) == utf8.RuneError:
			return i
		default:
			i += 11
		}
	}
	return -1
}

// appendValue writes a value as RFC 8785 says.
func appendValue(b []byte, v any) []byte {
	switch v := v.(type) {
	case map[string]any:
		b = append(b, '{')
		// By UTF-16 code units, in which characters beyond the first plane come before
		// some of its own (3.2.3).
		names := slices.SortedFunc(maps.Keys(v), func(x, y string) int {
			return slices.Compare(utf16.Encode([]rune(x)), utf16.Encode([]rune(y)))
		})
		for i, name := range names {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(appendString(b, name), ':')
			b = appendValue(b, v[name])
		}
		return append(b, '}')
	case []any:
		b = append(b, '[')
		for i, e := range v {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendValue(b, e)
		}
		return append(b, ']')
	case string:
		return appendString(b, v)
	case float64:
		return appendNumber(b, v)
	case bool:
		return strconv.AppendBool(b, v)
	}
	return append(b, "null"...)
}

// appendNumber writes the shortest form that ECMAScript gives (3.2.2.3), which is what
// encoding/json writes, but for a zero with a sign.
func appendNumber(b []byte, f float64) []byte {
	if f == 0 {
		return append(b, '0')
	}
	raw, _ := json.Marshal(f) // parse has let only finite numbers in
	return append(b, raw...)
}

// appendString escapes only what has to be (3.2.2.2).
func appendString(b []byte, s string) []byte {
	b = append(b, '"')
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			b = append(b, '\\', c)
		case c >= ' ':
			b = append(b, c)
		case c == '\b':
			b = append(b, `\b`...)
		case c == '\t':
			b = append(b, `\t`...)
		case c == '\n':
			b = append(b, `\n`...)
		case c == '\f':
			b = append(b, `\f`...)
		case c == '\r':
			b = append(b, `\r`...)
		default:
			b = fmt.Appendf(b, `\u%04x`, c)
		}
	}
	return append(b, '"')
}

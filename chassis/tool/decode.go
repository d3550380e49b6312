package tool

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Bounds of a JSON value. Deeper nesting and longer numbers are in no honest
// message, and cost more to check than to send.
const (
	maxDepth    = 128
	maxDigits   = 512
	maxExponent = 512
)

// Decode reads one JSON value: objects as map[string]any, arrays as []any, numbers
// as json.Number with every digit. What other readers would read differently is
// refused: a key that is given twice, text that is not UTF-8, anything after the
// value. So are more than 128 levels and numbers that take pages to write out.
// The error is a sentence that may be shown.
func Decode(raw []byte) (any, error) {
	if !utf8.Valid(raw) {
		return nil, errors.New("it is not UTF-8")
	}
	d := decoder{json.NewDecoder(bytes.NewReader(raw))}
	d.UseNumber()
	value, err := d.value(0)
	if err != nil {
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("there is something after the JSON value")
	}
	return value, nil
}

type decoder struct{ *json.Decoder }

var errNotJSON = errors.New("it is not JSON")

func (d decoder) value(depth int) (any, error) {
	t, err := d.Token()
	if err != nil {
		return nil, errNotJSON
	}
	switch t := t.(type) {
	case json.Delim:
		if depth == maxDepth {
			return nil, fmt.Errorf("it is nested deeper than %d levels", maxDepth)
		}
		if t == '{' {
			return d.object(depth + 1)
		}
		return d.array(depth + 1)
	case json.Number:
		return t, bounded(t.String())
	default:
		return t, nil
	}
}

func (d decoder) object(depth int) (any, error) {
	fields := map[string]any{}
	for d.More() {
		t, err := d.Token()
		key, ok := t.(string)
		if err != nil || !ok {
			return nil, errNotJSON
		}
		if _, twice := fields[key]; twice {
			return nil, fmt.Errorf("the key %q is given twice", key)
		}
		if fields[key], err = d.value(depth); err != nil {
			return nil, err
		}
	}
	return fields, d.end()
}

func (d decoder) array(depth int) (any, error) {
	items := []any{}
	for d.More() {
		item, err := d.value(depth)
		if err != nil {
			return nil, err
		}
		items = append(items, item)
	}
	return items, d.end()
}

func (d decoder) end() error {
	if _, err := d.Token(); err != nil {
		return errNotJSON
	}
	return nil
}

// bounded refuses numbers that would be large to hold exactly.
func bounded(number string) error {
	digits, exponent, _ := strings.Cut(strings.ToLower(number), "e")
	if len(digits) <= maxDigits && exponent == "" {
		return nil
	}
	if n, err := strconv.Atoi(exponent); len(digits) > maxDigits || err != nil || n > maxExponent || n < -maxExponent {
		return fmt.Errorf("a number has more than %d digits", maxDigits)
	}
	return nil
}

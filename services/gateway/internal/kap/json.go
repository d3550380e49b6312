package kap

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"sabha.dev/chassis/fault"
)

// readJSON reads one object of JSON. Numbers are json.Number. What two readers could
// take for different things is refused: names that stand twice, and text that is not
// UTF-8.
func readJSON(body []byte) (map[string]any, error) {
	if !utf8.Valid(body) {
		return nil, fault.Invalid("body", "is not UTF-8 text")
	}
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	v, err := value(d, "", 0)
	if fault.As(err) != nil {
		return nil, err
	}
	var syntax *json.SyntaxError
	switch {
	case errors.Is(err, io.EOF) && len(bytes.TrimSpace(body)) == 0:
		return nil, fault.Invalid("body", "is empty; send a request of %s as JSON", Version)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return nil, fault.Invalid("body", "ends in the middle of the JSON text")
	case errors.As(err, &syntax):
		return nil, fault.Invalid("body", "is not JSON: at byte %d: %s", syntax.Offset, syntax)
	case err != nil:
		return nil, fault.Invalid("body", "is not JSON: %s", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, fault.Invalid("body", "has something after the JSON object")
	}
	object, ok := v.(map[string]any)
	if !ok {
		return nil, fault.Invalid("body", "must be a JSON object")
	}
	return object, nil
}

// value reads a value at a path.
func value(d *json.Decoder, path string, depth int) (any, error) {
	if depth > maxDepth {
		return nil, fault.Invalid(within(path), "is nested deeper than %d levels", maxDepth)
	}
	t, err := d.Token()
	if err != nil {
		return nil, err
	}
	switch t {
	case json.Delim('{'):
		object := map[string]any{}
		for d.More() {
			name, err := d.Token()
			if err != nil {
				return nil, err
			}
			key, _ := name.(string)
			at := below(path, key)
			if _, twice := object[key]; twice {
				return nil, fault.Invalid(at, "stands twice in its object; send it once")
			}
			if object[key], err = value(d, at, depth+1); err != nil {
				return nil, err
			}
		}
		_, err := d.Token()
		return object, err
	case json.Delim('['):
		list := []any{}
		for d.More() {
			v, err := value(d, fmt.Sprintf("%s[%d]", path, len(list)), depth+1)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		_, err := d.Token()
		return list, err
	}
	return t, nil
}

// maxPath bounds a path in an error, bytes: names are the client's.
const maxPath = 200

func below(path, name string) string {
	if path != "" {
		name = path + "." + name
	}
	if len(name) <= maxPath {
		return name
	}
	cut := maxPath
	for !utf8.RuneStart(name[cut]) {
		cut--
	}
	return name[:cut] + "…"
}

func within(path string) string {
	if path == "" {
		return "body"
	}
	return path
}

package toolhost

import (
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
)

func TestInspectFindsWhatDecodersDoNotTell(t *testing.T) {
	for text, want := range map[string]struct {
		id, problem string
		method      bool
	}{
		`{"jsonrpc": "2.0", "id": 7, "result": {"structuredContent": {"n": 9007199254740992}}}`: {id: "7"},
		`{"id": 7, "result": {"structuredContent": {"list": [1, {"n": -9007199254740993}]}}}`:   {id: "7", problem: "it holds the whole number -9007199254740993, which a data part cannot carry exactly; the tool should give it as text"},
		`{"id": 7, "result": {"tools": [{"maximum": 9223372036854775807}]}}`:                    {id: "7"},
		`{"id": 7, "result": {"structuredContent": {"rate": 0.123456789012345678901}}}`:         {id: "7"},
		`{"id": 7, "result": {"a": 1, "b": {"a": 1}, "c": [{"a": 1}, {"a": 1}]}}`:               {id: "7"},
		`{"id": 7, "result": {"deep": [{"x": {"key": 1, "other": 2, "k\u0065y": 3}}]}}`:         {id: "7", problem: `it holds the key "key" twice in one object`},
		`{"id": "a", "method": "ping"}`: {id: `"a"`, method: true},
		`{"method": "notifications/progress", "params": {"a": "}{\"", "b": [[], {}, null, true, -1.5e3]}}`:                          {method: true},
		`{"` + strings.Repeat(`x": 1, "`, 1) + strings.Join(strings.Split("abcdefghijklmnopqrst", ""), `": 1, "`) + `": 1, "c": 2}`: {problem: `it holds the key "c" twice in one object`},
	} {
		m, err := inspect([]byte(text))
		if err != nil || string(m.id) != want.id || m.method != want.method || m.problem != want.problem {
			t.Errorf("%s\nid %s, method %t, problem %q, error %v", text, m.id, m.method, m.problem, err)
		}
	}
	for _, text := range []string{"", "{", `{"a"}`, `{"a": 1`, `[1, 2`, `{"a": "b}`, `{"a": 1} x`, `{"a": 1,, "b": 2}`, strings.Repeat("[", 202) + strings.Repeat("]", 202)} {
		if _, err := inspect([]byte(text)); err == nil {
			t.Errorf("%q passes", text)
		}
	}
}

// twice finds a key that stands twice with the library's decoder.
func twice(d *json.Decoder) (bool, error) {
	token, err := d.Token()
	if err != nil {
		return false, err
	}
	delim, ok := token.(json.Delim)
	if !ok {
		return false, nil
	}
	found, keys := false, map[string]bool{}
	for d.More() {
		if delim == '{' {
			k, err := d.Token()
			if err != nil {
				return false, err
			}
			key, _ := k.(string)
			found = found || keys[key]
			keys[key] = true
		}
		below, err := twice(d)
		if err != nil {
			return false, err
		}
		found = found || below
	}
	_, err = d.Token()
	return found, err
}

// Whatever comes, inspect ends, and says of JSON what the library's decoder sees.
func FuzzInspect(f *testing.F) {
	for _, s := range []string{
		`{"id": 1, "result": {"structuredContent": {"a": 9007199254740993, "a": 1}}}`, `[1, "\"", {"\\": []}]`, `{"a": {"b": 1, "b": 2}}`, "nul", "{\"a\":\"\\u0061\",\"\\u0061\":1}", "",
		`{"é": 1, "\u00e9": 2}`, "{\"\x80\": 1}", `"\`,
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		m, err := inspect([]byte(text))
		if !json.Valid([]byte(text)) {
			return
		}
		if err != nil {
			if !strings.Contains(err.Error(), "nested") && !strings.Contains(err.Error(), "keys") {
				t.Fatalf("%q is JSON: %v", text, err)
			}
			return
		}
		d := json.NewDecoder(strings.NewReader(text))
		d.UseNumber()
		found, err := twice(d)
		if err != nil && !errors.Is(err, io.EOF) {
			t.Fatal(err)
		}
		if found && m.problem == "" {
			t.Fatalf("%q holds a key twice", text)
		}
		if !found && strings.Contains(m.problem, "twice") {
			t.Fatalf("%q: %s", text, m.problem)
		}
	})
}

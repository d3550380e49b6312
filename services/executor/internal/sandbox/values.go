package sandbox

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"go.starlark.net/starlark"
)

// inputs turns the inputs of a run into a dict.
func (m *meter) inputs(raw json.RawMessage) (starlark.Value, error) {
	if len(bytes.TrimSpace(raw)) == 0 {
		return starlark.NewDict(0), nil
	}
	v, err := m.unmarshal(raw)
	if err != nil {
		var f *Failure
		if errors.As(err, &f) {
			return nil, &Failure{Kind: f.Kind, Message: "the inputs: " + f.Message}
		}
		return nil, &Failure{Kind: Input, Message: "the inputs are not JSON: " + clip(err.Error())}
	}
	if _, ok := v.(*starlark.Dict); !ok {
		return nil, &Failure{Kind: Input, Message: fmt.Sprintf("the inputs are a %s; they must be a JSON object", v.Type())}
	}
	return v, nil
}

// unmarshal reads one JSON value. Numbers without fraction and exponent become
// integers, exactly; all others floats.
func (m *meter) unmarshal(raw []byte) (starlark.Value, error) {
	if err := m.work(int64(len(raw)) / 16); err != nil {
		return nil, err
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	v, err := m.readValue(dec, MaxDepth)
	if err != nil {
		return nil, err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("there is more after the JSON value")
	}
	return v, nil
}

func (m *meter) readValue(dec *json.Decoder, depth int) (starlark.Value, error) {
	if depth == 0 {
		return nil, &Failure{Kind: Depth, Message: fmt.Sprintf("the JSON is nested more than %d deep", MaxDepth)}
	}
	token, err := dec.Token()
	if err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return nil, err
	}
	var v starlark.Value
	switch t := token.(type) {
	case nil:
		return starlark.None, nil
	case bool:
		return starlark.Bool(t), nil
	case string:
		v = starlark.String(t)
	case json.Number:
		if v, err = number(string(t)); err != nil {
			return nil, err
		}
	case json.Delim:
		if t == '[' {
			return m.readArray(dec, depth-1)
		}
		return m.readObject(dec, depth-1)
	}
	return v, m.charge(sizeOf(v))
}

func (m *meter) readArray(dec *json.Decoder, depth int) (starlark.Value, error) {
	if err := m.charge(listBytes); err != nil {
		return nil, err
	}
	var elements []starlark.Value
	for dec.More() {
		if err := m.charge(slotBytes); err != nil {
			return nil, err
		}
		v, err := m.readValue(dec, depth)
		if err != nil {
			return nil, err
		}
		elements = append(elements, v)
	}
	_, err := dec.Token() // the closing bracket
	return starlark.NewList(elements), err
}

func (m *meter) readObject(dec *json.Decoder, depth int) (starlark.Value, error) {
	if err := m.charge(tableBytes); err != nil {
		return nil, err
	}
	d := starlark.NewDict(0)
	for dec.More() {
		if err := m.charge(entryBytes); err != nil {
			return nil, err
		}
		k, err := m.readValue(dec, depth)
		if err != nil {
			return nil, err
		}
		v, err := m.readValue(dec, depth)
		if err != nil {
			return nil, err
		}
		if err := d.SetKey(k, v); err != nil {
			return nil, err
		}
	}
	_, err := dec.Token()
	return d, err
}

func number(text string) (starlark.Value, error) {
	if !strings.ContainsAny(text, ".eE") {
		if len(text) > MaxIntBits/3 {
			return nil, tooManyBits()
		}
		i, ok := new(big.Int).SetString(text, 10)
		if !ok {
			return nil, fmt.Errorf("%s is not a number", clip(text))
		}
		v := starlark.MakeBigInt(i)
		return v, checkInt(v)
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return nil, fmt.Errorf("the number %s does not fit a float", clip(text))
	}
	return starlark.Float(f), nil
}

// marshal writes a value as JSON, objects by key. A text longer than room is the
// failure over.
func marshal(v starlark.Value, room int64, over error) ([]byte, error) {
	w := &writer{room: room, over: over}
	if err := w.value(v, MaxDepth); err != nil {
		return nil, err
	}
	return w.buf.Bytes(), nil
}

type writer struct {
	buf  bytes.Buffer
	room int64
	over error
}

func (w *writer) write(text string) error {
	if int64(w.buf.Len()+len(text)) > w.room {
		return w.over
	}
	w.buf.WriteString(text)
	return nil
}

func (w *writer) text(s string) error {
	if int64(len(s)) > w.room {
		return w.over
	}
	raw, err := json.Marshal(s)
	if err != nil {
		return err
	}
	return w.write(string(raw))
}

func (w *writer) value(v starlark.Value, depth int) error {
	if depth == 0 {
		return &Failure{Kind: Depth, Message: fmt.Sprintf("a value is nested more than %d deep, or within itself", MaxDepth)}
	}
	switch v := v.(type) {
	case starlark.NoneType:
		return w.write("null")
	case starlark.Bool:
		return w.write(strconv.FormatBool(bool(v)))
	case starlark.Int:
		return w.write(v.String())
	case starlark.Float:
		if f := float64(v); math.IsNaN(f) || math.IsInf(f, 0) {
			return fmt.Errorf("JSON has no number for %v; turn it into text first", v)
		}
		raw, err := json.Marshal(float64(v))
		if err != nil {
			return err
		}
		return w.write(string(raw))
	case starlark.String:
		return w.text(string(v))
	case *starlark.Dict:
		return w.object(v, depth-1)
	case *starlark.List, starlark.Tuple, *starlark.Set:
		return w.array(v.(starlark.Iterable), depth-1)
	default:
		if v.Type() == "range" {
			return w.array(v.(starlark.Iterable), depth-1)
		}
		return fmt.Errorf("JSON has nothing for a %s", v.Type())
	}
}

func (w *writer) array(v starlark.Iterable, depth int) error {
	iter := v.Iterate()
	defer iter.Done()
	var e starlark.Value
	separator := "["
	for iter.Next(&e) {
		if err := w.write(separator); err != nil {
			return err
		}
		if err := w.value(e, depth); err != nil {
			return err
		}
		separator = ","
	}
	if separator == "[" {
		return w.write("[]")
	}
	return w.write("]")
}

func (w *writer) object(d *starlark.Dict, depth int) error {
	if int64(d.Len())*5 > w.room { // "":0,
		return w.over
	}
	keys := make([]string, 0, d.Len())
	for k := range d.Entries() {
		s, ok := starlark.AsString(k)
		if !ok {
			return fmt.Errorf("a key of a JSON object must be a string, not a %s", k.Type())
		}
		keys = append(keys, s)
	}
	slices.Sort(keys)
	separator := "{"
	for _, k := range keys {
		if err := w.write(separator); err != nil {
			return err
		}
		if err := w.text(k); err != nil {
			return err
		}
		if err := w.write(":"); err != nil {
			return err
		}
		v, _, err := d.Get(starlark.String(k))
		if err != nil {
			return err
		}
		if err := w.value(v, depth); err != nil {
			return err
		}
		separator = ","
	}
	if separator == "{" {
		return w.write("{}")
	}
	return w.write("}")
}

// jsonFunctions are encode and decode of the module json.
func (m *meter) jsonFunctions() starlark.StringDict {
	return starlark.StringDict{
		"encode": starlark.NewBuiltin("json.encode", func(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
			var v starlark.Value
			if err := starlark.UnpackPositionalArgs(b.Name(), args, kwargs, 1, &v); err != nil {
				return nil, err
			}
			if err := m.workOver(v); err != nil {
				return nil, err
			}
			if err := m.work(length(v)); err != nil {
				return nil, err
			}
			// The text, its buffer and the copy.
			raw, err := marshal(v, (m.limits.Memory-m.used)/4, m.reserve(m.limits.Memory+1))
			if err != nil {
				return nil, err
			}
			return starlark.String(raw), m.charge(16 + int64(len(raw)))
		}),
		"decode": starlark.NewBuiltin("json.decode", func(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
			var s string
			if err := starlark.UnpackPositionalArgs(b.Name(), args, kwargs, 1, &s); err != nil {
				return nil, err
			}
			return m.unmarshal([]byte(s))
		}),
	}
}

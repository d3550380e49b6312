package card

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// Kinds of a difference.
const (
	Added   = "added"
	Removed = "removed"
	Changed = "changed"
)

// Difference between two cards, in one place.
type Difference struct {
	// Path is a JSON Pointer (RFC 6901) into the card; an entry of a list that has an id is
	// named by it.
	Path string `json:"path"`
	// Kind is added, removed or changed.
	Kind string `json:"kind"`
	// Before and After are JSON; absent on the side where there is nothing.
	Before json.RawMessage `json:"before,omitempty"`
	After  json.RawMessage `json:"after,omitempty"`
	// Structural says that a person has to approve it.
	Structural bool `json:"structural"`
}

// harmless are texts for people, and what searches go by: "*" is one step of a path.
// Everything else decides where a call goes, what is asked, who is believed, or is not
// known here, and waits for a person.
var harmless = paths(
	"/description", "/version", "/iconUrl", "/documentationUrl", "/provider/url",
	"/skills/*/name", "/skills/*/description", "/skills/*/tags", "/skills/*/examples",
	"/agent/description", "/agent/version", "/agent/tags", "/capabilities/*/name", "/capabilities/*/description", "/rateLimit",
)

func paths(all ...string) [][]string {
	var out [][]string
	for _, p := range all {
		out = append(out, strings.Split(p, "/")[1:])
	}
	return out
}

func isHarmless(path []string) bool {
	return slices.ContainsFunc(harmless, func(h []string) bool {
		if len(path) < len(h) {
			return false
		}
		for i, step := range h {
			if step != "*" && step != path[i] {
				return false
			}
		}
		return true
	})
}

// Diff tells what is different in a card, by place. Signatures differ with every change of
// what they sign, so of them only the keys count.
func Diff(before, after []byte) ([]Difference, error) {
	var a, b map[string]any
	if err := decode(before, &a); err != nil {
		return nil, err
	}
	if err := decode(after, &b); err != nil {
		return nil, err
	}
	signersIn(a)
	signersIn(b)
	d := &differ{all: []Difference{}}
	d.objects(nil, a, b)
	return d.all, d.err
}

func decode(raw []byte, into *map[string]any) error {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	return dec.Decode(into)
}

// signersIn puts the keys of a card's signatures in place of them.
func signersIn(card map[string]any) {
	list, ok := card["signatures"].([]any)
	if !ok {
		return
	}
	seen := map[string]bool{}
	for _, e := range list {
		m, _ := e.(map[string]any)
		protected, _ := m["protected"].(string)
		raw, _ := base64.RawURLEncoding.DecodeString(protected)
		var h struct {
			Key string `json:"kid"`
			Alg string `json:"alg"`
			JKU string `json:"jku"`
		}
		_ = json.Unmarshal(raw, &h) // one that cannot be read is of no key
		seen[strings.TrimSpace(h.Alg+" "+h.Key+" "+h.JKU)] = true
	}
	keys := []any{}
	for _, k := range slices.Sorted(maps.Keys(seen)) {
		keys = append(keys, k)
	}
	card["signatures"] = keys
}

type differ struct {
	all []Difference
	err error
}

func (d *differ) add(path []string, kind string, before, after any) {
	var p strings.Builder
	for _, step := range path {
		p.WriteString("/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(step))
	}
	one := Difference{Path: p.String(), Kind: kind, Structural: !isHarmless(path)}
	for _, side := range []struct {
		v    any
		into *json.RawMessage
	}{{before, &one.Before}, {after, &one.After}} {
		if side.v == nil {
			continue
		}
		raw, err := json.Marshal(side.v)
		if err != nil {
			d.err = err
		}
		*side.into = raw
	}
	d.all = append(d.all, one)
}

func (d *differ) values(path []string, a, b any) {
	if reflect.DeepEqual(a, b) {
		return
	}
	if x, ok := a.(map[string]any); ok {
		if y, ok := b.(map[string]any); ok {
			d.objects(path, x, y)
			return
		}
	}
	if x, ok := a.([]any); ok {
		if y, ok := b.([]any); ok {
			d.lists(path, x, y)
			return
		}
	}
	d.add(path, Changed, a, b)
}

func (d *differ) objects(path []string, a, b map[string]any) {
	names := maps.Clone(a)
	maps.Copy(names, b)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		at := append(slices.Clone(path), name)
		x, inA := a[name]
		y, inB := b[name]
		switch {
		case !inA:
			d.add(at, Added, nil, y)
		case !inB:
			d.add(at, Removed, x, nil)
		default:
			d.values(at, x, y)
		}
	}
}

func (d *differ) lists(path []string, a, b []any) {
	x, okA := byID(a)
	y, okB := byID(b)
	if okA && okB {
		d.objects(path, x, y)
		return
	}
	for i := range max(len(a), len(b)) {
		at := append(slices.Clone(path), fmt.Sprint(i))
		switch {
		case i >= len(a):
			d.add(at, Added, nil, b[i])
		case i >= len(b):
			d.add(at, Removed, a[i], nil)
		default:
			d.values(at, a[i], b[i])
		}
	}
}

// byID gives the entries of a list by their ids, if each has one of its own.
func byID(list []any) (map[string]any, bool) {
	all := map[string]any{}
	for _, e := range list {
		m, _ := e.(map[string]any)
		id, ok := m["id"].(string)
		if _, twice := all[id]; !ok || twice {
			return nil, false
		}
		all[id] = e
	}
	return all, true
}

// Structural tells whether one of the differences has to be approved.
func Structural(all []Difference) bool {
	return slices.ContainsFunc(all, func(d Difference) bool { return d.Structural })
}

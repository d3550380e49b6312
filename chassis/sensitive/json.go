package sensitive

import (
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/types/known/structpb"
)

// Place is a value of a JSON document with what was found in it.
type Place struct {
	// Path from the root, such as applicant.phones[0]. A key that is itself sensitive
	// stands as its number among the sorted keys of its object, such as <key 3>.
	Path string
	// Keys from the root as they are, to find the value by; indexes of lists in decimal.
	Keys []string
	// IsKey says that the findings are in the key, the last of Keys, not in its value.
	IsKey bool
	// Found are places in the text of the value: of a string itself, of a number as JSON
	// writes it.
	Found []Finding
}

// JSON finds what is sensitive in a JSON value. Keys are looked at too, and classify the
// values under them: those of a list count for its items, and those of an object for what
// its own keys do not tell.
func JSON(v *structpb.Value) []Place {
	w := walk{scanner: NewScanner()}
	root := &name{}
	root.words.reset()
	w.value(v, root)
	return w.places
}

type walk struct {
	scanner *Scanner
	steps   []step
	names   int
	places  []Place
}

// step is one key or index on the way from the root.
type step struct {
	key   string
	index int
	list  bool
	shown string // in place of a key that is itself sensitive
}

// name is what is known of a key, with those that it stands under.
type name struct {
	text  string // all of them
	words words
	found []Finding // in the key itself
	under map[string]*name
}

// Bounds of what is kept of names, so that a document of many keys costs no more.
const (
	maxNames = 1000
	maxName  = 128 // bytes
)

func (w *walk) value(v *structpb.Value, under *name) {
	switch x := v.GetKind().(type) {
	case *structpb.Value_StringValue:
		w.text(x.StringValue, under)
	case *structpb.Value_NumberValue:
		w.text(Number(x.NumberValue), under)
	case *structpb.Value_ListValue:
		for i, item := range x.ListValue.GetValues() {
			w.steps = append(w.steps, step{index: i, list: true})
			w.value(item, under)
			w.steps = w.steps[:len(w.steps)-1]
		}
	case *structpb.Value_StructValue:
		fields := x.StructValue.GetFields()
		sorted := make([]string, 0, len(fields))
		for key := range fields {
			sorted = append(sorted, key)
		}
		slices.Sort(sorted)
		for i, key := range sorted {
			known := w.name(key, under)
			w.steps = append(w.steps, step{key: key})
			if len(known.found) > 0 {
				w.steps[len(w.steps)-1].shown = "<key " + strconv.Itoa(i+1) + ">"
				w.add(Place{IsKey: true, Found: known.found})
			}
			w.value(fields[key], known)
			w.steps = w.steps[:len(w.steps)-1]
		}
	}
}

// name gives what is known of a key under others.
func (w *walk) name(key string, under *name) *name {
	if known := under.under[key]; known != nil {
		return known
	}
	known := &name{text: key, found: w.scanner.all(key)}
	if under.text != "" {
		known.text = under.text + " " + key
	}
	known.text = known.text[max(0, len(known.text)-maxName):]
	known.words, _ = w.scanner.name(known.text)
	if w.names++; w.names < maxNames {
		if under.under == nil {
			under.under = map[string]*name{}
		}
		under.under[key] = known
	}
	return known
}

func (w *walk) text(text string, under *name) {
	w.scanner.field(&under.words)
	if found := w.scanner.all(text); len(found) > 0 {
		w.add(Place{Found: found})
	}
}

func (w *walk) add(p Place) {
	for _, s := range w.steps {
		if s.list {
			n := strconv.Itoa(s.index)
			p.Path += "[" + n + "]"
			p.Keys = append(p.Keys, n)
			continue
		}
		p.Keys = append(p.Keys, s.key)
		p.Path = join(p.Path, s)
	}
	w.places = append(w.places, p)
}

func join(path string, s step) string {
	key := s.key
	switch {
	case s.shown != "":
		key = s.shown
	case strings.ContainsAny(key, ".[]\n") || key == "":
		key = strconv.Quote(key)
	}
	if path == "" {
		return key
	}
	return path + "." + key
}

// Number writes a number as it is looked at: whole ones without an exponent.
func Number(n float64) string { return strconv.FormatFloat(n, 'f', -1, 64) }

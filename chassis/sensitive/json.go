package sensitive

import (
	"maps"
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
	w := walk{}
	w.value(v, "", "", nil)
	return w.places
}

type walk struct{ places []Place }

func (w *walk) value(v *structpb.Value, path, name string, keys []string) {
	switch x := v.GetKind().(type) {
	case *structpb.Value_StringValue:
		w.add(path, keys, Value(name, x.StringValue))
	case *structpb.Value_NumberValue:
		w.add(path, keys, Value(name, Number(x.NumberValue)))
	case *structpb.Value_ListValue:
		for i, item := range x.ListValue.GetValues() {
			n := strconv.Itoa(i)
			w.value(item, path+"["+n+"]", name, append(slices.Clone(keys), n))
		}
	case *structpb.Value_StructValue:
		fields := x.StructValue.GetFields()
		for i, key := range slices.Sorted(maps.Keys(fields)) {
			here := append(slices.Clone(keys), key)
			step := key
			if found := Text(key); len(found) > 0 {
				step = "<key " + strconv.Itoa(i+1) + ">"
				w.places = append(w.places, Place{Path: join(path, step), Keys: here, IsKey: true, Found: found})
			}
			under := key
			if name != "" {
				under = name + " " + key
			}
			if len(under) > 128 {
				under = under[len(under)-128:]
			}
			w.value(fields[key], join(path, step), under, here)
		}
	}
}

func (w *walk) add(path string, keys []string, found []Finding) {
	if len(found) > 0 {
		w.places = append(w.places, Place{Path: path, Keys: keys, Found: found})
	}
}

func join(path, key string) string {
	if strings.ContainsAny(key, ".[]\n") || key == "" {
		key = strconv.Quote(key)
	}
	if path == "" {
		return key
	}
	return path + "." + key
}

// Number writes a number as it is looked at: whole ones without an exponent.
func Number(n float64) string { return strconv.FormatFloat(n, 'f', -1, 64) }

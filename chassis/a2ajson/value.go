package a2ajson

import (
	"encoding/base64"
	"maps"
	"math"
	"slices"
	"strconv"
	"unicode/utf8"

	"google.golang.org/protobuf/types/known/structpb"
)

func (w *writer) raw(s string) { w.b = append(w.b, s...) }

func (w *writer) open() { w.b = append(w.b, '{') }

func (w *writer) close() { w.b = append(w.b, '}') }

// missing tells, and remembers, that a message is not there where one should be.
func (w *writer) missing(is bool) bool {
	w.odd = w.odd || is
	return is
}

// next separates what follows from what came before it in an object or list.
func (w *writer) next() {
	if last := w.b[len(w.b)-1]; last != '{' && last != '[' {
		w.b = append(w.b, ',')
	}
}

// name begins a member; its name comes with quotes and colon.
func (w *writer) name(quoted string) {
	w.next()
	w.b = append(w.b, quoted...)
}

func (w *writer) text(name, s string) {
	if s != "" {
		w.name(name)
		w.str(s)
	}
}

func (w *writer) texts(name string, all []string) {
	if len(all) > 0 {
		w.name(name)
		list(w, all, (*writer).str)
	}
}

func (w *writer) flag(name string, is bool) {
	if is {
		w.name(name)
		w.raw("true")
	}
}

func (w *writer) enum(name string, n int32, names map[int32]string) {
	if n == 0 {
		return
	}
	known, ok := names[n]
	if !ok {
		w.odd = true
	}
	w.name(name)
	w.str(known)
}

func list[T any](w *writer, all []T, one func(*writer, T)) {
	w.b = append(w.b, '[')
	for _, x := range all {
		w.next()
		one(w, x)
	}
	w.b = append(w.b, ']')
}

func (w *writer) bytes(p []byte) {
	w.b = append(w.b, '"')
	w.b = base64.StdEncoding.AppendEncode(w.b, p)
	w.b = append(w.b, '"')
}

func (w *writer) object(s *structpb.Struct) {
	w.open()
	if len(s.GetFields()) > 0 {
		keys := slices.AppendSeq(make([]string, 0, 8), maps.Keys(s.GetFields()))
		slices.Sort(keys)
		for _, k := range keys {
			w.next()
			w.str(k)
			w.b = append(w.b, ':')
			w.value(s.GetFields()[k])
		}
	}
	w.close()
}

func (w *writer) value(v *structpb.Value) {
	switch k := v.GetKind().(type) {
	case *structpb.Value_NullValue:
		w.raw("null")
	case *structpb.Value_NumberValue:
		w.number(k.NumberValue)
	case *structpb.Value_StringValue:
		w.str(k.StringValue)
	case *structpb.Value_BoolValue:
		w.b = strconv.AppendBool(w.b, k.BoolValue)
	case *structpb.Value_StructValue:
		if !w.missing(k.StructValue == nil) {
			w.object(k.StructValue)
		}
	case *structpb.Value_ListValue:
		if !w.missing(k.ListValue == nil) {
			list(w, k.ListValue.GetValues(), (*writer).value)
		}
	default:
		w.odd = true
	}
}

// number as ECMAScript writes it (JSON has no other rule): small and large ones
// with an exponent. Very small and large ones are left to the library.
func (w *writer) number(f float64) {
	if abs := math.Abs(f); math.IsNaN(f) || abs >= 1e21 || (abs < 1e-6 && abs != 0) {
		w.odd = true
		return
	}
	w.b = strconv.AppendFloat(w.b, f, 'f', -1, 64)
}

const hex = "0123456789abcdef"

// plain bytes stand for themselves in a string; those from 0x80 on may be wrong.
var plain = func() (t [256]bool) {
	for c := range t {
		t[c] = c >= ' ' && c != '"' && c != '\\' && c < utf8.RuneSelf
	}
	return t
}()

// allPlain tells whether each of eight bytes is plain, all at once: a byte that is not
// carries into, or has, the highest bit of its place.
func allPlain(s string) bool {
	const ones, highest = 0x0101010101010101, 0x8080808080808080
	x := uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 | uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
	return (x|(x-' '*ones)|((x^'"'*ones)-ones)|((x^'\\'*ones)-ones))&highest == 0
}

func (w *writer) str(s string) {
	w.b = append(w.b, '"')
	from, ascii := 0, true
	for i := 0; i < len(s); i++ {
		for i+8 <= len(s) && allPlain(s[i:i+8]) {
			i += 8
		}
		if i == len(s) {
			break
		}
		c := s[i]
		if plain[c] {
			continue
		}
		if c >= utf8.RuneSelf {
			ascii = false
			continue
		}
		w.b = append(w.b, s[from:i]...)
		from = i + 1
		switch c {
		case '"', '\\':
			w.b = append(w.b, '\\', c)
		case '\b':
			w.b = append(w.b, `\b`...)
		case '\f':
			w.b = append(w.b, `\f`...)
		case '\n':
			w.b = append(w.b, `\n`...)
		case '\r':
			w.b = append(w.b, `\r`...)
		case '\t':
			w.b = append(w.b, `\t`...)
		default:
			w.b = append(w.b, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		}
	}
	w.b = append(w.b, s[from:]...)
	w.b = append(w.b, '"')
	w.odd = w.odd || (!ascii && !utf8.ValidString(s))
}

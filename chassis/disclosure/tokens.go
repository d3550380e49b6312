package disclosure

import (
	"crypto/rand"
	"encoding/base32"
	"regexp"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"sabha.dev/chassis/label"
	"sabha.dev/chassis/sensitive"
)

// Tokens are what was replaced in one crossing, by token. They hold the values, so they
// are kept where the values may be, and end with the crossing. They are written to JSON
// and read back for a crossing that is answered later.
type Tokens map[string]Original

// Original is what a token stands for.
type Original struct {
	Class sensitive.Class `json:"class"`
	Value string          `json:"value"`
	// Number says that it was a number of JSON.
	Number bool `json:"number,omitempty"`
}

var tokenText = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

// tokenForm fits tokens as they come back: in other letters, with one bracket or none.
// openForm fits the end of a text that may be the beginning of one, or one whose brackets
// may follow.
var (
	tokenForm = regexp.MustCompile(`\[{0,2}[Tt][Oo][Kk]:[A-Za-z-]{1,20}:[A-Za-z2-7]{26}\]{0,2}`)
	openForm  = regexp.MustCompile(`\[{0,2}(?:\[|[Tt]|[Tt][Oo]|[Tt][Oo][Kk](?::[A-Za-z-]{0,20}|:[A-Za-z-]{1,20}:(?:[A-Za-z2-7]{0,25}|[A-Za-z2-7]{26}\]?))?)$`)
)

// maxToken is the longest text that is a token, in bytes.
const maxToken = 55

// Open gives how many bytes at the end of a text may be the beginning of a token that goes
// on in another piece. Resolved up to there, and the rest together with what follows, a
// text in pieces becomes what it would become as a whole.
func Open(text string) int {
	end := max(0, len(text)-2*maxToken)
	for {
		// What is one already, up to its end, begins none that goes on.
		loc := tokenForm.FindStringIndex(text[end:])
		if loc == nil || end+loc[1] == len(text) && !strings.HasSuffix(text, "]]") {
			break
		}
		end += loc[1]
	}
	if loc := openForm.FindStringIndex(text[end:]); loc != nil {
		return len(text) - end - loc[0]
	}
	return 0
}

// issuer makes the tokens of one crossing.
type issuer struct {
	tokens Tokens
	names  map[Original]string
}

// token gives the token of a value: the one that it has, or a new one of 128 random bits.
func (i *issuer) token(o Original) string {
	if name, ok := i.names[o]; ok {
		return name
	}
	if i.tokens == nil {
		i.tokens, i.names = Tokens{}, map[Original]string{}
	}
	var random [16]byte
	_, _ = rand.Read(random[:]) // it never fails
	name := "tok:" + string(o.Class) + ":" + tokenText.EncodeToString(random[:])
	i.tokens[name] = o
	i.names[o] = "[[" + name + "]]"
	return i.names[o]
}

// Text puts the values of this crossing's tokens back into a text, and gives the classes
// of what it put there. Tokens of other crossings stay as they are.
func (t Tokens) Text(text string) (string, []sensitive.Class) {
	if len(t) == 0 || !strings.Contains(strings.ToLower(text), "tok:") {
		return text, nil
	}
	var found []sensitive.Class
	out := tokenForm.ReplaceAllStringFunc(text, func(match string) string {
		name := strings.ToLower(strings.Trim(match, "[]"))
		o, ok := t[name]
		if !ok {
			return match
		}
		found = append(found, o.Class)
		return o.Value
	})
	return out, found
}

// Restore puts the values back into the parts of an answer. Parts that get some are
// copied, and labelled as sensitive with the classes.
func (t Tokens) Restore(parts []*a2apb.Part) []*a2apb.Part {
	if len(t) == 0 {
		return parts
	}
	out := make([]*a2apb.Part, len(parts))
	for i, p := range parts {
		out[i] = t.part(p)
	}
	return out
}

func (t Tokens) part(p *a2apb.Part) *a2apb.Part {
	var classes []sensitive.Class
	out := proto.CloneOf(p)
	switch c := out.GetContent().(type) {
	case *a2apb.Part_Text:
		c.Text, classes = t.Text(c.Text)
	case *a2apb.Part_Data:
		classes = t.value(c.Data)
	case *a2apb.Part_Raw:
		if readable(out) {
			var text string
			text, classes = t.Text(string(c.Raw))
			c.Raw = []byte(text)
		}
	}
	if len(classes) == 0 {
		return p
	}
	l := label.Labels{Confidentiality: label.Sensitive}
	for _, c := range classes {
		l = label.Join(l, label.Labels{Classes: []string{string(c)}})
	}
	return l.Put(out)
}

// value restores in a JSON value. A string that is a token of a number becomes it.
func (t Tokens) value(v *structpb.Value) []sensitive.Class {
	switch x := v.GetKind().(type) {
	case *structpb.Value_StringValue:
		if o, ok := t[strings.ToLower(strings.Trim(x.StringValue, "[] "))]; ok && o.Number {
			n := &structpb.Value{}
			if n.UnmarshalJSON([]byte(o.Value)) == nil {
				v.Kind = n.Kind
				return []sensitive.Class{o.Class}
			}
		}
		text, classes := t.Text(x.StringValue)
		x.StringValue = text
		return classes
	case *structpb.Value_ListValue:
		var classes []sensitive.Class
		for _, item := range x.ListValue.GetValues() {
			classes = append(classes, t.value(item)...)
		}
		return classes
	case *structpb.Value_StructValue:
		var classes []sensitive.Class
		fields := x.StructValue.GetFields()
		for key, item := range fields {
			classes = append(classes, t.value(item)...)
			if name, found := t.Text(key); len(found) > 0 {
				classes = append(classes, found...)
				delete(fields, key)
				fields[name] = item
			}
		}
		return classes
	}
	return nil
}

// Package label reads, joins and writes the labels of data: whether it may be
// believed, and who may see it. Labels are in the metadata of parts, and only services
// of the platform set them.
package label

import (
	"slices"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/protobuf/types/known/structpb"

	"sabha.dev/chassis/ext"
)

// Integrity tells whether data may be believed. The zero value is not known yet, which
// joins to anything else.
type Integrity string

// The integrities, the best first.
const (
	Trusted   Integrity = "trusted"
	Untrusted Integrity = "untrusted"
)

// Confidentiality tells who may see data. The zero value is not known yet.
type Confidentiality string

// The confidentialities, the most open first.
const (
	Public    Confidentiality = "public"
	Internal  Confidentiality = "internal"
	Sensitive Confidentiality = "sensitive"
)

var (
	integrities       = []Integrity{"", Trusted, Untrusted}
	confidentialities = []Confidentiality{"", Public, Internal, Sensitive}
)

// Labels of a piece of data. The zero value says nothing about it.
type Labels struct {
	Integrity       Integrity       `json:"integrity,omitempty"`
	Confidentiality Confidentiality `json:"confidentiality,omitempty"`
	// Classes of sensitive fields that were found in it, sorted, for example "iban".
	Classes []string `json:"classes,omitempty"`
	// Tokenised are the classes whose values were replaced by tokens that only this
	// platform can resolve, sorted: a release of what Classes would hold else.
	Tokenised []string `json:"tokenised,omitempty"`
}

// IsZero tells whether the labels say nothing.
func (l Labels) IsZero() bool {
	return l.Integrity == "" && l.Confidentiality == "" && len(l.Classes) == 0 && len(l.Tokenised) == 0
}

// Trusts tells whether data may be acted on unseen. What is not known may not.
func (l Labels) Trusts() bool { return l.Integrity == Trusted }

// Tokenise gives the labels of data in which the values of some classes were replaced by
// tokens. With no class left it is sensitive no more.
func (l Labels) Tokenise(classes ...string) Labels {
	l.Tokenised = union(l.Tokenised, classes)
	l.Classes = slices.DeleteFunc(slices.Clone(l.Classes), func(c string) bool { return slices.Contains(classes, c) })
	if len(l.Classes) == 0 {
		l.Classes = nil
		if l.Confidentiality == Sensitive {
			l.Confidentiality = Internal
		}
	}
	return l
}

// Join gives the labels of what was made out of both: the worse integrity, the stricter
// confidentiality, the classes of both. A value that is not known counts as the worst.
func Join(a, b Labels) Labels {
	return Labels{
		Integrity:       worse(integrities, a.Integrity, b.Integrity),
		Confidentiality: worse(confidentialities, a.Confidentiality, b.Confidentiality),
		Classes:         union(a.Classes, b.Classes),
		Tokenised:       union(a.Tokenised, b.Tokenised),
	}
}

func worse[T comparable](order []T, a, b T) T {
	rank := func(v T) int {
		if i := slices.Index(order, v); i >= 0 {
			return i
		}
		return len(order) - 1
	}
	return order[max(rank(a), rank(b))]
}

func union(a, b []string) []string {
	if len(a) == 0 && len(b) == 0 {
		return nil
	}
	all := slices.Concat(a, b)
	slices.Sort(all)
	return slices.Compact(all)
}

// Of joins the labels of parts. A file or link that has none is untrusted: whoever sends
// it did not write it.
func Of(parts ...*a2apb.Part) Labels {
	var l Labels
	for _, p := range parts {
		own := From(p.GetMetadata().GetFields()[ext.Labels])
		if own.Integrity == "" && attached(p) {
			own.Integrity = Untrusted
		}
		l = Join(l, own)
	}
	return l
}

func attached(p *a2apb.Part) bool {
	switch p.GetContent().(type) {
	case *a2apb.Part_Raw, *a2apb.Part_Url:
		return true
	}
	return false
}

// From reads the value that stands under [ext.Labels]; nil has none.
func From(v *structpb.Value) Labels {
	fields := v.GetStructValue().GetFields()
	l := Labels{
		Integrity: Integrity(fields["integrity"].GetStringValue()), Confidentiality: Confidentiality(fields["confidentiality"].GetStringValue()),
		Classes: texts(fields["classes"]), Tokenised: texts(fields["tokenised"]),
	}
	return Join(l, Labels{}) // puts what is not known in its place
}

func texts(v *structpb.Value) []string {
	var out []string
	for _, c := range v.GetListValue().GetValues() {
		out = append(out, c.GetStringValue())
	}
	return out
}

// Value is the form in which labels stand in metadata.
func (l Labels) Value() *structpb.Value {
	fields := map[string]*structpb.Value{}
	if l.Integrity != "" {
		fields["integrity"] = structpb.NewStringValue(string(l.Integrity))
	}
	if l.Confidentiality != "" {
		fields["confidentiality"] = structpb.NewStringValue(string(l.Confidentiality))
	}
	for name, classes := range map[string][]string{"classes": l.Classes, "tokenised": l.Tokenised} {
		if len(classes) == 0 {
			continue
		}
		list := &structpb.ListValue{}
		for _, c := range classes {
			list.Values = append(list.Values, structpb.NewStringValue(c))
		}
		fields[name] = structpb.NewListValue(list)
	}
	return structpb.NewStructValue(&structpb.Struct{Fields: fields})
}

// Put adds labels to those that a part has, and gives the part.
func (l Labels) Put(p *a2apb.Part) *a2apb.Part {
	if l.IsZero() {
		return p
	}
	return Join(From(p.GetMetadata().GetFields()[ext.Labels]), l).Set(p)
}

// Set writes labels in the place of those that a part has, and gives the part. It is for
// releases; all else is joined with [Labels.Put].
func (l Labels) Set(p *a2apb.Part) *a2apb.Part {
	if p.GetMetadata() == nil {
		p.Metadata = &structpb.Struct{}
	}
	if p.Metadata.Fields == nil {
		p.Metadata.Fields = map[string]*structpb.Value{}
	}
	p.Metadata.Fields[ext.Labels] = l.Value()
	return p
}

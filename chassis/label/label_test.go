package label_test

import (
	"reflect"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/protobuf/types/known/structpb"

	"sabha.dev/chassis/agent"
	"sabha.dev/chassis/label"
)

func TestJoinGivesTheWorseOfEach(t *testing.T) {
	for _, c := range []struct{ a, b, want label.Labels }{
		{label.Labels{}, label.Labels{}, label.Labels{}},
		{label.Labels{Integrity: label.Trusted}, label.Labels{Integrity: label.Untrusted}, label.Labels{Integrity: label.Untrusted}},
		{
			label.Labels{Confidentiality: label.Sensitive, Classes: []string{"phone"}},
			label.Labels{Confidentiality: label.Public, Classes: []string{"iban", "phone"}},
			label.Labels{Confidentiality: label.Sensitive, Classes: []string{"iban", "phone"}},
		},
		{label.Labels{Integrity: "whatever"}, label.Labels{Integrity: label.Trusted}, label.Labels{Integrity: label.Untrusted}},
		{label.Labels{Confidentiality: "secret"}, label.Labels{}, label.Labels{Confidentiality: label.Sensitive}},
	} {
		for _, got := range []label.Labels{label.Join(c.a, c.b), label.Join(c.b, c.a)} {
			if !reflect.DeepEqual(got, c.want) {
				t.Errorf("%+v and %+v join to %+v", c.a, c.b, got)
			}
		}
	}
}

func TestPartsCarryTheirLabels(t *testing.T) {
	l := label.Labels{Integrity: label.Untrusted, Confidentiality: label.Sensitive, Classes: []string{"email", "iban"}}
	part := l.Put(agent.Text("x"))
	if got := label.Of(part); !reflect.DeepEqual(got, l) {
		t.Errorf("%+v", got)
	}
	more := label.Labels{Integrity: label.Trusted, Classes: []string{"card"}}.Put(part)
	if got, want := label.Of(more), []string{"card", "email", "iban"}; got.Integrity != label.Untrusted || !reflect.DeepEqual(got.Classes, want) {
		t.Errorf("%+v", got)
	}
	if got := label.Of(agent.Text("y"), nil, &a2apb.Part{Metadata: &structpb.Struct{}}); !got.IsZero() {
		t.Errorf("%+v", got)
	}
}

func TestTokensTakeTheirClassesOut(t *testing.T) {
	l := label.Labels{Confidentiality: label.Sensitive, Classes: []string{"email", "iban"}}
	if got := l.Tokenise("iban"); got.Confidentiality != label.Sensitive || !reflect.DeepEqual(got.Classes, []string{"email"}) {
		t.Errorf("%+v", got)
	}
	want := label.Labels{Confidentiality: label.Internal, Tokenised: []string{"email", "iban"}}
	part := l.Tokenise("iban").Tokenise("email").Set(l.Put(agent.Text("x")))
	if got := label.Of(part); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v", got)
	}
	if got := label.Join(want, l); got.Confidentiality != label.Sensitive || !reflect.DeepEqual(got.Classes, l.Classes) {
		t.Errorf("what is joined with the values themselves has %+v", got)
	}
}

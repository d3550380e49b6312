package term

import (
	"reflect"
	"strings"
	"testing"
)

func TestOf(t *testing.T) {
	cases := []struct {
		text string
		want []string
	}{
		{"Agents discover agents.", []string{"agent", "discov", "agent"}},
		{"GetTask push_configs JSON-RPC gRPC OAuth2", []string{"get", "task", "gettask", "push", "config", "push_configs", "json", "rpc", "grpc", "oauth2"}},
		{`"quoted" OR NEAR(a b) * ^x; DROP TABLE`, []string{"quot", "or", "near", "a", "b", "x", "drop", "tabl"}},
		{"नमस्ते दुनिया", []string{"नमस्ते", "दुनिया"}},
		{"汉字", []string{"汉", "字", "汉字"}},
		{"CAFÉ naïve", []string{"café", "naïve"}},
		{"___ --- \x00\xff", nil},
		{strings.Repeat("x", 65), nil},
	}
	for _, c := range cases {
		if got := Of(c.text); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%q: %q, want %q", c.text, got, c.want)
		}
	}
}

// The expected stems are the examples of Porter's paper.
func TestStemFollowsPorter(t *testing.T) {
	for word, want := range map[string]string{
		"caresses": "caress", "ponies": "poni", "caress": "caress", "cats": "cat", "feed": "feed", "agreed": "agre",
		"plastered": "plaster", "bled": "bled", "motoring": "motor", "sing": "sing", "conflated": "conflat",
		"troubled": "troubl", "sized": "size", "hopping": "hop", "falling": "fall", "hissing": "hiss", "failing": "fail",
		"filing": "file", "happy": "happi", "sky": "sky", "relational": "relat", "conditional": "condit",
		"digitizer": "digit", "radically": "radic", "differently": "differ", "vietnamization": "vietnam",
		"operator": "oper", "feudalism": "feudal", "decisiveness": "decis", "hopefulness": "hope", "formality": "formal",
		"sensibility": "sensibl", "triplicate": "triplic", "formative": "form", "electrical": "electr", "goodness": "good",
		"revival": "reviv", "allowance": "allow", "airliner": "airlin", "adjustable": "adjust", "replacement": "replac",
		"adoption": "adopt", "communism": "commun", "activate": "activ", "effective": "effect", "probate": "probat",
		"rate": "rate", "cease": "ceas", "controller": "control", "roll": "roll",
	} {
		if got := Stem(word); got != want {
			t.Errorf("Stem(%s) = %s, want %s", word, got, want)
		}
	}
}

func TestContentDropsFunctionWordsUnlessThereIsNothingElse(t *testing.T) {
	if got, want := Content(Of("How does a task end?")), []string{"task", "end"}; !reflect.DeepEqual(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if got, want := Content(Of("to be or")), []string{"to", "be", "or"}; !reflect.DeepEqual(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func FuzzOf(f *testing.F) {
	f.Add("Get_Task ing\xff 汉字 'x\" OR")
	f.Fuzz(func(t *testing.T, text string) {
		for _, term := range Content(Of(text)) {
			if term == "" || len(term) > 2*longest {
				t.Errorf("term %q of %q", term, text)
			}
		}
	})
}

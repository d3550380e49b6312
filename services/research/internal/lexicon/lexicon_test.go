package lexicon_test

import (
	"strings"
	"testing"

	"sabha.dev/services/research/internal/lexicon"
	"sabha.dev/services/research/internal/term"
)

// says tells whether a text has a meaning that another text is a member of.
func says(l *lexicon.Lexicon, text, other string) bool {
	terms, want := term.Of(text), strings.Join(term.Of(other), " ")
	for i := range terms {
		for _, m := range l.At(terms, i) {
			for _, member := range m.Members {
				if strings.Join(member, " ") == want {
					return true
				}
			}
		}
	}
	return false
}

func TestMeaningsOfWordsPhrasesAndForms(t *testing.T) {
	l := lexicon.Parse("# nothing\n\nmulti factor authentication, mfa\n= pay, paid\n~ cat, purr\n")
	for _, c := range []struct {
		text, other string
		want        bool
	}{
		{"using MFA tokens", "multi factor authentication", true},
		{"a multi-factor authentication step", "mfa", true},
		{"multi factor", "mfa", false},
		{"who paid", "pay", true},
		{"the cats", "purr", true},
		{"nothing", "pay", false},
	} {
		if got := says(l, c.text, c.other); got != c.want {
			t.Errorf("%q says %q: %v", c.text, c.other, got)
		}
	}
	if m := l.At([]string{"xyz"}, 0); len(m) != 0 {
		t.Errorf("an unknown word has meanings %v", m)
	}
	if m := l.At(term.Of("pay"), 0); len(m) != 1 || m[0].Closeness <= 0.8 || m[0].Length != 1 {
		t.Errorf("forms of a word are %+v", m)
	}
	if !l.Knows("mfa") || l.Knows("factor") {
		t.Error("a word is known when a member begins with it")
	}
}

func TestTheBuiltInListIsReadable(t *testing.T) {
	l := lexicon.Builtin()
	if n := len(l.Surfaces()); n < 3000 {
		t.Errorf("%d words", n)
	}
	for text, other := range map[string]string{"resign": "notice", "2FA": "second factor", "refund": "money back", "cert": "certificate", "k8s": "kubernetes"} {
		if !says(l, text, other) {
			t.Errorf("%q does not say %q", text, other)
		}
	}
}

package diff_test

import (
	"fmt"
	"strings"
	"testing"

	"sabha.dev/services/console/internal/diff"
)

// marked writes runs as one reads them: [-went-]{+came+}.
func marked(all []diff.Run) string {
	var b strings.Builder
	for _, r := range all {
		switch r.Kind {
		case diff.Gone:
			b.WriteString("[-" + r.Text + "-]")
		case diff.Come:
			b.WriteString("{+" + r.Text + "+}")
		case diff.Skipped:
			fmt.Fprintf(&b, "<%d>", r.Lines)
		default:
			b.WriteString(r.Text)
		}
	}
	return b.String()
}

func TestTextsAreComparedWordByWord(t *testing.T) {
	for _, c := range []struct{ name, before, after, want string }{
		{"nothing", "", "", ""},
		{"alike", "Kept for thirty days.", "Kept for thirty days.", "Kept for thirty days."},
		{"one word", "Kept for thirty days.", "Kept for ninety days.", "Kept for [-thirty-]{+ninety+} days."},
		{"several words read as one change", "It takes about forty minutes.", "It takes at least sixty minutes.", "It takes [-about forty-]{+at least sixty+} minutes."},
		{"a word that came", "Ask two operators.", "Ask two senior operators.", "Ask two {+senior +}operators."},
		{"a sentence that went", "One. Two. Three.", "One. Three.", "One. [-Two. -]Three."},
		{"all of it", "yes", "no", "[-yes-]{+no+}"},
		{"from nothing", "", "new", "{+new+}"},
		{"to nothing", "old", "", "[-old-]"},
		{"a line", "a\nb\nc\n", "a\nc\n", "a\n[-b\n-]c\n"},
		{"a sign", "3,50 €", "3.50 €", "3[-,-]{+.+}50 €"},
		{"other scripts", "बैकअप छह घंटे में", "बैकअप सात घंटे में", "बैकअप [-छह-]{+सात+} घंटे में"},
		{"what is no text", "a\xffb", "a\xfeb", "a[-\xff-]{+\xfe+}b"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := diff.Texts(c.before, c.after)
			if marked(got) != c.want {
				t.Errorf("%s, want %s", marked(got), c.want)
			}
			if diff.Equal(got) != (c.before == c.after) {
				t.Errorf("equal: %v", diff.Equal(got))
			}
		})
	}
}

func TestTextsThatDifferInAlmostEverythingAreToldAsOneChange(t *testing.T) {
	words := func(mark string) string {
		var b strings.Builder
		for i := range 3000 {
			fmt.Fprintf(&b, "%s%d ", mark, i)
		}
		return b.String()
	}
	got := diff.Texts("Begin. "+words("a")+"End.", "Begin. "+words("b")+"End.")
	if len(got) != 4 || got[0].Text != "Begin. " || got[1].Kind != diff.Gone || got[2].Kind != diff.Come || got[3].Text != " End." {
		t.Errorf("%d runs: %.200s", len(got), marked(got))
	}
}

func TestOnlyTheSurroundingsOfAChangeAreRepeated(t *testing.T) {
	lines := func(changed string) string {
		var b strings.Builder
		for i := range 20 {
			if i == 10 {
				b.WriteString(changed + "\n")
				continue
			}
			fmt.Fprintf(&b, "line %d\n", i)
		}
		return b.String()
	}
	got := marked(diff.Around(diff.Texts(lines("old"), lines("new")), 1))
	if want := "<9>line 9\n[-old-]{+new+}\nline 11\n<9>"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	short := diff.Texts("a\nb\n", "a\nc\n")
	if got := marked(diff.Around(short, 1)); got != "a\n[-b-]{+c+}\n" {
		t.Errorf("a short text: %q", got)
	}
}

func FuzzTexts(f *testing.F) {
	f.Add("Kept for thirty days.", "Kept for ninety days.\n")
	f.Add("", "a\n\nb")
	f.Add("a a a b b", "b a b a")
	f.Add("\xff\xfe", "\u202eevil")
	f.Fuzz(func(t *testing.T, before, after string) {
		var a, b strings.Builder
		for _, r := range diff.Texts(before, after) {
			if r.Kind != diff.Come {
				a.WriteString(r.Text)
			}
			if r.Kind != diff.Gone {
				b.WriteString(r.Text)
			}
		}
		if a.String() != before || b.String() != after {
			t.Errorf("%q became %q, %q became %q", before, a.String(), after, b.String())
		}
	})
}

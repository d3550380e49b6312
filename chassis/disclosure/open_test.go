package disclosure

import (
	"math/rand/v2"
	"strings"
	"testing"
)

// inPieces resolves a text that comes in pieces, and gives the most that was held back.
func inPieces(t Tokens, pieces ...string) (text string, most int) {
	var out strings.Builder
	held := ""
	for _, p := range pieces {
		s := held + p
		n := Open(s)
		now, _ := t.Text(s[:len(s)-n])
		out.WriteString(now)
		held, most = s[len(s)-n:], max(most, n)
	}
	rest, _ := t.Text(held)
	return out.String() + rest, most
}

func issued() (Tokens, string) {
	var i issuer
	name := i.token(Original{Class: "email", Value: "ada@example.org"})
	return i.tokens, name
}

func TestATokenIsResolvedWhereverItIsSplit(t *testing.T) {
	tokens, name := issued()
	inner := strings.Trim(name, "[]")
	for _, text := range []string{
		"Write to " + name + " today.", name, name + name, "[" + name + "]", "(" + inner + ")", strings.ToUpper(inner) + "x", "[[" + inner + "] tok:", "tok:tok:" + inner + "]]]",
		"no token: tok:email:short]] t to tok [[", "[[[[tok:email:" + strings.Repeat("a", 26) + "]]", "tok:a:" + strings.Repeat("b", 23) + inner,
	} {
		want, _ := tokens.Text(text)
		for i := range len(text) + 1 {
			for j := i; j <= len(text); j++ {
				got, most := inPieces(tokens, text[:i], text[i:j], text[j:])
				if got != want || most >= maxToken {
					t.Fatalf("%q | %q | %q is resolved to %q, want %q; %d bytes are held", text[:i], text[i:j], text[j:], got, want, most)
				}
			}
		}
		letters := strings.Split(text, "")
		if got, _ := inPieces(tokens, letters...); got != want {
			t.Errorf("letter by letter %q is resolved to %q", text, got)
		}
	}
}

func TestWhatIsHeldBackIsShorterThanAToken(t *testing.T) {
	tokens, name := issued()
	pieces := []string{"[", "[[", "]", "]]", "t", "to", "tok", "tok:", "tok:e", ":", "email", "email:", strings.Repeat("a", 20), strings.Repeat("a", 26), name, name[:20], name[20:], "K", "ſ", " "}
	random := rand.New(rand.NewPCG(1, 2))
	for range 3000 {
		var some []string
		for range random.IntN(30) {
			some = append(some, pieces[random.IntN(len(pieces))])
		}
		want, _ := tokens.Text(strings.Join(some, ""))
		if got, most := inPieces(tokens, some...); got != want || most >= maxToken {
			t.Fatalf("%q is resolved to %q, want %q; %d bytes are held", some, got, want, most)
		}
	}
}

func FuzzOpen(f *testing.F) {
	tokens, name := issued()
	f.Add("Write to "+name+".", uint16(12))
	f.Add("[[tok:", uint16(3))
	f.Fuzz(func(t *testing.T, text string, at uint16) {
		text = strings.ReplaceAll(text, "$", name)
		i := int(at) % (len(text) + 1)
		want, _ := tokens.Text(text)
		if got, _ := inPieces(tokens, text[:i], text[i:]); got != want {
			t.Errorf("%q | %q is resolved to %q, want %q", text[:i], text[i:], got, want)
		}
	})
}

package plaintext

// Ways a view can come about.
const (
	Plain     = "plain"
	Base64    = "base64"
	Hex       = "hex"
	Escapes   = "escapes"
	Rot13     = "rot13"
	Reversed  = "reversed"
	Spaced    = "spaced letters"
	Fragments = "joined fragments"
	Tags      = "invisible tags"
)

// Bounds of decoding.
const (
	// MaxDepth is how often an encoding inside an encoding is undone.
	MaxDepth = 4
	// expansion and allowance bound the bytes of all views together, in terms of the text.
	expansion = 8
	allowance = 64 << 10
)

// View is one way to read a text.
type View struct {
	Folded
	// Raw is the text before folding.
	Raw string
	// Via is how the view was made, Plain for the text itself; Depth counts the
	// encodings undone on the way.
	Via   string
	Depth int
}

// Reading is a text in all the ways it can be read.
type Reading struct {
	// Views starts with the text itself.
	Views []View
	// Nested says that encodings go deeper than MaxDepth, or decode to more than the
	// bounds allow, so that something was left unread.
	Nested bool
}

// Read gives the text and what it holds in encoded or scattered form. The
// views together are at most eight times the text and 64 KiB, so the time is
// linear in the text.
func Read(text string) Reading {
	r := reader{budget: expansion*len(text) + allowance}
	r.add(text, Plain, 0)
	return r.Reading
}

type reader struct {
	Reading
	budget int
}

func (r *reader) add(text, via string, depth int) {
	if len(text) < 3 {
		return
	}
	if depth > MaxDepth || len(text) > r.budget {
		r.Nested = true
		return
	}
	r.budget -= len(text)
	v := View{Folded: Fold(text), Raw: text, Via: via, Depth: depth}
	r.Views = append(r.Views, v)

	// Ordinary text turned round or rotated holds no encodings, only chance runs.
	if via == Rot13 || via == Reversed {
		return
	}
	if v.Tags != "" {
		r.add(v.Tags, Tags, depth+1)
	}
	visible := text
	if !ascii(text) {
		visible = new(Folded).strip(text)
	}
	if s, changed := unescape(visible); changed {
		r.add(s, Escapes, depth+1)
	}
	for _, s := range base64Runs(visible) {
		r.add(s, Base64, depth+1)
	}
	for _, s := range hexRuns(visible) {
		r.add(s, Hex, depth+1)
	}
	// Rearrangements are not applied to one another.
	if via == Spaced || via == Fragments {
		return
	}
	if s, ok := spaced(visible); ok {
		r.add(s, Spaced, depth)
	}
	if s, ok := fragments(visible); ok {
		r.add(s, Fragments, depth)
	}
	if depth <= 1 {
		r.add(rot13(visible), Rot13, depth)
		r.add(reverse(visible), Reversed, depth)
	}
}

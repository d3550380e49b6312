package document

import (
	"strconv"
	"strings"
)

// style is what matters here of a named style.
type style struct {
	level  int  // of the heading it makes, 0 for none
	hidden bool // its text is not shown
	list   bool // its paragraphs are items of a list
	based  string
	shows  bool // it says itself whether its text is shown
}

// styleSheet holds styles by their identifiers; open is the one being read.
type styleSheet map[string]*style

const openStyle = "\x00open"

func (s styleSheet) element(e element) error {
	if !e.start || !e.word() {
		return nil
	}
	st := s[openStyle]
	switch {
	case e.name == "style":
		st = &style{}
		s[openStyle] = st
		if id := e.attr("styleId"); id != "" {
			s[id] = st
		}
	case st == nil:
	case e.name == "name":
		st.level = headingStyle(e.attr("val"))
	case e.name == "basedOn":
		st.based = e.attr("val")
	case e.name == "outlineLvl":
		st.level = outlineLevel(e.attr("val"))
	case e.name == "numPr":
		st.list = true
	case e.name == "vanish" || e.name == "specVanish":
		st.hidden, st.shows = st.hidden || e.on(), true
	}
	return nil
}

// resolve gives each style what it takes over from those it is based on.
func (s styleSheet) resolve() styleSheet {
	delete(s, openStyle)
	out := make(styleSheet, len(s))
	for id, own := range s {
		r := *own
		base := own.based
		for range 16 { // Word follows no longer chain; a circle ends here
			b := s[base]
			if b == nil {
				break
			}
			if r.level == 0 {
				r.level = b.level
			}
			r.list = r.list || b.list
			if !r.shows {
				r.hidden, r.shows = b.hidden, b.shows
			}
			base = b.based
		}
		out[id] = &r
	}
	return out
}

// headingStyle is the level of the built-in style of that name, which is
// English in every language of Word.
func headingStyle(name string) int {
	name = strings.ToLower(name)
	if name == "title" {
		return 1
	}
	if n, ok := strings.CutPrefix(name, "heading "); ok {
		if level, err := strconv.Atoi(n); err == nil && level >= 1 {
			return min(level, 6)
		}
	}
	return 0
}

// outlineLevel reads a level counted from 0; 9 is that of ordinary text.
func outlineLevel(s string) int {
	level, err := strconv.Atoi(s)
	if err != nil || level < 0 || level > 8 {
		return 0
	}
	return min(level+1, 6)
}

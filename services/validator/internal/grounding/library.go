package grounding

import (
	"fmt"
	"maps"
	"strconv"
	"strings"
)

// library is the passages of one check, read once.
type library struct {
	sources []*source
	markers map[string]*source
	// shapes are the known markers with their digits blanked, so that "kb-99" is
	// recognised as a citation where "kb-7" is one.
	shapes map[string]bool
	// explicit says that the caller declared the markers.
	explicit bool
}

// source is a passage with its sentences.
type source struct {
	Passage
	label     string
	sentences []*sentence
	heading   *sentence
	// stems are the words of all its sentences.
	stems map[string]bool
	// flat is the text in the form that exact quotes are looked up in.
	flat string
}

func newLibrary(passages []Passage, citations []Citation) *library {
	l := &library{markers: map[string]*source{}, shapes: map[string]bool{}, explicit: len(citations) > 0}
	byID := map[string]*source{}
	for i, p := range passages {
		s := &source{Passage: p, label: strconv.Itoa(i + 1), flat: flatten(p.Text), stems: map[string]bool{}}
		for _, text := range sentences(p.Text) {
			one := read(text)
			maps.Copy(s.stems, one.stems)
			s.sentences = append(s.sentences, one)
		}
		s.heading = read(strings.Join(append(append([]string{}, p.HeadingPath...), p.Document), " . "))
		l.sources = append(l.sources, s)
		if _, taken := byID[p.ID]; !taken {
			byID[p.ID] = s
		}
	}
	if l.explicit {
		for _, c := range citations {
			marker := canonical(c.Marker)
			l.markers[marker] = byID[c.Passage]
			if s := byID[c.Passage]; s != nil {
				s.label = marker
			}
		}
	} else {
		for _, s := range l.sources {
			l.markers[s.label] = s
		}
	}
	for id, s := range byID {
		if _, taken := l.markers[id]; !taken && id != "" {
			l.markers[id] = s
		}
	}
	for m := range l.markers {
		l.shapes[shape(m)] = true
	}
	return l
}

// known tells whether the text between two brackets is a citation marker.
func (l *library) known(marker string) bool {
	if _, ok := l.markers[marker]; ok {
		return true
	}
	if _, err := strconv.Atoi(marker); err == nil {
		return true
	}
	return l.shapes[shape(marker)] && strings.ContainsAny(marker, "0123456789")
}

// cited gives the passages of a claim's markers and the markers that have none.
func (l *library) cited(markers []string) (found []*source, missing []string) {
	seen := map[*source]bool{}
	for _, m := range markers {
		s := l.markers[m]
		switch {
		case s == nil:
			missing = append(missing, m)
		case !seen[s]:
			seen[s] = true
			found = append(found, s)
		}
	}
	return found, missing
}

// extent says in words which citations there are.
func (l *library) extent() string {
	switch {
	case len(l.sources) == 0:
		return "there are no passages"
	case l.explicit:
		return "it is not among the declared citations"
	case len(l.sources) == 1:
		return "there is one passage, [1]"
	}
	return fmt.Sprintf("the passages are [1] to [%d]", len(l.sources))
}

// shape blanks the digits of a marker; runs of digits count as one.
func shape(marker string) string {
	var b strings.Builder
	digit := false
	for _, r := range marker {
		if r >= '0' && r <= '9' {
			if !digit {
				b.WriteByte('9')
			}
			digit = true
			continue
		}
		digit = false
		b.WriteRune(r)
	}
	return b.String()
}

func canonical(marker string) string {
	m := strings.TrimSpace(marker)
	m = strings.TrimSuffix(strings.TrimPrefix(m, "["), "]")
	return strings.TrimPrefix(strings.TrimSpace(m), "^")
}

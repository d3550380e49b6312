// Package chunk cuts a document into passages along its structure: sections
// first, then blocks, then lines and sentences, so that a passage is about
// one thing and can be quoted with the headings it stands under.
package chunk

import (
	"strings"

	"sabha.dev/services/research/internal/document"
)

// Sizes in words (see Words). A passage aims at target words and never has
// more than limit; one of fewer than tiny joins the text that follows it,
// even across a heading.
const (
	target = 300
	limit  = 400
	tiny   = 40
)

// boundary is the deepest heading level that always begins a new passage.
const boundary = 2

// Version names the rules of this package. It changes when they do, so that
// stored documents are cut anew.
const Version = "structure-v1"

// Chunk is one passage.
type Chunk struct {
	Ordinal int // place in the document, from 0
	// HeadingPath are the headings that the whole passage stands under, the
	// outermost first. It is empty for text before the first heading.
	HeadingPath []string
	// Start and End bound the passage in the original bytes, End excluded; in
	// DOCX in the text extracted from them (document.Document.Extracted).
	Start, End int
	// Text is exactly the bytes Start to End in Markdown, plain text and DOCX;
	// in HTML it is the text of those bytes without markup, in CSV and JSON with
	// the names of columns and values. Where a passage holds
	// several sections, their headings are in it.
	Text  string
	Words int
}

// Split cuts a document read from src.
func Split(doc *document.Document, src []byte) []Chunk {
	if doc.Extracted != nil {
		src = doc.Extracted
	}
	s := splitter{src: src, exact: doc.Format.Exact()}
	doc.Sections(func(path []string, section *document.Section) {
		s.section(path, section)
	})
	s.flush()
	for i := range s.chunks {
		s.chunks[i].Ordinal = i
	}
	return s.chunks
}

// splitter holds the passage being filled.
type splitter struct {
	src    []byte
	exact  bool
	chunks []Chunk

	path    []string
	pieces  []piece
	words   int
	heading int // start of the first section's heading; -1 when it is not part of the passage
	depth   int // length of the first section's own path
	crossed int // smallest heading level since the last block, 0 for none
}

// piece is a block or a part of one.
type piece struct {
	start, end, words int
	text              string
	heading           string // of the section that begins with this piece
}

func (s *splitter) section(path []string, section *document.Section) {
	if section.Level > 0 && (s.crossed == 0 || section.Level < s.crossed) {
		s.crossed = section.Level
	}
	if len(section.Blocks) == 0 {
		return
	}
	total := 0
	for _, b := range section.Blocks {
		total += Words(b.Text)
	}
	joins := (s.words < tiny && s.words+total <= limit) || (s.crossed > boundary && s.words+total <= target)
	s.crossed = 0
	if len(s.pieces) > 0 && !joins {
		s.flush()
	}
	if len(s.pieces) == 0 {
		s.path, s.depth, s.heading = path, len(path), -1
		if section.Level > 0 {
			s.heading = section.Start
		}
	} else {
		s.path = common(s.path, path)
	}
	size := even(total)
	if s.words+total <= limit {
		size = limit
	}
	for i, b := range section.Blocks {
		for j, p := range s.cut(b) {
			if i == 0 && j == 0 {
				p.heading = section.Heading
			}
			if len(s.pieces) > 0 && s.words+p.words > size {
				s.flush()
				s.path, s.depth, s.heading = path, len(path), -1
			}
			s.pieces = append(s.pieces, p)
			s.words += p.words
		}
	}
}

// flush ends the passage being filled.
func (s *splitter) flush() {
	if len(s.pieces) == 0 {
		return
	}
	first, last := s.pieces[0], s.pieces[len(s.pieces)-1]
	c := Chunk{HeadingPath: s.path, Start: first.start, End: last.end}
	if s.exact {
		// Text of several sections begins with the first one's heading,
		// which its path no longer names.
		if s.heading >= 0 && len(s.path) < s.depth {
			c.Start = s.heading
		}
		c.Text = string(s.src[c.Start:c.End])
	} else {
		var texts []string
		for i, p := range s.pieces {
			if p.heading != "" && (i > 0 || len(s.path) < s.depth) {
				texts = append(texts, p.heading)
			}
			texts = append(texts, p.text)
		}
		c.Text = strings.Join(texts, "\n\n")
	}
	c.Words = Words(c.Text)
	s.chunks = append(s.chunks, c)
	s.pieces, s.words = nil, 0
}

// cut gives a block whole, or its lines and sentences where it is larger
// than a passage may be.
func (s *splitter) cut(b document.Block) []piece {
	words := Words(b.Text)
	if words <= limit {
		return []piece{{start: b.Start, end: b.End, words: words, text: b.Text}}
	}
	var pieces []piece
	for _, span := range parts(b.Text) {
		text := b.Text[span[0]:span[1]]
		p := piece{start: b.Start + span[0], end: b.Start + span[1], words: Words(text), text: text}
		if !s.exact {
			// Offsets inside rendered text mean nothing in the file: the
			// block's own bound every part of it.
			p.start, p.end = b.Start, b.End
		}
		pieces = append(pieces, p)
	}
	return pieces
}

// even is how large the parts of a text of so many words should be: about
// equal, rather than full ones and a remainder.
func even(total int) int {
	n := (total + target - 1) / target
	return min((total+n-1)/n+tiny/2, limit)
}

func common(a, b []string) []string {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return a[:n:n]
}

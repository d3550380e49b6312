package document

// tree builds the sections as headings and blocks arrive in order.
type tree struct {
	root   *Section
	open   []*Section // from the root to the section being filled
	first  string     // the first heading
	blocks int
	spent  int // bytes of text made that the file does not have as such
}

// maxText bounds the text that is made from one file, in bytes: names of
// columns and keys are said again with every value.
const maxText = 2 * MaxBytes

func newTree() *tree {
	root := &Section{}
	return &tree{root: root, open: []*Section{root}}
}

// heading opens a section below the nearest one of a smaller level.
func (t *tree) heading(level, start int, text string) {
	if text == "" {
		return
	}
	if t.first == "" {
		t.first = text
	}
	for t.open[len(t.open)-1].Level >= level {
		t.open = t.open[:len(t.open)-1]
	}
	parent := t.open[len(t.open)-1]
	s := &Section{Level: level, Heading: text, Start: start}
	parent.Children = append(parent.Children, s)
	t.open = append(t.open, s)
}

// spend counts text that is made, and is ErrExpands when it is too much.
func (t *tree) spend(bytes int) error {
	if t.spent += bytes; t.spent > maxText {
		return ErrExpands
	}
	return nil
}

func (t *tree) block(b Block) {
	if b.Start >= b.End {
		return
	}
	t.blocks++
	s := t.open[len(t.open)-1]
	s.Blocks = append(s.Blocks, b)
}

// trim narrows the span to its text: whole lines stay whole at the front,
// so that indentation, which means something in Markdown, is kept.
func trim(src []byte, start, end int) (int, int) {
	for end > start && isSpace(src[end-1]) {
		end--
	}
	for i := start; i < end && isSpace(src[i]); i++ {
		if src[i] == '\n' {
			start = i + 1
		}
	}
	return start, end
}

func isSpace(b byte) bool { return b == ' ' || b == '\t' || b == '\n' || b == '\r' || b == '\f' }

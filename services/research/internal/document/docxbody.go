package document

import (
	"bytes"
	"strconv"
	"strings"
)

// dropped are elements whose content a reader of the final text does not
// see: what was deleted or moved away, codes of fields, earlier properties,
// the second form of what is there already, and the reading aid of ruby.
var dropped = map[string]bool{
	"del": true, "moveFrom": true, "delText": true, "instrText": true, "delInstrText": true, "Fallback": true, "rt": true,
	"rPrChange": true, "pPrChange": true, "tblPrChange": true, "trPrChange": true, "tcPrChange": true, "sectPr": true, "sdtPr": true,
}

// body makes text of the elements of a Word document. The text is written
// like Markdown: # before headings, - before items of lists, | between the
// cells of tables.
type body struct {
	tree   *tree
	styles styleSheet
	out    bytes.Buffer

	skip   int          // elements open since the one that is dropped, 0 outside
	paras  []*paragraph // open ones: a text box stands in a paragraph
	tables []*table     // open ones
	items  []string     // of the list being read
	row    bool         // inside the properties of a row
}

type paragraph struct {
	text   strings.Builder
	level  int  // of the heading that it is, 0 for none
	indent int  // of the item of a list that it is, -1 for none
	hidden bool // by its style

	inRun, runHidden, inText bool
}

// table is one being read.
type table struct {
	depth   int // paragraphs that were open when it began
	rows    []string
	cells   strings.Builder // of the row being read
	columns int
	filled  bool // a cell of the row has text
	gone    bool // the row is deleted or hidden
	cell    strings.Builder
}

func (b *body) element(e element) error {
	switch {
	case b.skip > 0:
		if e.start {
			b.skip++
		} else if !e.chars {
			b.skip--
		}
	case e.chars:
		if p := b.para(); p != nil && p.inText {
			p.text.Write(e.text)
		}
	case e.start && dropped[e.name]:
		if t := b.table(); t != nil && b.row && e.name == "del" {
			t.gone = true
		}
		b.skip = 1
	case !e.word():
	case e.start:
		b.open(e)
	default:
		return b.close(e)
	}
	return nil
}

func (b *body) para() *paragraph {
	if len(b.paras) == 0 {
		return nil
	}
	return b.paras[len(b.paras)-1]
}

func (b *body) table() *table {
	if len(b.tables) == 0 {
		return nil
	}
	return b.tables[len(b.tables)-1]
}

func (b *body) open(e element) {
	switch e.name {
	case "p":
		b.paras = append(b.paras, &paragraph{indent: -1})
	case "tbl":
		b.tables = append(b.tables, &table{depth: len(b.paras)})
	case "trPr":
		b.row = true
	case "hidden":
		if t := b.table(); t != nil && b.row && e.on() {
			t.gone = true
		}
	default:
		if p := b.para(); p != nil {
			p.open(e, b.styles)
		}
	}
}

func (p *paragraph) open(e element, styles styleSheet) {
	if p.inRun {
		p.inside(e, styles)
		return
	}
	switch e.name {
	case "r":
		p.inRun, p.runHidden = true, p.hidden
	case "pStyle":
		if s := styles[e.attr("val")]; s != nil {
			p.level, p.hidden = s.level, s.hidden
			if s.list {
				p.indent = 0
			}
		}
	case "outlineLvl":
		p.level = outlineLevel(e.attr("val"))
	case "numPr":
		p.indent = max(p.indent, 0)
	case "ilvl":
		n, _ := strconv.Atoi(e.attr("val"))
		p.indent = min(max(n, 0), 8)
	case "numId":
		if e.attr("val") == "0" {
			p.indent = -1
		}
	}
}

// inside reads an element of a run.
func (p *paragraph) inside(e element, styles styleSheet) {
	switch e.name {
	case "rStyle":
		if s := styles[e.attr("val")]; s != nil && s.shows {
			p.runHidden = s.hidden
		}
	case "vanish":
		p.runHidden = e.on()
	case "specVanish":
		p.runHidden = p.runHidden || e.on()
	case "t":
		p.inText = !p.runHidden
	case "tab", "ptab":
		p.sign(" ")
	case "br", "cr":
		p.sign("\n")
	case "noBreakHyphen":
		p.sign("-")
	}
}

func (p *paragraph) sign(s string) {
	if !p.runHidden {
		p.text.WriteString(s)
	}
}

func (b *body) close(e element) error {
	p, t := b.para(), b.table()
	switch e.name {
	case "t":
		if p != nil {
			p.inText = false
		}
	case "r":
		if p != nil {
			p.inRun, p.runHidden = false, false
		}
	case "p":
		b.paras = b.paras[:len(b.paras)-1]
		return b.paragraph(p)
	case "trPr":
		b.row = false
	case "tc":
		if t != nil {
			t.endCell()
		}
	case "tr":
		if t != nil {
			t.endRow()
		}
	case "tbl":
		b.tables = b.tables[:len(b.tables)-1]
		if text := t.text(); !b.nested(text) {
			return b.write(text)
		}
	}
	return nil
}

func (t *table) endCell() {
	cell := oneLine(t.cell.String())
	t.cell.Reset()
	t.columns++
	t.filled = t.filled || cell != ""
	t.cells.WriteString("| " + cell + " ")
}

func (t *table) endRow() {
	if t.filled && !t.gone {
		if t.rows = append(t.rows, t.cells.String()+"|"); len(t.rows) == 1 {
			t.rows = append(t.rows, strings.Repeat("|---", t.columns)+"|")
		}
	}
	t.cells.Reset()
	t.columns, t.filled, t.gone = 0, false, false
}

func (t *table) text() string { return strings.Join(t.rows, "\n") }

// nested adds text to the cell or the paragraph that it stands in; it is
// false for text of the document itself.
func (b *body) nested(text string) bool {
	if t := b.table(); t != nil && t.depth == len(b.paras) {
		t.cell.WriteString(" " + text)
		return true
	}
	if p := b.para(); p != nil {
		p.text.WriteString("\n" + text + "\n")
		return true
	}
	return false
}

func (b *body) paragraph(p *paragraph) error {
	var lines []string
	for line := range strings.Lines(p.text.String()) {
		if line = oneLine(line); line != "" {
			lines = append(lines, line)
		}
	}
	text := strings.Join(lines, "\n")
	switch {
	case text == "" || b.nested(text):
		return nil
	case p.level > 0:
		return b.heading(p.level, caption(text))
	case p.indent >= 0:
		b.items = append(b.items, strings.Repeat("  ", p.indent)+"- "+strings.ReplaceAll(text, "\n", " "))
		return nil
	}
	return b.write(text)
}

func (b *body) heading(level int, text string) error {
	if err := b.flush(); err != nil {
		return err
	}
	start, err := b.put(strings.Repeat("#", level) + " " + text)
	b.tree.heading(level, start, text)
	return err
}

// write makes a block, after the list that ends before it.
func (b *body) write(text string) error {
	if err := b.flush(); err != nil {
		return err
	}
	return b.block(text)
}

// flush ends the list being read.
func (b *body) flush() error {
	text := strings.Join(b.items, "\n")
	b.items = nil
	return b.block(text)
}

func (b *body) block(text string) error {
	if text == "" {
		return nil
	}
	start, err := b.put(text)
	b.tree.block(Block{Start: start, End: start + len(text), Text: text})
	return err
}

// put writes to the extracted text, a blank line after what is there.
func (b *body) put(text string) (start int, err error) {
	if b.out.Len() > 0 {
		b.out.WriteString("\n\n")
	}
	start = b.out.Len()
	b.out.WriteString(text)
	return start, b.tree.spend(len(text))
}

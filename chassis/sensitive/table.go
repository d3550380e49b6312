package sensitive

import "bytes"

// Bounds of a table.
const (
	maxColumns = 48
	maxHeader  = lookback - 20 // bytes
	maxRow     = 1024          // bytes of the first row that are looked at
)

// table is what a line of column names says about the lines under it.
type table struct {
	sep     byte // 0 outside a table
	columns [maxColumns]uint64
	n       int
	column  int
	quoted  int64 // where a quoted cell ends, in the folded text
	begun   int64 // where the line began
}

// line looks at a separator of cells or the end of a line at i.
func (s *Scanner) line(i int, c byte) {
	t := &s.table
	at := s.base + int64(i) + 1
	switch {
	case c == '\n':
		began := t.begun
		if at-began < 3 || t.sep != 0 && t.column == 0 { // an empty line, or one of one cell
			t.sep = 0
		}
		next := *t
		if t.sep == 0 && at-began <= maxHeader {
			if s.header(&next, s.buf[int(began-s.base):i], i+1); s.need {
				return
			}
		}
		next.begun, next.column, next.quoted = at, 0, 0
		if next.sep != 0 {
			s.cell(i+1, &next)
			return
		}
		s.table = next
	case c == ',' && s.argument(i), s.need:
		return
	case c == t.sep && at > t.quoted:
		next := *t
		next.column++
		s.cell(i+1, &next)
		return
	}
	s.pos = i + 1
}

// header fills the table when a line is one of column names, at least one of which says
// something, and the line from next on has as many cells.
func (s *Scanner) header(t *table, line []byte, next int) {
	sep := byte(0)
	for _, c := range ",;\t|" {
		if at := bytes.IndexByte(line, byte(c)); at > 0 || at == 0 && c == '|' { // of Markdown
			sep = byte(c)
			break
		}
	}
	if sep == 0 {
		return
	}
	n, told := 0, false
	for cell := range bytes.SplitSeq(bytes.TrimRight(line, "\r"), []byte{sep}) {
		cell = bytes.Trim(cell, " \"'")
		if n == maxColumns || len(cell) > 40 || bytes.Count(cell, []byte(" ")) > 3 {
			return
		}
		mask, ok := columnName(cell)
		if !ok {
			return
		}
		told = told || mask != 0
		t.columns[n] = mask
		n++
	}
	if !told {
		return
	}
	cells, k := 1, next
	for k-next < maxRow && s.at(k) != '\n' && s.at(k) != 0 {
		if s.at(k) == '"' {
			for k++; k-next < maxRow && s.at(k) != '"' && s.at(k) != '\n' && s.at(k) != 0; {
				k++
			}
			if s.at(k) == '"' {
				k++
			}
			continue
		}
		if s.at(k) == sep {
			cells++
		}
		k++
	}
	if cells == n && n > 1 {
		t.sep, t.n = sep, n
	}
}

// columnName tells what the name of a column says. It is none when it has more than two
// digits or signs that names have not.
func columnName(cell []byte) (mask uint64, ok bool) {
	var w words
	w.reset()
	digits := 0
	for i := 0; i < len(cell); {
		if !alnum(cell[i]) {
			if bytes.IndexByte([]byte(" _-./()#?"), cell[i]) < 0 {
				return 0, false
			}
			i++
			continue
		}
		j := i
		for j < len(cell) && alnum(cell[j]) {
			if digit(cell[j]) {
				digits++
			}
			j++
		}
		w.read(cell[i:j], int64(i))
		i = j
	}
	if digits > 2 {
		return 0, false
	}
	for t, at := range w.at {
		if at != never {
			mask |= 1 << t
		}
	}
	return mask &^ (1<<isWord | 1<<goesOn), true
}

// cell begins a cell at i: the name of its column counts as the words before it.
func (s *Scanner) cell(i int, t *table) {
	at := s.base + int64(i)
	if s.at(i) == '"' {
		k := i + 1
		for k-i < maxRow && s.at(k) != '"' && s.at(k) != '\n' && s.at(k) != 0 {
			k++
		}
		t.quoted = s.base + int64(k)
	}
	mask := uint64(0)
	if t.column < t.n {
		mask = t.columns[t.column]
	}
	if s.need {
		return
	}
	before := s.words
	s.words.at[aNot], s.words.from = never, at
	s.words.stamp(mask, at)
	if mask&^(1<<aNot) != 0 {
		s.words.at[aNot] = never
	}
	s.words.last, s.words.hash, s.words.end, s.words.sep = mask, 0, at, at
	if mask&keyTopics != 0 && s.valueAt(i, t.sep) {
		s.table = *t
		return
	}
	if s.need {
		s.words = before
		return
	}
	s.table = *t
	s.pos = i
}

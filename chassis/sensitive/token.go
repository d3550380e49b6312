package sensitive

// Bounds of a token.
const (
	maxGroups = 10
	maxChars  = 36
)

// group is a run of letters and digits in a token.
type group struct {
	start, end int  // in buf
	chars      int  // characters of the token up to its end
	sep        byte // what stands before it: ' ', '-', '.', '/', '(' or ')'; 0 for the first
	letters    bool
	small      bool // small letters in the token up to its end
}

// token is a row of short groups of letters and digits with single separators between
// them, as people write numbers. Its beginnings are its windows.
type token struct {
	start  int
	chars  [maxChars]byte // letters are upper case
	groups [maxGroups]group
	n      int
	digits int      // groups at the beginning that are only digits
	count  int      // of digits
	small  bool     // has small letters
	left   byte     // what stands before it
	glued  bool     // it goes on from an earlier number: 12.345, 10:30, a71b-1234
	second bool     // a number and a space stand before it
	room   [40]byte // for the shape of a window
}

// read fills the token that begins at i.
func (s *Scanner) read(t *token, i int) {
	t.start, t.n, t.digits, t.count, t.small = i, 0, 0, 0, false
	t.left, t.glued, t.second = s.leftOf(i)
	chars := 0
	sep := byte(0)
	for t.n < maxGroups {
		g := group{start: i, sep: sep}
		numbers := 0
		for ; ; i++ {
			c := s.at(i)
			if !alnum(c) {
				break
			}
			if chars == maxChars {
				return // the group is cut off, so it is none
			}
			if !digit(c) {
				g.letters = true
				t.small = t.small || c >= 'a'
				c &^= 0x20
			} else {
				numbers++
			}
			t.chars[chars] = c
			chars++
		}
		g.end, g.chars, g.small = i, chars, t.small
		if t.n > 0 && g.letters && (i-g.start > 8 || numbers == 0 && i-g.start > 2 && t.small) {
			return // a word
		}
		t.count += numbers
		t.groups[t.n] = g
		t.n++
		if !g.letters && t.digits == t.n-1 {
			t.digits = t.n
		}
		next := 0
		if sep, next = s.separation(i, t.n == 1 && t.chars[0] == '0' && chars <= 5); sep == 0 {
			return
		}
		i = next
	}
}

// separation reads what stands between two groups, and gives where the next begins; 0
// when none follows. Behind the area of a phone number a slash may have spaces around it.
// A dot and a space end a sentence; a dash and a space before a word end what was said.
func (s *Scanner) separation(i int, area bool) (sep byte, next int) {
	spaced := false
	for n := 0; n < 3; n++ {
		spaced = spaced || s.at(i) == ' '
		switch c := s.at(i); {
		case alnum(c):
			if spaced && sep != ' ' && sep != '(' && letter(c) {
				return 0, 0
			}
			return sep, i
		case c == ' ' && n == 1 && sep == '.':
			return 0, 0
		case c == '(' || c == ')':
			sep = c
		case c == ' ' && n > 0 && (sep == ' ' || sep == '/' && !area), c == '/' && n > 0 && !area:
			return 0, 0
		case c == ' ' || c == '-' || c == '.' || c == '/':
			if sep == 0 || sep == ' ' {
				sep = c
			}
		default:
			return 0, 0
		}
		i++
	}
	if c := s.at(i); alnum(c) && !(spaced && sep != ' ' && sep != '(' && letter(c)) {
		return sep, i
	}
	return 0, 0
}

// leftOf tells what stands before a place where a group begins.
func (s *Scanner) leftOf(i int) (left byte, glued, second bool) {
	left = s.at(i - 1)
	before := s.at(i - 2)
	switch left {
	case '_':
		return left, true, false
	case ',':
		return left, digit(before) && !s.column(i), false
	case '.', ':', '/', '\'':
		return left, digit(before), false
	case '-':
		if upper(before) && upper(s.at(i-3)) && !alnum(s.at(i-4)) { // EX-2025-1188
			return left, true, false
		}
		for k := i - 2; k > i-12 && alnum(s.at(k)); k-- {
			if digit(s.at(k)) { // glued to a word that has digits, as in a UUID
				return left, true, false
			}
		}
	case ' ':
		return left, false, digit(before)
	}
	return left, false, false
}

// column tells whether the comma before a place separates columns, not thousands.
func (s *Scanner) column(i int) bool {
	n := 0
	for digit(s.at(i)) && n < 4 {
		i++
		n++
	}
	return n != 3 || s.at(i) == '-'
}

// window is the beginning of a token that ends with a group.
type window struct {
	*token
	last  int    // group
	size  int    // characters
	end   int    // in buf
	shape []byte // lengths of its groups with the separators between them
}

// window gives the beginning of the token up to a group. It is not whole when the next
// group is tied to it by more than a space.
func (s *Scanner) window(t *token, last int) (w window, whole bool) {
	g := t.groups[last]
	w = window{token: t, last: last, size: g.chars, end: g.end}
	shape := t.room[:0]
	from := 0
	for k := 0; k <= last; k++ {
		if k > 0 {
			shape = append(shape, t.groups[k].sep)
		}
		n := t.groups[k].chars - from
		from = t.groups[k].chars
		if n > 9 {
			shape = append(shape, '1')
			n -= 10
		}
		if n > 9 {
			shape[len(shape)-1] = '2'
			n -= 10
		}
		shape = append(shape, '0'+byte(n%10))
	}
	w.shape = shape
	whole = true
	if last+1 < t.n {
		sep := t.groups[last+1].sep
		whole = sep == ' ' || sep == '(' && s.at(g.end) == ' '
	}
	switch s.at(g.end) {
	case '_', '@':
		whole = false
	case '.', ',', ':':
		whole = whole && (!digit(s.at(g.end+1)) || s.at(g.end) == ',' && s.column(g.end+1))
	case '-':
		whole = whole && !alnum(s.at(g.end+1))
	case '%':
		whole = false
	}
	return w, whole
}

// text gives the characters of the window, letters in upper case.
func (w window) text() []byte { return w.chars[:w.size] }

// groupLen gives how many characters a group has.
func (w window) groupLen(k int) int {
	if k == 0 {
		return w.groups[0].chars
	}
	return w.groups[k].chars - w.groups[k-1].chars
}

// numeric tells whether the window has only digits.
func (w window) numeric() bool { return w.last < w.digits }

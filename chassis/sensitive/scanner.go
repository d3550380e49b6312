package sensitive

// Bounds of what a scanner keeps.
const (
	block    = 16 << 10 // bytes that are folded at a time
	lookback = 520      // folded bytes that stay behind the place that is read
	maxRun   = 4096     // a finding longer than this is told in pieces
	never    = -1 << 40
)

// Scanner finds what is sensitive in a stream. Its memory does not grow with the length of
// the stream. It is for one goroutine.
type Scanner struct {
	buf        []byte // folded
	base       int64  // place of buf[0] in the folded text
	pos        int    // in buf: what is before it has been read
	lastEnd    int    // in buf: the end of the last finding
	shifts     []shift
	delta      int64
	startDelta int64 // of what is before the shifts
	part       [4]byte
	partial    int

	final bool
	need  bool // the answer depends on bytes that have not come
	found []Finding

	words words
	token token // under way
	table table
	open  opened
	whole bool // the text is the value of one field
}

// opened is a finding whose end has not been seen.
type opened struct {
	kind  string
	until *set // bytes that it goes on with; nil when nothing is open
	pem   bool
	from  int64 // in the source
	size  int   // what has been read of it
}

// NewScanner makes a scanner at the beginning of a text.
func NewScanner() *Scanner {
	s := &Scanner{}
	s.words.reset()
	return s
}

// Write reads on and gives what was found with certainty, in the order of the text. What
// depends on bytes to come waits for them; see [Scanner.Settled].
func (s *Scanner) Write(p []byte) []Finding {
	s.found = nil
	for len(p) > 0 {
		n := min(len(p), block)
		s.fold(p[:n], false)
		p = p[n:]
		s.run()
		s.compact()
	}
	return s.found
}

// Close says that the text has ended, and gives the rest of what was found. The scanner
// then begins another text.
func (s *Scanner) Close() []Finding {
	s.found = nil
	s.fold(nil, true)
	s.final = true
	s.run()
	found := s.found
	s.reset()
	return found
}

// field says that the text is the value of a field with a name.
func (s *Scanner) field(w *words) {
	s.words, s.whole = *w, true
}

// name gives what the name of a field says about its value, and what is in it.
func (s *Scanner) name(name string) (words, []Finding) {
	s.fold([]byte(name), true)
	s.buf = append(s.buf, opener)
	s.final = true
	s.found = nil
	s.run()
	w, found := s.words, s.found
	s.reset()
	w.rebase(w.end)
	return w, found
}

func (s *Scanner) reset() {
	s.buf, s.shifts = s.buf[:0], s.shifts[:0]
	s.base, s.pos, s.lastEnd, s.delta, s.startDelta, s.partial = 0, 0, 0, 0, 0, 0
	s.final, s.need, s.whole, s.open = false, false, false, opened{}
	s.table.sep, s.table.begun, s.table.column, s.table.quoted = 0, 0, 0, 0
	s.words.reset()
}

// Settled gives the length of the text, in bytes from its beginning, about which
// everything has been said: no finding to come begins before it.
func (s *Scanner) Settled() int64 {
	if s.open.until != nil {
		return s.open.from
	}
	// An address of mail is seen at its @, so what may be its beginning waits; the words
	// before a place may belong to "name at example dot com".
	i := s.pos
	for range 2 {
		for i > s.lastEnd && space(s.buf[i-1]) && s.pos-i < 2*maxLocal {
			i--
		}
		for i > s.lastEnd && !space(s.buf[i-1]) && s.pos-i < 2*maxLocal {
			i--
		}
	}
	return s.source(s.base + int64(i))
}

// compact forgets what is behind.
func (s *Scanner) compact() {
	drop := s.pos - lookback
	if drop < block/2 {
		return
	}
	s.buf = append(s.buf[:0], s.buf[drop:]...)
	s.base += int64(drop)
	s.pos -= drop
	s.lastEnd = max(s.lastEnd-drop, 0)
	n := 0
	for n < len(s.shifts) && s.shifts[n].at <= s.base {
		s.startDelta = s.shifts[n].delta
		n++
	}
	s.shifts = append(s.shifts[:0], s.shifts[n:]...)
}

// at gives a byte of the folded text; 0 before its beginning and behind its end.
func (s *Scanner) at(i int) byte {
	if i < len(s.buf) {
		if i < 0 {
			return 0
		}
		return s.buf[i]
	}
	s.need = s.need || !s.final
	return 0
}

// emit tells a finding from start to end of buf, and goes on behind it; not when more has
// to come first.
func (s *Scanner) emit(class Class, kind string, start, end int) {
	if s.need {
		return
	}
	s.found = append(s.found, Finding{
		Class: class, Kind: kind,
		Start: s.source(s.base + int64(start)), End: s.sourceEnd(s.base + int64(end)),
	})
	s.pos, s.lastEnd = end, end
	s.words.last = 0
}

// run reads as far as it can be sure.
func (s *Scanner) run() {
	s.need = false
	if s.whole && s.base == 0 && s.pos == 0 && len(s.buf) > 0 && s.words.last&keyTopics != 0 {
		if s.valueAt(0, opener); s.need {
			return
		}
		s.whole = false
	}
	for s.pos < len(s.buf) {
		if s.open.until != nil {
			if !s.goOn() {
				return
			}
			continue
		}
		i := s.pos
		switch c := s.buf[i]; kinds[c] {
		case isOther:
			i++
			for i < len(s.buf) && kinds[s.buf[i]] == isOther {
				i++
			}
			s.pos = i
			continue
		case isAlnum:
			s.characters(i)
		case isSeparator:
			s.separator(i)
		case isAt:
			s.mail(i)
		case isPercent:
			s.percent(i)
		case isHyphen:
			s.hyphen(i)
		case isLine:
			s.line(i, c)
		case isSaying:
			s.words.say(c, s.base+int64(i)+1)
			s.pos++
		}
		if s.need {
			s.pos = i
			s.need = false
			if s.final {
				panic("sensitive: waits behind the end")
			}
			return
		}
	}
}

// Kinds of bytes in the folded text.
const (
	isOther = iota
	isAlnum
	isSeparator
	isAt
	isPercent
	isHyphen
	isLine
	isSaying
)

var kinds = func() (k [256]uint8) {
	for c := '0'; c <= '9'; c++ {
		k[c] = isAlnum
	}
	for c := 'a'; c <= 'z'; c++ {
		k[c], k[c-'a'+'A'] = isAlnum, isAlnum
	}
	for _, c := range ":=>" {
		k[c] = isSeparator
	}
	k[opener] = isSeparator
	k['@'], k['%'], k['-'], k['\n'] = isAt, isPercent, isHyphen, isLine
	k[','], k[';'], k['\t'], k['|'] = isLine, isLine, isLine, isLine
	for c := saysPhone; c <= saysOther; c++ {
		k[c] = isSaying
	}
	return k
}()

// opener stands before the value of a field that is given by itself.
const opener = 0x02

func space(c byte) bool  { return c == ' ' || c == '\n' || c == '\t' || c == '\r' }
func digit(c byte) bool  { return c-'0' < 10 }
func upper(c byte) bool  { return c-'A' < 26 }
func lower(c byte) bool  { return c-'a' < 26 }
func letter(c byte) bool { return c|0x20-'a' < 26 && c < 0x80 }
func alnum(c byte) bool  { return kinds[c] == isAlnum }

package sensitive

import "bytes"

// characters reads a run of letters and digits that begins at i.
func (s *Scanner) characters(i int) {
	if i > 0 && alnum(s.buf[i-1]) { // goes on from what was too long or partly found
		for i < len(s.buf) && alnum(s.buf[i]) {
			i++
		}
		s.pos = i
		return
	}
	if s.mayBeKey(i) && s.secret(i) {
		return
	}
	if s.words.last&(1<<isWord|1<<aBearer) != 0 && s.told(i) {
		return
	}
	if s.words.last&(1<<aPassword) != 0 && s.loginPassword(i) || s.need {
		return
	}
	j, digits := i, 0
	for j < len(s.buf) && alnum(s.buf[j]) {
		if s.buf[j] < 'A' {
			digits++
		}
		j++
	}
	if (j-i == 32 || j-i == 5) && s.ending(i, j) {
		return
	}
	if j-i > maxWord {
		s.pos = i + maxWord
		s.words.last = 0
		return
	}
	if s.at(j); s.need {
		return
	}
	end := 0
	switch {
	case digits == 0 && j-i <= 4:
		end = s.short(i, j)
	case digits == 0 && s.at(i-1) == '.':
		end = s.host(i, j)
	case digits == 0:
		if s.words.near(aBirth, s.base+int64(i), 40) && s.month(i, j) {
			if k := s.monthDate(i); k > 0 {
				s.emit(DateOfBirth, "", i, k)
				end = -1
			}
		}
	default:
		end = s.number(i, j)
	}
	if s.need || end < 0 {
		return
	}
	s.words.read(s.buf[i:j], s.base+int64(i))
	s.pos = max(j, end)
}

// told tells the value that begins at i or just before it when the words before are
// "password is" or "bearer". The answer says that it has, or that it has to wait.
func (s *Scanner) told(i int) bool {
	start := int(s.words.end - s.base)
	if i-start > 4 || start < s.lastEnd || s.words.last&(1<<aPassword|1<<aToken|1<<aBearer) == 0 {
		return false
	}
	return s.valueAt(start, ' ') || s.need
}

// loginPassword tells the password that follows its name behind a space, as in a .netrc.
func (s *Scanner) loginPassword(i int) bool {
	return s.words.last&(1<<aPassword) != 0 && s.words.last&(1<<isWord) == 0 && s.words.end == s.base+int64(i-1) && s.at(i-1) == ' ' && s.standing(i)
}

// maxWord bounds the runs of letters and digits that are looked at.
const maxWord = 256

// short looks at a word of at most four letters. Its answer is that of number.
func (s *Scanner) short(i, j int) int {
	next := s.at(j)
	switch {
	case j-i == 2 && (s.buf[i]|0x20) == 'a' && (s.buf[i+1]|0x20) == 't':
		return s.spelled(i, j)
	case s.at(i-1) == '.':
		return s.host(i, j)
	case j-i == 4 && next == ':' && s.buf[i]|0x20 == 'f':
		return s.ipv6(i)
	case j-i <= 3 && (next == ' ' || next == '-' || next == '.') && upper(s.buf[j-1]) && (digit(s.at(j+1)) || j-i == 3 && upper(s.at(j+1))):
		return s.number(i, j)
	case j-i <= 2 && (next == ' ' || next == '-') && digit(s.at(j+1)) && s.words.near(aNINO, s.base+int64(i), 48):
		return s.number(i, j)
	}
	return 0
}

// number looks at a run with digits, or one that digits follow. It gives where to go on,
// 0 for behind the run, or -1 when it has told a finding.
func (s *Scanner) number(i, j int) int {
	t := &s.token
	if letter(s.buf[i]) {
		if end := s.iban(i); end > 0 {
			s.emit(IBAN, "", i, end)
			return -1
		}
		if s.buf[i]|0x20 == 'f' && j-i == 4 && s.at(j) == ':' {
			return s.ipv6(i)
		}
	}
	if j-i > 22 {
		return 0
	}
	if j-i >= 8 && j-i <= 10 && s.at(j) == ':' && s.at(j+1) == 'A' && s.telegram(i, j) {
		return -1
	}
	s.read(t, i)
	if s.need {
		return 0
	}
	total := t.groups[t.n-1].chars
	at := s.base + int64(i)
	if t.digits > 0 {
		if t.groups[0].end-i <= 3 && s.address4(t) {
			return s.private4(t)
		}
		if end := s.date(t); end != 0 {
			return end
		}
	}
	if total >= 6 && t.count >= 4 {
		for last := t.n - 1; last >= 0 && t.groups[last].chars >= 6; last-- {
			w, whole := s.window(t, last)
			if !whole || w.size > 20 {
				continue
			}
			if class, kind := s.identify(w); class != "" {
				s.emit(class, kind, s.begin(w, class), w.end)
				return -1
			}
		}
	}
	if t.digits > 0 && s.words.last&(1<<aCode) != 0 && at-s.words.end <= 3 && j-i >= 3 && j-i <= 8 && !t.glued && allDigits(s.buf[i:j]) && !(j-i == 4 && year(s.buf[i:j])) {
		s.emit(Secret, "code", i, j)
		return -1
	}
	if t.digits > 0 {
		if end := s.amount(t, at); end > 0 {
			s.emit(Finances, "", s.currency(i), end)
			return -1
		}
	}
	return 0
}

// identify gives what a window is.
func (s *Scanner) identify(w window) (Class, string) {
	if w.numeric() {
		if s.card(w) {
			return Card, ""
		}
		if w.size == 9 && s.words.near(aPhone, s.base+int64(w.start), 12) && s.phone(w) {
			return Phone, ""
		}
	}
	if kind := s.nationalID(w); kind != "" {
		return NationalID, kind
	}
	if w.numeric() {
		if s.phone(w) {
			return Phone, ""
		}
		if s.account(w) {
			return BankAccount, ""
		}
	}
	return "", ""
}

// begin gives where the finding begins: with the plus sign or bracket of a phone number.
func (s *Scanner) begin(w window, class Class) int {
	i := w.start
	if class != Phone {
		return i
	}
	if s.at(i-1) == '(' && bytes.IndexByte(s.buf[i:w.end], ')') >= 0 {
		i--
	}
	if s.at(i-1) == '+' {
		i--
	}
	if s.at(i-1) == '(' && bytes.IndexByte(s.buf[i:w.end], ')') >= 0 {
		i--
	}
	return max(i, s.lastEnd)
}

// card tells whether a window is the number of a payment card: prefix, length and check
// digit of ISO/IEC 7812, in the groups that cards have or in any with a word about it.
func (s *Scanner) card(w window) bool {
	if w.size < 13 || w.size > 19 || w.glued {
		return false
	}
	b := w.text()
	told := s.words.near(aCard, s.base+int64(w.start), 60)
	if !issued(b, told) || !luhn(b) {
		return false
	}
	if told {
		return true
	}
	if s.words.last&(1<<aNot) != 0 && s.words.other(s.base+int64(w.start)) || s.at(w.start-1) == '#' {
		return false
	}
	switch w.size {
	case 16:
		return w.last == 0 || w.last == 3 && w.groupLen(0) == 4 && w.groupLen(1) == 4 && w.groupLen(2) == 4
	case 15:
		return w.last == 0 || w.groupLen(0) == 4 && w.groupLen(1) == 6
	case 14:
		return w.last > 0 && w.groupLen(0) == 4 && (w.groupLen(1) == 6 || w.last == 3)
	case 19:
		return w.last == 4 || w.last == 1
	}
	return false
}

// issued tells whether a number begins as those of issuers do and has their length.
func issued(b []byte, told bool) bool {
	n, two, three, four := len(b), num(b[:2]), num(b[:3]), num(b[:4])
	switch {
	case b[0] == '4':
		return n == 16 || n == 13 || n == 19
	case two >= 51 && two <= 55, four >= 2221 && four <= 2720:
		return n == 16
	case two == 34, two == 37:
		return n == 15
	case two == 36, two == 38, two == 39, three >= 300 && three <= 305:
		return n == 14 || n == 16 && two == 36 || told && n <= 19
	case four == 6011, three >= 644 && three <= 649, two == 65, two == 62, four >= 3528 && four <= 3589, two == 60, two == 81, two == 82, three == 508:
		return n >= 16
	case four >= 2200 && four <= 2204:
		return n >= 16
	case two == 50, two >= 56 && two <= 58, b[0] == '6', b[0] == '9':
		return told && n >= 13
	}
	return false
}

// account tells whether a window is the number of an account by the words before it.
func (s *Scanner) account(w window) bool {
	at := s.base + int64(w.start)
	if w.glued || w.size < 6 || w.size > 18 || !s.words.near(anAccount, at, 28) {
		return false
	}
	return w.last == 0 || w.last <= 5
}

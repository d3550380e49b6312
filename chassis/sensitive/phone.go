package sensitive

import "bytes"

// phone tells whether a window is a phone number.
func (s *Scanner) phone(w window) bool {
	b := w.text()
	at := s.base + int64(w.start)
	plus := s.at(w.start-1) == '+' || s.at(w.start-1) == '(' && s.at(w.start-2) == '+'
	if plus && !w.glued {
		before := s.at(w.start - 2)
		return !alnum(before) && international(w, b)
	}
	if w.glued || w.size < 7 || w.size > 16 || same(b) {
		return false
	}
	told := s.words.near(aPhone, at, 48) && s.listed(aPhone, at) && s.words.at[anIBAN] <= s.words.at[aPhone]
	switch w.left {
	case '#', '$', '/', '=', '&', '?', '*':
		if !told {
			return false
		}
	}
	if told {
		return s.toldPhone(w, b)
	}
	if s.words.other(at) || w.second {
		return false
	}
	if b[0] == '0' && b[1] == '0' {
		return w.last > 0 && w.size >= 11 && international(w, b[2:])
	}
	return american(w, b) || trunk(w, b) || mobile(w, b)
}

// toldPhone tells whether a window is a phone number when the words before it say so.
func (s *Scanner) toldPhone(w window, b []byte) bool {
	if w.size > 15 || w.size == 8 && w.last == 1 && year(b[:4]) && year(b[4:]) {
		return false
	}
	if w.last == 1 && w.groups[1].sep == '.' && w.groupLen(1) <= 3 { // an amount
		return false
	}
	for k := 1; k <= w.last; k++ {
		if w.groupLen(k) < 2 && !(w.groups[k].sep == '(' || w.groups[k].sep == ')' || w.groups[k].sep == '-') && w.size < 9 {
			return false
		}
	}
	return w.last > 0 || w.size >= 7
}

func year(b []byte) bool { n := num(b); return n >= 1900 && n < 2100 }

// countryCodes are the codes of ITU-T E.164 with the lengths of the numbers behind them;
// three digits stand for what is not listed.
var countryCodes = map[int][2]int{
	1: {10, 10}, 7: {10, 10}, 20: {8, 10}, 27: {9, 9}, 30: {10, 10}, 31: {8, 10}, 32: {8, 9}, 33: {9, 9}, 34: {9, 9}, 36: {8, 9}, 39: {6, 12},
	40: {9, 9}, 41: {9, 9}, 43: {6, 13}, 44: {9, 10}, 45: {8, 8}, 46: {7, 10}, 47: {8, 8}, 48: {9, 9}, 49: {6, 13}, 51: {8, 9}, 52: {10, 11}, 53: {6, 8},
	54: {10, 11}, 55: {10, 11}, 56: {8, 9}, 57: {8, 10}, 58: {10, 10}, 60: {7, 10}, 61: {9, 9}, 62: {8, 12}, 63: {8, 10}, 64: {8, 10}, 65: {8, 8}, 66: {8, 9},
	81: {9, 10}, 82: {8, 11}, 84: {9, 10}, 86: {9, 11}, 90: {10, 10}, 91: {10, 10}, 92: {9, 10}, 93: {9, 9}, 94: {9, 9}, 95: {7, 10}, 98: {10, 10},
}

// international tells whether digits are a country code and a number that is as long as
// those of the country.
func international(w window, b []byte) bool {
	b = withoutTrunk(w, b)
	if len(b) < 8 || len(b) > 16 || b[0] == '0' {
		return false
	}
	for n := 1; n <= 2; n++ {
		if l, ok := countryCodes[num(b[:n])]; ok {
			rest := b[n:]
			if rest[0] == '0' && len(rest) > l[0] { // a trunk zero that does not belong there
				rest = rest[1:]
			}
			if n == 1 && b[0] == '1' && (rest[0] < '2' || rest[3] < '1') {
				return false
			}
			return len(rest) >= l[0] && len(rest) <= l[1] && !same(rest)
		}
	}
	switch b[0] {
	case '2', '3', '4', '5', '6', '8', '9':
		return len(b) >= 10 && len(b) <= 14
	}
	return false
}

// withoutTrunk leaves out the (0) of +44 (0)20.
func withoutTrunk(w window, b []byte) []byte {
	for k := 1; k <= w.last; k++ {
		if w.groups[k].sep == '(' && w.groupLen(k) == 1 && w.chars[w.groups[k].chars-1] == '0' {
			at := w.groups[k].chars - 1 - (w.size - len(b))
			if at > 0 {
				return append(append([]byte(nil), b[:at]...), b[at+1:]...)
			}
		}
	}
	return b
}

// american tells whether a window is a number of the North American plan in the groups
// in which it is written.
func american(w window, b []byte) bool {
	first := 0
	if len(b) == 11 && b[0] == '1' && w.last == 3 && w.groupLen(0) == 1 {
		first, b = 1, b[1:]
	}
	if len(b) != 10 || w.last != first+2 || w.groupLen(first) != 3 || w.groupLen(first+1) != 3 {
		return false
	}
	return b[0] >= '2' && b[3] >= '2' && b[1] != '9'
}

// trunk tells whether a window is a national number that begins with the trunk zero, or
// with an area in brackets.
func trunk(w window, b []byte) bool {
	if w.last == 0 {
		return false
	}
	bracket := bytes.IndexByte(w.shape, ')') > 0
	dots := 0
	for k := 1; k <= w.last; k++ {
		if w.groups[k].sep == '.' {
			dots++
		}
	}
	first := w.groupLen(0)
	if bracket && w.left == '(' {
		if first < 2 || first > 6 || len(b) < 8 || len(b) > 12 || first == 4 && year(b[:4]) {
			return false
		}
		return len(b)-first >= 6 || b[0] == '0'
	}
	if bracket && (b[0] == '8' || b[0] == '7') && first == 1 && len(b) == 11 {
		return true
	}
	if w.goesOn() || b[0] != '0' || b[1] == '0' || len(b) < 9 || len(b) > 12 || first < 2 || first > 6 {
		return false
	}
	if dots > 0 && (dots != w.last || dots == 1) {
		return false
	}
	for k := 1; k <= w.last; k++ {
		if w.groupLen(k) < 2 {
			return false
		}
	}
	return true
}

// mobile tells whether a window is a mobile number by its first digits and groups.
func mobile(w window, b []byte) bool {
	switch string(w.shape) {
	case "11":
		return b[0] == '0' && (b[1] == '7' && b[2] >= '3' || b[1] == '1' && (b[2] >= '5' && b[2] <= '7'))
	case "10":
		return b[0] == '0' && (b[1] == '6' || b[1] == '7')
	case "5 5", "5-5":
		return b[0] >= '6'
	case "3 4 4", "3-4-4":
		return b[0] == '1' && b[1] >= '3'
	case "2 5-4", "2 4-4", "2-5-4":
		return b[0] >= '1' && b[1] >= '1'
	}
	return false
}

package sensitive

import "strings"

// date looks at whether a token begins with a date. One that words before it call a date
// of birth is told; others are passed over, so that they are not taken for numbers. Its
// answer is that of number.
func (s *Scanner) date(t *token) int {
	at := s.base + int64(t.start)
	born := s.words.near(aBirth, at, 40) && !t.glued && s.listed(aBirth, at)
	end := s.numericDate(t)
	if end == 0 && born {
		end = s.monthDate(t.start)
		if end == 0 && t.digits > 0 && t.groups[0].end-t.start == 8 && compactDate(t.chars[:8]) {
			end = t.groups[0].end
		}
		if end == 0 && t.groups[0].end-t.start == 4 && year(t.chars[:4]) && at-s.words.at[aBirth] <= 8 {
			end = t.groups[0].end
		}
	}
	if end == 0 {
		return 0
	}
	if born {
		s.emit(DateOfBirth, "", t.start, end)
		return -1
	}
	return end
}

// numericDate gives the end of a date such as 31/12/1980, 1980-12-31 or 31.12.80, or 0.
func (s *Scanner) numericDate(t *token) int {
	if t.digits < 3 || t.glued {
		return 0
	}
	sep := t.groups[1].sep
	if sep != t.groups[2].sep || sep == '(' || sep == ')' || sep == ' ' {
		return 0
	}
	var n, size [3]int
	from := 0
	for k := range 3 {
		n[k] = num(t.chars[from:t.groups[k].chars])
		size[k] = t.groups[k].chars - from
		from = t.groups[k].chars
	}
	if t.n > 3 && t.groups[3].sep == sep {
		return 0
	}
	if t.n > 3 && t.groups[3].sep != ' ' && !(t.groups[3].sep == '-' && sep != '-') {
		return 0
	}
	if t.n > 3 && t.groups[3].sep == '-' && t.groups[3].chars-t.groups[2].chars == 3 && sep == '.' { // a Belgian number
		return 0
	}
	switch {
	case size[0] == 4 && size[1] <= 2 && size[2] <= 2 && n[0] >= 1850 && n[0] < 2150 && dayMonth(n[2], n[1]):
	case size[2] == 4 && size[0] <= 2 && size[1] <= 2 && n[2] >= 1850 && n[2] < 2150 && (dayMonth(n[0], n[1]) || dayMonth(n[1], n[0])):
	case size[2] == 2 && size[0] <= 2 && size[1] <= 2 && sep != '-' && (dayMonth(n[0], n[1]) || dayMonth(n[1], n[0])):
	default:
		return 0
	}
	return t.groups[2].end
}

func compactDate(b []byte) bool {
	return year(b[:4]) && dayMonth(num(b[6:]), num(b[4:6])) || year(b[4:]) && (dayMonth(num(b[:2]), num(b[2:4])) || dayMonth(num(b[2:4]), num(b[:2])))
}

// months are the beginnings of the names of months in the languages that forms are in.
const months = " jan feb mar apr may jun jul aug sep oct nov dec mai okt dez ene abr ago dic fev avr aou gen mag giu lug set ott out mrt maa mei maj sty lut kwi cze lip sie wrz paz lis gru tam hel huh tou kes hei elo syy mär mars juin juil janv maj "

// month tells whether a word begins as the name of a month does.
func (s *Scanner) month(i, j int) bool {
	return j-i >= 3 && strings.Contains(months, " "+strings.ToLower(string(s.buf[i:i+3]))+" ")
}

// monthDate gives the end of a date with the name of its month that begins at i, such as
// 3rd of March 1980, 3. März 1980, March 3, 1980 or 03-Mar-80; 0 where none does.
func (s *Scanner) monthDate(i int) int {
	k, named, day, years := i, false, false, false
	for n := 0; n < 5; n++ {
		from := k
		for alnum(s.at(k)) && k-from < 12 {
			k++
		}
		if k == from || s.need {
			return 0
		}
		word := s.buf[from:k]
		switch {
		case allDigits(word) && len(word) == 4 && year(word):
			years = true
		case allDigits(word) && len(word) <= 2 && named && day:
			years = true
		case allDigits(word) && len(word) <= 2:
			day = true
		case digit(word[0]) && len(word) <= 4: // 3rd, 1er
			day = true
		case s.month(from, k):
			named = true
		case strings.Contains(" of de da di del the ", " "+strings.ToLower(string(word))+" "):
		default:
			return 0
		}
		if named && years {
			return k
		}
		gap := 0
		for gap < 2 && s.at(k) != 0 && strings.IndexByte(" .,-/'", s.at(k)) >= 0 {
			k++
			gap++
		}
		if gap == 0 {
			return 0
		}
	}
	return 0
}

// amount gives the end of an amount of money at the beginning of a token when words before
// it say that it is what somebody earns or owes; 0 otherwise.
func (s *Scanner) amount(t *token, at int64) int {
	if t.glued || !s.words.near(aMoney, at, 40) || s.words.end-s.words.at[aMoney] > 24 || !s.listed(aMoney, at) {
		return 0
	}
	k, digits := t.start, 0
	for k-t.start < 20 {
		c := s.at(k)
		if digit(c) {
			digits++
		} else if !((c == ',' || c == '.' || c == '\'' || c == ' ' && digit(s.at(k+3)) && digit(s.at(k+2)) && !digit(s.at(k+4))) && digit(s.at(k+1))) {
			break
		}
		k++
	}
	money := s.currency(t.start) < t.start
	rest := s.at(k)
	if rest|0x20 == 'k' && !alnum(s.at(k+1)) {
		return k + 1
	}
	if rest == '%' || alnum(rest) || rest == '/' || rest == '-' && digit(s.at(k+1)) {
		return 0
	}
	tight := s.words.sep >= s.words.end
	switch {
	case digits >= 5, digits >= 3 && money, digits >= 3 && tight:
		return k
	case digits == 4 || digits == 3:
		if !year(t.chars[:t.groups[0].chars]) || t.groups[0].chars != 4 {
			return k
		}
	}
	return 0
}

// currency gives where an amount begins with the currency before it.
func (s *Scanner) currency(i int) int {
	k := i
	if s.at(k-1) == ' ' {
		k--
	}
	if s.at(k-1) == '$' {
		return max(k-1, s.lastEnd)
	}
	if k-3 >= s.lastEnd && k >= 3 && upper(s.buf[k-1]) && upper(s.buf[k-2]) && upper(s.buf[k-3]) {
		switch string(s.buf[k-3 : k]) {
		case "USD", "EUR", "GBP", "CHF", "INR", "SEK", "NOK", "DKK", "PLN", "JPY", "CAD", "AUD", "BRL", "ZAR":
			return k - 3
		}
	}
	return i
}

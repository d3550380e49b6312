package sensitive

import (
	"unicode"
	"unicode/utf8"
)

// Text is folded before it is read: one byte stands for each character, so that detectors
// see "１２３" as 123, a no-break space as a space and é as e. Characters that nobody sees
// are left out.
const (
	symbol = 0x01 // a character that means nothing here
	// Single characters of Chinese, Japanese and Korean words that say what follows.
	saysPhone  = 0x10
	saysID     = 0x11
	saysSecret = 0x12
	saysName   = 0x13
	saysBorn   = 0x14
	saysOther  = 0x15 // an order, the post
	dropped    = 0xFF
)

// shift says how far the source is ahead of the folded text from a place on.
type shift struct {
	at    int64 // in the folded text
	delta int64
	wide  bool // made by the character before, not by one that was left out
}

// fold appends what p folds to. A character that is cut off at the end waits for its rest.
func (s *Scanner) fold(p []byte, final bool) {
	if s.partial > 0 {
		p = append(s.part[:s.partial:s.partial], p...)
		s.partial = 0
	}
	for i := 0; i < len(p); {
		start := i
		for i < len(p) && p[i] < utf8.RuneSelf {
			i++
		}
		s.buf = append(s.buf, p[start:i]...)
		if i == len(p) {
			return
		}
		if !final && !utf8.FullRune(p[i:]) {
			s.partial = copy(s.part[:], p[i:])
			return
		}
		r, width := utf8.DecodeRune(p[i:])
		i += width
		b := foldRune(r)
		if b == dropped {
			s.delta += int64(width)
		} else {
			s.buf = append(s.buf, b)
			s.delta += int64(width - 1)
		}
		if b == dropped || width > 1 {
			s.shifts = append(s.shifts, shift{s.base + int64(len(s.buf)), s.delta, b != dropped})
		}
	}
}

func foldRune(r rune) byte {
	switch {
	case r < 0x180:
		return latin(r)
	case r >= 0xFF01 && r <= 0xFF5E: // full-width forms
		return byte(r - 0xFF01 + '!')
	case r >= 0x400 && r < 0x460:
		return cyrillic(r)
	case r >= 0x370 && r < 0x400:
		return greek(r)
	case r >= 0x660 && r <= 0x669:
		return byte(r-0x660) + '0'
	case r >= 0x6F0 && r <= 0x6F9:
		return byte(r-0x6F0) + '0'
	case r >= 0x966 && r <= 0x96F:
		return byte(r-0x966) + '0'
	case r >= 0x2010 && r <= 0x2015, r == 0x2212, r == 0xFE63:
		return '-'
	case r >= 0x2000 && r <= 0x200A, r == 0x202F, r == 0x205F, r == 0x3000:
		return ' '
	case r >= 0x200B && r <= 0x200F, r == 0x2060, r == 0xFEFF, r == 0x00AD, r >= 0x202A && r <= 0x202E, r >= 0x300 && r <= 0x36F:
		return dropped
	case r == 0x2018, r == 0x2019:
		return '\''
	case r >= 0x201C && r <= 0x201F:
		return '"'
	case r == 0x20AC:
		return '$' // a currency
	case r == 0x2028, r == 0x2029:
		return '\n'
	case r == 0x2022:
		return '*'
	}
	switch r {
	case '话', '話', '机', '화':
		return saysPhone
	case '证', '證', '民':
		return saysID
	case '密', '暗', '비':
		return saysSecret
	case '姓', '氏':
		return saysName
	case '誕', '诞':
		return saysBorn
	case '单', '單', '郵', '邮', '注':
		return saysOther
	}
	return symbol
}

// latinBase are the base letters from U+00C0 to U+017F.
const latinBase = "AAAAAAACEEEEIIIIDNOOOOO*OUUUUYTsaaaaaaaceeeeiiiidnooooo*ouuuuyty" +
	"AaAaAaCcCcCcCcDdDdEeEeEeEeEeGgGgGgGgHhHhIiIiIiIiIiJjJjKkkLlLlLlLlLlNnNnNnnNnOoOoOoOoRrRrRrSsSsSsSsTtTtTtUuUuUuUuUuUuWwYyYZzZzZzs"

func latin(r rune) byte {
	switch {
	case r >= 0xC0:
		return latinBase[r-0xC0]
	case r == 0xA0:
		return ' '
	case r == 0xAD:
		return dropped
	case r >= 0xA2 && r <= 0xA5:
		return '$'
	case r == 0xB7:
		return '.'
	}
	return symbol
}

// cyrillicBase are near Latin letters of U+0430 to U+044F, to match words by.
const cyrillicBase = "abvgdejziiklmnoprstufhccssyyyeua"

func cyrillic(r rune) byte {
	switch {
	case r >= 0x430 && r <= 0x44F:
		return cyrillicBase[r-0x430]
	case r >= 0x410 && r <= 0x42F:
		return cyrillicBase[r-0x410] - 'a' + 'A'
	case r == 0x401, r == 0x451:
		return 'e'
	}
	return 'i'
}

// greekBase are near Latin letters of U+03B1 to U+03C9.
const greekBase = "abgdezitiklmnxoprsstyfhco"

func greek(r rune) byte {
	r = unicode.ToLower(r)
	switch r {
	case 'ά':
		return 'a'
	case 'έ':
		return 'e'
	case 'ή':
		return 'i'
	case 'ί', 'ϊ':
		return 'i'
	case 'ό':
		return 'o'
	case 'ύ', 'ϋ':
		return 'y'
	case 'ώ':
		return 'o'
	}
	if i := int(r - 0x3B1); i >= 0 && i < len(greekBase) {
		return greekBase[i]
	}
	return symbol
}

// source gives the place in the source of a place in the folded text: where a character
// begins.
func (s *Scanner) source(at int64) int64 {
	delta := s.startDelta
	for i := len(s.shifts) - 1; i >= 0; i-- {
		if s.shifts[i].at <= at {
			delta = s.shifts[i].delta
			break
		}
	}
	return at + delta
}

// sourceEnd gives the place behind the character before a place in the folded text.
func (s *Scanner) sourceEnd(end int64) int64 {
	delta := s.startDelta
	for _, sh := range s.shifts {
		switch {
		case sh.at < end, sh.at == end && sh.wide:
			delta = sh.delta
		default:
			return end + delta
		}
	}
	return end + delta
}

package plaintext

import (
	"encoding/base64"
	"encoding/hex"
	"html"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Shorter runs are words and numbers of ordinary text far more often than encodings.
const (
	minBase64 = 16
	minHex    = 16
)

// base64Runs decodes every run of the base64 alphabet (standard or URL-safe,
// padded or not, wrapped over lines) that holds text.
func base64Runs(s string) []string {
	var out []string
	for _, run := range runs(s, base64Char, minBase64) {
		if decoded, ok := decodeBase64(run); ok {
			out = append(out, decoded)
		}
	}
	return out
}

func decodeBase64(run string) (string, bool) {
	run = strings.Map(func(r rune) rune {
		switch r {
		case '-':
			return '+'
		case '_':
			return '/'
		case '=', '\n', '\r', ' ':
			return -1
		}
		return r
	}, run)
	if len(run)%4 == 1 {
		run = run[:len(run)-1]
	}
	raw, err := base64.RawStdEncoding.DecodeString(run)
	if err != nil {
		return "", false
	}
	return readable(raw)
}

// hexRuns decodes every run of hexadecimal digits that holds text. Digests and
// identifiers do not: their bytes are not printable.
func hexRuns(s string) []string {
	var out []string
	for _, run := range runs(s, hexChar, minHex) {
		raw, err := hex.DecodeString(strings.Map(func(r rune) rune {
			if r == '\n' || r == '\r' {
				return -1
			}
			return r
		}, run))
		if err != nil {
			continue
		}
		if text, ok := readable(raw); ok {
			out = append(out, text)
		}
	}
	return out
}

func base64Char(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '+' || c == '/' || c == '-' || c == '_' || c == '='
}

func hexChar(c byte) bool {
	return c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F' || c >= '0' && c <= '9'
}

// runs finds the maximal runs of at least n characters of an alphabet. A line
// break continues a run whose line is as long as an encoder wraps it (60 and more).
func runs(s string, in func(byte) bool, n int) []string {
	var out []string
	for i := 0; i < len(s); {
		if !in(s[i]) {
			i++
			continue
		}
		start, line := i, i
		for i < len(s) {
			if in(s[i]) {
				i++
				continue
			}
			next := i + 1
			if s[i] == '\r' && next < len(s) && s[next] == '\n' {
				next++
			}
			if (s[i] == '\n' || s[i] == '\r') && i-line >= 60 && next < len(s) && in(s[next]) {
				i, line = next, next
				continue
			}
			break
		}
		if i-start >= n {
			out = append(out, s[start:i])
		}
	}
	return out
}

// readable accepts bytes that are text: UTF-8, or UTF-16LE as PowerShell takes
// it, nine tenths of it letters, digits, blanks and punctuation.
func readable(raw []byte) (string, bool) {
	if len(raw) >= 8 && raw[1] == 0 && raw[3] == 0 && raw[5] == 0 {
		units := make([]uint16, len(raw)/2)
		for i := range units {
			units[i] = uint16(raw[2*i]) | uint16(raw[2*i+1])<<8
		}
		raw = []byte(string(utf16.Decode(units)))
	}
	if !utf8.Valid(raw) {
		return "", false
	}
	text := string(raw)
	total, good := 0, 0
	for _, r := range text {
		total++
		if unicode.IsPrint(r) || r == '\n' || r == '\t' || r == '\r' || Invisible(r) && r > 0x7F {
			good++
		}
	}
	return text, total >= 6 && good*10 >= total*9
}

// unescape undoes percent-encoding, HTML character references, backslash escapes
// (\uXXXX, \u{X}, \xXX) and quoted-printable in one pass each. It reports whether
// that changed anything that matters: at least three escapes.
func unescape(s string) (string, bool) {
	count := 0
	if strings.Contains(s, "&") && strings.Contains(s, ";") {
		if u := html.UnescapeString(s); u != s {
			count += strings.Count(s, "&")
			s = u
		}
	}
	if !strings.ContainsAny(s, "%\\=") {
		return s, count >= 3
	}
	var b strings.Builder
	b.Grow(len(s))
	for i := 0; i < len(s); {
		if c := s[i]; c == '%' || c == '=' {
			if v, ok := hexByte(s, i+1); ok {
				b.WriteByte(v)
				i += 3
				count++
				continue
			}
		} else if c == '\\' && i+1 < len(s) {
			if r, n := backslash(s[i:]); n > 0 {
				b.WriteRune(r)
				i += n
				count++
				continue
			}
		}
		b.WriteByte(s[i])
		i++
	}
	if count < 3 {
		return s, false
	}
	return strings.ToValidUTF8(b.String(), "\uFFFD"), true
}

func hexByte(s string, i int) (byte, bool) {
	if i+2 > len(s) || !hexChar(s[i]) || !hexChar(s[i+1]) {
		return 0, false
	}
	v, err := strconv.ParseUint(s[i:i+2], 16, 8)
	return byte(v), err == nil
}

// backslash reads one escape at the start of s and gives its length, 0 for none.
func backslash(s string) (rune, int) {
	digits, skip := 0, 0
	switch s[1] {
	case 'x':
		digits = 2
	case 'u':
		digits = 4
		if len(s) > 2 && s[2] == '{' {
			end := strings.IndexByte(s[:min(len(s), 12)], '}')
			if end < 0 {
				return 0, 0
			}
			digits, skip = end-3, 1
		}
	default:
		return 0, 0
	}
	start := 2 + skip
	if digits <= 0 || start+digits > len(s) {
		return 0, 0
	}
	v, err := strconv.ParseUint(s[start:start+digits], 16, 32)
	if err != nil || !utf8.ValidRune(rune(v)) {
		return 0, 0
	}
	return rune(v), start + digits + skip
}

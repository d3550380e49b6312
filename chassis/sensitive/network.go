package sensitive

import "strings"

// address4 tells whether a token begins with four numbers up to 255 with dots.
func (s *Scanner) address4(t *token) bool {
	if t.digits < 4 || t.glued || t.left == '.' {
		return false
	}
	for k := range 4 {
		g := t.groups[k]
		n := g.end - g.start
		if n > 3 || k > 0 && (g.sep != '.' || g.start != t.groups[k-1].end+1) || num(s.buf[g.start:g.end]) > 255 || n > 1 && s.buf[g.start] == '0' {
			return false
		}
	}
	return true
}

// private4 tells an address of RFC 1918, RFC 6598 or RFC 3927, with its prefix length.
func (s *Scanner) private4(t *token) int {
	end := t.groups[3].end
	if t.n > 4 && t.groups[4].sep == '.' || s.at(end) == '.' && digit(s.at(end+1)) {
		return end // a version or an object identifier
	}
	if t.n > 4 && t.groups[4].sep == '-' && t.groups[4].letters {
		return end
	}
	a, b := num(t.chars[:t.groups[0].chars]), num(t.chars[t.groups[0].chars:t.groups[1].chars])
	private := a == 10 || a == 172 && b >= 16 && b <= 31 || a == 192 && b == 168 || a == 100 && b >= 64 && b <= 127 || a == 169 && b == 254
	if !private || s.versioned(t) {
		return end
	}
	if s.at(end) == '/' && digit(s.at(end+1)) {
		end += 2
		if digit(s.at(end)) {
			end++
		}
	}
	s.emit(PrivateAddress, "ipv4", t.start, end)
	return -1
}

// versioned tells whether the word before says that the numbers are a version: v10.2.0.1,
// version 10.0.19.1.
func (s *Scanner) versioned(t *token) bool {
	if t.left == 'v' || t.left == 'V' {
		return true
	}
	at := s.base + int64(t.start)
	return s.words.at[aNot] == s.words.end && at-s.words.end <= 5
}

// ipv6 looks at a group of four hexadecimal digits and a colon. It tells an address of
// fc00::/7 or fe80::/10.
func (s *Scanner) ipv6(i int) int {
	a, b := s.at(i+1)|0x20, s.at(i+2)|0x20
	if !(a == 'c' || a == 'd' || a == 'e' && (b == '8' || b == '9' || b == 'a' || b == 'b')) || s.at(i-1) == ':' {
		return 0
	}
	k, groups, gap := i, 0, false
	for groups < 8 {
		n := 0
		for n < 5 && hexadecimal(s.at(k+n)) {
			n++
		}
		if n > 4 {
			return 0
		}
		k += n
		if n > 0 {
			groups++
		}
		if s.at(k) != ':' || groups == 8 {
			break
		}
		if s.at(k+1) == ':' {
			if gap {
				return 0
			}
			gap = true
			k += 2
			if !hexadecimal(s.at(k)) {
				break
			}
			continue
		}
		if !hexadecimal(s.at(k + 1)) {
			break
		}
		k++
	}
	if groups < 8 && !gap || alnum(s.at(k)) {
		return 0
	}
	if s.at(k) == '%' {
		k++
		for alnum(s.at(k)) && k-i < 80 {
			k++
		}
	}
	if s.at(k) == '/' && digit(s.at(k+1)) {
		for k++; digit(s.at(k)) && k-i < 80; {
			k++
		}
	}
	s.emit(PrivateAddress, "ipv6", i, k)
	return -1
}

func hexadecimal(c byte) bool { return digit(c) || c|0x20 >= 'a' && c|0x20 <= 'f' && c >= 'A' }

// internalEndings are last labels of names that resolve only inside a network.
const internalEndings = " internal intranet corp lan local localdomain private home "

// host looks at the word from i to j, which may end the name of a host inside.
func (s *Scanner) host(i, j int) int {
	if s.at(i-1) != '.' || j-i > 11 || !strings.Contains(internalEndings, " "+strings.ToLower(string(s.buf[i:j]))+" ") {
		if !(s.at(i-1) == '.' && j-i == 4 && strings.EqualFold(string(s.buf[i:j]), "arpa")) {
			return 0
		}
	}
	if c := s.at(j); (c == '.' && alnum(s.at(j+1))) || c == '(' || c == '-' || c == '_' || c == '@' || alnum(c) {
		return 0
	}
	start, labels, sure := i-1, 1, false
	for start > s.lastEnd && i-start < 200 {
		c := s.buf[start-1]
		switch {
		case c == '.':
			labels++
		case digit(c) || c == '-':
			sure = true
		case !letter(c):
			goto begun
		}
		start--
	}
begun:
	for start < i && !alnum(s.buf[start]) {
		start++
	}
	if start >= i-1 || !letter(s.buf[start]) && !digit(s.buf[start]) {
		return 0
	}
	for k := start; k < i; k++ { // labels, not a path in code
		if s.buf[k] == '.' && s.buf[k+1] == '.' {
			return 0
		}
	}
	name := strings.ToLower(string(s.buf[start:i]))
	if strings.EqualFold(string(s.buf[i:j]), "arpa") && !strings.HasSuffix(name, "home.") {
		return 0
	}
	switch s.at(start - 1) {
	case '/', '@':
		sure = sure || start > 1 && (s.at(start-2) == '/' || s.at(start-1) == '@')
	case '.', '_', '$':
		return 0
	}
	if s.at(j) == ':' && digit(s.at(j+1)) || s.at(j) == '/' {
		sure = true
	}
	if !sure && labels < 2 && !s.words.near(aHost, s.base+int64(start), 40) {
		switch strings.ToLower(string(s.buf[i:j])) {
		case "local", "home", "private", "internal":
			return 0
		}
	}
	if upper(s.buf[i-2]) && lower(s.at(i-3)) || s.hasCapitalInside(start, i) { // code: Build.internal
		return 0
	}
	s.emit(PrivateAddress, "host", start, j)
	return -1
}

// hasCapitalInside tells whether a name is written as code writes names.
func (s *Scanner) hasCapitalInside(from, to int) bool {
	for k := from + 1; k < to; k++ {
		if upper(s.buf[k]) && lower(s.buf[k-1]) {
			return true
		}
	}
	return false
}

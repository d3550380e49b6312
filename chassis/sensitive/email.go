package sensitive

import "strings"

// maxLocal bounds what stands before the @ (RFC 5321, 4.5.3.1.1).
const maxLocal = 64

func localChar(c byte) bool {
	return alnum(c) || strings.IndexByte("._%+-'~!#$&*/=?^`{|}", c) >= 0 && c != 0
}

// mail looks at the @ at i.
func (s *Scanner) mail(i int) {
	s.address(i, s.domain(i+1, false))
	if !s.need && s.pos == i {
		s.pos++
	}
}

// percent looks at what may be an @ in a URL.
func (s *Scanner) percent(i int) {
	if s.at(i+1) == '4' && s.at(i+2) == '0' && alnum(s.at(i-1)) {
		s.address(i, s.domain(i+3, false))
	}
	if !s.need && s.pos == i {
		s.pos++
	}
}

// address tells an address whose name and host end at two places; 0 is no host.
func (s *Scanner) address(nameEnd, end int) {
	if end == 0 {
		return
	}
	start := nameEnd
	for start > s.lastEnd && nameEnd-start <= maxLocal && localChar(s.buf[start-1]) {
		start--
	}
	// Signs that are allowed but stand around addresses more often than in them.
	for k := nameEnd - 1; k >= start; k-- {
		if strings.IndexByte("='{}|/?&*!#$`^", s.buf[k]) >= 0 && !(s.buf[k] == '\'' && k > start && letter(s.buf[k-1])) {
			start = k + 1
			break
		}
	}
	for start < nameEnd && !alnum(s.buf[start]) && s.buf[start] != '_' {
		start++
	}
	if start == nameEnd || s.buf[nameEnd-1] == '.' || s.at(start-1) == '@' || s.at(start-1) == '/' && s.at(start-2) == '/' && s.at(start-3) == ':' {
		return
	}
	if nameEnd-start == 3 && strings.EqualFold(string(s.buf[start:nameEnd]), "git") && s.at(end) == ':' {
		return
	}
	if s.at(end) == '@' {
		return
	}
	s.emit(Email, "", start, end)
}

// fileEndings are last labels of what looks like an address and is none.
const fileEndings = " png jpg jpeg gif svg webp ico pdf js mjs ts css scss json yaml yml xml html txt md service target timer socket mount local scope slice lock go py rb java so dll exe zip gz tgz tar "

// domain gives the end of a host name of at least two labels, or 0. With plain, dots may
// be written as words.
func (s *Scanner) domain(i int, plain bool) int {
	labels, end, labelStart := 0, 0, i
	for i-labelStart <= 63 && labels < 10 {
		c := s.at(i)
		if alnum(c) || c == '-' && i > labelStart {
			i++
			continue
		}
		if i == labelStart {
			break
		}
		labels++
		end = i
		next := 0
		if c == '.' && alnum(s.at(i+1)) {
			next = i + 1
		} else if plain {
			next = s.dot(i)
		}
		if next == 0 {
			break
		}
		labelStart, i = next, next
	}
	for ; labels >= 2; labels-- {
		last := end
		for alnum(s.buf[last-1]) {
			last--
		}
		if top := string(s.buf[last:end]); isTop(top) {
			return end
		} else if !strings.Contains(fileEndings, " "+strings.ToLower(top)+" ") || plain || s.buf[last-1] != '.' {
			return 0
		}
		end = last - 1 // anna@example.com.txt
	}
	return 0
}

// isTop tells whether a label can be the last of a host name on the internet.
func isTop(top string) bool {
	if len(top) < 2 || len(top) > 24 || strings.Contains(fileEndings, " "+strings.ToLower(top)+" ") {
		return false
	}
	if strings.Contains(internalEndings, " "+strings.ToLower(top)+" ") {
		return false
	}
	for k := range len(top) {
		if !letter(top[k]) && !strings.HasPrefix(top, "xn") {
			return false
		}
	}
	return true
}

// spelled looks at the word "at" from i to j: name at example dot com, name [at] example.com.
func (s *Scanner) spelled(i, j int) int {
	nameEnd, host := i, j
	bracket := byte(0)
	for nameEnd > s.lastEnd && i-nameEnd < 3 && strings.IndexByte(" ([{<_", s.buf[nameEnd-1]) >= 0 {
		nameEnd--
		if s.buf[nameEnd] != ' ' {
			bracket = s.buf[nameEnd]
		}
	}
	for host-j < 3 && strings.IndexByte(" )]}>_", s.at(host)) >= 0 && s.at(host) != 0 {
		host++
	}
	if nameEnd == i || host == j || nameEnd == 0 || !alnum(s.buf[nameEnd-1]) {
		return 0
	}
	end := s.domain(host, true)
	if end == 0 || s.need {
		return 0
	}
	if bracket == 0 && strings.IndexByte(string(s.buf[host:end]), ' ') < 0 {
		return 0 // "see it at example.com"
	}
	if bracket == 0 { // "at the dot on" is no host
		if first := strings.ToLower(string(s.buf[host:min(host+4, end)])); first == "the " || first[:2] == "a " {
			return 0
		}
		if w := strings.ToLower(string(s.buf[host:end])); !strings.Contains(w, " dot ") && !strings.Contains(w, " punkt ") && !strings.Contains(w, " punto ") && !strings.Contains(w, " point ") {
			return 0
		}
	}
	s.address(nameEnd, end)
	if s.pos == end {
		return -1
	}
	return 0
}

// dot gives where a label goes on behind a dot that is written as a word, or 0.
func (s *Scanner) dot(i int) int {
	k := i
	for k-i < 3 && s.at(k) != 0 && strings.IndexByte(" ([{_", s.at(k)) >= 0 {
		k++
	}
	if k == i {
		return 0
	}
	n := 0
	for letter(s.at(k + n)) {
		if n++; n > 6 {
			return 0
		}
	}
	word := ""
	if n > 0 {
		if s.need {
			return 0
		}
		word = strings.ToLower(string(s.buf[k : k+n]))
	} else if s.at(k) == '.' && k > i && s.buf[k-1] != ' ' {
		n, word = 1, "dot"
	}
	switch word {
	case "dot", "punkt", "punto", "point", "ponto":
	default:
		return 0
	}
	k += n
	from := k
	for k-from < 3 && s.at(k) != 0 && strings.IndexByte(" )]}_", s.at(k)) >= 0 {
		k++
	}
	if k == from || !alnum(s.at(k)) {
		return 0
	}
	return k
}

package sensitive

import (
	"bytes"
	"strings"
)

// maxValue bounds the value of a field in text.
const maxValue = 512

// separator looks at what stands between a name and its value at i.
func (s *Scanner) separator(i int) {
	at := s.base + int64(i)
	c := s.buf[i]
	if c == ':' && s.buf[max(i-1, 0)] == 'k' && s.ours(i) || s.need {
		return
	}
	if c == ':' && s.at(i+1) == '/' && s.at(i+2) == '/' && s.urlPassword(i) || s.need {
		return
	}
	if c == ':' && s.words.last&keyTopics == 0 && s.flagPassword(i) || s.need {
		return
	}
	if (c == ':' || c == '=') && s.words.last&keyTopics == 0 && s.lateSecret(i) || s.need {
		return
	}
	if c != '>' || s.tagBefore(i) {
		s.words.sep = at + 1
		if s.words.last&keyTopics != 0 && at-s.words.end <= 4 && s.valueAt(i+1, c) || s.need {
			return
		}
	}
	s.pos = i + 1
}

// ours passes over a token of ours, such as [[tok:secret:…]], which stands for what it
// names and is none.
func (s *Scanner) ours(i int) bool {
	if i < 5 || string(s.buf[i-5:i]) != "[[tok" {
		return false
	}
	k := i + 1
	for k-i < 64 && (alnum(s.at(k)) || s.at(k) == ':' || s.at(k) == '-') {
		k++
	}
	if s.need || s.at(k) != ']' {
		return false
	}
	s.pos, s.words.last = k, 0
	return true
}

// tagBefore tells whether the > at i ends a tag that opens an element.
func (s *Scanner) tagBefore(i int) bool {
	for k := i - 1; k > i-60 && k >= 0; k-- {
		switch c := s.buf[k]; {
		case c == '<':
			return s.at(k+1) != '/'
		case c == '=' && k == i-1: // =>
			return true
		case !alnum(c) && c != '_' && c != '-' && c != ':' && c != '.':
			return false
		}
	}
	return false
}

// urlPassword tells the password in scheme://user:password@host.
func (s *Scanner) urlPassword(i int) bool {
	k := i + 3
	colon := 0
	for ; k-i < 200; k++ {
		c := s.at(k)
		if c == ':' && colon == 0 {
			colon = k
		}
		if c <= ' ' || c == '/' && colon == 0 || c == '"' || c == '<' || c == '>' {
			return false
		}
		if c == '@' {
			break
		}
	}
	if s.at(k) != '@' || colon == 0 || k == colon+1 || s.placeholder(colon+1, k) {
		return false
	}
	if !alnum(s.at(k+1)) && s.at(k+1) != '[' && s.at(k+1) != '$' {
		return false
	}
	if s.need {
		return false
	}
	s.emit(Secret, "password-in-url", colon+1, k)
	return true
}

// valueAt tells the value that begins at i, or behind spaces and a quotation mark there.
func (s *Scanner) valueAt(i int, sep byte) bool {
	last := s.words.last
	start := i
	for start-i < 3 && s.at(start) == ' ' {
		start++
	}
	quote := byte(0)
	switch c := s.at(start); c {
	case '"', '\'', '`':
		quote = c
		start++
	case '\\':
		if s.at(start+1) == '"' {
			quote = '\\'
			start += 2
		}
	}
	end, form := start, plain
	switch {
	case sep == opener && s.whole:
		for s.at(end) != 0 && end-start < maxValue {
			end++
		}
		start, form = i, entire
		if end-start >= maxValue {
			return false
		}
	case quote != 0:
		for end-start < maxValue && s.at(end) != quote && s.at(end) != '\n' && s.at(end) != 0 {
			if s.at(end) == '\\' && quote == '"' {
				end++
			}
			end++
		}
		form = quoted
		if s.at(end) != quote {
			return false
		}
	case s.table.sep != 0 && sep == s.table.sep || sep == ',' || sep == ';' || sep == '\t' || sep == '|':
		for end-start < maxValue && s.at(end) != sep && s.at(end) != '\n' && s.at(end) != 0 {
			end++
		}
		form = entire
	case sep == '>' && s.at(i-2) != '=':
		for end-start < maxValue && s.at(end) != '<' && s.at(end) != 0 {
			end++
		}
		form = entire
		if s.at(end) != '<' {
			return false
		}
	default:
		end = s.plainEnd(start, last, sep)
	}
	if s.need || end <= start || end > len(s.buf) {
		return false
	}
	for end > start && space(s.buf[end-1]) {
		end--
	}
	class, kind := s.classify(start, end, last, form)
	if class == "" {
		return false
	}
	s.emit(class, kind, start, end)
	return true
}

// Forms in which values stand.
const (
	plain  = iota // behind a separator, up to where it seems to end
	quoted        // in quotation marks
	entire        // an element of XML, or a value that is given by itself
)

// plainEnd gives the end of a value that nothing encloses.
func (s *Scanner) plainEnd(i int, last uint64, sep byte) int {
	var stop string
	switch {
	case last&(1<<aPassword|1<<aToken|1<<aBearer) != 0:
		stop = " \t\n\r\"'<>`"
		if sep == '=' {
			stop += "&;"
		}
	case last&(1<<anAddress) != 0:
		stop = "\n\r\t;|<\""
		if sep == '=' {
			stop += ",&"
		}
	case last&(1<<aName) != 0:
		return s.nameEnd(i)
	default:
		stop = "\n\r\t;|<\",.&"
	}
	k := i
	for k-i < maxValue {
		c := s.at(k)
		if c == 0 || strings.IndexByte(stop, c) >= 0 {
			break
		}
		if c == ':' && s.at(k+1) == ' ' && last&(1<<aHealth|1<<aPersonal) != 0 { // the name of what comes next
			for k > i && s.buf[k-1] != ' ' {
				k--
			}
			break
		}
		k++
	}
	ends := ".,;:!?)]}"
	if last&(1<<aPassword) != 0 {
		ends = ".,;:)"
	}
	for k > i && strings.IndexByte(ends, s.buf[k-1]) >= 0 {
		k--
	}
	return k
}

// nameEnd gives the end of up to five words with capital letters, such as Anna van der Berg.
func (s *Scanner) nameEnd(i int) int {
	end := i
	for k, n := i, 0; n < 5; n++ {
		first := s.at(k)
		from := k
		for letter(s.at(k)) || k > from && (s.at(k) == '\'' || s.at(k) == '-' && letter(s.at(k+1))) {
			k++
		}
		if k == from || s.need {
			break
		}
		if c := s.at(k); c == ':' && n > 0 { // the name of what comes next
			break
		}
		word := string(s.buf[from:k])
		if upper(first) {
			end = k
		} else if !strings.Contains(" van von der de da di dos del la le den bin ibn ", " "+word+" ") {
			break
		}
		if s.at(k) == '.' && k-from == 1 {
			k++
		}
		if s.at(k) == ',' && n == 0 && s.at(k+1) == ' ' {
			k++
		}
		if s.at(k) != ' ' {
			break
		}
		k++
	}
	return end
}

// classify gives what a value from start to end is by the name before it.
func (s *Scanner) classify(start, end int, last uint64, form int) (Class, string) {
	text := s.buf[start:end]
	digits, letters, spaces, other := 0, 0, 0, 0
	for _, c := range text {
		switch {
		case digit(c):
			digits++
		case letter(c), c == symbol, c >= saysPhone && c <= saysOther:
			letters++
		case c == ' ':
			spaces++
		default:
			other++
		}
	}
	if digits+letters == 0 || s.placeholder(start, end) {
		return "", ""
	}
	switch {
	case last&(1<<aPassword) != 0:
		return s.password(text, digits, letters, spaces, other, form)
	case last&(1<<aToken|1<<aBearer) != 0:
		if spaces == 0 && len(text) >= 8 && secretLike(text, digits, letters, form) {
			return Secret, "token"
		}
	case last&(1<<aBirth) != 0:
		if form != plain && digits >= 2 && len(text) <= 40 {
			return DateOfBirth, ""
		}
	case last&(1<<aName) != 0:
		if letters >= 2 && digits == 0 && len(text) <= 80 && !bytes.ContainsAny(text, "<>{}()=/_") {
			return PersonName, ""
		}
	case last&(1<<anAddress) != 0:
		if digits > 0 && (letters > 0 || form != plain || digits == 5) && !s.networkLike(text) && len(text) >= 4 ||
			letters >= 3 && (spaces > 0 || form == entire) && form != plain && !bytes.ContainsAny(text, "@<>{}=_") {
			return PostalAddress, ""
		}
	case last&(1<<aHealth) != 0:
		if letters+digits >= 1 && len(text) <= 200 && !bytes.ContainsAny(text, "{}<>=") {
			return Health, ""
		}
	case last&(1<<aPersonal) != 0:
		if letters >= 1 && len(text) <= 80 && !bytes.ContainsAny(text, "{}<>=_") && spaces <= 5 {
			return Personal, ""
		}
	}
	return "", ""
}

func (s *Scanner) password(text []byte, digits, letters, spaces, other, form int) (Class, string) {
	if spaces > 0 && form == plain || spaces > 6 {
		return "", ""
	}
	switch {
	case letters == 0 && other == 0:
		if digits < 3 {
			return "", ""
		}
	case len(text) < 4:
		return "", ""
	case form == plain && digits == 0 && other == 0: // a word, as in "password: required"
		return "", ""
	case bytes.ContainsAny(text, "({[") && form == plain, bytes.Contains(text, []byte("::")), bytes.Contains(text, []byte("->")):
		return "", ""
	case form == plain && digits == 0 && bytes.ContainsAny(text, "._/-") && !bytes.ContainsAny(text, "!@#$%^&*+~?"): // config.password
		return "", ""
	}
	return Secret, "password"
}

// strong tells whether a text has what passwords have and words have not: digits and
// letters, and capitals among small letters or signs.
func strong(text []byte) bool {
	var digits, lowers, uppers, signs int
	for _, c := range text {
		switch {
		case digit(c):
			digits++
		case lower(c):
			lowers++
		case upper(c):
			uppers++
		case strings.IndexByte("!@#$%^&*+~?|", c) >= 0:
			signs++
		case c <= ' ':
			return false
		}
	}
	return len(text) >= 8 && digits > 0 && lowers+uppers > 0 && (lowers > 0 && uppers > 0 || signs > 0)
}

// secretLike tells whether a value behind the name of a key looks random.
func secretLike(text []byte, digits, letters, form int) bool {
	if form == quoted && len(text) >= 24 && strong(text) && bytes.IndexByte(text, '(') < 0 && signs(text) >= 4 {
		return true
	}
	if bytes.ContainsAny(text, "(){}[]<>$,") || bytes.Contains(text, []byte("://")) || same(text) {
		return false
	}
	uppers := 0
	for _, c := range text {
		if upper(c) {
			uppers++
		}
	}
	if digits > 0 && letters > 0 {
		return len(text) >= 12 || form != plain || uppers > 0 && letters > uppers || digits > 2
	}
	if letters == 0 {
		return digits >= 12 && form != plain
	}
	return form != plain && len(text) >= 16 && uppers > 1 && letters > uppers+1 && bytes.IndexByte(text, '.') < 0 && bytes.IndexByte(text, '/') < 0
}

// networkLike tells whether a value is an address of another kind: of a host, of mail.
func (s *Scanner) networkLike(text []byte) bool {
	if bytes.IndexByte(text, ' ') >= 0 {
		return false
	}
	return bytes.ContainsAny(text, ".:@_/") || bytes.HasPrefix(text, []byte("0x")) || len(text) > 12
}

// placeholders stand where no value is.
const placeholders = " null nil none n/a na undefined unknown true false yes no string integer number boolean redacted masked hidden removed secret password passwd pass " +
	"your-password yourpassword your_password changeme change-me tbd todo optional required empty default example placeholder required, value test not set missing object array date email " +
	"your-api-key your_api_key yourapikey your-token my-secret mysecret confidential private encrypted text varchar char prompt ask env anonymous nan *** xxx token bearer basic "

func (s *Scanner) placeholder(start, end int) bool {
	text := bytes.TrimSpace(s.buf[start:end])
	if len(text) == 0 {
		return true
	}
	stars := 0
	for _, c := range text {
		if c == '*' || c == 'x' || c == 'X' || c == '.' || c == symbol || c == '#' || c == '-' || c == '?' {
			stars++
		}
	}
	if stars*3 >= len(text)*2 && stars > 2 {
		return true
	}
	switch text[0] {
	case '<', '{', '$', '%', '[':
		if c := text[len(text)-1]; c == '>' || c == '}' || c == ']' || text[0] == '$' && len(text) > 1 && (text[1] == '{' || text[1] == '(') || text[0] == '%' && (c == '%' || len(text) == 2) ||
			text[0] == '[' || text[0] == '<' || text[0] == '{' {
			return true
		}
		if text[0] == '$' && len(text) > 1 && isName(text[1:]) {
			return true
		}
	}
	if len(text) > 16 {
		return bytes.HasPrefix(text, []byte("process.env")) || bytes.HasPrefix(text, []byte("os.environ"))
	}
	return strings.Contains(placeholders, " "+strings.ToLower(string(text))+" ")
}

// isName tells whether a text is the name of a variable of a shell.
func isName(text []byte) bool {
	for _, c := range text {
		if !upper(c) && c != '_' {
			return false
		}
	}
	return true
}

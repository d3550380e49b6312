package sensitive

import (
	"bytes"
	"strings"
)

// Keys without a beginning of their own, told by their form.

// discord gives the end of a bot token of Discord: an id, a time and a signature in
// base64url with dots between them; or 0.
func (s *Scanner) discord(i int) int {
	k := i
	for n, size := range [3][2]int{{23, 28}, {6, 7}, {27, 45}} {
		from := k
		for k-from <= size[1] && urlSet[s.at(k)] {
			k++
		}
		if k-from < size[0] || k-from > size[1] {
			return 0
		}
		if n < 2 {
			if s.at(k) != '.' {
				return 0
			}
			k++
		}
	}
	return k
}

// telegram tells a bot token of Telegram: the bot's number from i to j, a colon, and 35
// characters that begin with AA.
func (s *Scanner) telegram(i, j int) bool {
	k := j + 1
	for k-j <= 36 && urlSet[s.at(k)] {
		k++
	}
	if k-j != 36 || s.at(j+2) != 'A' || !allDigits(s.buf[i:j]) || s.need {
		return false
	}
	s.emit(Secret, "telegram-token", i, k)
	return true
}

// ending tells a key that its end gives away: one of Mailchimp is 32 hexadecimal digits
// with -us and the number of a data centre, a client secret of Microsoft Entra has Q~
// behind its first four characters. The answer says that it has, or that it has to wait.
func (s *Scanner) ending(i, j int) bool {
	switch {
	case j-i == 32 && s.begins(j, "-us") && digit(s.at(j+3)):
		for _, c := range s.buf[i:j] {
			if !hexOnly[c] {
				return s.need
			}
		}
		end := j + 4
		if digit(s.at(end)) {
			end++
		}
		s.emit(Secret, "mailchimp-key", i, end)
		return true
	case j-i == 5 && s.buf[j-1] == 'Q' && digit(s.buf[j-2]) && s.at(j) == '~':
		end := j + 1
		for end-j < 40 && entraSet[s.at(end)] {
			end++
		}
		if end-j < 31 || end-j == 40 {
			return s.need
		}
		s.emit(Secret, "entra-client-secret", i, end)
		return true
	}
	return s.need
}

var entraSet = setOf("_-.~")

// flagPassword tells the password in -u user:password, as curl takes it; i is that of
// the colon.
func (s *Scanner) flagPassword(i int) bool {
	k := i
	for k > s.lastEnd && i-k < 64 && (dotSet[s.buf[k-1]] || s.buf[k-1] == '@') {
		k--
	}
	if k == i || k < 3 {
		return false
	}
	if c := s.buf[k-1]; c == '"' || c == '\'' {
		k--
	}
	if !s.flag(k) {
		return false
	}
	end := i + 1
	for c := s.at(end); c > ' ' && c != '"' && c != '\'' && end-i < 128; c = s.at(end) {
		end++
	}
	if s.need || end-i < 4 || s.placeholder(i+1, end) {
		return false
	}
	s.emit(Secret, "password", i+1, end)
	return true
}

// flag tells whether what ends at k is the option that names a user with the password.
func (s *Scanner) flag(k int) bool {
	for _, option := range []string{" -u ", " --user ", " --user="} {
		if n := len(option); k >= n && string(s.buf[k-n:k]) == option {
			return true
		}
	}
	return false
}

// lateSecret tells a password behind words that tell whose it is, as in
// "Password for the router: …". i is that of the colon. It has to look like a password.
func (s *Scanner) lateSecret(i int) bool {
	at := s.base + int64(i)
	if !s.words.near(aPassword, at, 40) || s.words.at[aPassword] == s.words.end || s.words.sep > s.words.at[aPassword] {
		return false
	}
	for k := int(s.words.at[aPassword] - s.base); k < i; k++ {
		if c := s.at(k); !letter(c) && c != ' ' && c != '-' && c != '\'' && c != '(' && c != ')' {
			return false
		}
	}
	return s.standing(i + 1)
}

// argument tells a password or a key that follows its quoted name behind a comma, as in
// define('DB_PASSWORD', '…'). i is that of the comma.
func (s *Scanner) argument(i int) bool {
	if c := s.at(i - 1); c != '\'' && c != '"' || s.words.end != s.base+int64(i-1) || s.words.last&(1<<aPassword|1<<aToken) == 0 {
		return false
	}
	k := i + 1
	for k-i < 3 && s.at(k) == ' ' {
		k++
	}
	quote := s.at(k)
	if quote != '\'' && quote != '"' {
		return false
	}
	end := k + 1
	for end-k < maxValue && s.at(end) != quote && s.at(end) != '\n' && s.at(end) != 0 {
		end++
	}
	if s.need || s.at(end) != quote || !strong(s.buf[k+1:end]) && !random(s.buf[k+1:end]) || s.placeholder(k+1, end) {
		return false
	}
	s.emit(Secret, "password", k+1, end)
	return true
}

// standing tells a strong password that stands by itself behind a space.
func (s *Scanner) standing(i int) bool {
	for n := 0; n < 2 && s.at(i) == ' '; n++ {
		i++
	}
	if c := s.at(i); c == '"' || c == '\'' {
		i++
	}
	end := i
	for c := s.at(end); c > ' ' && strings.IndexByte("\"'<>,;", c) < 0 && end-i < 128; c = s.at(end) {
		end++
	}
	for end > i && strings.IndexByte(".)?", s.buf[end-1]) >= 0 {
		end--
	}
	if s.need || !strong(s.buf[i:end]) && !random(s.buf[i:end]) || bytes.Contains(s.buf[i:end], []byte("://")) || s.placeholder(i, end) {
		return false
	}
	s.emit(Secret, "password", i, end)
	return true
}

// random tells whether a text is as long and as mixed as no word is: a UUID, or many
// letters and digits.
func random(text []byte) bool {
	digits, letters, hyphens := 0, 0, 0
	for _, c := range text {
		switch {
		case digit(c):
			digits++
		case letter(c):
			letters++
		case c == '-':
			hyphens++
		default:
			return false
		}
	}
	return len(text) >= 20 && digits >= 4 && letters >= 4 && hyphens <= 4
}

func signs(text []byte) int {
	n := 0
	for _, c := range text {
		if c > ' ' && !alnum(c) {
			n++
		}
	}
	return n
}

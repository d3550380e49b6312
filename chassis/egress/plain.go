package egress

import (
	"bytes"
	"net/http"
	"strconv"
)

// plain reads the answer that most receivers give: one of HTTP/1.1, whole in b and
// nothing behind it, with a length or without a body, whose headers say nothing
// about the connection. Every other, ok is false then, is for net/http to read,
// which takes twice as long.
func plain(b []byte) (status int, ok bool) {
	line, rest, found := bytes.Cut(b, crlf)
	if !found || len(line) < 13 || string(line[:9]) != "HTTP/1.1 " || line[12] != ' ' || !fits(line, &inValue) {
		return 0, false
	}
	if status, ok = number(line[9:12]); !ok || status < 200 || status > 599 {
		return 0, false
	}
	length := -1
	for {
		if line, rest, found = bytes.Cut(rest, crlf); !found {
			return 0, false
		}
		if len(line) == 0 {
			break
		}
		name, value, found := bytes.Cut(line, colon)
		if !found || len(name) == 0 || !fits(name, &inName) || !fits(value, &inValue) {
			return 0, false
		}
		switch {
		case is(name, "Connection"), is(name, "Transfer-Encoding"), is(name, "Trailer"), is(name, "Retry-After"):
			return 0, false
		case is(name, "Content-Length"):
			if length >= 0 {
				return 0, false
			}
			if length, ok = number(bytes.Trim(value, " \t")); !ok {
				return 0, false
			}
		}
	}
	if status == http.StatusNoContent || status == http.StatusNotModified {
		return status, length <= 0 && len(rest) == 0
	}
	return status, length == len(rest)
}

var crlf, colon = []byte("\r\n"), []byte(":")

func is(name []byte, header string) bool {
	return len(name) == len(header) && bytes.EqualFold(name, []byte(header))
}

// number of up to four digits.
func number(b []byte) (int, bool) {
	if len(b) == 0 || len(b) > 4 {
		return 0, false
	}
	n, err := strconv.ParseUint(string(b), 10, 16)
	return int(n), err == nil
}

// Bytes that may be in a request's target, in a header's value and in its name (RFC 9110 section 5).
var (
	inTarget = bytesThat(func(c byte) bool { return c > ' ' && c != 0x7f })
	inValue  = bytesThat(func(c byte) bool { return (c >= ' ' || c == '\t') && c != 0x7f })
	inName   = bytesThat(func(c byte) bool {
		return c == '-' || c == '_' || ('0' <= c && c <= '9') || ('a' <= c && c <= 'z') || ('A' <= c && c <= 'Z')
	})
)

func bytesThat(may func(byte) bool) (t [256]bool) {
	for c := range t {
		t[c] = may(byte(c))
	}
	return t
}

func fits[T string | []byte](s T, in *[256]bool) bool {
	for i := range len(s) {
		if !in[s[i]] {
			return false
		}
	}
	return true
}

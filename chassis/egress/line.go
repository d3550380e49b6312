package egress

import (
	"bufio"
	"cmp"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// Bounds of an answer, and of buffers.
const (
	// maxHeaders bytes of status lines and headers, maxAnswer of a body are read.
	maxHeaders = 16 << 10
	maxAnswer  = 4 << 10
	// maxInterim answers (RFC 9110 section 15.2) may come before the one that counts.
	maxInterim = 5
	inBuffer   = 2 << 10
	// outBuffer is how large a buffer of a request may be to be kept for the next.
	outBuffer = 64 << 10
)

// line is a connection. One goroutine uses it at a time.
type line struct {
	net.Conn
	in *bufio.Reader
	// left is how much of the answer at hand may still be read from the connection.
	left int64
	// heard says that a byte of it has been.
	heard bool
	// since is when it became idle.
	since time.Time
}

// Read reads as much as the answer at hand may have.
func (l *line) Read(b []byte) (int, error) {
	if l.left <= 0 {
		return 0, errAnswer
	}
	n, err := l.Conn.Read(b[:min(int64(len(b)), l.left)])
	l.left -= int64(n)
	l.heard = l.heard || n > 0
	return n, err
}

// post sends a request and reads its answer. again says that the connection can be used again.
func (l *line) post(request []byte, deadline time.Time) (_ Answer, again bool, err error) {
	l.left, l.heard = maxHeaders, false
	if err := l.SetDeadline(deadline); err != nil {
		return Answer{}, false, err
	}
	_, unsent := l.Write(request)
	// A receiver may have answered and closed before it had read everything.
	if _, err := l.in.Peek(1); err == nil {
		b, _ := l.in.Peek(l.in.Buffered())
		if status, ok := plain(b); ok {
			_, _ = l.in.Discard(len(b))
			return Answer{Status: status}, unsent == nil, nil
		}
	}
	resp, err := l.answer()
	if err != nil {
		return Answer{}, false, cmp.Or(unsent, err)
	}
	l.left = maxAnswer
	n, err := io.CopyN(io.Discard, resp.Body, maxAnswer)
	whole := errors.Is(err, io.EOF) && n < maxAnswer
	return Answer{resp.StatusCode, resp.Header.Get("Retry-After")}, whole && unsent == nil && !resp.Close && l.in.Buffered() == 0, nil
}

// answer reads an answer up to its body.
func (l *line) answer() (*http.Response, error) {
	for range maxInterim {
		resp, err := http.ReadResponse(l.in, posted)
		if err != nil {
			return nil, err
		}
		if resp.StatusCode >= 200 {
			return resp, nil
		}
		if resp.StatusCode == http.StatusSwitchingProtocols {
			break
		}
	}
	return nil, errAnswer
}

// posted is what answers are read as answers to.
var posted = &http.Request{Method: http.MethodPost}

// errAnswer is the error of an answer that is longer than its bounds, or none.
var errAnswer = errors.New("the answer is too long, or none")

// appendRequest appends a POST as HTTP/1.1 writes it (RFC 9112 section 3).
func appendRequest(b []byte, u *url.URL, header http.Header, body []byte) ([]byte, error) {
	target, host := u.RequestURI(), strings.TrimSuffix(u.Host, ":")
	if !fits(target, &inTarget) || !fits(host, &inTarget) {
		return b, ErrRequest
	}
	b = append(b, "POST "...)
	b = append(b, target...)
	b = append(b, " HTTP/1.1\r\nHost: "...)
	b = append(b, host...)
	b = append(b, "\r\nContent-Length: "...)
	b = strconv.AppendInt(b, int64(len(body)), 10)
	b = append(b, "\r\n"...)
	for name, values := range header {
		for _, v := range values {
			if !fits(v, &inValue) {
				return b, ErrRequest
			}
			b = append(b, name...)
			b = append(b, ": "...)
			b = append(b, v...)
			b = append(b, "\r\n"...)
		}
	}
	b = append(b, "\r\n"...)
	return append(b, body...), nil
}

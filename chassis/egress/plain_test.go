package egress

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"testing"
)

var answers = map[string]bool{
	"HTTP/1.1 204 No Content\r\n\r\n":                                              true,
	"HTTP/1.1 204 No Content\r\nDate: Mon, 30 Nov 2026 15:00:00 GMT\r\n\r\n":       true,
	"HTTP/1.1 200 OK\r\ncontent-length: 2 \r\nX-Y:\tz\r\n\r\nok":                   true,
	"HTTP/1.1 500 \r\nContent-Length: 0\r\n\r\n":                                   true,
	"HTTP/1.1 204 No Content\r\nContent-Length: 2\r\n\r\nok":                       false,
	"HTTP/1.1 204 No Content\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n":               false,
	"HTTP/1.1 200 OK\r\n\r\n":                                                      false, // until it closes
	"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nok":                               false,
	"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nok":                               false,
	"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\nok":          false,
	"HTTP/1.1 200 OK\r\nContent-Length: +2\r\n\r\nok":                              false,
	"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTRANSFER-ENCODING: chunked\r\n\r\nok": false,
	"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok":          false,
	"HTTP/1.1 429 Slow Down\r\nRetry-After: 7\r\nContent-Length: 0\r\n\r\n":        false,
	"HTTP/1.1 204 No Content\r\nX: a\nConnection: close\r\n\r\n":                   false,
	"HTTP/1.1 204 No Content\r\nX: a\r\n b: c\r\n\r\n":                             false, // folded
	"HTTP/1.1 204 No Content\r\nX : a\r\n\r\n":                                     false,
	"HTTP/1.1 100 Continue\r\n\r\n":                                                false,
	"HTTP/1.1 999 What\r\nContent-Length: 0\r\n\r\n":                               false,
	"HTTP/1.0 204 No Content\r\n\r\n":                                              false,
	"HTTP/1.1 204 No Content\r\n":                                                  false,
	"HTTP/1.1 204":                                                                 false,
	"":                                                                             false,
}

// agrees checks an answer that is read as plain against net/http.
func agrees(t *testing.T, b []byte) bool {
	status, ok := plain(b)
	if !ok {
		return false
	}
	r := bufio.NewReader(bytes.NewReader(b))
	resp, err := http.ReadResponse(r, posted)
	if err != nil {
		t.Fatalf("%q: net/http says %v", b, err)
	}
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		t.Fatalf("%q: net/http says of the body: %v", b, err)
	}
	_, err = r.ReadByte()
	if resp.StatusCode != status || resp.Close || resp.Header.Get("Retry-After") != "" || err != io.EOF {
		t.Fatalf("%q: net/http reads status %d, close %t, and then %v; this says %d", b, resp.StatusCode, resp.Close, err, status)
	}
	return true
}

func TestPlainAnswersAreReadAsNetHTTPDoes(t *testing.T) {
	for text, want := range answers {
		if got := agrees(t, []byte(text)); got != want {
			t.Errorf("%q: plain is %t", text, got)
		}
	}
}

func FuzzPlain(f *testing.F) {
	for text := range answers {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, b []byte) { agrees(t, b) })
}

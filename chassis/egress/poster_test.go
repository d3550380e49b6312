package egress_test

import (
	"bufio"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"sabha.dev/chassis/egress"
)

func poster(t *testing.T, g *egress.Guard) *egress.Poster {
	p := g.Poster(time.Minute, 4)
	t.Cleanup(p.Close)
	return p
}

// local makes a poster that may call this machine.
func local(t *testing.T) *egress.Poster { return poster(t, guard(t, "127.0.0.0/8")) }

// scripted serves connections as a function does, each with its number from 1 on.
func scripted(t *testing.T, serve func(n int, c net.Conn, requests *bufio.Reader)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var serving sync.WaitGroup
	t.Cleanup(func() { _ = l.Close(); serving.Wait() })
	serving.Go(func() {
		for n := 1; ; n++ {
			c, err := l.Accept()
			if err != nil {
				return
			}
			t.Cleanup(func() { _ = c.Close() })
			serving.Go(func() { serve(n, c, bufio.NewReader(c)) })
		}
	})
	return "http://" + l.Addr().String() + "/hook?x=1"
}

// read takes one request; it is nil when the connection has ended.
func read(r *bufio.Reader) *http.Request {
	q, err := http.ReadRequest(r)
	if err != nil {
		return nil
	}
	_, _ = io.Copy(io.Discard, q.Body)
	return q
}

func TestARequestArrivesAsItWasAsked(t *testing.T) {
	got := make(chan *http.Request, 1)
	var body []byte
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		body, _ = io.ReadAll(q.Body)
		w.Header().Set("Retry-After", "7")
		w.WriteHeader(http.StatusTooManyRequests)
		got <- q
	}))
	defer server.Close()
	want := strings.Repeat("ü", 200_000)
	a, err := local(t).Post(server.URL+"/a%20b/?q=%C3%BC&r=\"", http.Header{"Content-Type": {"text/plain"}, "X-One": {"1", "2"}}, []byte(want))
	if err != nil || a != (egress.Answer{Status: 429, RetryAfter: "7"}) {
		t.Fatalf("answer %+v, error %v", a, err)
	}
	q := <-got
	if q.Method != http.MethodPost || q.RequestURI != "/a%20b/?q=%C3%BC&r=\"" || q.Host != strings.TrimPrefix(server.URL, "http://") ||
		q.Header.Get("Content-Type") != "text/plain" || strings.Join(q.Header["X-One"], " ") != "1 2" || q.ContentLength != 400_000 || string(body) != want {
		t.Errorf("it got %s %s of %s, %d bytes, headers %v", q.Method, q.RequestURI, q.Host, len(body), q.Header)
	}
}

func TestConnectionsAreKeptForTheNextRequest(t *testing.T) {
	for name, answer := range map[string]string{
		"no content": "HTTP/1.1 204 No Content\r\n\r\n", "a length": "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
		"chunks":      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
		"an interim":  "HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\nHTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n",
		"an old wish": "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 0\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			var conns atomic.Int32
			url := scripted(t, func(_ int, c net.Conn, r *bufio.Reader) {
				conns.Add(1)
				for read(r) != nil {
					_, _ = io.WriteString(c, answer)
				}
			})
			p := local(t)
			for range 3 {
				if a, err := p.Post(url, nil, []byte("x")); err != nil || a.Status/100 != 2 {
					t.Fatalf("answer %+v, error %v", a, err)
				}
			}
			p.Prune()
			if n := conns.Load(); n != 1 {
				t.Errorf("%d connections", n)
			}
		})
	}
}

func TestConnectionsThatCannotBeUsedAgainAreClosed(t *testing.T) {
	for name, answer := range map[string]string{
		"it says so": "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok", "an old one": "HTTP/1.0 204 No Content\r\n\r\n",
		"a long body":   "HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n" + strings.Repeat("x", 5000),
		"more than one": "HTTP/1.1 204 No Content\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n",
		"half a chunk":  "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			ended := make(chan int, 2)
			url := scripted(t, func(n int, c net.Conn, r *bufio.Reader) {
				read(r)
				_, _ = io.WriteString(c, answer)
				read(r)
				ended <- n
			})
			p := local(t)
			for n := 1; n <= 2; n++ {
				if a, err := p.Post(url, nil, nil); err != nil || a.Status/100 != 2 {
					t.Fatalf("answer %+v, error %v", a, err)
				}
				if got := <-ended; got != n {
					t.Errorf("connection %d ended, want %d", got, n)
				}
			}
		})
	}
}

// A receiver may close a connection while it is idle. What is sent at that moment is sent again.
func TestARequestOnAConnectionThatWasClosedIsSentAgain(t *testing.T) {
	for name, last := range map[string]string{"silently": "", "with a word": "HTTP/1.1 408 Request Timeout\r\nConnection: close\r\n\r\n"} {
		t.Run(name, func(t *testing.T) {
			url := scripted(t, func(n int, c net.Conn, r *bufio.Reader) {
				defer func() { _ = c.Close() }()
				read(r)
				_, _ = io.WriteString(c, "HTTP/1.1 204 No Content\r\n\r\n")
				if n == 1 {
					read(r) // the second request, which it does not answer
					_, _ = io.WriteString(c, last)
					return
				}
				for read(r) != nil {
					_, _ = io.WriteString(c, "HTTP/1.1 204 No Content\r\n\r\n")
				}
			})
			p := local(t)
			for range 4 {
				if a, err := p.Post(url, nil, []byte("x")); err != nil || a.Status != 204 {
					t.Fatalf("answer %+v, error %v", a, err)
				}
			}
		})
	}
}

func TestAnswersThatAreNoneAreErrors(t *testing.T) {
	for name, answer := range map[string]string{
		"nothing": "", "no HTTP": "hello\r\n\r\n", "only half": "HTTP/1.1 200 OK\r\nContent-Le", "protocols are switched": "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n",
		"interim for ever": strings.Repeat("HTTP/1.1 100 Continue\r\n\r\n", 100), "huge headers": "HTTP/1.1 200 OK\r\nX: " + strings.Repeat("x", 20<<10) + "\r\n\r\n",
		"two lengths": "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nok",
	} {
		t.Run(name, func(t *testing.T) {
			var requests atomic.Int32
			url := scripted(t, func(_ int, c net.Conn, r *bufio.Reader) {
				read(r)
				requests.Add(1)
				_, _ = io.WriteString(c, answer)
				_ = c.(*net.TCPConn).CloseWrite()
				read(r)
			})
			if a, err := local(t).Post(url, nil, nil); err == nil {
				t.Errorf("answer %+v", a)
			}
			if n := requests.Load(); n != 1 {
				t.Errorf("%d requests", n)
			}
		})
	}
}

func TestReceiversThatSayNothingEndWithTheTime(t *testing.T) {
	url := scripted(t, func(_ int, _ net.Conn, r *bufio.Reader) {
		for read(r) != nil {
		}
	})
	p := local(t)
	p.Within(50 * time.Millisecond)
	var timeout net.Error
	if _, err := p.Post(url, nil, nil); !errors.Is(err, os.ErrDeadlineExceeded) || !errors.As(err, &timeout) || !timeout.Timeout() {
		t.Errorf("error %v", err)
	}
}

// One that answers before it has read everything is heard.
func TestAnEarlyAnswerCounts(t *testing.T) {
	url := scripted(t, func(_ int, c net.Conn, r *bufio.Reader) {
		_, _ = r.ReadString('\n')
		_, _ = io.WriteString(c, "HTTP/1.1 413 Content Too Large\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
		_, _ = io.Copy(io.Discard, r)
	})
	if a, err := local(t).Post(url, nil, make([]byte, 1<<20)); err != nil || a.Status != http.StatusRequestEntityTooLarge {
		t.Errorf("answer %+v, error %v", a, err)
	}
}

func TestCloseBreaksOffWhatIsOnItsWay(t *testing.T) {
	reached := make(chan struct{})
	url := scripted(t, func(_ int, _ net.Conn, r *bufio.Reader) {
		read(r)
		close(reached)
		read(r)
	})
	p := local(t)
	result := make(chan error)
	go func() { _, err := p.Post(url, nil, nil); result <- err }()
	<-reached
	p.Close()
	if err := <-result; !errors.Is(err, net.ErrClosed) {
		t.Errorf("error %v", err)
	}
	if _, err := p.Post(url, nil, nil); !errors.Is(err, net.ErrClosed) {
		t.Errorf("after it: %v", err)
	}
}

func TestWhatCannotBeSentIsNotSent(t *testing.T) {
	url := scripted(t, func(int, net.Conn, *bufio.Reader) { t.Error("a connection was made") })
	for name, post := range map[string]func() error{
		"a line break in a header": func() error {
			_, err := local(t).Post(url, http.Header{"Authorization": {"Bearer x\r\nX-Evil: 1"}}, nil)
			return err
		},
		"a space in the query": func() error { _, err := local(t).Post(url+" HTTP/1.1", nil, nil); return err },
		"no URL":               func() error { _, err := local(t).Post("http://[::1", nil, nil); return err },
	} {
		if err := post(); !errors.Is(err, egress.ErrRequest) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestTLSIsSpokenAndChecked(t *testing.T) {
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("it was reached") }))
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	defer server.Close()
	var bad *tls.CertificateVerificationError
	if _, err := local(t).Post(server.URL, nil, nil); !errors.As(err, &bad) {
		t.Errorf("a certificate of nobody: %v", err)
	}
	plain := scripted(t, func(_ int, c net.Conn, _ *bufio.Reader) {
		_, _ = io.WriteString(c, "HTTP/1.1 400 Bad Request\r\n\r\n")
	})
	var record tls.RecordHeaderError
	if _, err := local(t).Post("https"+strings.TrimPrefix(plain, "http"), nil, nil); !errors.As(err, &record) {
		t.Errorf("no TLS: %v", err)
	}
}

func TestManyAtOnceToManyHosts(t *testing.T) {
	p := local(t)
	var urls []string
	for range 80 { // more than idle connections are kept for
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
			body, _ := io.ReadAll(q.Body)
			if string(body) != q.Header.Get("X-Body") {
				w.WriteHeader(http.StatusBadRequest)
			}
		}))
		t.Cleanup(server.Close)
		urls = append(urls, server.URL)
	}
	var sending sync.WaitGroup
	for i := range 16 {
		sending.Go(func() {
			for n := range 60 {
				body := fmt.Sprint(i, n)
				if a, err := p.Post(urls[(i*60+n*7)%len(urls)], http.Header{"X-Body": {body}}, []byte(body)); err != nil || a.Status != 200 {
					t.Errorf("answer %+v, error %v", a, err)
				}
			}
		})
	}
	sending.Wait()
}

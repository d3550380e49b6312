// Package smtptest is a mail server on a real socket that keeps what it is sent. It
// speaks as much of SMTP (RFC 5321) as clients need: STARTTLS or TLS from the start,
// AUTH PLAIN, one transaction after another.
package smtptest

import (
	"bufio"
	"crypto/tls"
	"encoding/base64"
	"encoding/pem"
	"net"
	"net/http/httptest"
	"net/textproto"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// Mail is one mail that was taken.
type Mail struct {
	From string
	To   []string
	// Data as it came, headers and body, with lines ended by \n.
	Data string
	// User is who signed in; TLS tells whether the connection was secured.
	User string
	TLS  bool
}

// Options of a server.
type Options struct {
	// Implicit: the connection begins with TLS. Plain: no STARTTLS is offered.
	Implicit, Plain bool
	// Password that user needs; empty: nobody signs in.
	User, Password string
}

// Server is a running mail server.
type Server struct {
	// Addr is host and port; CA a file with the certificate to trust.
	Addr, CA string

	options Options
	tls     *tls.Config
	mu      sync.Mutex
	mails   []Mail
	refuse  int
}

// New starts a server on a free loopback port. It ends with the test.
func New(tb testing.TB, o Options) *Server {
	tb.Helper()
	// Its certificate is good for 127.0.0.1.
	lender := httptest.NewTLSServer(nil)
	lender.Close()
	s := &Server{options: o, tls: &tls.Config{Certificates: lender.TLS.Certificates}, CA: filepath.Join(tb.TempDir(), "ca.pem")}
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: lender.Certificate().Raw})
	if err := os.WriteFile(s.CA, authority, 0o600); err != nil {
		tb.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	s.Addr = listener.Addr().String()
	var open sync.WaitGroup
	var conns sync.Map
	open.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			conns.Store(conn, true)
			open.Go(func() {
				defer conns.Delete(conn)
				s.serve(conn)
			})
		}
	})
	tb.Cleanup(func() {
		_ = listener.Close()
		conns.Range(func(c, _ any) bool { _ = c.(net.Conn).Close(); return true })
		open.Wait()
	})
	return s
}

// Mails are those taken so far.
func (s *Server) Mails() []Mail {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Mail{}, s.mails...)
}

// Refuse has the next n mails refused for now (451).
func (s *Server) Refuse(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refuse = n
}

// session is one connection.
type session struct {
	*textproto.Conn
	server *Server
	mail   Mail
	user   string
	secure bool
}

func (s *Server) serve(conn net.Conn) {
	defer func() { _ = conn.Close() }()
	if s.options.Implicit {
		conn = tls.Server(conn, s.tls)
	}
	c := &session{Conn: textproto.NewConn(conn), server: s, secure: s.options.Implicit}
	_ = c.PrintfLine("220 smtptest")
	for {
		line, err := c.ReadLine()
		if err != nil {
			return
		}
		verb, rest, _ := strings.Cut(line, " ")
		switch strings.ToUpper(verb) {
		case "STARTTLS":
			_ = c.PrintfLine("220 go ahead")
			secured := tls.Server(conn, s.tls)
			c.Conn, c.secure = textproto.NewConn(secured), true
		case "QUIT":
			_ = c.PrintfLine("221 bye")
			return
		default:
			c.answer(strings.ToUpper(verb), rest)
		}
	}
}

func (c *session) answer(verb, rest string) {
	say := func(line string) { _ = c.PrintfLine("%s", line) }
	o := c.server.options
	switch verb {
	case "EHLO", "HELO":
		say("250-smtptest")
		if !c.secure && !o.Plain {
			say("250-STARTTLS")
		}
		if o.User != "" {
			say("250-AUTH PLAIN")
		}
		say("250 8BITMIME")
	case "AUTH":
		_, credentials, _ := strings.Cut(rest, " ")
		raw, _ := base64.StdEncoding.DecodeString(credentials)
		if string(raw) != "\x00"+o.User+"\x00"+o.Password {
			say("535 no")
			return
		}
		c.user = o.User
		say("235 welcome")
	case "MAIL":
		if o.User != "" && c.user == "" {
			say("530 sign in first")
			return
		}
		c.mail = Mail{From: address(rest), User: c.user, TLS: c.secure}
		say("250 ok")
	case "RCPT":
		c.mail.To = append(c.mail.To, address(rest))
		say("250 ok")
	case "DATA":
		say("354 go on")
		data, err := c.ReadDotLines()
		if err != nil {
			return
		}
		c.mail.Data = strings.Join(data, "\n") + "\n"
		if !c.server.take(c.mail) {
			say("451 not now")
			return
		}
		say("250 taken")
	case "RSET", "NOOP":
		say("250 ok")
	default:
		say("502 unknown")
	}
}

// take keeps a mail unless it is to be refused.
func (s *Server) take(m Mail) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.refuse > 0 {
		s.refuse--
		return false
	}
	s.mails = append(s.mails, m)
	return true
}

// address reads what stands between < and >.
func address(rest string) string {
	_, after, _ := strings.Cut(rest, "<")
	a, _, _ := strings.Cut(after, ">")
	return a
}

// Text is the body of a mail without its headers, as it came.
func (m Mail) Text() string {
	_, body, _ := strings.Cut(m.Data, "\n\n")
	return body
}

// Header is the value of a header; empty when there is none.
func (m Mail) Header(name string) string {
	h, err := textproto.NewReader(bufio.NewReader(strings.NewReader(m.Data))).ReadMIMEHeader()
	if err != nil {
		return ""
	}
	return h.Get(name)
}

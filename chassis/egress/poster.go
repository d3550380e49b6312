package egress

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Bounds of a connection. They are the machine's time: they bound the network.
const (
	dialWithin      = 5 * time.Second
	handshakeWithin = 5 * time.Second
	keepIdle        = 90 * time.Second
	// maxIdleHosts times as many connections as one host may have are kept.
	maxIdleHosts = 16
)

// ErrRequest is the error of a request that HTTP cannot carry.
var ErrRequest = errors.New("the request cannot be made of this URL and these headers")

// Answer to a request, as far as it counts.
type Answer struct {
	// Status is that of HTTP, never below 200.
	Status int
	// RetryAfter is the header of that name (RFC 9110 section 10.2.3).
	RetryAfter string
}

// Poster posts over HTTP/1.1 to what a guard permits. It follows no redirect, goes
// through no proxy and reads no environment. A request is written and its answer
// read by the goroutine that asks, which takes half the processor time of
// net/http's client, where three pass them on to each other.
type Poster struct {
	guard   *Guard
	within  time.Duration
	perHost int
	dialer  net.Dialer
	// ctx ends with the poster, and with it what is being dialled.
	ctx    context.Context
	cancel context.CancelFunc
	// buffers for requests.
	buffers sync.Pool

	mu sync.Mutex
	// lines are all connections, idle those that wait for a request, by scheme and host, the newest last.
	lines  map[*line]struct{}
	idle   map[string][]*line
	idling int
}

// Poster makes one. A request takes at most within, from the look-up of its host's
// name to the end of its answer; perHost connections to a host are kept.
func (g *Guard) Poster(within time.Duration, perHost int) *Poster {
	p := &Poster{guard: g, within: within, perHost: perHost, lines: map[*line]struct{}{}, idle: map[string][]*line{}}
	p.dialer = net.Dialer{Timeout: dialWithin, Control: g.control}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	return p
}

// Within changes how long a request may take. Call it before the first.
func (p *Poster) Within(d time.Duration) { p.within = d }

// Post sends one request. A receiver that closes a kept connection without a word
// gets it again on a new one, so it may be seen twice. The body of the answer is
// read only so that its connection can be used again. The error is ErrRequest when
// the URL or a header cannot be sent, and net.ErrClosed after Close.
func (p *Poster) Post(raw string, header http.Header, body []byte) (Answer, error) {
	deadline := time.Now().Add(p.within)
	u, err := url.Parse(raw)
	if err != nil {
		return Answer{}, ErrRequest
	}
	out, _ := p.buffers.Get().(*[]byte)
	if out == nil {
		out = new([]byte)
	}
	if *out, err = appendRequest((*out)[:0], u, header, body); err != nil {
		return Answer{}, err
	}
	a, err := p.send(u, *out, deadline)
	if cap(*out) <= outBuffer {
		p.buffers.Put(out)
	}
	if err != nil && p.ctx.Err() != nil {
		err = net.ErrClosed
	}
	return a, err
}

func (p *Poster) send(u *url.URL, request []byte, deadline time.Time) (Answer, error) {
	host := u.Scheme + "://" + u.Host
	if l := p.take(host); l != nil {
		a, err := p.sendOn(l, host, request, deadline)
		closed := err != nil && !l.heard && !errors.Is(err, os.ErrDeadlineExceeded)
		if !closed && a.Status != http.StatusRequestTimeout { // which some say before they close
			return a, err
		}
	}
	l, err := p.dial(u, deadline)
	if err != nil {
		return Answer{}, err
	}
	return p.sendOn(l, host, request, deadline)
}

func (p *Poster) sendOn(l *line, host string, request []byte, deadline time.Time) (Answer, error) {
	a, again, err := l.post(request, deadline)
	p.mu.Lock()
	defer p.mu.Unlock()
	if !again || len(p.idle[host]) >= p.perHost || p.ctx.Err() != nil {
		p.end(l)
		return a, err
	}
	if p.idling >= maxIdleHosts*p.perHost {
		p.evict()
	}
	l.since = time.Now()
	p.idle[host] = append(p.idle[host], l)
	p.idling++
	return a, err
}

// evict closes the oldest idle connection to some host. The caller holds the lock.
func (p *Poster) evict() {
	for host, all := range p.idle {
		if len(all) > 0 {
			p.end(all[0])
			p.idle[host] = all[1:]
			p.idling--
			return
		}
	}
}

func (p *Poster) dial(u *url.URL, deadline time.Time) (*line, error) {
	ctx, cancel := context.WithDeadline(p.ctx, deadline)
	defer cancel()
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	conn, err := p.dialer.DialContext(ctx, "tcp", net.JoinHostPort(u.Hostname(), port))
	if err != nil {
		return nil, err
	}
	if u.Scheme == "https" {
		ctx, cancel := context.WithTimeout(ctx, handshakeWithin)
		defer cancel()
		secure := tls.Client(conn, &tls.Config{ServerName: u.Hostname(), NextProtos: []string{"http/1.1"}})
		if err := secure.HandshakeContext(ctx); err != nil {
			_ = conn.Close()
			return nil, err
		}
		conn = secure
	}
	l := &line{Conn: conn}
	l.in = bufio.NewReaderSize(l, inBuffer)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ctx.Err() != nil {
		_ = conn.Close()
		return nil, net.ErrClosed
	}
	p.lines[l] = struct{}{}
	return l, nil
}

// take gives a connection that was kept; nil when there is none.
func (p *Poster) take(host string) *line {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := p.idle[host]
	if len(all) == 0 {
		return nil
	}
	l := all[len(all)-1]
	all[len(all)-1] = nil
	p.idle[host] = all[:len(all)-1]
	p.idling--
	if time.Since(l.since) > keepIdle {
		p.end(l)
		return nil // the others have waited for longer
	}
	return l
}

// end closes a connection that is not idle. The caller holds the lock.
func (p *Poster) end(l *line) {
	delete(p.lines, l)
	_ = l.Close()
}

// Prune closes connections that have been idle for long. Call it every now and then.
func (p *Poster) Prune() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for host, all := range p.idle {
		old := 0
		for old < len(all) && time.Since(all[old].since) > keepIdle {
			p.end(all[old])
			old++
		}
		p.idling -= old
		if p.idle[host] = all[old:]; old == len(all) {
			delete(p.idle, host)
		}
	}
}

// Close breaks off what is on its way and closes all connections.
func (p *Poster) Close() {
	p.cancel()
	p.mu.Lock()
	defer p.mu.Unlock()
	for l := range p.lines {
		p.end(l)
	}
	p.idle, p.idling = map[string][]*line{}, 0
}

// control sees the address that a socket is about to connect to, after names have
// been resolved.
func (g *Guard) control(network, address string, _ syscall.RawConn) error {
	if !strings.HasPrefix(network, "tcp") {
		return refuse("%s is not TCP", network)
	}
	a, err := netip.ParseAddrPort(address)
	if err != nil {
		return refuse("%q is no address", address)
	}
	return g.Check(a.Addr())
}

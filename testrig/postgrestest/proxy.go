package postgrestest

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// Cut is where a proxy cuts a connection.
type Cut int

// Cuts around a COMMIT.
const (
	// BeforeCommit: the server never sees it.
	BeforeCommit Cut = iota + 1
	// DuringCommit: the server gets it and loses its client in the same moment.
	DuringCommit
	// AfterCommit: the server has done it; the client never hears so.
	AfterCommit
	// AfterCommitForLong: as AfterCommit, and with it every connection is cut and
	// none is made until Admit.
	AfterCommitForLong
)

// Proxy stands between a client and the server and cuts connections.
type Proxy struct {
	tb       testing.TB
	dir      string
	target   string
	url      string
	listener net.Listener

	mu     sync.Mutex
	cuts   []Cut
	made   int
	closed bool // no new connections
	conns  map[net.Conn]bool
}

// socket is the file of a server's socket in its folder.
const socket = ".s.PGSQL.5432"

// NewProxy makes a proxy to the database of a URL that Database gave.
func NewProxy(tb testing.TB, url string) *Proxy {
	tb.Helper()
	_, rest, ok := strings.Cut(url, "host=")
	if !ok {
		tb.Fatalf("%s names no folder of a socket", url)
	}
	target, _, _ := strings.Cut(rest, "&")
	dir, err := os.MkdirTemp("", "sabha-px-")
	if err != nil {
		tb.Fatal(err)
	}
	p := &Proxy{tb: tb, dir: dir, target: filepath.Join(target, socket), url: strings.Replace(url, "host="+target, "host="+dir, 1), conns: map[net.Conn]bool{}}
	if p.listener, err = net.Listen("unix", filepath.Join(dir, socket)); err != nil {
		tb.Fatal(err)
	}
	go p.accept()
	tb.Cleanup(func() {
		_ = p.listener.Close()
		p.Break()
		_ = os.RemoveAll(dir)
	})
	return p
}

// URL is the address of the database through the proxy.
func (p *Proxy) URL() string { return p.url }

// CutNext cuts the connection of each of the next commits so.
func (p *Proxy) CutNext(cuts ...Cut) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cuts = append(p.cuts, cuts...)
}

// Made is how many cuts were made.
func (p *Proxy) Made() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.made
}

// Admit takes connections again.
func (p *Proxy) Admit() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = false
}

// Break cuts every connection at once.
func (p *Proxy) Break() { p.breakAllBut(nil) }

func (p *Proxy) breakAllBut(kept net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		if c != kept {
			_ = c.Close()
		}
	}
}

func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.mu.Lock()
		closed := p.closed
		p.mu.Unlock()
		server, err := net.Dial("unix", p.target)
		if closed || err != nil {
			if err == nil {
				_ = server.Close()
			}
			_ = client.Close()
			continue
		}
		go p.carry(client, server)
	}
}

// carry passes bytes both ways until one side ends or a cut is made.
func (p *Proxy) carry(client, server net.Conn) {
	p.mu.Lock()
	p.conns[client], p.conns[server] = true, true
	p.mu.Unlock()
	end := func() {
		_ = client.Close()
		_ = server.Close()
		p.mu.Lock()
		delete(p.conns, client)
		delete(p.conns, server)
		p.mu.Unlock()
	}
	defer end()
	var withhold sync.Mutex // held while nothing may reach the client
	answered := make(chan struct{}, 1)
	var held bool
	go func() {
		defer end()
		buf := make([]byte, 64<<10)
		for {
			n, err := server.Read(buf)
			withhold.Lock()
			hold := held
			withhold.Unlock()
			if hold {
				select {
				case answered <- struct{}{}:
				default:
				}
				if err != nil {
					return
				}
				continue
			}
			if n > 0 {
				if _, err := client.Write(buf[:n]); err != nil {
					return
				}
			}
			if err != nil {
				return
			}
		}
	}()
	buf := make([]byte, 64<<10)
	for {
		n, err := client.Read(buf)
		if n > 0 {
			cut := Cut(0)
			if commits(buf[:n]) {
				cut = p.next()
			}
			if cut == BeforeCommit {
				return
			}
			if cut != 0 { // a cut client hears no answer
				withhold.Lock()
				held = true
				withhold.Unlock()
			}
			if _, err := server.Write(buf[:n]); err != nil {
				return
			}
			if cut == AfterCommit || cut == AfterCommitForLong {
				<-answered
			}
			if cut == AfterCommitForLong {
				p.mu.Lock()
				p.closed = true
				p.mu.Unlock()
				p.breakAllBut(client) // which learns it last
			}
			if cut != 0 {
				return
			}
		}
		if err != nil {
			if !errors.Is(err, io.EOF) && !errors.Is(err, net.ErrClosed) {
				p.tb.Logf("proxy: %v", err)
			}
			return
		}
	}
}

// commits tells whether a message is the simple query that commits.
func commits(message []byte) bool {
	return len(message) > 5 && message[0] == 'Q' && bytes.EqualFold(bytes.TrimRight(message[5:], "\x00"), []byte("commit"))
}

func (p *Proxy) next() Cut {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.cuts) == 0 {
		return 0
	}
	cut := p.cuts[0]
	p.cuts = p.cuts[1:]
	p.made++
	return cut
}

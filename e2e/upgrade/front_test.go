//go:build slow

package upgrade

import (
	"fmt"
	"io"
	"net"
	"sync/atomic"
	"testing"
)

// front is one address for the replicas of a service: connections go to those that
// listen, in turn.
type front struct {
	address string
	behind  []int
	next    atomic.Int32
}

func newFront(t *testing.T, behind ...int) *front {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	f := &front{address: l.Addr().String(), behind: behind}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go f.carry(c)
		}
	}()
	return f
}

func (f *front) carry(client net.Conn) {
	defer func() { _ = client.Close() }()
	for range f.behind {
		n := int(f.next.Add(1))
		server, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", f.behind[n%len(f.behind)]))
		if err != nil {
			continue
		}
		defer func() { _ = server.Close() }()
		ended := make(chan struct{}, 2)
		go func() { _, _ = io.Copy(server, client); ended <- struct{}{} }()
		go func() { _, _ = io.Copy(client, server); ended <- struct{}{} }()
		<-ended
		return
	}
}

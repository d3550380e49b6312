// Package freeport finds TCP ports on the loopback interface for servers that a
// test starts, stops and starts again on the same port.
package freeport

import (
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
)

// The ports lie below the ranges from which Linux (32768) and macOS (49152) take
// the ports of outgoing connections, so that no connection on the machine takes
// one while its server is down.
const (
	lowest = 10_000
	blocks = 400
	// size of a block. Its first port is listened on for as long as the process lives,
	// so that no other process that tests takes a port of it.
	size = 50
)

// held are the blocks of this process. Each port is given once.
var held struct {
	sync.Mutex
	locks []net.Listener
	ports []int // of them that are still to be given
}

// Find returns n different ports that nothing listens on. No other process that
// asks here is given one of them before this one ends.
func Find(n int) ([]int, error) {
	held.Lock()
	defer held.Unlock()
	var found []int
	for len(found) < n {
		if len(held.ports) == 0 {
			if err := claim(); err != nil {
				return nil, err
			}
		}
		port := held.ports[0]
		held.ports = held.ports[1:]
		if l, err := listen(port); err == nil { // else a server that was not started by a test has it
			_ = l.Close()
			found = append(found, port)
		}
	}
	return found, nil
}

// claim takes a block that no process has.
func claim() error {
	for _, block := range rand.Perm(blocks) {
		first := lowest + block*size
		lock, err := listen(first)
		if err != nil {
			continue
		}
		held.locks = append(held.locks, lock)
		for port := first + 1; port < first+size; port++ {
			held.ports = append(held.ports, port)
		}
		return nil
	}
	return fmt.Errorf("all ports between %d and %d are taken", lowest, lowest+blocks*size-1)
}

func listen(port int) (net.Listener, error) {
	return net.Listen("tcp4", fmt.Sprintf("127.0.0.1:%d", port))
}

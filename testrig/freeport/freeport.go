// Package freeport finds TCP ports on the loopback interface for servers that a
// test starts, stops and starts again on the same port.
package freeport

import (
	"fmt"
	"math/rand/v2"
	"net"
)

// The ports lie below the ranges from which Linux (32768) and macOS (49152) take
// the ports of outgoing connections, so that no connection on the machine takes
// one while its server is down.
const (
	lowest  = 10_000
	highest = 29_999
)

// attempts bounds the search; on a machine where a hundredth of the range is
// free it still fails less than once in ten thousand times.
const attempts = 1000

// Find returns n different ports that nothing listened on a moment ago.
func Find(n int) ([]int, error) {
	var ports []int
	for try := 0; len(ports) < n; try++ {
		if try == attempts {
			return nil, fmt.Errorf("found %d of %d free ports between %d and %d", len(ports), n, lowest, highest)
		}
		port := lowest + rand.IntN(highest-lowest+1)
		listener, err := net.Listen("tcp4", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			continue
		}
		// Held until all are found, so that no port is given twice.
		defer func() { _ = listener.Close() }()
		ports = append(ports, port)
	}
	return ports, nil
}

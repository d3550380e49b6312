package freeport_test

import (
	"fmt"
	"net"
	"testing"

	"sabha.dev/testrig/freeport"
)

func TestPortsDifferAndCanBeListenedOn(t *testing.T) {
	ports, err := freeport.Find(20)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[int]bool{}
	for _, port := range ports {
		if seen[port] {
			t.Errorf("port %d was given twice", port)
		}
		seen[port] = true
		listener, err := net.Listen("tcp4", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			t.Errorf("port %d is not free: %v", port, err)
			continue
		}
		defer listener.Close()
	}
	if len(ports) != 20 {
		t.Errorf("got %d ports, want 20", len(ports))
	}
}

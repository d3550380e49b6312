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

// What is listened on keeps other processes from the block, for as long as this one lives.
func TestPortsAreOfBlocksThatAreHeld(t *testing.T) {
	ports, err := freeport.Find(120) // of several blocks
	if err != nil {
		t.Fatal(err)
	}
	for _, port := range ports {
		first := port - port%50
		if first == port {
			t.Errorf("port %d is the one that holds its block", port)
		}
		if l, err := net.Listen("tcp4", fmt.Sprintf("127.0.0.1:%d", first)); err == nil {
			_ = l.Close()
			t.Errorf("nothing holds the block of port %d", port)
		}
	}
}

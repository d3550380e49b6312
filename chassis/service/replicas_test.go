package service_test

import (
	"context"
	"net"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"

	"sabha.dev/chassis/service"
)

func listen(t *testing.T) (*grpc.Server, string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := grpc.NewServer()
	grpc_health_v1.RegisterHealthServer(s, health.NewServer())
	go func() { _ = s.Serve(l) }()
	t.Cleanup(s.Stop)
	return s, l.Addr().String()
}

func TestCallsGoToEachNamedReplicaAndPastOneThatIsGone(t *testing.T) {
	first, a := listen(t)
	_, b := listen(t)
	target, opts, err := service.TCP{}.Dial("echo", a+", "+b)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := grpc.NewClient(target, opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	call := func() string {
		t.Helper()
		for {
			var from peer.Peer
			_, err := grpc_health_v1.NewHealthClient(conn).Check(ctx, nil, grpc.Peer(&from), grpc.WaitForReady(true))
			if err == nil {
				return from.Addr.String()
			}
			if status.Code(err) != codes.Unavailable || ctx.Err() != nil { // it may have been under way to a replica that stopped
				t.Fatal(err)
			}
		}
	}
	for seen := map[string]bool{}; !seen[a] || !seen[b]; {
		seen[call()] = true
	}
	first.Stop()
	for range 10 {
		if got := call(); got != b {
			t.Fatalf("a call went to %s; only %s is there", got, b)
		}
	}
}

func TestWrongPeersAreRefusedWithWhatToDo(t *testing.T) {
	for address, want := range map[string]string{
		"":                   "no address for service echo; name it under peers",
		"10.0.0.1:9105,":     `"" under peers.echo is no address; want HOST:PORT, several separated by commas`,
		"10.0.0.1,10.0.0.2":  `"10.0.0.1" under peers.echo is no address`,
		"10.0.0.1:9105,:910": `":910" under peers.echo is no address`,
	} {
		if _, _, err := (service.TCP{}).Dial("echo", address); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %v, want %s", address, err, want)
		}
	}
}

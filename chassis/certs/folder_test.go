package certs_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/peer"

	"sabha.dev/chassis/certs"
	"sabha.dev/testrig/clocktest"
	"sabha.dev/testrig/logtest"
)

// rig is a folder of certificates and a clock.
type rig struct {
	dir   string
	clock *clocktest.Clock
	log   logtest.Buffer
}

// await waits until something is so.
func await(tb testing.TB, what string, so func() bool) {
	tb.Helper()
	for deadline := time.Now().Add(time.Minute); !so(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			tb.Fatalf("waited in vain for %s", what)
		}
	}
}

func newRig(tb testing.TB, services ...string) *rig {
	tb.Helper()
	r := &rig{dir: tb.TempDir(), clock: clocktest.New(start)}
	issue(tb, r.dir, certs.Order{Services: services, Lifetime: year}, start)
	return r
}

func (r *rig) open(tb testing.TB, service string) *certs.Folder {
	tb.Helper()
	f, err := certs.Open(filepath.Join(r.dir, service), r.clock, slog.New(slog.NewTextHandler(&r.log, nil)))
	if err != nil {
		tb.Fatal(err)
	}
	return f
}

// serve serves health over a transport and notes whom the last caller's certificate names.
func serve(tb testing.TB, transport credentials.TransportCredentials) (address string, last func() string) {
	tb.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	names := make(chan string, 1)
	s := grpc.NewServer(grpc.Creds(transport), grpc.UnaryInterceptor(func(ctx context.Context, req any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
		p, _ := peer.FromContext(ctx)
		names <- p.AuthInfo.(interface{ CertifiedName() string }).CertifiedName()
		return next(ctx, req)
	}))
	grpc_health_v1.RegisterHealthServer(s, health.NewServer())
	go func() { _ = s.Serve(listener) }()
	tb.Cleanup(s.Stop)
	return listener.Addr().String(), func() string { return <-names }
}

// call makes one call over a new connection.
func call(tb testing.TB, address string, transport credentials.TransportCredentials) error {
	tb.Helper()
	conn, err := grpc.NewClient("passthrough:///"+address, grpc.WithTransportCredentials(transport))
	if err != nil {
		tb.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	ctx, cancel := context.WithTimeout(tb.Context(), time.Minute)
	defer cancel()
	_, err = grpc_health_v1.NewHealthClient(conn).Check(ctx, &grpc_health_v1.HealthCheckRequest{})
	return err
}

func TestBothSidesMustShowACertificateOfTheAuthority(t *testing.T) {
	r, stranger := newRig(t, "planner", "research"), newRig(t, "planner", "research")
	address, last := serve(t, r.open(t, "research").Transport(""))
	if err := call(t, address, r.open(t, "planner").Transport("research")); err != nil {
		t.Fatal(err)
	}
	if got := last(); got != "planner" {
		t.Errorf("the caller is %q", got)
	}
	for name, c := range map[string]struct {
		transport credentials.TransportCredentials
		want      string
	}{
		"plain text":                   {insecure.NewCredentials(), ""},
		"no certificate":               {credentials.NewTLS(&tls.Config{InsecureSkipVerify: true}), ""},                                                             //nolint:gosec // a caller who does not care
		"TLS 1.2":                      {credentials.NewTLS(&tls.Config{InsecureSkipVerify: true, MaxVersion: tls.VersionTLS12}), "protocol version not supported"}, //nolint:gosec // the same
		"a certificate of another":     {stranger.open(t, "planner").Transport("research"), "certificate signed by unknown authority"},
		"a service that was not meant": {r.open(t, "planner").Transport("planner"), "certificate is valid for research, localhost, not planner"},
	} {
		if err := call(t, address, c.transport); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
	}
	// A caller that trusts the server, whose authority the server does not. What such a
	// caller learns depends on who is faster; the server's log says it.
	trusting := stranger.open(t, "planner")
	write(t, stranger.dir, "planner/ca.crt", read(t, r.dir, "ca.crt"))
	stranger.clock.Advance(time.Second)
	if err := call(t, address, trusting.Transport("research")); err == nil {
		t.Error("a caller of another authority was let in")
	}
	for _, want := range []string{"client didn't provide a certificate", "certificate signed by unknown authority", "client offered only unsupported versions"} {
		await(t, want, func() bool { return strings.Contains(r.log.String(), want) })
	}
}

func TestARenewedCertificateIsTakenUp(t *testing.T) {
	r := newRig(t, "planner", "research")
	server, client := r.open(t, "research"), r.open(t, "planner")
	address, last := serve(t, server.Transport(""))
	connect := func() error {
		err := call(t, address, client.Transport("research"))
		if err == nil {
			last()
		}
		return err
	}
	if err := connect(); err != nil {
		t.Fatal(err)
	}
	r.clock.Advance(year + time.Minute)
	if err := connect(); err == nil || !strings.Contains(err.Error(), "expired") {
		t.Errorf("after their end: %v", err)
	}
	issue(t, r.dir, certs.Order{Services: []string{"planner", "research"}, Lifetime: year}, r.clock.Now())
	if err := connect(); err == nil {
		t.Error("the folder was looked at twice within a second")
	}
	r.clock.Advance(time.Second)
	if err := connect(); err != nil {
		t.Errorf("after their renewal: %v", err)
	}
}

func TestHalfAChangeLeavesWhatWasHeld(t *testing.T) {
	r := newRig(t, "planner")
	f := r.open(t, "planner")
	before := holds(t, f)
	other := newRig(t, "planner")
	write(t, r.dir, "planner/tls.key", read(t, other.dir, "planner/tls.key"))
	r.clock.Advance(time.Second)
	if got := holds(t, f); !bytes.Equal(got, before) {
		t.Error("half a change is in use")
	}
	if !strings.Contains(r.log.String(), "the one before stays in use") {
		t.Errorf("the log says %q", &r.log)
	}
	write(t, r.dir, "planner/tls.crt", read(t, other.dir, "planner/tls.crt"))
	r.clock.Advance(time.Second)
	if got := holds(t, f); !bytes.Equal(got, leaf(t, filepath.Join(other.dir, "planner")).Raw) {
		t.Error("the whole change is not in use")
	}
}

// holds is the certificate that a folder gives out.
func holds(tb testing.TB, f *certs.Folder) []byte {
	tb.Helper()
	c, err := f.Certificate()
	if err != nil {
		tb.Fatal(err)
	}
	return c.Certificate[0]
}

func TestFoldersThatCannotBeUsed(t *testing.T) {
	r := newRig(t, "planner")
	for name, c := range map[string]struct {
		spoil func(dir string)
		want  string
	}{
		"an empty folder":      {func(dir string) { remove(t, dir, "tls.crt") }, "make it with: sabha certs"},
		"no authority":         {func(dir string) { remove(t, dir, "ca.crt") }, "it belongs beside the certificate, as sabha certs puts it"},
		"an empty authority":   {func(dir string) { write(t, dir, "ca.crt", nil) }, "ca.crt holds no certificate (PEM)"},
		"a key of another":     {func(dir string) { write(t, dir, "tls.key", read(t, newRig(t, "planner").dir, "planner/tls.key")) }, "private key does not match public key"},
		"an ended certificate": {func(string) { r.clock.Advance(2 * year) }, "is valid from 2026-03-01 to 2027-03-01, not now; renew it with: sabha certs"},
	} {
		dir := t.TempDir()
		if err := os.CopyFS(dir, os.DirFS(filepath.Join(r.dir, "planner"))); err != nil {
			t.Fatal(err)
		}
		c.spoil(dir)
		if _, err := certs.Open(dir, r.clock, slog.New(slog.DiscardHandler)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
		r.clock = clocktest.New(start)
	}
}

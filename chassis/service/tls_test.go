package service_test

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"sabha.dev/chassis/certs"
	"sabha.dev/chassis/clock"
	"sabha.dev/chassis/identity"
	"sabha.dev/chassis/service"
	"sabha.dev/testrig/freeport"
	"sabha.dev/testrig/natstest"
)

// secured is a service echo over TCP with mutual TLS, and a NATS server that
// demands certificates too.
type secured struct {
	keys, certs, address, nats string
}

func startSecured(tb testing.TB) *secured {
	tb.Helper()
	s := &secured{keys: tb.TempDir(), certs: tb.TempDir()}
	if err := identity.MakeKeys(s.keys, "echo", "caller", "other", "gateway"); err != nil {
		tb.Fatal(err)
	}
	if _, err := certs.Issue(s.certs, certs.Order{Services: []string{"echo", "caller", "other", "nats"}, Lifetime: time.Hour}, time.Now()); err != nil {
		tb.Fatal(err)
	}
	file := filepath.Join(tb.TempDir(), "nats.conf")
	text := fmt.Sprintf("tls { cert_file: %[1]s/tls.crt, key_file: %[1]s/tls.key, ca_file: %[1]s/ca.crt, verify: true }\njetstream: enabled\n", filepath.Join(s.certs, "nats"))
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		tb.Fatal(err)
	}
	s.nats = natstest.Configured(tb, file).URL()
	ports, err := freeport.Find(1)
	if err != nil {
		tb.Fatal(err)
	}
	s.address = net.JoinHostPort("127.0.0.1", fmt.Sprint(ports[0]))
	c := s.config("echo")
	c.GRPC, c.Database, c.NATS = s.address, "sqlite:"+filepath.Join(tb.TempDir(), "echo.db"), s.nats
	r, err := service.Start(tb.Context(), service.Definition{Name: "echo", Config: c, Build: echo}, env())
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := r.Stop(context.Background()); err != nil {
			tb.Error(err)
		}
	})
	return s
}

func env() service.Env {
	return service.Env{Clock: clock.System{}, Log: slog.New(slog.NewTextHandler(os.Stderr, nil)), Network: service.TCP{}}
}

func (s *secured) config(name string) service.Config {
	return service.Config{Keys: s.keys, TLS: filepath.Join(s.certs, name), Peers: map[string]string{"echo": s.address}}
}

func (s *secured) open(tb testing.TB, name string) *service.Base {
	tb.Helper()
	base, done, err := service.OpenBase(tb.Context(), service.Definition{Name: name, Config: s.config(name)}, env())
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(done)
	return base
}

// grant is what the gateway says of a principal.
func (s *secured) grant(tb testing.TB) string {
	tb.Helper()
	key, err := identity.LoadKey(filepath.Join(s.keys, "gateway.key"))
	if err != nil {
		tb.Fatal(err)
	}
	gateway, err := identity.NewSigner("gateway", key, clock.System{})
	if err != nil {
		tb.Fatal(err)
	}
	g, err := gateway.Grant(identity.Principal{Subject: "alice", Organisation: "acme"})
	if err != nil {
		tb.Fatal(err)
	}
	return g
}

func TestServicesCallEachOtherOverMutualTLS(t *testing.T) {
	s := startSecured(t)
	conn, err := s.open(t, "caller").Peer("echo")
	if err != nil {
		t.Fatal(err)
	}
	ctx := metadata.AppendToOutgoingContext(identity.WithOutgoing(t.Context(), identity.Call{Grant: s.grant(t)}), "a2a-version", "1.0")
	res, err := a2apb.NewA2AServiceClient(conn).SendMessage(ctx, message("m1", "hello"))
	if err != nil || res.GetTask().GetStatus().GetState() != a2apb.TaskState_TASK_STATE_COMPLETED {
		t.Fatalf("over mutual TLS: %v, %v", res, err)
	}
	plain := s.config("caller")
	plain.TLS = ""
	base, done, err := service.OpenBase(t.Context(), service.Definition{Name: "caller", Config: plain}, env())
	if err != nil {
		t.Fatal(err)
	}
	defer done()
	if conn, err = base.Peer("echo"); err != nil {
		t.Fatal(err)
	}
	if _, err := a2apb.NewA2AServiceClient(conn).SendMessage(ctx, message("m2", "hello")); status.Code(err) != codes.Unavailable {
		t.Errorf("without a certificate: %v", err)
	}
}

// Whoever reads a token on the network, in a log or in a memory dump cannot use it
// without the certificate of the service that signed it.
func TestAStolenTokenIsWorthNothing(t *testing.T) {
	s := startSecured(t)
	victim, thief := s.open(t, "caller"), s.open(t, "other")
	token, err := victim.Signer.Token("echo", identity.Call{Grant: s.grant(t)})
	if err != nil {
		t.Fatal(err)
	}
	call := func(as *service.Base) error {
		conn, err := grpc.NewClient("passthrough:///"+s.address, grpc.WithTransportCredentials(as.TLS.Transport("echo")))
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Close() }()
		ctx := metadata.AppendToOutgoingContext(t.Context(), "a2a-version", "1.0", "sabha-token", token)
		_, err = a2apb.NewA2AServiceClient(conn).SendMessage(ctx, message("m1", "hello"))
		return err
	}
	if err := call(victim); err != nil {
		t.Errorf("the service that the token is of: %v", err)
	}
	err = call(thief)
	if status.Code(err) != codes.PermissionDenied || !strings.Contains(status.Convert(err).Message(), "the token is that of caller, the certificate that of other") {
		t.Errorf("another service with the same token: %v", err)
	}
}

func TestACertificateOfAnotherServiceIsRefusedAtTheStart(t *testing.T) {
	s := &secured{keys: t.TempDir(), certs: t.TempDir()}
	if _, err := certs.Issue(s.certs, certs.Order{Services: []string{"echo", "caller"}, Lifetime: time.Hour}, time.Now()); err != nil {
		t.Fatal(err)
	}
	_, _, err := service.OpenBase(t.Context(), service.Definition{Name: "caller", Config: s.config("echo")}, env())
	if err == nil || !strings.Contains(err.Error(), "is that of echo, not of caller; name the folder of caller") {
		t.Errorf("got %v", err)
	}
}

func TestWhatANATSAddressMayNotSay(t *testing.T) {
	s := &secured{keys: t.TempDir()}
	for nats, want := range map[string]string{
		"nats://127.0.0.1:4222?token=x":                     `"token" is not known in a URL; want credentials=FILE`,
		"tls://a:4222,tls://b:4222?credentials=nowhere.txt": "nowhere.txt: no such file",
		"nats://a:4222?%zz":                                 "what follows the question mark cannot be read",
	} {
		c := s.config("caller")
		c.TLS, c.NATS = "", nats
		if _, _, err := service.OpenBase(t.Context(), service.Definition{Name: "caller", Config: c}, env()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", nats, err, want)
		}
	}
}

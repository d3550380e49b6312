package remote_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"sabha.dev/chassis/agent"
	"sabha.dev/chassis/certs"
	"sabha.dev/chassis/trace"
	"sabha.dev/services/partners/internal/credential"
	"sabha.dev/services/partners/internal/remote"
)

// with are the settings of this machine with a credential.
func with(c *credential.Config) func(string) remote.Settings {
	return func(string) remote.Settings {
		s := here("")
		s.Credential = c
		return s
	}
}

// identities issues certificates, for the partner and for us.
func identities(t *testing.T) (dir string, server *tls.Config) {
	t.Helper()
	dir = t.TempDir()
	if _, err := certs.Issue(dir, certs.Order{Services: []string{"partner", "sabha"}, Lifetime: 24 * 365 * time.Hour}, time.Now()); err != nil {
		t.Fatal(err)
	}
	pair, err := tls.LoadX509KeyPair(filepath.Join(dir, "partner", "tls.crt"), filepath.Join(dir, "partner", "tls.key"))
	if err != nil {
		t.Fatal(err)
	}
	ca, err := os.ReadFile(filepath.Join(dir, "ca.crt"))
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(ca)
	return dir, &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{pair}, ClientCAs: pool, ClientAuth: tls.RequireAndVerifyClientCert}
}

// greeter answers over gRPC with who the caller is.
type greeter struct {
	a2apb.UnimplementedA2AServiceServer
	answer func(context.Context) (string, error)
}

func (g *greeter) SendMessage(ctx context.Context, _ *a2apb.SendMessageRequest) (*a2apb.SendMessageResponse, error) {
	text, err := g.answer(ctx)
	if err != nil {
		return nil, err
	}
	return &a2apb.SendMessageResponse{Payload: &a2apb.SendMessageResponse_Message{Message: &a2apb.Message{
		MessageId: "m", Role: a2apb.Role_ROLE_AGENT, Parts: []*a2apb.Part{agent.Text(text)},
	}}}, nil
}

func TestPartnersAreCalledOverMutualTLS(t *testing.T) {
	dir, config := identities(t)
	file := func(name string) string { return filepath.Join(dir, name) }
	ours := &credential.Config{Type: credential.MTLS, Certificate: file("sabha/tls.crt"), Key: file("sabha/tls.key"), CA: file("ca.crt")}
	overHTTP := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answerRPC(w, r, fmt.Sprintf(`{"message":{"messageId":"m","role":"ROLE_AGENT","parts":[{"text":"hello %s"}]}}`, r.TLS.PeerCertificates[0].Subject.CommonName))
	}))
	overHTTP.TLS = config
	overHTTP.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	overHTTP.StartTLS()
	t.Cleanup(overHTTP.Close)
	l := listen(t)
	s := grpc.NewServer(grpc.Creds(credentials.NewTLS(config)))
	a2apb.RegisterA2AServiceServer(s, &greeter{answer: func(context.Context) (string, error) { return "hello sabha", nil }})
	go func() { _ = s.Serve(l) }()
	t.Cleanup(s.Stop)
	for binding, url := range map[string]string{"JSONRPC": overHTTP.URL, "GRPC": "https://" + l.Addr().String()} {
		for name, c := range map[string]struct {
			credential *credential.Config
			want       string
		}{
			"with our certificate": {ours, "hello sabha"},
			"without one":          {&credential.Config{Type: credential.None, CA: ours.CA}, "unreachable"},
			"without the CA":       {&credential.Config{Type: credential.MTLS, Certificate: ours.Certificate, Key: ours.Key}, "unreachable"},
		} {
			got, err := send(t, newClient(t, with(c.credential)), called("p", "1.0", binding, url))
			if err != nil {
				got = string(remote.KindOf(err))
			}
			equal(t, binding+" "+name, got, c.want)
		}
	}
}

// A token that the partner does not take is fetched once more, and the call made again.
func TestARefusedTokenIsFetchedOnce(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("s3cret"), 0o600); err != nil {
		t.Fatal(err)
	}
	var fetched, good atomic.Int32
	endpoint := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"access_token":"t%d","token_type":"Bearer","expires_in":3600}`, fetched.Add(1))
	}))
	t.Cleanup(endpoint.Close)
	takes := func(given string) bool { return given == fmt.Sprintf("Bearer t%d", good.Load()) }
	overHTTP := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !takes(r.Header.Get("Authorization")) {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		answerRPC(w, r, `{"message":{"messageId":"m","role":"ROLE_AGENT","parts":[{"text":"welcome"}]}}`)
	}))
	t.Cleanup(overHTTP.Close)
	overGRPC := serveGRPC(t, func(s *grpc.Server) {
		a2apb.RegisterA2AServiceServer(s, &greeter{answer: func(ctx context.Context) (string, error) {
			md, _ := metadata.FromIncomingContext(ctx)
			if !takes(strings.Join(md.Get("authorization"), "")) {
				return "", status.Error(codes.Unauthenticated, "no")
			}
			return "welcome", nil
		}})
	})
	for binding, url := range map[string]string{"JSONRPC": overHTTP.URL, "GRPC": overGRPC} {
		fetched.Store(0)
		c := newClient(t, with(&credential.Config{Type: credential.OAuth2, TokenURL: endpoint.URL, ClientID: "sabha", File: secret}))
		p := called("p", "1.0", binding, url)
		for _, step := range []struct {
			good, fetched int32
			want          string
		}{{1, 1, "welcome"}, {2, 2, "welcome"}, {9, 3, "credentials"}} {
			good.Store(step.good)
			got, err := send(t, c, p)
			if err != nil {
				got = string(remote.KindOf(err))
			}
			equal(t, binding+" when token "+fmt.Sprint(step.good)+" is taken", got, step.want)
			if n := fetched.Load(); n != step.fetched {
				t.Errorf("%s: %d tokens were fetched, want %d", binding, n, step.fetched)
			}
		}
	}
}

func TestSecretsAreNotSentWithoutTLS(t *testing.T) {
	path := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(path, []byte("s3cret"), 0o600); err != nil {
		t.Fatal(err)
	}
	key := credential.Config{Type: credential.Bearer, File: path}
	opened := key
	opened.Plaintext = true
	for _, c := range []struct {
		url, binding string
		credential   *credential.Config
		sent         bool
	}{
		{"http://partner.example/", "JSONRPC", &key, false},
		{"http://partner.example/", "JSONRPC", &opened, true},
		{"http://partner.example/", "JSONRPC", nil, true},
		{"https://partner.example/", "HTTP+JSON", &key, true},
		{"http://127.0.0.1:1/", "HTTP+JSON", &key, true},
		{"http://partner.example:50051", "GRPC", &key, false},
		{"partner.example:50051", "GRPC", &key, true}, // which has TLS
		{"http://localhost:50051", "GRPC", &key, true},
	} {
		_, err := newClient(t, with(c.credential)).Line(called("p", "1.0", c.binding, c.url))
		if (err == nil) != c.sent || err != nil && remote.KindOf(err) != remote.Credentials {
			t.Errorf("%s %s: %v", c.binding, c.url, err)
		}
	}
}

func TestThePartnerIsToldOfTheTraceAsMuchAsIsAgreed(t *testing.T) {
	var got http.Header
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = r.Header
		answerRPC(w, r, `{"message":{"messageId":"m","role":"ROLE_AGENT","parts":[{"text":"hello"}]}}`)
	}))
	t.Cleanup(s.Close)
	place := trace.New()
	place.State = "vendor=x"
	ctx := trace.With(t.Context(), place)
	for how, want := range map[remote.Trace]func(parent, state string) bool{
		remote.Full: func(parent, state string) bool { return parent == place.String() && state == "vendor=x" },
		remote.ID: func(parent, state string) bool {
			return strings.Contains(parent, place.TraceID) && !strings.Contains(parent, place.SpanID) && state == ""
		},
		remote.None: func(parent, state string) bool { return parent == "" && state == "" },
	} {
		c := newClient(t, func(string) remote.Settings {
			s := here("")
			s.Trace = how
			return s
		})
		l, err := c.Line(called("p", "1.0", "JSONRPC", s.URL))
		if err == nil {
			_, err = l.Send(ctx, says("hello"))
		}
		if err != nil || !want(got.Get("Traceparent"), got.Get("Tracestate")) {
			t.Errorf("%s: %v, %q %q", how, err, got.Get("Traceparent"), got.Get("Tracestate"))
		}
	}
}

// Package secured runs the platform under the configuration that is shipped for
// docker compose: mutual TLS between services, a NATS cluster that knows each by its
// certificate and lets it do what it needs, PostgreSQL with a role and a schema each.
package secured

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"sabha.dev/chassis/certs"
	"sabha.dev/chassis/clock"
	"sabha.dev/chassis/identity"
	"sabha.dev/chassis/service"
	"sabha.dev/services/executor"
	"sabha.dev/services/gateway"
	"sabha.dev/services/memory"
	"sabha.dev/services/partners"
	"sabha.dev/services/planner"
	"sabha.dev/services/research"
	"sabha.dev/services/review"
	"sabha.dev/services/security"
	"sabha.dev/services/validator"
	"sabha.dev/testrig/freeport"
	"sabha.dev/testrig/leftout"
	"sabha.dev/testrig/natstest"
	"sabha.dev/testrig/postgrestest"
)

// compose is the folder with what is shipped.
const compose = "../../deploy/compose"

// personas in the order in which they start.
var personas = []string{security.Name, memory.Name, executor.Name, validator.Name, research.Name, review.Name, partners.Name, planner.Name}

// deployment is where everything is.
type deployment struct {
	certs, keys string
	nats        *natstest.Cluster
	postgres    *postgrestest.Secured
	peers       map[string]string
	log         record
}

// record is what the services log; it may be read while it is written.
type record struct {
	mu   sync.Mutex
	text strings.Builder
}

func (r *record) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.text.Write(p)
}

func (r *record) String() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.text.String()
}

// deploy makes certificates and keys, and starts NATS and PostgreSQL by the shipped
// files, with the paths and ports of the test.
func deploy(t *testing.T) *deployment {
	t.Helper()
	d := &deployment{certs: t.TempDir(), keys: t.TempDir(), peers: map[string]string{}}
	names := append([]string{identity.Gateway, "weather"}, personas...)
	if err := identity.MakeKeys(d.keys, names...); err != nil {
		t.Fatal(err)
	}
	order := certs.Order{Services: append(names, "nats", "postgres", "operator"), Lifetime: time.Hour}
	if _, err := certs.Issue(d.certs, order, time.Now()); err != nil {
		t.Fatal(err)
	}
	conf := replaced(t, compose+"/nats/nats.conf", "/run/secrets/tls", filepath.Join(d.certs, "nats"))
	conf = strings.Replace(conf, "server_name: $NATS_NAME\n", "", 1) // the cluster names its servers itself
	// The example of the file's own comment: an agent that delegates on the bus.
	example := `{user: "CN=weather", permissions: {
    publish: ["kalki.agents.research"], subscribe: ["kalki.replies.weather", "_INBOX.weather.>"]}}`
	conf = strings.Replace(conf, "  users: [\n", "  users: [\n"+example+"\n", 1)
	file := filepath.Join(t.TempDir(), "nats.conf")
	if err := os.WriteFile(file, []byte(conf), 0o600); err != nil {
		t.Fatal(err)
	}
	d.nats = natstest.ConfiguredCluster(t, file)
	// The tests' user is not the server's, so its superuser comes without being asked.
	hba := replaced(t, compose+"/postgres/pg_hba.conf", "           peer", "           trust")
	postgres, err := postgrestest.RunSecured(filepath.Join(d.certs, "postgres"), hba)
	if errors.Is(err, postgrestest.ErrMissing) {
		leftout.Because(t, err.Error())
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = postgres.Close() })
	d.postgres = postgres
	if err := postgres.Create(t.Context(), "sabha", replaced(t, compose+"/postgres/init/10-services.sql", "", "")); err != nil {
		t.Fatal(err)
	}
	ports, err := freeport.Find(len(personas))
	if err != nil {
		t.Fatal(err)
	}
	for i, p := range personas {
		d.peers[p] = net.JoinHostPort("127.0.0.1", strconv.Itoa(ports[i]))
	}
	return d
}

// replaced is the text of a file with something that must be in it replaced.
func replaced(t *testing.T, file, old, by string) string {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(raw), old) {
		t.Fatalf("%s has no %q", file, old)
	}
	return strings.ReplaceAll(string(raw), old, by)
}

// database is the address of a service's schema, as a role with a certificate.
func (d *deployment) database(role, schema, certificate string) string {
	folder := filepath.Join(d.certs, certificate)
	return fmt.Sprintf("postgres://%s@%s/sabha?search_path=%s&sslmode=verify-full&sslrootcert=%s/ca.crt&sslcert=%[4]s/tls.crt&sslkey=%[4]s/tls.key",
		role, d.postgres.Address, schema, folder)
}

// config of a service, as a process of its own has it.
func (d *deployment) config(name string) service.Config {
	return service.Config{
		GRPC: d.peers[name], Database: d.database(name, name, name), NATS: d.nats.URL(), Keys: d.keys,
		TLS: filepath.Join(d.certs, name), Peers: d.peers,
	}
}

func (d *deployment) env() service.Env {
	return service.Env{Clock: clock.System{}, Log: slog.New(slog.NewTextHandler(&d.log, nil)), Network: service.TCP{}}
}

// serve starts every service and the gateway before them.
func (d *deployment) serve(t *testing.T, documents string) *gateway.Running {
	t.Helper()
	for _, definition := range []service.Definition{
		security.New(security.Config{Config: d.config(security.Name)}),
		memory.New(memory.Config{Config: d.config(memory.Name)}),
		executor.New(executor.Config{Config: d.config(executor.Name)}),
		validator.New(validator.Config{Config: d.config(validator.Name)}),
		research.New(research.Config{Config: d.config(research.Name), Documents: documents}),
		review.New(review.Config{Config: d.config(review.Name)}),
		partners.New(partners.Config{Config: d.config(partners.Name)}),
		planner.New(planner.Config{Config: d.config(planner.Name)}),
	} {
		r, err := service.Start(t.Context(), definition, d.env())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { stop(t, r) })
	}
	c := d.config(identity.Gateway)
	c.NATS = ""
	g, err := gateway.Start(t.Context(), gateway.Config{
		Config: c, PublicGRPC: "127.0.0.1:0", PublicHTTP: "127.0.0.1:0", PublicTLS: filepath.Join(d.certs, identity.Gateway),
	}, d.env())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stop(t, g) })
	return g
}

func stop(t *testing.T, s interface{ Stop(context.Context) error }) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := s.Stop(ctx); err != nil {
		t.Error(err)
	}
}

// trusting is TLS that trusts the platform's authority; with a name it also shows
// that service's certificate.
func (d *deployment) trusting(t *testing.T, name string) *tls.Config {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(d.certs, "ca.crt"))
	if err != nil {
		t.Fatal(err)
	}
	c := &tls.Config{RootCAs: x509.NewCertPool(), MinVersion: tls.VersionTLS12}
	c.RootCAs.AppendCertsFromPEM(raw)
	if name != "" {
		pair, err := tls.LoadX509KeyPair(filepath.Join(d.certs, name, "tls.crt"), filepath.Join(d.certs, name, "tls.key"))
		if err != nil {
			t.Fatal(err)
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return c
}

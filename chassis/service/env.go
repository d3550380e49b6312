package service

import (
	"context"
	"crypto/ed25519"
	"fmt"
	"log/slog"
	"net"
	"path/filepath"
	"sync"

	"github.com/nats-io/nats.go"
	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/test/bufconn"

	"sabha.dev/chassis/certs"
	"sabha.dev/chassis/clock"
	"sabha.dev/chassis/identity"
)

// Env is what a process gives its services. Nothing of it is global, so one
// process can hold every service, and two of each.
type Env struct {
	Clock    clock.Clock
	Log      *slog.Logger
	Registry *prometheus.Registry
	NATS     *nats.Conn
	Key      ed25519.PrivateKey
	Keys     identity.Keyring
	// TLS secures connections with other services; nil for none.
	TLS     *certs.Folder
	Network Network
	// Exclusive says that no other process uses the services' databases.
	Exclusive bool
	// CheckSchema says that databases are migrated apart, by a command: a start only
	// checks that they are up to date. Otherwise a start migrates.
	CheckSchema bool
	// Release is the version of the build.
	Release string
}

// Network is how services reach one another.
type Network interface {
	// Listen opens the port of a service.
	Listen(service, address string) (net.Listener, error)
	// Dial gives the target of a service and how to reach it.
	Dial(service, address string) (target string, opts []grpc.DialOption, err error)
}

// TCP is the network of services that are processes of their own.
type TCP struct{}

// Listen listens on the address.
func (TCP) Listen(service, address string) (net.Listener, error) {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("%s cannot listen on %s: %w; choose another address or stop what uses it", service, address, err)
	}
	return l, nil
}

// retried has A2A calls that a replica does not answer, because it goes or is gone,
// made again at another: every operation gives the same when it is repeated, a
// message by its id. A stream is retried until its first event.
const retried = `"methodConfig":[{"name":[{"service":"lf.a2a.v1.A2AService"}],"retryPolicy":{"maxAttempts":4,` +
	`"initialBackoff":"0.05s","maxBackoff":"1s","backoffMultiplier":3,"retryableStatusCodes":["UNAVAILABLE"]}}]`

// Dial targets the address, or each in turn of several that are separated by commas.
func (TCP) Dial(service, address string) (string, []grpc.DialOption, error) {
	t, opts, err := target(service, address)
	return t, append(opts,
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultServiceConfig(`{"loadBalancingConfig":[{"round_robin":{}}],`+retried+`}`),
	), err
}

// Memory is the network of services that share a process. Several replicas of a
// service may listen; calls go to each in turn.
type Memory struct {
	mu        sync.Mutex
	listeners map[string][]*bufconn.Listener
	next      map[string]int
}

// NewMemory makes an empty network.
func NewMemory() *Memory {
	return &Memory{listeners: map[string][]*bufconn.Listener{}, next: map[string]int{}}
}

// memoryBuffer of a connection in memory, bytes.
const memoryBuffer = 256 << 10

// Listen opens a port in memory; the address is not used.
func (m *Memory) Listen(service, _ string) (net.Listener, error) {
	l := bufconn.Listen(memoryBuffer)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.listeners[service] = append(m.listeners[service], l)
	return &memoryPort{Listener: l, network: m, service: service}, nil
}

type memoryPort struct {
	*bufconn.Listener
	network *Memory
	service string
}

// Close takes the port off the network.
func (p *memoryPort) Close() error {
	p.network.mu.Lock()
	ls := p.network.listeners[p.service]
	for i, l := range ls {
		if l == p.Listener {
			p.network.listeners[p.service] = append(ls[:i:i], ls[i+1:]...)
			break
		}
	}
	p.network.mu.Unlock()
	return p.Listener.Close()
}

// Dial reaches the replicas of the service in turn, one for each connection.
func (m *Memory) Dial(service, _ string) (string, []grpc.DialOption, error) {
	dial := func(ctx context.Context, _ string) (net.Conn, error) {
		m.mu.Lock()
		ls := m.listeners[service]
		if len(ls) == 0 {
			m.mu.Unlock()
			return nil, fmt.Errorf("service %s is not there", service)
		}
		l := ls[m.next[service]%len(ls)]
		m.next[service]++
		m.mu.Unlock()
		return l.DialContext(ctx)
	}
	return "passthrough:///" + service, []grpc.DialOption{
		grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithContextDialer(dial), grpc.WithDefaultServiceConfig(`{` + retried + `}`),
	}, nil
}

// connect fills in what a process of its own reads from its configuration.
func (e *Env) connect(name string, c Config) (func(), error) {
	closers := func() {}
	if e.TLS == nil && c.TLS != "" {
		folder, err := certs.Open(c.TLS, e.Clock, e.Log)
		if err != nil {
			return closers, fmt.Errorf("tls: %w", err)
		}
		if folder.Name() != name {
			return closers, fmt.Errorf("tls: the certificate in %s is that of %s, not of %s; name the folder of %s", c.TLS, folder.Name(), name, name)
		}
		e.TLS = folder
	}
	if e.NATS == nil && c.NATS != "" {
		nc, err := connectNATS(name, c.NATS, e.TLS, e.Log)
		if err != nil {
			return closers, err
		}
		e.NATS = nc
		closers = nc.Close
	}
	if e.Keys == nil {
		keys, err := identity.LoadKeyring(c.Keys)
		if err != nil {
			return closers, err
		}
		e.Keys = keys
	}
	if e.Key == nil {
		key, err := identity.LoadKey(filepath.Join(c.Keys, name+".key"))
		if err != nil {
			return closers, err
		}
		e.Key = key
	}
	return closers, nil
}

// Package natstest runs NATS servers with JetStream inside the test process:
// one that can be stopped and started again on the same port and store, or a
// cluster of three.
package natstest

import (
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"sabha.dev/testrig/freeport"
)

// startup bounds the wait for a server to accept connections. It is generous,
// because it is reached only when something is broken.
const startup = 30 * time.Second

// Server is a NATS server with JetStream that keeps its files in a folder of the
// test. Start and Stop may not be called at the same time.
type Server struct {
	options server.Options
	running *server.Server // nil while stopped
}

// New starts a server on a free loopback port. It ends with the test.
func New(tb testing.TB) *Server {
	tb.Helper()
	ports, err := freeport.Find(1)
	if err != nil {
		tb.Fatal(err)
	}
	s := &Server{options: options(tb, "nats", ports[0])}
	tb.Cleanup(s.Stop)
	if err := s.Start(); err != nil {
		tb.Fatal(err)
	}
	return s
}

// Configured starts a server by a configuration file, such as one that is shipped,
// on a free loopback port and with its store in a folder of the test. What the file
// says of ports, cluster and monitoring is left out. It ends with the test.
func Configured(tb testing.TB, file string) *Server {
	tb.Helper()
	ports, err := freeport.Find(1)
	if err != nil {
		tb.Fatal(err)
	}
	s := &Server{options: configured(tb, file, options(tb, "nats", ports[0]))}
	s.options.Cluster, s.options.Routes = server.ClusterOpts{}, nil
	tb.Cleanup(s.Stop)
	if err := s.Start(); err != nil {
		tb.Fatal(err)
	}
	return s
}

// configured are the options of a file, with name, ports and store of the test.
func configured(tb testing.TB, file string, own server.Options) server.Options {
	tb.Helper()
	o, err := server.ProcessConfigFile(file)
	if err != nil {
		tb.Fatal(err)
	}
	o.ServerName, o.Host, o.Port, o.StoreDir, o.NoLog, o.NoSigs = own.ServerName, own.Host, own.Port, own.StoreDir, own.NoLog, own.NoSigs
	o.HTTPHost, o.HTTPPort = "", 0
	return *o
}

func options(tb testing.TB, name string, port int) server.Options {
	return server.Options{
		ServerName: name,
		Host:       "127.0.0.1",
		Port:       port,
		JetStream:  true,
		StoreDir:   filepath.Join(tb.TempDir(), name),
		NoLog:      true,
		NoSigs:     true,
	}
}

// URL is the address for clients. It stays the same over Stop and Start.
func (s *Server) URL() string {
	return fmt.Sprintf("nats://%s:%d", s.options.Host, s.options.Port)
}

// Name is how the server calls itself in the cluster.
func (s *Server) Name() string { return s.options.ServerName }

// Start starts a stopped server on its port with what its store holds, and
// returns when it accepts connections.
func (s *Server) Start() error {
	if s.running != nil {
		return errors.New("the NATS server runs already")
	}
	opts := s.options // the server changes its copy
	running, err := server.NewServer(&opts)
	if err != nil {
		return fmt.Errorf("start NATS: %w", err)
	}
	running.Start()
	if !running.ReadyForConnections(startup) {
		running.Shutdown()
		running.WaitForShutdown()
		return fmt.Errorf("NATS did not accept connections on %s within %v", s.URL(), startup)
	}
	s.running = running
	return nil
}

// Stop ends the server and its connections; the store stays. Stopping a stopped
// server does nothing.
func (s *Server) Stop() {
	if s.running == nil {
		return
	}
	s.running.Shutdown()
	s.running.WaitForShutdown()
	s.running = nil
}

// Connect returns a connection that reconnects for as long as the test runs, and
// is closed with it.
func (s *Server) Connect(tb testing.TB) *nats.Conn {
	tb.Helper()
	return connect(tb, s.URL())
}

func connect(tb testing.TB, url string) *nats.Conn {
	tb.Helper()
	conn, err := nats.Connect(url, nats.MaxReconnects(-1), nats.ReconnectWait(20*time.Millisecond))
	if err != nil {
		tb.Fatalf("connect to %s: %v", url, err)
	}
	tb.Cleanup(conn.Close)
	return conn
}

package natstest

import (
	"fmt"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"sabha.dev/testrig/freeport"
)

// size is the smallest cluster that keeps a majority when one server is lost.
const size = 3

// Cluster is three NATS servers that hold JetStream data together. Each can be
// stopped and started on its own.
type Cluster struct {
	Servers [size]*Server
}

// NewCluster starts a cluster and returns when it has elected the leader that
// streams are created through. It ends with the test.
func NewCluster(tb testing.TB) *Cluster {
	tb.Helper()
	return newCluster(tb, func(own server.Options) server.Options {
		own.Cluster.Name = "sabha-test"
		return own
	})
}

// ConfiguredCluster starts a cluster whose servers share a configuration file, such
// as the one that is shipped: its ports, routes and stores are those of the test.
func ConfiguredCluster(tb testing.TB, file string) *Cluster {
	tb.Helper()
	return newCluster(tb, func(own server.Options) server.Options { return configured(tb, file, own) })
}

func newCluster(tb testing.TB, complete func(server.Options) server.Options) *Cluster {
	tb.Helper()
	ports, err := freeport.Find(2 * size)
	if err != nil {
		tb.Fatal(err)
	}
	clientPorts, routePorts := ports[:size], ports[size:]
	var routes []*url.URL
	for _, port := range routePorts {
		routes = append(routes, &url.URL{Scheme: "nats", Host: fmt.Sprintf("127.0.0.1:%d", port)})
	}
	c := &Cluster{}
	for i := range c.Servers {
		s := &Server{options: complete(options(tb, fmt.Sprintf("nats-%d", i+1), clientPorts[i]))}
		s.options.Cluster.Host, s.options.Cluster.Port, s.options.Routes = "127.0.0.1", routePorts[i], routes
		c.Servers[i] = s
	}
	tb.Cleanup(c.stop)
	for _, s := range c.Servers {
		if err := s.Start(); err != nil {
			tb.Fatal(err)
		}
	}
	if err := c.AwaitLeader(); err != nil {
		tb.Fatal(err)
	}
	return c
}

// URL lists the addresses of all servers, as clients take them.
func (c *Cluster) URL() string {
	var urls []string
	for _, s := range c.Servers {
		urls = append(urls, s.URL())
	}
	return strings.Join(urls, ",")
}

// AwaitLeader returns when the running servers have a JetStream leader that
// knows of a majority. It fails after half a minute.
func (c *Cluster) AwaitLeader() error {
	for deadline := time.Now().Add(startup); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		for _, s := range c.Servers {
			if s.running != nil && s.running.JetStreamIsLeader() && s.running.JetStreamIsCurrent() {
				return nil
			}
		}
	}
	return fmt.Errorf("the NATS cluster elected no JetStream leader within %v", startup)
}

// Connect returns a connection to whichever server runs; it moves to another
// when its server stops, and is closed with the test.
func (c *Cluster) Connect(tb testing.TB) *nats.Conn {
	tb.Helper()
	return connect(tb, c.URL())
}

// stop ends all servers at once: one after the other each would wait to hand
// its leadership to peers that are about to go too.
func (c *Cluster) stop() {
	var wait sync.WaitGroup
	for _, s := range c.Servers {
		wait.Go(s.Stop)
	}
	wait.Wait()
}

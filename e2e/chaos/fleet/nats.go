package fleet

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

const natsConfig = `server_name: %[1]s
listen: "%[2]s"
http: "%[3]s"
jetstream {
  store_dir: %[1]s
  max_memory_store: 64MB
  max_file_store: 2GB
}
cluster {
  name: chaos
  listen: "%[4]s"
  routes: [%[5]s]
}
`

// nodes of the NATS cluster.
const nodes = 3

// planNATS writes the configuration of the cluster.
func (f *Fleet) planNATS() error {
	var routes, urls []string
	address := map[string]string{}
	for n := 1; n <= nodes; n++ {
		for _, port := range []string{"client", "http", "route"} {
			address[fmt.Sprint(port, n)] = f.address()
		}
		routes = append(routes, fmt.Sprintf("%q", "nats://"+address[fmt.Sprint("route", n)]))
		urls = append(urls, "nats://"+address[fmt.Sprint("client", n)])
	}
	for n := 1; n <= nodes; n++ {
		name := fmt.Sprint("nats-", n)
		at := func(port string) string { return address[fmt.Sprint(port, n)] }
		file := filepath.Join(f.dir, "config", name+".conf")
		text := fmt.Sprintf(natsConfig, name, at("client"), at("http"), at("route"), strings.Join(routes, ", "))
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			return err
		}
		p := f.process("nats", name, at("http"), f.program("nats-server"), "-c", file)
		p.health = "/healthz"
		f.NATS = append(f.NATS, p)
	}
	f.natsURL = strings.Join(urls, ",")
	return nil
}

// startNATS starts the cluster and waits until streams can be made.
func (f *Fleet) startNATS(ctx context.Context) error {
	for _, p := range f.NATS {
		if err := p.Start(); err != nil {
			return err
		}
	}
	for _, p := range f.NATS {
		if err := p.Healthy(ctx); err != nil {
			return err
		}
	}
	nc, err := nats.Connect(f.natsURL, nats.Name("chaos"), nats.MaxReconnects(-1), nats.ReconnectWait(100*time.Millisecond), nats.RetryOnFailedConnect(true),
		nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {})) // it is being killed
	if err != nil {
		return err
	}
	f.NC = nc
	if f.JetStream, err = jetstream.New(nc); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, healthy)
	defer cancel()
	for {
		if _, err = f.JetStream.AccountInfo(ctx); err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the NATS cluster has no leader: %w", err)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// StreamLeader is the node that leads a stream, and any other.
func (f *Fleet) StreamLeader(ctx context.Context, stream string) (leader, follower *Process, err error) {
	s, err := f.JetStream.Stream(ctx, stream)
	if err != nil {
		return nil, nil, err
	}
	name := s.CachedInfo().Cluster.Leader
	for _, p := range f.NATS {
		if p.Name == name {
			leader = p
		} else {
			follower = p
		}
	}
	if leader == nil {
		return nil, nil, fmt.Errorf("stream %s has no leader", stream)
	}
	return leader, follower, nil
}

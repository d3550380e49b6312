package platform

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
)

// embedded is the NATS server inside this process; it listens on no port.
type embedded struct {
	server *server.Server
	mu     sync.Mutex
	conns  []*nats.Conn
}

// startWithin bounds the start of the embedded server, its recovery included.
const startWithin = 30 * time.Second

func startNATS(dir string) (*embedded, error) {
	s, err := server.NewServer(&server.Options{
		ServerName: "sabha", DontListen: true, JetStream: true, StoreDir: dir, NoSigs: true, NoLog: true,
		JetStreamMaxMemory: 64 << 20, JetStreamMaxStore: 2 << 30,
	})
	if err != nil {
		return nil, fmt.Errorf("embedded NATS: %w", err)
	}
	s.Start()
	if !s.ReadyForConnections(startWithin) {
		s.Shutdown()
		return nil, errors.New("embedded NATS did not start; look at the free space of the data folder")
	}
	return &embedded{server: s}, nil
}

func (e *embedded) connect(name string) (*nats.Conn, error) {
	nc, err := nats.Connect("", nats.InProcessServer(e.server), nats.Name(name), nats.MaxReconnects(-1))
	if err != nil {
		return nil, fmt.Errorf("embedded NATS: %w", err)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.conns = append(e.conns, nc)
	return nc, nil
}

func (e *embedded) stop() {
	for _, nc := range e.conns {
		nc.Close()
	}
	e.server.Shutdown()
	e.server.WaitForShutdown()
}

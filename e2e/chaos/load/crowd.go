package load

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"

	"sabha.dev/e2e/chaos/caller"
)

// Gateway is where clients reach a replica of the gateway.
type Gateway struct{ GRPC, HTTP string }

// Crowd is the clients.
type Crowd struct {
	seed     uint64
	bindings []binding
	receiver *Receiver
	life     context.Context
	clients  sync.WaitGroup

	accepted, ended atomic.Int64

	mu    sync.Mutex
	plans []*Plan
}

type binding struct {
	name     string
	gateways []caller.Caller
}

// NewCrowd makes clients of all three bindings. They give up when life ends. Each plan
// has a webhook at the receiver.
func NewCrowd(life context.Context, gateways []Gateway, key string, seed uint64, r *Receiver) (*Crowd, error) {
	web := caller.Web()
	all := []binding{{name: "REST"}, {name: "gRPC"}, {name: "JSON-RPC"}}
	for _, g := range gateways {
		over, err := caller.GRPC(g.GRPC, key)
		if err != nil {
			return nil, err
		}
		for i, c := range []caller.Caller{caller.REST(web, g.HTTP, key), over, caller.JSONRPC(web, g.HTTP, key)} {
			all[i].gateways = append(all[i].gateways, c)
		}
	}
	return &Crowd{seed: seed, bindings: all, receiver: r, life: life}, nil
}

// Send has a client begin with the next plan of the mix.
func (c *Crowd) Send() *Plan { return c.send(func(n int) kind { return mix[n%len(mix)] }) }

// Tick has a client begin with a plan of many short steps.
func (c *Crowd) Tick() *Plan { return c.send(func(int) kind { return ticking }) }

func (c *Crowd) send(kindOf func(int) kind) *Plan {
	c.mu.Lock()
	n := len(c.plans)
	b := c.bindings[n%len(c.bindings)]
	p := &Plan{
		N: n, Message: fmt.Sprintf("chaos-%d-%d", c.seed, n), Binding: b.name,
		kind: kindOf(n), callers: b.gateways, at: n % len(b.gateways), random: rand.New(rand.NewPCG(c.seed, uint64(n))),
	}
	c.plans = append(c.plans, p)
	c.mu.Unlock()
	c.clients.Go(func() {
		p.run(c.life, c.receiver, func() { c.accepted.Add(1) })
		if p.watcher.ended() {
			c.ended.Add(1)
		}
	})
	return p
}

// Sent counts the plans so far: sent, accepted and ended.
func (c *Crowd) Sent() (sent, accepted, ended int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.plans), int(c.accepted.Load()), int(c.ended.Load())
}

// Wait returns all plans when every client has come to its end.
func (c *Crowd) Wait() []*Plan {
	c.clients.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.plans
}

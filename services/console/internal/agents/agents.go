// Package agents is what people see of the agents of the platform, and how they
// try them.
package agents

import (
	"cmp"
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"sabha.dev/chassis/clock"
	adminv1 "sabha.dev/gen/sabha/admin/v1"
)

// Agent of the platform.
type Agent struct {
	// Tenant is the name by which it is called.
	Tenant string
	// Card that it publishes; nil when it did not answer.
	Card *a2apb.AgentCard
	// Problems of the card, as sentences; none when it is good.
	Problems []string
	// Took is how long the answer took.
	Took time.Duration
}

// Skill of the agent by its id; nil when it has none of it.
func (a Agent) Skill(id string) *a2apb.AgentSkill {
	for _, s := range a.Card.GetSkills() {
		if s.GetId() == id {
			return s
		}
	}
	return nil
}

// Network reaches the agents.
type Network struct {
	conns map[string]grpc.ClientConnInterface
	clock clock.Clock
	log   *slog.Logger
}

// New makes a network of connections by tenant.
func New(conns map[string]grpc.ClientConnInterface, c clock.Clock, log *slog.Logger) *Network {
	return &Network{conns: conns, clock: c, log: log}
}

// Tenants are the names of the agents, in order.
func (n *Network) Tenants() []string { return slices.Sorted(maps.Keys(n.conns)) }

// All asks every agent for its card. Services that have none are left out.
func (n *Network) All(ctx context.Context) []Agent {
	var (
		mu  sync.Mutex
		wg  sync.WaitGroup
		all []Agent
	)
	for tenant := range n.conns {
		wg.Go(func() {
			a, ok := n.ask(ctx, tenant)
			mu.Lock()
			defer mu.Unlock()
			if ok {
				all = append(all, a)
			}
		})
	}
	wg.Wait()
	slices.SortFunc(all, func(a, b Agent) int { return cmp.Compare(a.Tenant, b.Tenant) })
	return all
}

// ask reads the card of an agent; false when the service publishes none.
func (n *Network) ask(ctx context.Context, tenant string) (Agent, bool) {
	a := Agent{Tenant: tenant}
	began := n.clock.Now()
	res, err := adminv1.NewAdminServiceClient(n.conns[tenant]).GetCard(ctx, &adminv1.GetCardRequest{})
	a.Took = n.clock.Now().Sub(began)
	if status.Code(err) == codes.Unimplemented {
		return a, false
	}
	card := &a2apb.AgentCard{}
	if err == nil {
		err = proto.Unmarshal(res.GetCard(), card)
	}
	if err != nil {
		if ctx.Err() == nil {
			n.log.Warn("a card cannot be read", "of", tenant, "error", err)
		}
		return a, true
	}
	a.Card, a.Problems = card, Check(card)
	return a, true
}

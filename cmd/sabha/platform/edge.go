package platform

import (
	"context"

	"sabha.dev/chassis/identity"
	"sabha.dev/services/executor"
	"sabha.dev/services/gateway"
	"sabha.dev/services/memory"
	"sabha.dev/services/research"
	"sabha.dev/services/review"
	"sabha.dev/services/validator"
)

// startGateway opens the public ports and makes the first key.
func (p *Platform) startGateway(ctx context.Context) error {
	env, err := p.env(identity.Gateway)
	if err != nil {
		return err
	}
	own := p.config(identity.Gateway)
	own.NATS = "" // it has no use for it
	agents := p.options.KAP
	agents.Enabled = true
	p.gateway, err = gateway.Start(ctx, gateway.Config{
		Config: own, PublicTLS: p.options.PublicTLS, PublicGRPC: p.options.GRPC, PublicHTTP: p.options.HTTP, PublicURL: p.options.PublicURL,
		RateLimit: p.options.RateLimit, KAP: agents, Tenants: append([]string{research.Name, memory.Name, executor.Name, validator.Name, review.Name}, p.options.Tenants...),
	}, env)
	if err != nil {
		return err
	}
	p.started = append(p.started, p.gateway)
	p.FirstKey, err = p.gateway.FirstKey(ctx)
	return err
}

// HTTPAddr is the address of HTTP+JSON, JSON-RPC, cards and MCP.
func (p *Platform) HTTPAddr() string { return p.gateway.HTTPAddr() }

// GRPCAddr is the address of A2A over gRPC.
func (p *Platform) GRPCAddr() string { return p.gateway.GRPCAddr() }

// PublicURL is the address that clients are told.
func (p *Platform) PublicURL() string { return p.gateway.PublicURL() }

package desk

import (
	"context"

	"sabha.dev/chassis/fault"
	registryv1 "sabha.dev/gen/sabha/registry/v1"
	"sabha.dev/services/partners/internal/partner"
	"sabha.dev/services/partners/internal/registry"
)

// Directory implements DirectoryService.
type Directory struct {
	registryv1.UnimplementedDirectoryServiceServer
	registry *registry.Registry
	store    registry.Store
}

// RegisterAgent has a caller register an agent of its own organisation.
func (d *Directory) RegisterAgent(ctx context.Context, req *registryv1.RegisterAgentRequest) (*registryv1.RegisterAgentResponse, error) {
	p, err := caller(ctx)
	if err != nil {
		return nil, err
	}
	if p.Organisation == "" {
		return nil, fault.New(fault.PermissionDenied, "your credential belongs to no organisation, so nobody can say whose agent it is; ask the operator for one that does")
	}
	r, err := d.registry.Register(ctx, registry.Registration{
		URL: req.GetCardUrl(), ID: req.GetId(), Organisation: p.Organisation, Vouch: registry.ByCredential, By: p.Key(),
	})
	if err != nil {
		return nil, err
	}
	return &registryv1.RegisterAgentResponse{Agent: published(r)}, nil
}

// listed are states of agents that others may see.
var listed = []partner.State{partner.Approved}

// DiscoverAgents searches agents that are discoverable.
func (d *Directory) DiscoverAgents(ctx context.Context, req *registryv1.DiscoverAgentsRequest) (*registryv1.DiscoverAgentsResponse, error) {
	if _, err := caller(ctx); err != nil {
		return nil, err
	}
	all, next, err := search(ctx, d.store, registry.Filter{
		Capability: req.GetCapability(), Organisation: req.GetOrganization(), Query: req.GetQuery(), Tags: req.GetTags(), OnlineOnly: req.GetOnlineOnly(),
		MinTrust: req.GetMinTrustScore(), States: listed, Discoverable: true,
	}, req.GetPageSize(), req.GetPageToken())
	if err != nil {
		return nil, err
	}
	res := &registryv1.DiscoverAgentsResponse{NextPageToken: next}
	for _, r := range all {
		res.Agents = append(res.Agents, published(r))
	}
	return res, nil
}

// GetAgent gives one that is discoverable, or of the caller's organisation. Others cannot
// be told from those that are not there.
func (d *Directory) GetAgent(ctx context.Context, req *registryv1.GetAgentRequest) (*registryv1.GetAgentResponse, error) {
	p, err := caller(ctx)
	if err != nil {
		return nil, err
	}
	r, err := d.store.Record(ctx, req.GetId())
	if err != nil {
		return nil, err
	}
	own := r.Vouch == registry.ByCredential && p.Organisation != "" && r.Organisation == p.Organisation
	if !own && (!r.Discoverable || r.State != partner.Approved) {
		return nil, registry.Missing(req.GetId())
	}
	return &registryv1.GetAgentResponse{Agent: published(r), Card: string(r.Card)}, nil
}

func published(r *registry.Record) *registryv1.Agent {
	return &registryv1.Agent{
		Id: r.ID, Name: r.Name, Description: r.Description, Organization: r.Organisation, Version: r.Version, Tags: r.Tags, Capabilities: skills(r.Skills),
		Protocol: string(r.Protocol), CardUrl: r.CardURL, State: stateOf(r.State), Online: r.Online, TrustScore: r.Trust,
	}
}

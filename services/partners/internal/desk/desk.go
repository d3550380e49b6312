// Package desk serves the registry over gRPC: to the people who keep it
// (sabha.registry.v1.RegistryService), and to callers of other organisations as KAP has it
// (DirectoryService).
package desk

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf8"

	"google.golang.org/grpc"

	"sabha.dev/chassis/fault"
	"sabha.dev/chassis/identity"
	registryv1 "sabha.dev/gen/sabha/registry/v1"
	"sabha.dev/services/partners/internal/partner"
	"sabha.dev/services/partners/internal/registry"
)

// Policy says who may call: the platform's edges, for people with these roles.
func Policy() identity.Policy {
	edges := []string{identity.Gateway, identity.Console}
	readers := identity.Rule{Actors: edges, Scopes: identity.Roles()}
	keepers := identity.Rule{Actors: edges, Scopes: []string{identity.Operator, identity.Admin}}
	return identity.Policy{
		registryv1.RegistryService_GetPartner_FullMethodName:      readers,
		registryv1.RegistryService_ListPartners_FullMethodName:    readers,
		registryv1.RegistryService_ListChanges_FullMethodName:     readers,
		registryv1.RegistryService_ListHistory_FullMethodName:     readers,
		registryv1.RegistryService_RegisterPartner_FullMethodName: keepers,
		registryv1.RegistryService_VerifyPartner_FullMethodName:   keepers,
		registryv1.RegistryService_ApprovePartner_FullMethodName:  keepers,
		registryv1.RegistryService_SuspendPartner_FullMethodName:  keepers,
		registryv1.RegistryService_SetRights_FullMethodName:       keepers,
		registryv1.RegistryService_RefreshPartner_FullMethodName:  keepers,
		registryv1.RegistryService_DecideChange_FullMethodName:    keepers,
		registryv1.DirectoryService_RegisterAgent_FullMethodName:  {Actors: edges},
		registryv1.DirectoryService_DiscoverAgents_FullMethodName: {Actors: edges},
		registryv1.DirectoryService_GetAgent_FullMethodName:       {Actors: edges},
	}
}

// Desk implements RegistryService.
type Desk struct {
	registryv1.UnimplementedRegistryServiceServer
	registry *registry.Registry
	store    registry.Store
}

// Register serves both services.
func Register(s grpc.ServiceRegistrar, r *registry.Registry) {
	registryv1.RegisterRegistryServiceServer(s, &Desk{registry: r, store: r.Store})
	registryv1.RegisterDirectoryServiceServer(s, &Directory{registry: r, store: r.Store})
}

// Bounds of a page, and of what people write.
const (
	defaultPage = 50
	maxPage     = 200
	maxNote     = 2000 // bytes
)

// caller is who calls.
func caller(ctx context.Context) (identity.Principal, error) {
	call, ok := identity.CallOf(ctx)
	if !ok || call.Principal.Anonymous() {
		return identity.Principal{}, fault.New(fault.Unauthenticated, "the registry is for callers who are known; sign in, or send an API key")
	}
	return call.Principal, nil
}

func written(field, text string) error {
	if len(text) > maxNote || !utf8.ValidString(text) || strings.ContainsRune(text, 0) {
		return fault.Invalid(field, "must have at most %d bytes and no character U+0000", maxNote)
	}
	return nil
}

func pageOf(size int32) (int, error) {
	switch {
	case size == 0:
		return defaultPage, nil
	case size < 0 || size > maxPage:
		return 0, fault.Invalid("page_size", "must be from 1 to %d, or 0 for %d", maxPage, defaultPage)
	}
	return int(size), nil
}

var errToken = fault.Invalid("page_token", "is not a token of this list; begin without one")

func writeToken(k registry.Key) string {
	return base64.RawURLEncoding.EncodeToString([]byte(strconv.FormatFloat(k.Trust, 'g', -1, 64) + " " + k.ID))
}

func readToken(token string) (*registry.Key, error) {
	if token == "" {
		return nil, nil
	}
	raw, err := base64.RawURLEncoding.DecodeString(token)
	trust, id, ok := strings.Cut(string(raw), " ")
	score, parse := strconv.ParseFloat(trust, 64)
	if err != nil || parse != nil || !ok || !partner.ValidID(id) {
		return nil, errToken
	}
	return &registry.Key{Trust: score, ID: id}, nil
}

// search gives a page, and the token of the next.
func search(ctx context.Context, store registry.Store, f registry.Filter, size int32, token string) ([]*registry.Record, string, error) {
	n, err := pageOf(size)
	if err != nil {
		return nil, "", err
	}
	if f.After, err = readToken(token); err != nil {
		return nil, "", err
	}
	if err := f.Check(); err != nil {
		return nil, "", err
	}
	f.Limit = n + 1
	all, err := store.Search(ctx, f)
	if err != nil || len(all) <= n {
		return all, "", err
	}
	last := all[n-1]
	return all[:n], writeToken(registry.Key{Trust: last.Trust, ID: last.ID}), nil
}

// RegisterPartner registers an agent by its card.
func (d *Desk) RegisterPartner(ctx context.Context, req *registryv1.RegisterPartnerRequest) (*registryv1.RegisterPartnerResponse, error) {
	p, err := caller(ctx)
	if err != nil {
		return nil, err
	}
	g := registry.Registration{URL: req.GetCardUrl(), ID: req.GetId(), Organisation: strings.TrimSpace(req.GetOrganisation()), Vouch: registry.ByCard, Hosts: req.GetHosts(), By: p.Key()}
	if g.Organisation != "" {
		g.Vouch = registry.ByPerson
	}
	r, err := d.registry.Register(ctx, g)
	if err != nil {
		return nil, err
	}
	return &registryv1.RegisterPartnerResponse{Partner: shown(r)}, nil
}

// GetPartner gives a partner with its card.
func (d *Desk) GetPartner(ctx context.Context, req *registryv1.GetPartnerRequest) (*registryv1.GetPartnerResponse, error) {
	r, err := d.store.Record(ctx, req.GetId())
	if err != nil {
		return nil, err
	}
	c, err := d.store.Pending(ctx, r.ID)
	if err != nil {
		return nil, err
	}
	return &registryv1.GetPartnerResponse{Partner: shown(r), Card: string(r.Card), Change: changed(r.ID, c), TrustParts: structOf(r.TrustParts)}, nil
}

// ListPartners searches.
func (d *Desk) ListPartners(ctx context.Context, req *registryv1.ListPartnersRequest) (*registryv1.ListPartnersResponse, error) {
	f := registry.Filter{
		Capability: req.GetCapability(), Organisation: req.GetOrganisation(), Query: req.GetQuery(), Tags: req.GetTags(), OnlineOnly: req.GetOnlineOnly(),
		MinTrust: req.GetMinTrustScore(), Callable: req.GetCallable(), Offline: req.GetOffline(), Changed: req.GetChanged(),
	}
	for _, s := range req.GetStates() {
		state, ok := states[s]
		if !ok {
			return nil, fault.Invalid("states", "%d is not a state", s)
		}
		f.States = append(f.States, state)
	}
	all, next, err := search(ctx, d.store, f, req.GetPageSize(), req.GetPageToken())
	if err != nil {
		return nil, err
	}
	ids := make([]string, len(all))
	for i, r := range all {
		ids[i] = r.ID
	}
	waits, err := d.store.ChangeWaits(ctx, ids)
	if err != nil {
		return nil, err
	}
	res := &registryv1.ListPartnersResponse{NextPageToken: next}
	for _, r := range all {
		p := shown(r)
		p.ChangeWaits = waits[r.ID]
		res.Partners = append(res.Partners, p)
	}
	return res, nil
}

// VerifyPartner checks a partner.
func (d *Desk) VerifyPartner(ctx context.Context, req *registryv1.VerifyPartnerRequest) (*registryv1.VerifyPartnerResponse, error) {
	p, err := caller(ctx)
	if err != nil {
		return nil, err
	}
	r, err := d.registry.Verify(ctx, req.GetId(), p.Key())
	if err != nil {
		return nil, err
	}
	return &registryv1.VerifyPartnerResponse{Partner: shown(r)}, nil
}

// change has a person change a partner.
func (d *Desk) change(ctx context.Context, id string, f func(u *registry.Update, by string) error) (*registryv1.Partner, error) {
	p, err := caller(ctx)
	if err != nil {
		return nil, err
	}
	r, err := d.store.Update(ctx, id, func(u *registry.Update) error { return f(u, p.Key()) })
	if err != nil {
		return nil, err
	}
	return shown(r), nil
}

// ApprovePartner approves a card.
func (d *Desk) ApprovePartner(ctx context.Context, req *registryv1.ApprovePartnerRequest) (*registryv1.ApprovePartnerResponse, error) {
	if req.GetDigest() == "" {
		return nil, fault.Invalid("digest", "is missing; name the digest of the card that you were shown")
	}
	if err := written("note", req.GetNote()); err != nil {
		return nil, err
	}
	p, err := d.change(ctx, req.GetId(), func(u *registry.Update, by string) error { return u.Approve(by, req.GetDigest(), req.GetNote()) })
	if err != nil {
		return nil, err
	}
	return &registryv1.ApprovePartnerResponse{Partner: p}, nil
}

// SuspendPartner stops a partner.
func (d *Desk) SuspendPartner(ctx context.Context, req *registryv1.SuspendPartnerRequest) (*registryv1.SuspendPartnerResponse, error) {
	if strings.TrimSpace(req.GetReason()) == "" {
		return nil, fault.Invalid("reason", "is missing; say in a sentence why")
	}
	if err := written("reason", req.GetReason()); err != nil {
		return nil, err
	}
	p, err := d.change(ctx, req.GetId(), func(u *registry.Update, by string) error { return u.Suspend(by, req.GetReason()) })
	if err != nil {
		return nil, err
	}
	return &registryv1.SuspendPartnerResponse{Partner: p}, nil
}

// SetRights sets the rights of a partner.
func (d *Desk) SetRights(ctx context.Context, req *registryv1.SetRightsRequest) (*registryv1.SetRightsResponse, error) {
	p, err := d.change(ctx, req.GetId(), func(u *registry.Update, by string) error { return u.SetRights(by, req.Discoverable, req.Callable) })
	if err != nil {
		return nil, err
	}
	return &registryv1.SetRightsResponse{Partner: p}, nil
}

// RefreshPartner reads the card.
func (d *Desk) RefreshPartner(ctx context.Context, req *registryv1.RefreshPartnerRequest) (*registryv1.RefreshPartnerResponse, error) {
	r, c, err := d.registry.Refresh(ctx, req.GetId())
	if err != nil && (r == nil || !fault.Is(err, fault.CardRefused)) {
		return nil, err
	}
	// Why it could not be read is a part of what is known of the partner.
	return &registryv1.RefreshPartnerResponse{Partner: shown(r), Change: changed(r.ID, c)}, nil
}

// ListChanges lists what waits.
func (d *Desk) ListChanges(ctx context.Context, req *registryv1.ListChangesRequest) (*registryv1.ListChangesResponse, error) {
	n, err := pageOf(req.GetPageSize())
	if err != nil {
		return nil, err
	}
	if req.GetPageToken() != "" && !partner.ValidID(req.GetPageToken()) {
		return nil, errToken
	}
	all, err := d.store.Changes(ctx, req.GetPageToken(), n+1)
	if err != nil {
		return nil, err
	}
	res := &registryv1.ListChangesResponse{}
	if len(all) > n {
		all = all[:n]
		res.NextPageToken = all[n-1].Partner
	}
	for _, w := range all {
		res.Changes = append(res.Changes, changed(w.Partner, &w.Change))
	}
	return res, nil
}

// DecideChange decides on a change.
func (d *Desk) DecideChange(ctx context.Context, req *registryv1.DecideChangeRequest) (*registryv1.DecideChangeResponse, error) {
	p, err := caller(ctx)
	if err != nil {
		return nil, err
	}
	if req.GetDigest() == "" {
		return nil, fault.Invalid("digest", "is missing; name the digest of the change that you were shown")
	}
	if err := written("note", req.GetNote()); err != nil {
		return nil, err
	}
	r, err := d.registry.Decide(ctx, req.GetId(), p.Key(), req.GetDigest(), req.GetAdopt(), req.GetNote())
	if err != nil {
		return nil, err
	}
	return &registryv1.DecideChangeResponse{Partner: shown(r)}, nil
}

// ListHistory lists what happened.
func (d *Desk) ListHistory(ctx context.Context, req *registryv1.ListHistoryRequest) (*registryv1.ListHistoryResponse, error) {
	n, err := pageOf(req.GetPageSize())
	if err != nil {
		return nil, err
	}
	below := int64(0)
	if t := req.GetPageToken(); t != "" {
		if below, err = strconv.ParseInt(t, 10, 64); err != nil || below < 1 {
			return nil, errToken
		}
	}
	r, err := d.store.Record(ctx, req.GetId())
	if err != nil {
		return nil, err
	}
	all, err := d.store.History(ctx, r.ID, below, n+1)
	if err != nil {
		return nil, err
	}
	res := &registryv1.ListHistoryResponse{}
	if len(all) > n {
		all = all[:n]
		res.NextPageToken = strconv.FormatInt(all[n-1].Seq, 10)
	}
	for _, e := range all {
		one := &registryv1.HistoryEntry{Seq: e.Seq, At: when(e.At), By: e.Actor, What: e.What, Note: e.Note, Digest: e.Digest}
		if len(e.Detail) > 0 {
			if err := json.Unmarshal(e.Detail, &differences{&one.Differences}); err != nil {
				return nil, err
			}
		}
		res.Entries = append(res.Entries, one)
	}
	return res, nil
}

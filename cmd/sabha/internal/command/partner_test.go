package command_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"sabha.dev/chassis/fault"
	"sabha.dev/cmd/sabha/internal/rig"
	registryv1 "sabha.dev/gen/sabha/registry/v1"
)

// desk is a registry with one partner.
type desk struct {
	registryv1.UnimplementedRegistryServiceServer
	partner *registryv1.Partner
	asked   []proto.Message
}

func (d *desk) note(m proto.Message) { d.asked = append(d.asked, m) }

func (d *desk) RegisterPartner(_ context.Context, req *registryv1.RegisterPartnerRequest) (*registryv1.RegisterPartnerResponse, error) {
	d.note(req)
	if req.GetCardUrl() == "https://evil.example" {
		return nil, fault.New(fault.CardRefused, "it comes from evil.example and claims to be of Stripe")
	}
	return &registryv1.RegisterPartnerResponse{Partner: d.partner}, nil
}

func (d *desk) ListPartners(_ context.Context, req *registryv1.ListPartnersRequest) (*registryv1.ListPartnersResponse, error) {
	d.note(proto.CloneOf(req))
	if req.GetPageToken() == "" && req.GetQuery() == "two pages" {
		return &registryv1.ListPartnersResponse{Partners: []*registryv1.Partner{d.partner}, NextPageToken: "next"}, nil
	}
	return &registryv1.ListPartnersResponse{Partners: []*registryv1.Partner{d.partner}}, nil
}

func (d *desk) change() *registryv1.Change {
	return &registryv1.Change{
		PartnerId: "underwriter", Digest: strings.Repeat("b", 64), Signature: "good", FoundAt: d.partner.GetCreatedAt(),
		Differences: []*registryv1.Difference{
			{Path: "/endpoint", Kind: "changed", Before: structpb.NewStringValue("https://a"), After: structpb.NewStringValue("https://b"), Structural: true},
			{Path: "/version", Kind: "added", After: structpb.NewStringValue("2\x1b[2J")},
		},
	}
}

func (d *desk) GetPartner(_ context.Context, req *registryv1.GetPartnerRequest) (*registryv1.GetPartnerResponse, error) {
	if req.GetId() != "underwriter" {
		return nil, fault.New(fault.PartnerNotFound, "there is no partner %q", req.GetId())
	}
	return &registryv1.GetPartnerResponse{Partner: d.partner, Card: `{"name":"x"}`, Change: d.change()}, nil
}

func (d *desk) ApprovePartner(_ context.Context, req *registryv1.ApprovePartnerRequest) (*registryv1.ApprovePartnerResponse, error) {
	d.note(req)
	if req.GetDigest() != d.partner.GetDigest() {
		return nil, fault.New(fault.PartnerChanged, "the card of %q is not the one that you were shown", req.GetId())
	}
	return &registryv1.ApprovePartnerResponse{Partner: d.partner}, nil
}

func (d *desk) SetRights(_ context.Context, req *registryv1.SetRightsRequest) (*registryv1.SetRightsResponse, error) {
	d.note(req)
	return &registryv1.SetRightsResponse{Partner: d.partner}, nil
}

func (d *desk) SuspendPartner(_ context.Context, req *registryv1.SuspendPartnerRequest) (*registryv1.SuspendPartnerResponse, error) {
	d.note(req)
	return &registryv1.SuspendPartnerResponse{Partner: d.partner}, nil
}

func (d *desk) VerifyPartner(context.Context, *registryv1.VerifyPartnerRequest) (*registryv1.VerifyPartnerResponse, error) {
	return &registryv1.VerifyPartnerResponse{Partner: d.partner}, nil
}

func (d *desk) RefreshPartner(context.Context, *registryv1.RefreshPartnerRequest) (*registryv1.RefreshPartnerResponse, error) {
	p := proto.CloneOf(d.partner)
	p.Condition, p.Problem = registryv1.Condition_CONDITION_VANISHED, "there is no card any more"
	return &registryv1.RefreshPartnerResponse{Partner: p}, nil
}

func (d *desk) ListChanges(context.Context, *registryv1.ListChangesRequest) (*registryv1.ListChangesResponse, error) {
	return &registryv1.ListChangesResponse{Changes: []*registryv1.Change{d.change()}}, nil
}

func (d *desk) DecideChange(_ context.Context, req *registryv1.DecideChangeRequest) (*registryv1.DecideChangeResponse, error) {
	d.note(req)
	return &registryv1.DecideChangeResponse{Partner: d.partner}, nil
}

func (d *desk) ListHistory(context.Context, *registryv1.ListHistoryRequest) (*registryv1.ListHistoryResponse, error) {
	return &registryv1.ListHistoryResponse{Entries: []*registryv1.HistoryEntry{
		{Seq: 2, At: d.partner.GetCreatedAt(), By: "acme/olga", What: "change_adopted", Note: "announced", Differences: d.change().GetDifferences()[:1]},
		{Seq: 1, At: d.partner.GetCreatedAt(), By: "/admin", What: "registered"},
	}}, nil
}

func TestPartnersAreKeptOnTheCommandLine(t *testing.T) {
	at := timestamppb.New(time.Date(2026, 1, 2, 18, 0, 0, 0, time.UTC))
	d := &desk{partner: &registryv1.Partner{
		Id: "underwriter", Organisation: "Underwriter plc", OrganisationBy: "card", Name: "Underwriter", Description: "Decides.", State: registryv1.State_STATE_APPROVED,
		Condition: registryv1.Condition_CONDITION_GOOD, Callable: true, Online: true, ProbedAt: at, Trust: 0.875, Protocol: "a2a/1.0", CardUrl: "https://a.example/card.json",
		Signature: "good", Digest: strings.Repeat("a", 64), FetchedAt: at, CreatedAt: at, RegisteredBy: "/admin", Tags: []string{"loans"},
		Skills: []*registryv1.Skill{{Id: "underwrite", Description: "Says yes or no.", RequiresConfirmation: true}},
	}}
	server := rig.Start(t, rig.Script{Registry: d})
	const row = "PARTNER      STATE     RIGHTS    ONLINE  TRUST  ORGANISATION     NAME\nunderwriter  approved  callable  yes     0.88   Underwriter plc  Underwriter\n"
	const change = "  digest  bbbbbbbbbbbb\n  found   2026-01-02 18:00:00, signature good\n  changed /endpoint\n    - \"https://a\"\n    + \"https://b\"\n" +
		"  added   /version (text)\n    + \"2\\u001b[2J\"\n"
	for _, c := range []struct {
		args []string
		out  string
		err  string
		code int
	}{
		{[]string{"register", "https://a.example", "--id", "underwriter", "--host", "api.example,b.example"}, row, "", 0},
		{[]string{"register", "https://evil.example"}, "", "claims to be of Stripe", 2},
		{[]string{"list", "--state", "approved", "--online"}, row, "", 0},
		{[]string{"list", "--state", "fine"}, "", `--state "fine" is none`, 2},
		{[]string{"search", "two", "pages"}, row + row[strings.Index(row, "\n")+1:], "", 0},
		{[]string{"search"}, "", "", 2},
		{[]string{"show", "underwriter"}, "Underwriter\n  partner      underwriter\n  state        approved\n  rights       callable\n  organisation Underwriter plc, as its card says\n" +
			"  description  Decides.\n  protocol     a2a/1.0\n  card         https://a.example/card.json\n  read         2026-01-02 18:00:00\n  signature    good\n  tags         loans\n" +
			"  online       yes, asked at 2026-01-02 18:00:00\n  trust        0.88\n  registered   2026-01-02 18:00:00 by admin\n  digest       aaaaaaaaaaaa\n\n" +
			"Skills\n  underwriter/underwrite: Says yes or no. (asks for a person's approval)\n\nA change of the card waits for a decision\n" + change, "", 0},
		{[]string{"show", "underwriter", "--card"}, "{\"name\":\"x\"}\n", "", 0},
		{[]string{"show", "nobody"}, "", "there is no partner", 7},
		{[]string{"verify", "underwriter"}, row, "", 0},
		{[]string{"approve", "underwriter"}, "", "--digest is missing or shorter than 12 digits", 2},
		{[]string{"approve", "underwriter", "--digest", "ffffffffffff"}, "", "is not the one that you were shown", 1},
		{[]string{"approve", "underwriter", "--digest", "aaaaaaaaaaaa"}, row, "", 0},
		{[]string{"rights", "underwriter"}, "", "name a right", 2},
		{[]string{"rights", "underwriter", "--callable=false"}, row, "", 0},
		{[]string{"suspend", "underwriter", "--reason", "drift"}, row, "", 0},
		{[]string{"refresh", "underwriter"}, strings.NewReplacer("STATE   ", "STATE                  ", "approved", "approved, card vanished").Replace(row) + "there is no card any more\n", "", 0},
		{[]string{"changes"}, "underwriter\n" + change, "", 0},
		{[]string{"changes", "refuse", "underwriter", "--digest", "bbbbbbbbbbbb", "--note", "why"}, row, "", 0},
		{[]string{"changes", "adopt", "underwriter"}, "", "--digest is missing", 2},
		{[]string{"history", "underwriter"}, "2026-01-02 18:00:00  change_adopted   by acme/olga  announced\n  changed /endpoint\n    - \"https://a\"\n    + \"https://b\"\n" +
			"2026-01-02 18:00:00  registered       by admin\n", "", 0},
	} {
		u := newUser(server.URL)
		code := u.run(t.Context(), append([]string{"partner"}, c.args...)...)
		if int(code) != c.code || u.out.String() != c.out || !strings.Contains(u.err.String(), c.err) {
			t.Errorf("%v: exit code %d\n%s\n%s\nwant %d\n%s\n%s", c.args, code, u.out.String(), u.err.String(), c.code, c.out, c.err)
		}
	}
	for _, want := range []proto.Message{
		&registryv1.RegisterPartnerRequest{CardUrl: "https://a.example", Id: "underwriter", Hosts: []string{"api.example", "b.example"}},
		&registryv1.ListPartnersRequest{States: []registryv1.State{registryv1.State_STATE_APPROVED}, OnlineOnly: true, PageSize: 200},
		&registryv1.ListPartnersRequest{Query: "two pages", PageSize: 200, PageToken: "next"},
		&registryv1.ApprovePartnerRequest{Id: "underwriter", Digest: strings.Repeat("a", 64)},
		&registryv1.SetRightsRequest{Id: "underwriter", Callable: proto.Bool(false)},
		&registryv1.SuspendPartnerRequest{Id: "underwriter", Reason: "drift"},
		&registryv1.DecideChangeRequest{Id: "underwriter", Digest: strings.Repeat("b", 64), Note: "why"},
	} {
		found := false
		for _, m := range d.asked {
			found = found || proto.Equal(m, want)
		}
		if !found {
			t.Errorf("nobody asked %T %v", want, want)
		}
	}
}

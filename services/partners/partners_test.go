package partners_test

import (
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"sabha.dev/chassis/agent"
	"sabha.dev/chassis/ext"
	"sabha.dev/chassis/fault"
	"sabha.dev/chassis/identity"
	"sabha.dev/chassis/service"
	registryv1 "sabha.dev/gen/sabha/registry/v1"
	"sabha.dev/services/partners"
)

var (
	olga = identity.Principal{Subject: "olga", Organisation: "bank", Scopes: []string{identity.Operator}}
	vera = identity.Principal{Subject: "vera", Organisation: "bank", Scopes: []string{identity.Viewer}}
	tom  = identity.Principal{Subject: "tom", Organisation: "underwriter"}
	eve  = identity.Principal{Subject: "eve", Organisation: "rival"}
	lone = identity.Principal{Subject: "lone"}
)

func reason(err error) fault.Reason { return fault.FromStatus(err).Reason }

// The whole way of a partner, by the people who keep the registry.
func TestAnOperatorBringsAPartnerInAndStopsIt(t *testing.T) {
	onBothEngines(t, func(r *rig) {
		keeper := registryv1.NewRegistryServiceClient(r.peer(identity.Gateway))
		by := r.as(olga)
		got, err := keeper.RegisterPartner(by, &registryv1.RegisterPartnerRequest{CardUrl: r.site.URL, Id: "underwriter", Organisation: "Underwriter plc"})
		r.must(err)
		if p := got.GetPartner(); p.GetState() != registryv1.State_STATE_DISCOVERED || p.GetCallable() || p.GetRegisteredBy() != "bank/olga" || p.GetOrganisationBy() != "person" {
			r.Errorf("registered: %v", p)
		}
		_, err = keeper.VerifyPartner(by, &registryv1.VerifyPartnerRequest{Id: "underwriter"})
		r.must(err)
		seen, err := keeper.GetPartner(r.as(vera), &registryv1.GetPartnerRequest{Id: "underwriter"})
		r.must(err)
		if !strings.Contains(seen.GetCard(), r.site.URL+"/a2a") || !seen.GetPartner().GetOnline() || seen.GetChange() != nil {
			r.Errorf("seen: %v", seen)
		}
		digest := seen.GetPartner().GetDigest()
		_, err = keeper.ApprovePartner(r.as(vera), &registryv1.ApprovePartnerRequest{Id: "underwriter", Digest: digest})
		if reason(err) != fault.PermissionDenied {
			r.Errorf("a viewer approves: %v", err)
		}
		_, err = keeper.ApprovePartner(by, &registryv1.ApprovePartnerRequest{Id: "underwriter", Digest: digest})
		r.must(err)
		_, err = keeper.SetRights(by, &registryv1.SetRightsRequest{Id: "underwriter", Callable: proto.Bool(true)})
		r.must(err)
		r.publish("/v2")
		refreshed, err := keeper.RefreshPartner(by, &registryv1.RefreshPartnerRequest{Id: "underwriter"})
		r.must(err)
		if d := refreshed.GetChange().GetDifferences(); refreshed.GetPartner().GetDigest() != digest || len(d) != 1 || !strings.HasSuffix(d[0].GetAfter().GetStringValue(), "/v2") {
			r.Errorf("refreshed: %v", refreshed)
		}
		waiting, err := keeper.ListChanges(by, &registryv1.ListChangesRequest{})
		r.must(err)
		if len(waiting.GetChanges()) != 1 || waiting.GetChanges()[0].GetPartnerId() != "underwriter" {
			r.Errorf("waiting: %v", waiting)
		}
		decided, err := keeper.DecideChange(by, &registryv1.DecideChangeRequest{Id: "underwriter", Digest: refreshed.GetChange().GetDigest(), Adopt: true, Note: "announced"})
		r.must(err)
		if decided.GetPartner().GetDigest() == digest {
			r.Errorf("adopted: %v", decided)
		}
		stopped, err := keeper.SuspendPartner(by, &registryv1.SuspendPartnerRequest{Id: "underwriter", Reason: "a complaint"})
		r.must(err)
		if p := stopped.GetPartner(); p.GetState() != registryv1.State_STATE_SUSPENDED || p.GetReason() != "a complaint" {
			r.Errorf("suspended: %v", p)
		}
		var what []string
		page := &registryv1.ListHistoryRequest{Id: "underwriter", PageSize: 3}
		for {
			h, err := keeper.ListHistory(by, page)
			r.must(err)
			for _, e := range h.GetEntries() {
				what = append(what, e.GetWhat())
			}
			if page.PageToken = h.GetNextPageToken(); page.PageToken == "" {
				break
			}
		}
		if got := strings.Join(what, " "); got != "suspended change_adopted change_found rights approved verified registered" {
			r.Errorf("history: %s", got)
		}
	})
}

func TestWhatIsAskedWronglyIsTold(t *testing.T) {
	r := newRig(t, "sqlite:"+t.TempDir()+"/partners.db")
	keeper, by := registryv1.NewRegistryServiceClient(r.peer(identity.Console)), r.as(olga)
	for want, f := range map[string]func() error{
		"there is no partner": func() error { _, err := keeper.GetPartner(by, &registryv1.GetPartnerRequest{Id: "x"}); return err },
		"digest: is missing; name the digest of the card": func() error {
			_, err := keeper.ApprovePartner(by, &registryv1.ApprovePartnerRequest{Id: "x"})
			return err
		},
		"digest: is missing; name the digest of the change": func() error {
			_, err := keeper.DecideChange(by, &registryv1.DecideChangeRequest{Id: "x"})
			return err
		},
		"reason: is missing": func() error {
			_, err := keeper.SuspendPartner(by, &registryv1.SuspendPartnerRequest{Id: "x", Reason: " "})
			return err
		},
		"page_size: must be from 1 to 200": func() error {
			_, err := keeper.ListPartners(by, &registryv1.ListPartnersRequest{PageSize: 201})
			return err
		},
		"page_token: is not a token": func() error {
			_, err := keeper.ListPartners(by, &registryv1.ListPartnersRequest{PageToken: "x"})
			return err
		},
		"states: 9 is not a state": func() error {
			_, err := keeper.ListPartners(by, &registryv1.ListPartnersRequest{States: []registryv1.State{9}})
			return err
		},
		"min_trust: must be from 0 to 1": func() error {
			_, err := keeper.ListPartners(by, &registryv1.ListPartnersRequest{MinTrustScore: 2})
			return err
		},
		"query: must have at most": func() error {
			_, err := keeper.ListPartners(by, &registryv1.ListPartnersRequest{Query: strings.Repeat("a ", 9)})
			return err
		},
		"card_url: must be an absolute URL": func() error {
			_, err := keeper.RegisterPartner(by, &registryv1.RegisterPartnerRequest{CardUrl: "x"})
			return err
		},
		"service planner may not": func() error {
			_, err := registryv1.NewRegistryServiceClient(r.peer("planner")).ListPartners(by, &registryv1.ListPartnersRequest{})
			return err
		},
	} {
		if err := f(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// KAP's registry: an agent registers itself with its organisation's credential, and is
// found by others when a person has let it.
func TestAgentsRegisterThemselvesAndAreFoundWhenTheyMayBe(t *testing.T) {
	onBothEngines(t, func(r *rig) {
		conn := r.peer(identity.Gateway)
		directory, keeper := registryv1.NewDirectoryServiceClient(conn), registryv1.NewRegistryServiceClient(conn)
		register := &registryv1.RegisterAgentRequest{CardUrl: r.site.URL, Id: "underwriter"}
		for what, c := range map[string]struct {
			who  identity.Principal
			want fault.Reason
		}{"nobody": {identity.Principal{}, fault.Unauthenticated}, "of no organisation": {lone, fault.PermissionDenied}} {
			if _, err := directory.RegisterAgent(r.as(c.who), register); reason(err) != c.want {
				r.Errorf("%s: %v", what, err)
			}
		}
		got, err := directory.RegisterAgent(r.as(tom), register)
		r.must(err)
		if a := got.GetAgent(); a.GetOrganization() != "underwriter" || a.GetState() != registryv1.State_STATE_DISCOVERED {
			r.Errorf("registered: %v", a)
		}
		found := func(who identity.Principal, req *registryv1.DiscoverAgentsRequest) int {
			res, err := directory.DiscoverAgents(r.as(who), req)
			r.must(err)
			return len(res.GetAgents())
		}
		if n := found(eve, &registryv1.DiscoverAgentsRequest{}); n != 0 {
			r.Errorf("%d are found before anybody looked", n)
		}
		if _, err := directory.GetAgent(r.as(eve), &registryv1.GetAgentRequest{Id: "underwriter"}); reason(err) != fault.PartnerNotFound {
			r.Errorf("another sees it: %v", err)
		}
		own, err := directory.GetAgent(r.as(tom), &registryv1.GetAgentRequest{Id: "underwriter"})
		if r.must(err); !strings.Contains(own.GetCard(), "Underwriter") {
			r.Errorf("its own: %v", own)
		}
		by := r.as(olga)
		v, err := keeper.VerifyPartner(by, &registryv1.VerifyPartnerRequest{Id: "underwriter"})
		r.must(err)
		_, err = keeper.ApprovePartner(by, &registryv1.ApprovePartnerRequest{Id: "underwriter", Digest: v.GetPartner().GetDigest()})
		r.must(err)
		if n := found(eve, &registryv1.DiscoverAgentsRequest{}); n != 0 {
			r.Errorf("%d are found without the right", n)
		}
		_, err = keeper.SetRights(by, &registryv1.SetRightsRequest{Id: "underwriter", Discoverable: proto.Bool(true)})
		r.must(err)
		for want, reqs := range map[int][]*registryv1.DiscoverAgentsRequest{
			1: {{}, {Capability: "underwrite", OnlineOnly: true}, {Organization: "Underwriter"}, {Query: "decid", Tags: []string{"loans"}}},
			0: {{MinTrustScore: 0.8}, {Capability: "deploy"}, {Organization: "Stripe"}},
		} {
			for _, req := range reqs {
				if n := found(eve, req); n != want {
					r.Errorf("%v finds %d, want %d", req, n, want)
				}
			}
		}
	})
}

func TestPlansFindPartnersThatTheyMayCall(t *testing.T) {
	r := newRig(t, "sqlite:"+t.TempDir()+"/partners.db")
	keeper, by := registryv1.NewRegistryServiceClient(r.peer(identity.Gateway)), r.as(olga)
	planner := a2apb.NewA2AServiceClient(r.peer("planner"))
	find := func(data map[string]any) string {
		t.Helper()
		part, err := agent.Data(data)
		r.must(err)
		res, err := planner.SendMessage(by, &a2apb.SendMessageRequest{Tenant: partners.Name, Message: &a2apb.Message{
			MessageId: "m", Role: a2apb.Role_ROLE_USER, Parts: []*a2apb.Part{part},
			Metadata: &structpb.Struct{Fields: map[string]*structpb.Value{ext.Skill: structpb.NewStringValue("find-partners")}},
		}})
		if err != nil {
			return err.Error()
		}
		var ids []string
		for _, p := range agent.DataOf(res.GetMessage().GetParts()).GetStructValue().GetFields()["partners"].GetListValue().GetValues() {
			for _, s := range p.GetStructValue().GetFields()["skills"].GetListValue().GetValues() {
				ids = append(ids, s.GetStructValue().GetFields()["address"].GetStringValue())
			}
		}
		return strings.Join(ids, " ")
	}
	_, err := keeper.RegisterPartner(by, &registryv1.RegisterPartnerRequest{CardUrl: r.site.URL})
	r.must(err)
	v, err := keeper.VerifyPartner(by, &registryv1.VerifyPartnerRequest{Id: "underwriter"})
	r.must(err)
	_, err = keeper.ApprovePartner(by, &registryv1.ApprovePartnerRequest{Id: "underwriter", Digest: v.GetPartner().GetDigest()})
	r.must(err)
	if got := find(map[string]any{}); got != "" {
		t.Errorf("without the right: %s", got)
	}
	_, err = keeper.SetRights(by, &registryv1.SetRightsRequest{Id: "underwriter", Callable: proto.Bool(true)})
	r.must(err)
	for want, data := range map[string]map[string]any{
		"underwriter/underwrite":         {"capability": "underwrite", "online_only": true},
		"":                               {"min_trust": 0.9},
		"min_trust: must be from 0 to 1": {"min_trust": 7},
		"unknown field":                  {"capabilty": "x"},
	} {
		if got := find(data); want == "" && got != "" || !strings.Contains(got, want) {
			t.Errorf("%v: %q, want %q", data, got, want)
		}
	}
}

func TestWhatHappensIsToldOnNATS(t *testing.T) {
	r := newRig(t, "sqlite:"+t.TempDir()+"/partners.db")
	heard, err := r.nats.Connect(t).SubscribeSync("sabha.partners.>")
	r.must(err)
	_, err = registryv1.NewRegistryServiceClient(r.peer(identity.Gateway)).RegisterPartner(r.as(olga), &registryv1.RegisterPartnerRequest{CardUrl: r.site.URL})
	r.must(err)
	var subject, body string
	r.until("an event", func() bool {
		m, err := heard.NextMsg(1)
		if err == nil {
			subject, body = m.Subject, string(m.Data)
		}
		return err == nil
	})
	if subject != "sabha.partners.underwriter.registered" || !strings.Contains(body, `"by":"bank/olga"`) || !strings.Contains(body, `"state":"discovered"`) {
		t.Errorf("%s: %s", subject, body)
	}
}

func TestAConfigurationThatCannotBeMeantIsRefused(t *testing.T) {
	r := newRig(t, "sqlite:"+t.TempDir()+"/partners.db")
	for want, c := range map[string]partners.Config{
		"networks: \"ten\" is no network":      {Networks: []string{"ten"}},
		"probe is 1ms; it must be at least 1s": {Probe: 1e6},
	} {
		c.Database = "sqlite:" + t.TempDir() + "/partners.db"
		running, err := service.Start(t.Context(), partners.New(c), r.env)
		if err == nil {
			_ = running.Stop(t.Context())
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

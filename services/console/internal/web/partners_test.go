package web_test

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"sabha.dev/chassis/fault"
	"sabha.dev/chassis/identity"
	partnersv1 "sabha.dev/gen/sabha/partners/v1"
	registryv1 "sabha.dev/gen/sabha/registry/v1"
	"sabha.dev/services/console/internal/partners"
	"sabha.dev/services/console/internal/person"
	"sabha.dev/services/console/internal/web"
	"sabha.dev/testrig/clocktest"
)

// abroad is a partners service with one partner, and a console over it.
type abroad struct {
	registryv1.UnimplementedRegistryServiceServer
	partnersv1.UnimplementedAttainmentServiceServer
	partnersv1.UnimplementedContractServiceServer
	partnersv1.UnimplementedCrossingServiceServer

	t      *testing.T
	server *httptest.Server

	mu      sync.Mutex
	known   *registryv1.GetPartnerResponse
	agreed  bool
	asked   []proto.Message
	refuse  error
	breaker []*partnersv1.Breaker
	found   []*partnersv1.Finding
	crossed []*partnersv1.Crossing
}

func goAbroad(t *testing.T) *abroad {
	t.Helper()
	a := &abroad{t: t, known: &registryv1.GetPartnerResponse{
		Partner: &registryv1.Partner{
			Id: "underwriter", Name: "Under<b>writer", Organisation: "Under\u202ewriter plc", OrganisationBy: "person", Description: "Decides <script>alert(1)</script>",
			Protocol: "a2a/1.0", State: registryv1.State_STATE_VERIFIED, Digest: "aabbccddeeff00112233", Online: true, ProbedAt: timestamppb.New(noon), Signature: "good", Trust: 0.8751,
			Skills: []*registryv1.Skill{{Id: "underwrite", Description: "Says yes or no.", RequiresConfirmation: true, Tags: []string{"loans"}}},
		},
		Card: `{"name":"Under<b>writer"}`,
	}}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := grpc.NewServer(grpc.UnaryInterceptor(func(ctx context.Context, req any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
		a.mu.Lock()
		defer a.mu.Unlock()
		if m, ok := req.(proto.Message); ok {
			a.asked = append(a.asked, proto.Clone(m))
		}
		res, err := next(ctx, req)
		if err != nil {
			return nil, fault.Status(err).Err()
		}
		// What is sent is encoded after the lock is gone, while the next call may
		// change what this one answered.
		if m, ok := res.(proto.Message); ok {
			res = proto.Clone(m)
		}
		return res, nil
	}))
	registryv1.RegisterRegistryServiceServer(s, a)
	partnersv1.RegisterAttainmentServiceServer(s, a)
	partnersv1.RegisterContractServiceServer(s, a)
	partnersv1.RegisterCrossingServiceServer(s, a)
	go func() { _ = s.Serve(l) }()
	t.Cleanup(s.Stop)
	conn, err := grpc.NewClient(l.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	log := slog.New(slog.NewTextHandler(t.Output(), nil))
	site, err := web.New(&source{}, web.Options{}, clocktest.New(noon), log)
	if err != nil {
		t.Fatal(err)
	}
	site.OpenPartners(partners.New(conn, log))
	a.server = httptest.NewServer(site.Handler(signedIn(func(r *http.Request) person.Person {
		return person.Person{Name: "olga", CSRF: "token", Principal: identity.Principal{Organisation: "acme", Subject: "olga", Scopes: []string{r.Header.Get("Test-Role")}}}
	})))
	t.Cleanup(func() {
		site.Stop()
		a.server.Close()
	})
	return a
}

// do sends a request with a role; the answer to a form is that of its script.
func (a *abroad) do(role, method, path string, form url.Values) (int, string) {
	a.t.Helper()
	req, err := http.NewRequestWithContext(a.t.Context(), method, a.server.URL+path, strings.NewReader(form.Encode()))
	if err != nil {
		a.t.Fatal(err)
	}
	req.Header.Set("Test-Role", role)
	if method == http.MethodPost {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		req.Header.Set("Accept", "application/json")
		req.Header.Set("Sabha-At", path)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		a.t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		a.t.Fatal(err)
	}
	return res.StatusCode, string(body)
}

func (a *abroad) page(role, path string) string {
	a.t.Helper()
	status, body := a.do(role, http.MethodGet, path, nil)
	if status != http.StatusOK {
		a.t.Fatalf("%s: %d %s", path, status, body)
	}
	return body
}

// sent sends a form and gives what its script is told, and what the service was asked last.
func (a *abroad) sent(path string, form url.Values) (told struct{ Tone, Text, Go string }, asked proto.Message) {
	a.t.Helper()
	a.mu.Lock()
	a.asked = nil
	a.mu.Unlock()
	_, body := a.do(identity.Operator, http.MethodPost, path, form)
	if err := json.Unmarshal([]byte(body), &told); err != nil {
		a.t.Fatal(err, body)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.asked) > 0 {
		asked = a.asked[len(a.asked)-1]
	}
	return told, asked
}

func (a *abroad) partner(id string) (*registryv1.Partner, error) {
	if a.refuse != nil {
		return nil, a.refuse
	}
	if id != "underwriter" {
		return nil, fault.New(fault.PartnerNotFound, "there is no partner %q", id)
	}
	return a.known.GetPartner(), nil
}

func (a *abroad) ListPartners(_ context.Context, q *registryv1.ListPartnersRequest) (*registryv1.ListPartnersResponse, error) {
	res := &registryv1.ListPartnersResponse{}
	p := a.known.GetPartner()
	switch {
	case q.GetChanged() && a.known.GetChange() == nil, q.GetOffline() && p.GetOnline(), q.GetCallable() && !p.GetCallable(),
		q.GetQuery() != "" && !strings.Contains("underwriter", q.GetQuery()):
		return res, nil
	}
	p.ChangeWaits = a.known.GetChange() != nil
	res.Partners, res.NextPageToken = append(res.Partners, p), "t-2"
	return res, nil
}

func (a *abroad) GetPartner(_ context.Context, q *registryv1.GetPartnerRequest) (*registryv1.GetPartnerResponse, error) {
	if _, err := a.partner(q.GetId()); err != nil {
		return nil, err
	}
	return a.known, nil
}

func (a *abroad) RegisterPartner(_ context.Context, q *registryv1.RegisterPartnerRequest) (*registryv1.RegisterPartnerResponse, error) {
	if q.GetCardUrl() == "" {
		return nil, fault.Invalid("card_url", "must be an absolute URL")
	}
	return &registryv1.RegisterPartnerResponse{Partner: a.known.GetPartner()}, nil
}

func (a *abroad) ApprovePartner(_ context.Context, q *registryv1.ApprovePartnerRequest) (*registryv1.ApprovePartnerResponse, error) {
	if q.GetDigest() != a.known.GetPartner().GetDigest() {
		return nil, fault.New(fault.PartnerChanged, "the card is not the one that you were shown")
	}
	p, err := a.partner(q.GetId())
	return &registryv1.ApprovePartnerResponse{Partner: p}, err
}

func (a *abroad) SuspendPartner(_ context.Context, q *registryv1.SuspendPartnerRequest) (*registryv1.SuspendPartnerResponse, error) {
	p, err := a.partner(q.GetId())
	return &registryv1.SuspendPartnerResponse{Partner: p}, err
}

func (a *abroad) SetRights(_ context.Context, q *registryv1.SetRightsRequest) (*registryv1.SetRightsResponse, error) {
	p, err := a.partner(q.GetId())
	return &registryv1.SetRightsResponse{Partner: p}, err
}

func (a *abroad) VerifyPartner(_ context.Context, q *registryv1.VerifyPartnerRequest) (*registryv1.VerifyPartnerResponse, error) {
	p, err := a.partner(q.GetId())
	return &registryv1.VerifyPartnerResponse{Partner: p}, err
}

func (a *abroad) DecideChange(_ context.Context, q *registryv1.DecideChangeRequest) (*registryv1.DecideChangeResponse, error) {
	p, err := a.partner(q.GetId())
	return &registryv1.DecideChangeResponse{Partner: p}, err
}

func (a *abroad) ListHistory(_ context.Context, q *registryv1.ListHistoryRequest) (*registryv1.ListHistoryResponse, error) {
	switch q.GetPageToken() {
	case "":
	case "h-2":
		return &registryv1.ListHistoryResponse{Entries: []*registryv1.HistoryEntry{{Seq: 1, What: "verified", Note: "long ago", At: timestamppb.New(noon)}}}, nil
	default:
		return nil, fault.Invalid("page_token", "is not a token of this list")
	}
	return &registryv1.ListHistoryResponse{Entries: []*registryv1.HistoryEntry{{Seq: 1, What: "registered", By: "acme/olga", At: timestamppb.New(noon)}}, NextPageToken: "h-2"}, nil
}

func (a *abroad) GetAttainment(_ context.Context, q *partnersv1.GetAttainmentRequest) (*partnersv1.GetAttainmentResponse, error) {
	if !a.agreed {
		return nil, fault.New(fault.PartnerNotFound, "there is no agreement with %q", q.GetPartner())
	}
	calls := map[string]int64{"1h": 12, "24h": 200, "30d": 4321}[q.GetWindow()]
	status := partnersv1.Status_STATUS_ATTAINED
	if q.GetWindow() == "1h" {
		status = partnersv1.Status_STATUS_MISSED
	}
	return &partnersv1.GetAttainmentResponse{AgreementVersion: "3", Window: q.GetWindow(), Skills: []*partnersv1.Attainment{{
		Skill: "underwrite", Calls: &partnersv1.Calls{Ok: calls, Failed: 2, HeldBack: map[string]int64{"open": 3}},
		Targets: []*partnersv1.Target{
			{Name: "p95", Unit: "seconds", Agreed: 10, Measured: 12.5, Status: status}, {Name: "availability", Unit: "percent", Agreed: 99.5, Measured: 99.87, Status: status},
		},
		ErrorBudget: &partnersv1.ErrorBudget{Allowed: 4, Used: 2, Left: 0.5},
	}}}, nil
}

func (a *abroad) ListBreakers(context.Context, *partnersv1.ListBreakersRequest) (*partnersv1.ListBreakersResponse, error) {
	return &partnersv1.ListBreakersResponse{Breakers: a.breaker}, nil
}

func (a *abroad) ListSuites(context.Context, *partnersv1.ListSuitesRequest) (*partnersv1.ListSuitesResponse, error) {
	return &partnersv1.ListSuitesResponse{Suites: []*partnersv1.Suite{{Partner: "underwriter", Open: a.found}}}, nil
}

func (a *abroad) GetVerdict(_ context.Context, q *partnersv1.GetVerdictRequest) (*partnersv1.GetVerdictResponse, error) {
	if len(a.found) == 0 {
		return nil, fault.New(fault.PartnerNotFound, "there are no golden tasks for %q", q.GetPartner())
	}
	return &partnersv1.GetVerdictResponse{State: "drift", Findings: a.found}, nil
}

func (a *abroad) ListRuns(_ context.Context, q *partnersv1.ListRunsRequest) (*partnersv1.ListRunsResponse, error) {
	if q.GetBefore() == 10 {
		return &partnersv1.ListRunsResponse{Runs: []*partnersv1.Run{{Number: 9, State: "done", AskedBy: "acme/old", Calls: 20, Good: 20}}}, nil
	}
	return &partnersv1.ListRunsResponse{NextBefore: 10, Runs: []*partnersv1.Run{{Number: 17, State: "done", Calls: 20, Good: 18, Failed: 1}}}, nil
}

func (a *abroad) ListCrossings(context.Context, *partnersv1.ListCrossingsRequest) (*partnersv1.ListCrossingsResponse, error) {
	if a.crossed == nil {
		return nil, fault.New(fault.PermissionDenied, "this needs one of the roles operator, auditor, admin")
	}
	return &partnersv1.ListCrossingsResponse{Crossings: a.crossed, NextPageToken: "c-2"}, nil
}

func TestPartnersAreListedWithWhatNeedsAPerson(t *testing.T) {
	a := goAbroad(t)
	list := a.page(identity.Viewer, "/partners")
	shows(t, list, `href="/partners/underwriter"`, "Under&lt;b&gt;writer", "Under⟦U+202E⟧writer plc", "verified", "online", "0.88", "a2a/1.0", "More")
	hides(t, list, "change waits", "breaker", "Register a partner", "<b>writer", "\u202e")
	a.mu.Lock()
	a.known.Change = &registryv1.Change{PartnerId: "underwriter", Digest: "ffee"}
	a.breaker = []*partnersv1.Breaker{{Partner: "underwriter", Skill: "underwrite", Replica: "r1", State: "open", Why: "failures"}}
	a.found = []*partnersv1.Finding{{Kind: "drift", Reason: "decisions have shifted"}}
	a.mu.Unlock()
	list = a.page(identity.Operator, "/partners?q=under&state=approved&trust=0.5&online=1&organisation=plc&capability=loans&after=t-1")
	shows(t, list, "change waits", "breaker open", "drift", "Register a partner", `value="under"`, `name="card_url"`, "after=t-2")
	a.mu.Lock()
	var q *registryv1.ListPartnersRequest
	for _, m := range a.asked {
		if m, ok := m.(*registryv1.ListPartnersRequest); ok {
			q = m
		}
	}
	a.mu.Unlock()
	if q.GetQuery() != "under" || len(q.GetStates()) != 1 || q.GetStates()[0] != registryv1.State_STATE_APPROVED || q.GetMinTrustScore() != 0.5 || !q.GetOnlineOnly() || q.GetOrganisation() != "plc" || q.GetCapability() != "loans" || q.GetPageToken() != "t-1" {
		t.Errorf("asked for %v", q)
	}
	shows(t, a.page(identity.Viewer, "/partners?q=nobody"), "No partner matches")
}

func TestAPartnerThatNothingIsKnownOfSaysWhatToDo(t *testing.T) {
	a := goAbroad(t)
	p := a.page(identity.Viewer, "/partners/underwriter")
	shows(t, p, "Under&lt;b&gt;writer", "we vouch for it", "There is no operating agreement with this partner", "There are no golden tasks", "Nothing is known of it yet",
		"You may not see this: this needs one of the roles", "Registered", "olga (acme)", "underwriter/underwrite", "asks for a person&#39;s approval", "aabbccddeeff")
	hides(t, p, "<script>alert", "<b>writer", "Approve the card", "Suspend it", "\u202e", "A change of the card")
	if status, body := a.do(identity.Viewer, http.MethodGet, "/partners/nobody", nil); status != http.StatusNotFound || !strings.Contains(body, "There is no such partner") {
		t.Errorf("%d %s", status, body)
	}
}

func TestAPartnerIsShownWithEverythingThatIsKnown(t *testing.T) {
	a := goAbroad(t)
	before, err := structpb.NewValue("https://old.example/<i>")
	if err != nil {
		t.Fatal(err)
	}
	trust, err := structpb.NewStruct(map[string]any{
		"uptime": map[string]any{"score": 0.9, "good": 12.3, "bad": 0.5}, "answers": map[string]any{"score": 0.8}, "history": map[string]any{"score": 0.7},
		"marks": []any{map[string]any{"kind": "drift", "at": "2026-02-01T10:00:00Z", "open": true, "factor": 0.6}},
	})
	if err != nil {
		t.Fatal(err)
	}
	a.agreed, a.known.TrustParts = true, trust
	a.known.Change = &registryv1.Change{PartnerId: "underwriter", Digest: "ffee00", Differences: []*registryv1.Difference{
		{Path: "/supportedInterfaces/0/url", Kind: "changed", Before: before, After: structpb.NewStringValue("https://new.example"), Structural: true},
	}}
	a.breaker = []*partnersv1.Breaker{{Partner: "underwriter", Skill: "underwrite", Replica: "r1", State: "half-open", Why: "slowness", RetryAt: timestamppb.New(noon.Add(time.Minute))}}
	a.found = []*partnersv1.Finding{{Kind: "drift", Reason: "decisions have <u>shifted"}}
	a.crossed = []*partnersv1.Crossing{{
		Id: "c-1", Skill: "underwrite", At: timestamppb.New(noon), Bytes: 1234, Direction: partnersv1.Direction_DIRECTION_OUT,
		Purpose: "credit-<u>decision", Consent: "t-7/ask",
		Findings: []*partnersv1.Detection{{Path: "applicant.email", Class: "email", Action: "tokenise"}, {Part: 1, Class: "name", Action: "mask"}}, MoreFindings: 2,
	}, {Id: "c-2", Direction: partnersv1.Direction_DIRECTION_OUT, Refused: true, At: timestamppb.New(noon)}}
	p := a.page(identity.Operator, "/partners/underwriter")
	shows(t, p,
		"A change of the card waits for a decision", "/supportedInterfaces/0/url", "https://old.example/&lt;i&gt;", "https://new.example", "needs a decision", "Adopt the new card", `name="digest" value="ffee00"`,
		"Being there", "12.3", "× 0.6", "Drift, 2026-02-01, stands",
		"version 3", "breaker half-open at r1: slowness", "95 % within", "10 s", "12.5 s, missed", "99.87 %", "4\u202f323", "2 failed, 3 held back", "50 %",
		"used for <code>credit-&lt;u&gt;decision</code>", `href="/tasks/t-7#step-ask"`,
		"tokenise", "at applicant.email", "in part 2", "and 2 more", "refused", "1\u202f234",
		"decisions have &lt;u&gt;shifted", "sabha contract rebaseline underwriter", "18 of 20", "Run them now",
		"Approve the card", `name="digest" value="aabbccddeeff00112233"`, "Suspend it", "Let plans call it", `value="verify"`,
	)
	hides(t, p, "<i>", "<u>")
	a.mu.Lock()
	a.known.Partner.State = registryv1.State_STATE_APPROVED
	a.mu.Unlock()
	hides(t, a.page(identity.Operator, "/partners/underwriter"), `value="verify"`)
}

func TestWhatOperatorsDecideReachesTheRegistry(t *testing.T) {
	a := goAbroad(t)
	const do = "/partners/underwriter/do"
	yes := true
	for name, c := range map[string]struct {
		form url.Values
		want proto.Message
		text string
	}{
		"approve":  {url.Values{"do": {"approve"}, "digest": {"aabbccddeeff00112233"}, "note": {" fine "}}, &registryv1.ApprovePartnerRequest{Id: "underwriter", Digest: "aabbccddeeff00112233", Note: "fine"}, "Approved."},
		"suspend":  {url.Values{"do": {"suspend"}, "reason": {"too slow"}}, &registryv1.SuspendPartnerRequest{Id: "underwriter", Reason: "too slow"}, "Suspended."},
		"callable": {url.Values{"do": {"callable"}}, &registryv1.SetRightsRequest{Id: "underwriter", Callable: &yes}, "Plans may call it"},
		"verify":   {url.Values{"do": {"verify"}}, &registryv1.VerifyPartnerRequest{Id: "underwriter"}, "Its card is good"},
		"adopt":    {url.Values{"do": {"adopt"}, "digest": {"ffee"}}, &registryv1.DecideChangeRequest{Id: "underwriter", Digest: "ffee", Adopt: true}, "Adopted."},
		"refuse":   {url.Values{"do": {"refuse"}, "digest": {"ffee"}}, &registryv1.DecideChangeRequest{Id: "underwriter", Digest: "ffee"}, "The approved card stays."},
	} {
		told, asked := a.sent(do, c.form)
		if told.Tone != "good" || !strings.HasPrefix(told.Text, c.text) || !proto.Equal(asked, c.want) {
			t.Errorf("%s: %+v, asked %v", name, told, asked)
		}
	}
	if told, _ := a.sent(do, url.Values{"do": {"approve"}, "digest": {"another"}}); told.Tone != "warn" || !strings.HasPrefix(told.Go, "/partners/underwriter?changed=") {
		t.Errorf("a changed card: %+v", told)
	}
	shows(t, a.page(identity.Operator, "/partners/underwriter?changed=1"), "The card has changed since you looked at it")
	if told, asked := a.sent(do, url.Values{"do": {"delete"}}); told.Tone != "bad" || asked != nil {
		t.Errorf("an unknown deed: %+v, asked %v", told, asked)
	}
	a.mu.Lock()
	a.refuse = fault.New(fault.PartnerState, "the card has not been verified; verify it first")
	a.mu.Unlock()
	if told, _ := a.sent(do, url.Values{"do": {"suspend"}, "reason": {"x"}}); told.Tone != "bad" || told.Text != "the card has not been verified; verify it first" {
		t.Errorf("a refusal: %+v", told)
	}
	told, asked := a.sent("/partners", url.Values{"card_url": {" https://a.example "}, "id": {"underwriter"}, "hosts": {"a.example  b.example"}})
	if told.Go != "/partners/underwriter" || !proto.Equal(asked, &registryv1.RegisterPartnerRequest{CardUrl: "https://a.example", Id: "underwriter", Hosts: []string{"a.example", "b.example"}}) {
		t.Errorf("registered: %+v, asked %v", told, asked)
	}
	if told, _ := a.sent("/partners", url.Values{}); told.Tone != "bad" || told.Text != "card_url must be an absolute URL" {
		t.Errorf("no address: %+v", told)
	}
}

func TestTheDashboardNamesPartnersThatNeedAPerson(t *testing.T) {
	a := goAbroad(t)
	hides(t, a.page(identity.Operator, "/"), "Partners that need a person")
	a.mu.Lock()
	a.known.Partner.State, a.known.Partner.Callable, a.known.Partner.Online = registryv1.State_STATE_APPROVED, true, false
	a.mu.Unlock()
	p := a.page(identity.Operator, "/")
	shows(t, p, "Partners that need a person", `href="/partners/underwriter"`, "offline")
	hides(t, p, "change of the card waits", "breaker holds calls back", "drift")
	a.mu.Lock()
	a.known.Change = &registryv1.Change{PartnerId: "underwriter"}
	a.breaker = []*partnersv1.Breaker{{Partner: "underwriter", State: "open"}}
	a.found = []*partnersv1.Finding{{Kind: "drift"}}
	a.mu.Unlock()
	shows(t, a.page(identity.Operator, "/"), "change of the card waits", "breaker holds calls back", "drift", "offline")
}

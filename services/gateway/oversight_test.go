package gateway_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/protobuf/encoding/protojson"

	adminv1 "sabha.dev/gen/sabha/admin/v1"
	"sabha.dev/services/gateway"
	"sabha.dev/testrig/freeport"
)

func TestAnAuditorSeesTheHopsOfEveryService(t *testing.T) {
	r := start(t)
	asha := []string{"X-API-Key: " + r.newKey(t, "-subject", "asha", "-organisation", "acme")}
	const trace = "0af7651916cd43dd8448eb211c80319c"
	traced := append([]string{"traceparent: 00-" + trace + "-b7ad6b7169203331-01"}, asha...)
	first := r.send(t, "rest", request{skill: "work", headers: traced})
	second := r.send(t, "grpc", request{tenant: "research", skill: "work", headers: traced})
	admin := adminv1.NewAdminServiceClient(r.conn)
	auditor := request{headers: []string{"X-API-Key: " + r.newKey(t, "-subject", "alma", "-scopes", "auditor")}}
	res, err := admin.ListHops(auditor.context(t.Context()), &adminv1.ListHopsRequest{TraceId: trace})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, h := range res.GetHops() {
		got = append(got, h.GetAgent()+" "+h.GetTaskId()+" "+h.GetPrincipal()+" "+h.GetOutcome())
	}
	want := []string{
		"planner " + first.task + " acme/asha TASK_STATE_COMPLETED",
		"research " + second.task + " acme/asha TASK_STATE_COMPLETED",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("hops %q, want %q", got, want)
	}
	if logged := r.logs.String(); !strings.Contains(logged, "principal=/alma") || !strings.Contains(logged, "method=ListHops") {
		t.Errorf("the log does not say who asked:\n%s", logged)
	}
	list, err := admin.ListTasks(auditor.context(t.Context()), &adminv1.ListTasksRequest{})
	if err != nil || len(list.GetTasks()) != 1 || list.GetTasks()[0].GetId() != first.task {
		t.Errorf("ListTasks = %v, %v; want the planner's one task", list, err)
	}
	_, err = admin.ListHops(auditor.context(t.Context()), &adminv1.ListHopsRequest{})
	if got := grpcError(err); got.reason != "INVALID_ARGUMENT" {
		t.Errorf("hops of nothing: %+v, want INVALID_ARGUMENT", got)
	}
}

func TestATrailWithAHoleIsRefused(t *testing.T) {
	r := start(t, func(c *gateway.Config) { c.Peers["validator"] = "" })
	admin := adminv1.NewAdminServiceClient(r.conn)
	_, err := admin.ListHops(request{headers: []string{"X-API-Key: " + r.operator}}.context(t.Context()), &adminv1.ListHopsRequest{TaskId: "t"})
	if got := grpcError(err); got.reason != "UNAVAILABLE" || !strings.Contains(got.said, "service validator cannot be reached") {
		t.Errorf("got %+v, want UNAVAILABLE that names validator", got)
	}
}

func TestCardsNameWhereClientsReachTheGateway(t *testing.T) {
	r := start(t, func(c *gateway.Config) { c.PublicURL = "https://agents.example.com/" })
	_, port, _ := strings.Cut(r.GRPCAddr(), ":")
	elsewhere := start(t, func(c *gateway.Config) {
		c.PublicURL, c.PublicGRPCAddress = "https://agents.example.com/a2a/", "grpc.example.com:443"
	})
	_, _, there := elsewhere.do(t, "GET", "/.well-known/agent-card.json", "", nil)
	front := &a2apb.AgentCard{}
	if err := readCard([]byte(there), front); err != nil {
		t.Fatal(err)
	}
	checkCard(t, front, "", "https://agents.example.com/a2a", "grpc.example.com:443")
	code, header, body := r.do(t, "GET", "/research/.well-known/agent-card.json", "", nil)
	if code != 200 || header.Get("ETag") == "" {
		t.Fatalf("%d %v %s", code, header, body)
	}
	card := &a2apb.AgentCard{}
	if err := readCard([]byte(body), card); err != nil {
		t.Fatal(err)
	}
	checkCard(t, card, "research", "https://agents.example.com", "agents.example.com:"+port)
	// Skills that need no credentials say so.
	if s := card.GetSkills()[0]; s.GetId() != "tell" || len(s.GetSecurityRequirements()) != 1 || len(s.GetSecurityRequirements()[0].GetSchemes()) != 0 {
		t.Errorf("skill %v, want tell with an empty requirement", s)
	}
	// The extended card is completed the same way.
	extended, err := a2apb.NewA2AServiceClient(r.conn).GetExtendedAgentCard(
		request{headers: []string{"X-API-Key: " + r.operator}}.context(t.Context()), &a2apb.GetExtendedAgentCardRequest{Tenant: "research"})
	if err != nil || extended.GetDescription() != "For /admin" {
		t.Fatalf("extended card %v, %v", extended, err)
	}
	checkCard(t, extended, "research", "https://agents.example.com", "agents.example.com:"+port)
	if code, _, body := r.do(t, "GET", "/nobody/.well-known/agent-card.json", "", nil); code != 404 || !strings.Contains(body, "UNKNOWN_TENANT") {
		t.Errorf("card of an unknown tenant: %d %s, want 404", code, body)
	}
}

// readCard reads a card as a client of A2A 1.0 does, to whom fields of 0.3 mean nothing.
func readCard(text []byte, card *a2apb.AgentCard) error {
	return protojson.UnmarshalOptions{DiscardUnknown: true}.Unmarshal(text, card)
}

func checkCard(t *testing.T, card *a2apb.AgentCard, tenant, base, grpcAddress string) {
	t.Helper()
	var got []string
	for _, i := range card.GetSupportedInterfaces() {
		got = append(got, strings.Join([]string{i.GetProtocolBinding(), i.GetProtocolVersion(), i.GetUrl(), i.GetTenant()}, " "))
	}
	want := []string{"HTTP+JSON 1.0 " + base + " " + tenant, "JSONRPC 1.0 " + base + "/rpc " + tenant, "GRPC 1.0 " + grpcAddress + " " + tenant}
	// A2A 0.3 has no tenants: the address names the agent, where it can.
	if tenant != "" {
		base += "/" + tenant
	}
	want = append(want, "JSONRPC 0.3 "+base+"/rpc ", "HTTP+JSON 0.3 "+base+" ")
	if tenant == "" {
		want = append(want, "GRPC 0.3 "+grpcAddress+" ")
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("interfaces %q, want %q", got, want)
	}
	if s := card.GetSecuritySchemes()["apiKey"].GetApiKeySecurityScheme(); s.GetName() != "X-API-Key" || s.GetLocation() != "header" {
		t.Errorf("apiKey scheme %v", s)
	}
	if s := card.GetSecuritySchemes()["bearer"].GetHttpAuthSecurityScheme(); s.GetScheme() != "Bearer" {
		t.Errorf("bearer scheme %v", s)
	}
	for i, name := range []string{"apiKey", "bearer"} {
		if _, ok := card.GetSecurityRequirements()[i].GetSchemes()[name]; !ok {
			t.Errorf("requirements %v, want apiKey or bearer", card.GetSecurityRequirements())
		}
	}
}

func TestWithoutAPublicURLCardsNameTheLocalPorts(t *testing.T) {
	r := start(t)
	_, _, body := r.do(t, "GET", "/.well-known/agent-card.json", "", nil)
	card := &a2apb.AgentCard{}
	if err := readCard([]byte(body), card); err != nil {
		t.Fatal(err)
	}
	_, grpcPort, _ := strings.Cut(r.GRPCAddr(), ":")
	_, httpPort, _ := strings.Cut(r.HTTPAddr(), ":")
	checkCard(t, card, "", "http://localhost:"+httpPort, "localhost:"+grpcPort)
	if r.PublicURL() != "http://localhost:"+httpPort {
		t.Errorf("PublicURL = %q", r.PublicURL())
	}
}

func TestPathsBesideA2A(t *testing.T) {
	r := start(t)
	operator, caller := "X-API-Key: "+r.operator, "X-API-Key: "+r.newKey(t, "-subject", "asha")
	for _, c := range []struct {
		name, path, header string
		code               int
		body               string
	}{
		{"health", "/healthz", "", 200, "ok"},
		{"readiness", "/readyz", "", 200, "ready"},
		{"metrics for nobody", "/metrics", "", 401, "UNAUTHENTICATED"},
		{"metrics for a caller", "/metrics", caller, 403, "PERMISSION_DENIED"},
		{"metrics for an operator", "/metrics", operator, 200, ""},
		{"tools with a bad key", "/mcp", "Authorization: Bearer sk-bad", 401, "UNAUTHENTICATED"},
		{"no such path", "/nothing", "", 404, "NOT_FOUND"},
	} {
		var headers []string
		if c.header != "" {
			headers = []string{c.header}
		}
		code, header, body := r.do(t, "GET", c.path, "", headers)
		if code != c.code || !strings.Contains(body, c.body) {
			t.Errorf("%s: %d %q, want %d %q", c.name, code, body, c.code, c.body)
		}
		if c.code == 401 && header.Get("WWW-Authenticate") == "" {
			t.Errorf("%s: no challenge", c.name)
		}
	}
}

func TestOperatorsHaveAPortOfTheirOwn(t *testing.T) {
	ports, err := freeport.Find(1)
	if err != nil {
		t.Fatal(err)
	}
	address := fmt.Sprintf("127.0.0.1:%d", ports[0])
	start(t, func(c *gateway.Config) { c.HTTP = address })
	for path, want := range map[string]int{"/healthz": 200, "/readyz": 200, "/metrics": 200, "/message:send": 404} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		if res.StatusCode != want {
			t.Errorf("%s without credentials: %d, want %d", path, res.StatusCode, want)
		}
	}
}

func TestAPersonaThatComesBackIsReachedAgain(t *testing.T) {
	r := start(t)
	q := request{tenant: "research", headers: []string{"X-API-Key: " + r.operator}}
	if got := r.send(t, "rest", q); got.reason != "" {
		t.Fatalf("while it is up: %+v", got)
	}
	before, _, _ := r.do(t, "GET", "/research/.well-known/agent-card.json", "", nil)
	r.stopPersona("research")
	if got := r.send(t, "rest", q); got.reason != "UNAVAILABLE" || got.http != 503 || got.header.Get("Retry-After") != "1" {
		t.Errorf("while it is down: %+v, want 503 with Retry-After 1", got)
	}
	if got := r.send(t, "rest", request{headers: q.headers}); got.reason != "" {
		t.Errorf("the planner meanwhile: %+v, want its answer", got)
	}
	if code, _, _ := r.do(t, "GET", "/research/.well-known/agent-card.json", "", nil); code != before {
		t.Errorf("its card meanwhile: %d, want %d", code, before)
	}
	r.startPersona(t, "research")
	for range 200 {
		if got := r.send(t, "rest", q); got.reason == "" {
			return
		}
		<-r.env.Clock.After(50e6)
	}
	t.Error("it is not reached again within ten seconds")
}

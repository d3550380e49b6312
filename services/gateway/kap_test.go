package gateway_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	adminv1 "sabha.dev/gen/sabha/admin/v1"
	"sabha.dev/services/gateway"
)

// withKAP offers what the persona of the rig can do, the capabilities of the
// protocol's description among it.
func withKAP(c *gateway.Config) {
	c.KAP = gateway.KAP{Enabled: true}
	c.KAP.Agent.ID, c.KAP.Agent.Name, c.KAP.Agent.Description = "acme-support", "Acme Support Agent", "Handles customer support for Acme products"
	c.KAP.Agent.Organization, c.KAP.Agent.Tags = "Acme Inc", []string{"support", "tickets", "faq"}
	c.KAP.Capabilities = []gateway.KAPCapability{
		{ID: "ask", Name: "Ask Question", Description: "Ask a customer support question", Skill: "work"},
		{ID: "create-ticket", Name: "Create Ticket", Description: "Create a support ticket", Skill: "echo", InputSchema: map[string]any{
			"type": "object", "required": []any{"subject", "body"}, "properties": map[string]any{
				"subject": map[string]any{"type": "string"}, "body": map[string]any{"type": "string"},
				"priority": map[string]any{"type": "string", "enum": []any{"low", "medium", "high"}},
			},
		}},
		{ID: "hold", Name: "Hold", Description: "Takes its time", Tenant: "research", Skill: "hold"},
		{ID: "tell", Name: "Tell", Description: "Tells who asks", Skill: "tell", Anonymous: true},
		{ID: "fail", Name: "Fail", Description: "Says what is wrong", Skill: "fail", Anonymous: true},
		{ID: "give-up", Name: "Give up", Description: "Fails", Skill: "give-up"},
		{ID: "slow", Name: "Slow", Description: "Answers late", Skill: "slow"},
		{ID: "question", Name: "Question", Description: "Needs to know more", Skill: "question"},
	}
}

// kapAnswer is a response as the protocol writes it.
type kapAnswer struct {
	RequestID string         `json:"requestId"`
	Protocol  string         `json:"protocol"`
	Status    string         `json:"status"`
	Output    string         `json:"output"`
	Data      map[string]any `json:"data"`
	Metadata  struct {
		DurationMs       *float64 `json:"durationMs"`
		CapabilitiesUsed []string `json:"capabilities_used"`
		TaskID           string   `json:"taskId"`
	} `json:"metadata"`
	Timestamp time.Time `json:"timestamp"`

	code   int
	header http.Header
}

// kapRequest is the request of the protocol's description, to the letter.
const kapRequest = `{
  "id": "req_1234567890_abc",
  "protocol": "kap/1.0",
  "from": {
    "id": "my-agent",
    "name": "My Agent",
    "organization": "My Company"
  },
  "capability": "ask",
  "input": "What's the status of order #12345?",
  "context": {
    "threadId": "thread_abc",
    "metadata": { "customerId": "cust_123" }
  },
  "timeout": 30000,
  "timestamp": "2025-01-15T10:30:00Z"
}`

// kap sends a request, "key" standing for an X-API-Key header.
func (r *rig) kap(t testing.TB, key, body string) kapAnswer {
	t.Helper()
	headers := []string{"Content-Type: application/json"}
	if key != "" {
		headers = append(headers, "X-API-Key: "+key)
	}
	return r.kapWith(t, headers, body)
}

func (r *rig) kapWith(t testing.TB, headers []string, body string) kapAnswer {
	t.Helper()
	code, header, text := r.post(t, "/v1/ask", body, headers)
	a := kapAnswer{code: code, header: header}
	if err := json.Unmarshal([]byte(text), &a); err != nil || header.Get("Content-Type") != "application/json" {
		t.Fatalf("%d %q: %v, want an answer of KAP", code, text, err)
	}
	if a.Protocol != "kap/1.0" || a.Metadata.DurationMs == nil || a.Metadata.CapabilitiesUsed == nil || a.Timestamp.IsZero() {
		t.Errorf("%s: want protocol, metadata and timestamp in every answer", text)
	}
	return a
}

// kapAsk is a request of a capability that waits so many milliseconds.
func kapAsk(id, capability, input string, timeout int) string {
	return fmt.Sprintf(`{"id":%q,"protocol":"kap/1.0","capability":%q,"input":%q,"timeout":%d}`, id, capability, input, timeout)
}

func (a kapAnswer) reason() string { s, _ := a.Data["reason"].(string); return s }

func TestTheCardAndTheRequestOfTheDescriptionOfKAP(t *testing.T) {
	r := start(t, withKAP)
	code, header, text := r.do(t, "GET", "/.well-known/agent.json", "", nil)
	var card struct {
		Protocol  string
		Agent     struct{ ID, Name, Description, Organization, Version string }
		Endpoint  string
		Auth      []map[string]string
		RateLimit map[string]int
	}
	if err := json.Unmarshal([]byte(text), &card); err != nil || code != 200 || header.Get("Content-Type") != "application/json" {
		t.Fatalf("the card: %d %s %v", code, text, err)
	}
	if card.Protocol != "kap/1.0" || card.Agent.ID != "acme-support" || card.Agent.Organization != "Acme Inc" || card.Agent.Version != "test" ||
		fmt.Sprint(card.Auth) != "[map[in:header name:X-API-Key type:api-key] map[type:bearer] map[type:none]]" ||
		fmt.Sprint(card.RateLimit) != "map[requestsPerDay:1000 requestsPerMinute:30]" {
		t.Errorf("the card: %s", text)
	}
	if _, h, _ := r.do(t, "GET", "/.well-known/agent.json", "", []string{"If-None-Match: " + header.Get("ETag")}); h.Get("ETag") == "" {
		t.Error("the card has no tag")
	}
	if !strings.Contains(header.Get("Link"), "/.well-known/agent-card.json") {
		t.Errorf("a client of A2A is not told where its card is: %v", header)
	}

	endpoint := strings.TrimPrefix(card.Endpoint, r.PublicURL())
	if endpoint != "/v1/ask" {
		t.Fatalf("the endpoint is %s", card.Endpoint)
	}
	a := r.kap(t, r.operator, kapRequest)
	if a.code != 200 || a.RequestID != "req_1234567890_abc" || a.Status != "success" || a.Output != "made" || fmt.Sprint(a.Metadata.CapabilitiesUsed) != "[ask]" {
		t.Errorf("%+v", a)
	}
	// The same by a bearer token, as the description has it too.
	if b := r.kapWith(t, []string{"Content-Type: application/json", "Authorization: Bearer " + r.operator}, kapRequest); b.Metadata.TaskID != a.Metadata.TaskID || b.Status != "success" {
		t.Errorf("sent again: %+v, want the task of the first", b)
	}
	made := r.kap(t, r.operator, `{"id":"t1","protocol":"kap/1.0","capability":"create-ticket","input":"Create it","context":{"metadata":{"subject":"s","body":"b","priority":"low"}}}`)
	if made.Status != "success" || made.Output != "Create it" || fmt.Sprint(made.Data) != "map[parts:[map[body:b priority:low subject:s] [a list]]]" {
		t.Errorf("%+v", made)
	}
}

func TestARequestSentAgainGivesTheStateOfTheFirst(t *testing.T) {
	r := start(t, withKAP)
	first := r.kap(t, r.operator, kapAsk("r1", "hold", "x", 0))
	if first.code != 200 || first.Status != "pending" || first.Metadata.TaskID == "" || !strings.Contains(first.Output, "Send the same request again") {
		t.Fatalf("%+v, want it pending", first)
	}
	if again := r.kap(t, r.operator, kapAsk("r1", "hold", "x", 0)); again.Status != "pending" || again.Metadata.TaskID != first.Metadata.TaskID {
		t.Errorf("again: %+v", again)
	}
	// Another caller's request of the same id is another request, and another body none at all.
	if other := r.kap(t, r.newKey(t, "-subject", "bela"), kapAsk("r1", "hold", "x", 0)); other.Metadata.TaskID == first.Metadata.TaskID {
		t.Errorf("another caller: %+v", other)
	}
	if changed := r.kap(t, r.operator, kapAsk("r1", "hold", "y", 0)); changed.code != 409 || changed.Status != "error" || changed.reason() != "MESSAGE_ID_CONFLICT" {
		t.Errorf("another body: %+v", changed)
	}
	waiting := make(chan kapAnswer)
	go func() { waiting <- r.kap(t, r.operator, kapAsk("r1", "hold", "x", 30000)) }()
	close(r.persona.release)
	if last := <-waiting; last.Status != "success" || last.Output != "let go" || last.Metadata.TaskID != first.Metadata.TaskID {
		t.Errorf("at the end: %+v", last)
	}
}

// whileTimePasses gives the answer to a request, and how long the clock went on until then.
func (r *rig) whileTimePasses(t *testing.T, body string) (a kapAnswer, passed time.Duration) {
	t.Helper()
	waiting := make(chan kapAnswer)
	go func() { waiting <- r.kap(t, r.operator, body) }()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case a := <-waiting:
			return a, passed
		case <-tick.C:
			r.clock.Advance(500 * time.Millisecond)
			passed += 500 * time.Millisecond
		}
	}
}

func TestATimeoutEndsTheWaitAndNotTheWork(t *testing.T) {
	r := start(t, withKAP)
	a, passed := r.whileTimePasses(t, kapAsk("r1", "hold", "x", 5000))
	if a.Status != "pending" || passed < 4500*time.Millisecond || a.header.Get("Retry-After") != "5" {
		t.Errorf("after %v: %+v, want it pending before 5s are over", passed, a)
	}
	// What makes no task cannot be asked for later.
	if a, passed := r.whileTimePasses(t, kapAsk("r2", "slow", "x", 5000)); a.code != 500 || a.reason() != "UNAVAILABLE" || passed < 14500*time.Millisecond {
		t.Errorf("after %v: %+v, want the request given up", passed, a)
	}
	close(r.persona.release)
	if last := r.kap(t, r.operator, kapAsk("r1", "hold", "x", 30000)); last.Status != "success" || last.Output != "let go" {
		t.Errorf("at the end: %+v", last)
	}
}

func TestATraceGoesOnThroughKAP(t *testing.T) {
	r := start(t, withKAP)
	a := r.kapWith(t, []string{"Content-Type: application/json", "X-API-Key: " + r.operator, "traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "sabha-confirm: x"}, kapAsk("r1", "tell", "x", 1000))
	if want := "/admin [viewer reviewer operator auditor admin] by gateway with [a2a-version sabha-client-version sabha-integrity] trace 0af7651916cd43dd8448eb211c80319c"; a.Output != want {
		t.Errorf("the persona saw %q, want %q", a.Output, want)
	}
}

func TestWhatARequestComesTo(t *testing.T) {
	r := start(t, withKAP, func(c *gateway.Config) {
		c.Tenants = append(c.Tenants, "memory") // which is not there
		c.KAP.Capabilities = append(c.KAP.Capabilities, gateway.KAPCapability{ID: "broken", Name: "Broken", Description: "Cannot be reached", Tenant: "memory"})
	})
	key := "X-API-Key: " + r.operator
	asked := func(capability string) string { return kapAsk("r-"+capability, capability, "x", 30000) }
	for name, c := range map[string]struct {
		body, headers, method string
		code                  int
		status, reason, says  string
	}{
		"nobody":                 {body: asked("ask"), code: 401, status: "error", reason: "UNAUTHENTICATED", says: "send an API key or a token"},
		"an unknown key":         {body: asked("ask"), headers: "X-API-Key: sk-" + strings.Repeat("0", 64), code: 401, status: "error", reason: "UNAUTHENTICATED", says: "not known"},
		"nobody where it may":    {body: asked("tell"), code: 200, status: "success", says: " [] by gateway"},
		"a result":               {body: asked("ask"), headers: key, code: 200, status: "success", says: "made"},
		"an answer":              {body: asked("tell"), headers: key, code: 200, status: "success", says: "/admin ["},
		"a failure":              {body: asked("give-up"), headers: key, code: 200, status: "error", says: "I give up."},
		"a question":             {body: asked("question"), headers: key, code: 200, status: "pending", says: "Which one? To answer, send a request with a new id and this taskId in its context."},
		"an agent's own refusal": {body: asked("fail"), headers: key, code: 400, status: "error", reason: "INVALID_ARGUMENT", says: "say something else"},
		"an agent that is away":  {body: asked("broken"), headers: key, code: 500, status: "error", reason: "UNAVAILABLE", says: "try again later"},
		"no such capability":     {body: asked("fly"), headers: key, code: 400, status: "error", reason: "UNKNOWN_CAPABILITY", says: "names: ask, create-ticket, hold"},
		"no id":                  {body: `{"protocol":"kap/1.0","capability":"ask","input":"x"}`, headers: key, code: 400, status: "error", reason: "INVALID_ARGUMENT", says: "id: is missing"},
		"no JSON":                {body: `ask`, headers: key, code: 400, status: "error", reason: "INVALID_ARGUMENT", says: "is not JSON"},
		"too large":              {body: asked("ask") + strings.Repeat(" ", 5<<20), headers: key, code: 413, status: "error", reason: "TOO_LARGE", says: "larger than 4 MiB"},
		"a form":                 {body: "id=r1", headers: key + "|Content-Type: application/x-www-form-urlencoded", code: 415, status: "error", reason: "CONTENT_TYPE_NOT_SUPPORTED", says: "application/json"},
		"a wrong method":         {method: "GET", headers: key, code: 405, status: "error", reason: "UNSUPPORTED_OPERATION", says: "with POST"},
		"parameters that do not fit": {
			body: `{"id":"t2","protocol":"kap/1.0","capability":"create-ticket","input":"x","context":{"metadata":{"subject":1,"priority":"urgent"}}}`, headers: key,
			code: 400, status: "error", reason: "INVALID_ARGUMENT", says: "context.metadata.body: is missing; the capability needs it; context.metadata.priority: value must be one of 'low', 'medium', 'high'; context.metadata.subject: got number, want string",
		},
	} {
		t.Run(name, func(t *testing.T) {
			headers := strings.Split(c.headers, "|")
			if c.headers == "" {
				headers = nil
			}
			if !strings.Contains(c.headers, "Content-Type") {
				headers = append(headers, "Content-Type: application/json; charset=utf-8")
			}
			if c.method != "" {
				code, header, text := r.do(t, c.method, "/v1/ask", "", headers)
				if code != c.code || !strings.Contains(text, c.says) || header.Get("Allow") != "POST" {
					t.Errorf("%d %v %s", code, header, text)
				}
				return
			}
			a := r.kapWith(t, headers, c.body)
			if a.code != c.code || a.Status != c.status || a.reason() != c.reason || !strings.Contains(a.Output, c.says) {
				t.Errorf("%+v, want %d %s %s %q", a, c.code, c.status, c.reason, c.says)
			}
			if challenge := a.header.Get("WWW-Authenticate"); (c.code == 401) != (challenge != "") {
				t.Errorf("%d with the challenge %q", a.code, challenge)
			}
			if strings.Contains(a.Output, "127.0.0.1") || strings.Contains(a.Output, "passthrough") {
				t.Errorf("%q tells how the inside is built", a.Output)
			}
		})
	}
	_, _, text := r.do(t, "GET", "/metrics", "", []string{key})
	for _, want := range []string{
		`sabha_kap_requests_total{capability="ask",code="200",.*status="success"} 1`,
		`sabha_kap_requests_total{capability="give-up",code="200",.*status="error"} 1`,
		`sabha_kap_requests_total{capability="none",code="401",.*status="error"} 1`,
		`sabha_gateway_requests_total{binding="kap",code="Unauthenticated",method="Ask",.*} 2`,
	} {
		if !regexp.MustCompile(want).MatchString(text) {
			t.Errorf("the metrics have no %s", want)
		}
	}
}

func TestTheOrganisationIsThatOfTheCredential(t *testing.T) {
	r := start(t, withKAP, func(c *gateway.Config) {
		c.KAP.AllowedOrgs = []string{"acme"}
		for i := range c.KAP.Capabilities {
			c.KAP.Capabilities[i].Anonymous = false
		}
	})
	said := strings.Replace(kapRequest, "My Company", "acme", 1)
	if a := r.kap(t, r.newKey(t, "-subject", "eve", "-organisation", "evil"), said); a.code != 403 || a.reason() != "PERMISSION_DENIED" {
		t.Errorf("another organisation that says it is acme: %+v", a)
	}
	a := r.kap(t, r.newKey(t, "-subject", "asha", "-organisation", "acme"), kapRequest)
	if a.Status != "success" {
		t.Errorf("acme: %+v", a)
	}
	// What it says of itself is on record, as is the protocol.
	code, _, text := r.do(t, "GET", "/tasks/"+a.Metadata.TaskID, "", []string{"A2A-Version: 1.0", "X-API-Key: " + r.newKey(t, "-subject", "asha", "-organisation", "acme")})
	if code != 200 || !strings.Contains(text, `"organization":"My Company"`) {
		t.Errorf("the task: %d %s", code, text)
	}
	recorded, err := adminv1.NewAdminServiceClient(r.conn).ListHops(request{headers: []string{"X-API-Key: " + r.operator}}.context(t.Context()), &adminv1.ListHopsRequest{TaskId: a.Metadata.TaskID})
	if hops := recorded.GetHops(); err != nil || len(hops) != 1 || hops[0].GetProtocolVersion() != "kap/1.0" || hops[0].GetPrincipal() != "acme/asha" {
		t.Errorf("the record: %v %v", hops, err)
	}
}

func TestTheLimitsOfKAPAreEachCallersOwn(t *testing.T) {
	r := start(t, withKAP, func(c *gateway.Config) { c.KAP.RateLimit.RequestsPerMinute, c.KAP.RateLimit.RequestsPerDay = 2, 1000 })
	now := r.clock.Now()
	reset := int((now.Truncate(time.Minute).Add(time.Minute).Sub(now) + time.Second - 1) / time.Second)
	asha, bela := r.newKey(t, "-subject", "asha"), r.newKey(t, "-subject", "bela")
	for _, c := range []struct{ key, body, want string }{
		{asha, kapAsk("a", "tell", "x", 0), fmt.Sprint("200 2 1 ", reset, " ")},
		{asha, "no request", fmt.Sprint("400 2 0 ", reset, " ")},
		{asha, kapAsk("a", "tell", "x", 0), fmt.Sprint("429 2 0 ", reset, " ", reset)},
		{bela, kapAsk("a", "tell", "x", 0), fmt.Sprint("200 2 1 ", reset, " ")},
		{"", kapAsk("a", "tell", "x", 0), fmt.Sprint("200 2 1 ", reset, " ")},
	} {
		a := r.kap(t, c.key, c.body)
		h := a.header
		got := fmt.Sprint(a.code, " ", h.Get("X-RateLimit-Limit"), " ", h.Get("X-RateLimit-Remaining"), " ", h.Get("X-RateLimit-Reset"), " ", h.Get("Retry-After"))
		if got != c.want {
			t.Errorf("%q, want %q: %+v", got, c.want, a)
		}
	}
}

func TestWithoutKAPItsPathsAreNotThere(t *testing.T) {
	r := start(t)
	for _, path := range []string{"/.well-known/agent.json", "/v1/ask"} {
		if code, _, text := r.do(t, "GET", path, "", []string{"X-API-Key: " + r.operator}); code != 404 {
			t.Errorf("%s: %d %s", path, code, text)
		}
	}
}

func TestKAPWithoutCapabilitiesOffersOne(t *testing.T) {
	r := start(t, func(c *gateway.Config) { c.KAP.Enabled = true })
	_, _, text := r.do(t, "GET", "/.well-known/agent.json", "", nil)
	if !strings.Contains(text, `"capabilities":[{"id":"ask","name":"Ask",`) || strings.Contains(text, "none") {
		t.Errorf("%s", text)
	}
}

func TestConfigurationsOfKAPThatCannotBeMeant(t *testing.T) {
	good := gateway.KAPCapability{ID: "a", Name: "A", Description: "a"}
	with := func(change func(*gateway.KAPCapability)) gateway.KAP {
		c := good
		change(&c)
		return gateway.KAP{Enabled: true, Capabilities: []gateway.KAPCapability{c}}
	}
	for name, c := range map[string]struct {
		kap  gateway.KAP
		says string
	}{
		"an id":            {with(func(c *gateway.KAPCapability) { c.ID = "a b" }), `kap.capabilities[0].id: "a b" must have`},
		"an id twice":      {gateway.KAP{Capabilities: []gateway.KAPCapability{good, good}}, `kap.capabilities[1].id: "a" stands twice`},
		"no description":   {with(func(c *gateway.KAPCapability) { c.Description = "" }), "kap.capabilities[0]: name and description are needed"},
		"no tenant":        {with(func(c *gateway.KAPCapability) { c.Tenant = "security" }), `kap.capabilities[0].tenant: "security" is none of`},
		"two ways":         {with(func(c *gateway.KAPCapability) { c.Playbook, c.Skill = "general", "ask" }), "leave tenant and skill out"},
		"confirmation":     {with(func(c *gateway.KAPCapability) { c.RequiresConfirmation, c.Tenant = true, "research" }), "only the planner asks people first"},
		"nobody confirmed": {with(func(c *gateway.KAPCapability) { c.RequiresConfirmation, c.Anonymous = true, true }), "has to be known"},
		"nobody's org": {func() gateway.KAP {
			k := with(func(c *gateway.KAPCapability) { c.Anonymous = true })
			k.AllowedOrgs = []string{"acme"}
			return k
		}(), "anonymous callers have no organisation"},
		"a list as schema": {with(func(c *gateway.KAPCapability) { c.InputSchema = map[string]any{"type": "array"} }), "input_schema: the type must be object"},
		"a schema of none": {with(func(c *gateway.KAPCapability) { c.InputSchema = map[string]any{"type": "object", "required": 1} }), "input_schema: "},
		"a schema abroad": {with(func(c *gateway.KAPCapability) {
			c.InputSchema = map[string]any{"type": "object", "$ref": "https://example.com/s.json"}
		}), "must stand for itself"},
		"a negative limit": {func() gateway.KAP {
			k := with(func(*gateway.KAPCapability) {})
			k.RateLimit.RequestsPerDay = -1
			return k
		}(), "must not be negative"},
		"an empty org": {gateway.KAP{AllowedOrgs: []string{""}}, "allowed_orgs: a name is empty"},
	} {
		err := gateway.Config{KAP: c.kap}.Check()
		if err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want %q", name, err, c.says)
		}
	}
}

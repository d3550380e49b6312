package gateway_test

import (
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"sabha.dev/services/gateway"
	"sabha.dev/services/gateway/internal/tokens"
)

// issuer makes tokens that the gateway takes.
type issuer struct {
	config tokens.Config
	key    ed25519.PrivateKey
}

func newIssuer(t *testing.T) *issuer {
	t.Helper()
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := json.Marshal(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: public, KeyID: "k"}}})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "keys.json")
	if err := os.WriteFile(file, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	return &issuer{tokens.Config{Issuer: "https://idp.example", Audience: "sabha", KeysFile: file, Organisations: []string{"acme"}, Roles: []string{"reviewer"}}, private}
}

// token is good for a minute.
func (i *issuer) token(t *testing.T, now time.Time, subject, issuer string) string {
	t.Helper()
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.EdDSA, Key: jose.JSONWebKey{Key: i.key, KeyID: "k"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	token, err := jwt.Signed(signer).Claims(map[string]any{
		"iss": issuer, "aud": "sabha", "sub": subject, "exp": now.Add(time.Minute).Unix(), "roles": []string{"reviewer", "admin"},
	}).Serialize()
	if err != nil {
		t.Fatal(err)
	}
	return token
}

// One person is one owner, whatever the credentials.
func TestAPersonOwnsTasksByKeyAndByToken(t *testing.T) {
	idp := newIssuer(t)
	r := start(t, func(c *gateway.Config) { c.Issuers = []tokens.Config{idp.config} })
	token := "Bearer " + idp.token(t, r.clock.Now(), "asha", "https://idp.example")
	made := r.send(t, "grpc", request{skill: "work", headers: []string{"X-API-Key: " + r.newKey(t, "-subject", "asha", "-organisation", "acme")}})
	if made.task == "" {
		t.Fatalf("got %+v, want a task", made)
	}
	get := func() error {
		ctx := metadata.AppendToOutgoingContext(t.Context(), "a2a-version", "1.0", "authorization", token)
		_, err := a2apb.NewA2AServiceClient(r.conn).GetTask(ctx, &a2apb.GetTaskRequest{Id: made.task})
		return err
	}
	if err := get(); err != nil {
		t.Error("by token:", err)
	}
	r.clock.Advance(2 * time.Minute)
	if err := get(); status.Code(err) != codes.Unauthenticated || !strings.Contains(err.Error(), "the token is refused: it expired at ") {
		t.Errorf("after its end: %v", err)
	}
}

func TestEveryBindingKnowsCallersAlike(t *testing.T) {
	idp := newIssuer(t)
	r := start(t, func(c *gateway.Config) {
		c.Tenants, c.Issuers = []string{"research", "memory"}, []tokens.Config{idp.config}
	})
	key := r.newKey(t, "-subject", "asha", "-organisation", "acme")
	token := idp.token(t, r.clock.Now(), "asha", "https://idp.example")
	other := r.newKey(t, "-subject", "bela")
	id := r.keyID(t, "acme/asha")
	basic := func(id, key string) []string {
		return []string{"Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte(id+":"+key))}
	}
	known := "acme/asha [] by gateway with [a2a-version]"
	for _, c := range []struct {
		name   string
		q      request
		text   string // begins with
		reason string
		http   int
		code   string
	}{
		{"nobody", request{}, " [] by gateway with [a2a-version]", "", 200, ""},
		{"by X-API-Key", request{headers: []string{"X-API-Key: " + key}}, known, "", 200, ""},
		{"by bearer token", request{headers: []string{"Authorization: Bearer " + key}}, known, "", 200, ""},
		{"by both, the same", request{headers: []string{"X-API-Key: " + key, "Authorization: bearer " + key}}, known, "", 200, ""},
		{"by Basic", request{headers: basic(id, key)}, known, "", 200, ""},
		{"a task by Basic", request{skill: "work", headers: basic(id, key)}, "done for acme/asha", "", 200, ""},
		{"by Basic and X-API-Key, the same", request{headers: append(basic(id, key), "X-API-Key: "+key)}, known, "", 200, ""},
		{"Basic with the id of another key", request{headers: basic(r.keyID(t, "/bela"), key)}, "", "UNAUTHENTICATED", 401, "Unauthenticated"},
		{"Basic without an id", request{headers: basic("", key)}, "", "UNAUTHENTICATED", 401, "Unauthenticated"},
		{"Basic without a key", request{headers: basic(id, "")}, "", "UNAUTHENTICATED", 401, "Unauthenticated"},
		{"Basic that is not encoded", request{headers: []string{"Authorization: Basic " + id + ":" + key}}, "", "UNAUTHENTICATED", 401, "Unauthenticated"},
		{"Basic and X-API-Key of another", request{headers: append(basic(id, key), "X-API-Key: "+other)}, "", "UNAUTHENTICATED", 401, "Unauthenticated"},
		{"at a tenant", request{tenant: "research", headers: []string{"X-API-Key: " + key}}, known, "", 200, ""},
		{"by a JWT", request{headers: []string{"Authorization: Bearer " + token}}, "acme/asha [reviewer] by gateway with [a2a-version]", "", 200, ""},
		{"a JWT at a tenant", request{tenant: "research", headers: []string{"Authorization: Bearer " + token}}, "acme/asha [reviewer] by gateway", "", 200, ""},
		{"a task by a JWT", request{skill: "work", headers: []string{"Authorization: Bearer " + token}}, "done for acme/asha", "", 200, ""},
		{"a JWT as an API key", request{headers: []string{"X-API-Key: " + token}}, "", "UNAUTHENTICATED", 401, "Unauthenticated"},
		{"a JWT beside an API key", request{headers: []string{"X-API-Key: " + key, "Authorization: Bearer " + token}}, "", "UNAUTHENTICATED", 401, "Unauthenticated"},
		{"a JWT of another issuer", request{headers: []string{"Authorization: Bearer " + idp.token(t, r.clock.Now(), "asha", "https://evil.example")}}, "", "UNAUTHENTICATED", 401, "Unauthenticated"},
		{"two different keys", request{headers: []string{"X-API-Key: " + key, "Authorization: Bearer " + other}}, "", "UNAUTHENTICATED", 401, "Unauthenticated"},
		{"an unknown key is not anonymous", request{headers: []string{"X-API-Key: sk-" + strings.Repeat("0", 64)}}, "", "UNAUTHENTICATED", 401, "Unauthenticated"},
		{"no key at all in the header", request{headers: []string{"X-API-Key: letmein"}}, "", "UNAUTHENTICATED", 401, "Unauthenticated"},
		{"an empty key is not anonymous", request{headers: []string{"X-API-Key: "}}, "", "UNAUTHENTICATED", 401, "Unauthenticated"},
		{"an empty key beside a token", request{headers: []string{"X-API-Key: ", "Authorization: Bearer " + key}}, "", "UNAUTHENTICATED", 401, "Unauthenticated"},
		{"the same key twice", request{headers: []string{"X-API-Key: " + key, "X-API-Key: " + key}}, "", "UNAUTHENTICATED", 401, "Unauthenticated"},
		{"two tokens", request{headers: []string{"Authorization: Bearer " + key, "Authorization: Bearer " + other}}, "", "UNAUTHENTICATED", 401, "Unauthenticated"},
		{"another scheme", request{headers: []string{"Authorization: Basic YTpi"}}, "", "UNAUTHENTICATED", 401, "Unauthenticated"},
		{"another kind of token", request{headers: []string{"Authorization: Bearer eyJhbGciOiJub25lIn0.e30."}}, "", "UNAUTHENTICATED", 401, "Unauthenticated"},
		{"nobody asks for a task", request{skill: "work"}, "", "UNAUTHENTICATED", 401, "Unauthenticated"},
		{"a task", request{skill: "work", headers: []string{"X-API-Key: " + key}}, "done for acme/asha", "", 200, ""},
		{"no version", request{bare: true, headers: []string{"X-API-Key: " + key}}, "", "VERSION_NOT_SUPPORTED", 400, "FailedPrecondition"},
		{"an unknown tenant", request{tenant: "nobody", headers: []string{"X-API-Key: " + key}}, "", "UNKNOWN_TENANT", 404, "NotFound"},
		{"an internal persona", request{tenant: "security", headers: []string{"X-API-Key: " + key}}, "", "UNKNOWN_TENANT", 404, "NotFound"},
		{"a persona that is down", request{tenant: "memory", headers: []string{"X-API-Key: " + key}}, "", "UNAVAILABLE", 503, "Unavailable"},
		{"an agent's own error", request{skill: "fail"}, "", "INVALID_ARGUMENT", 400, "InvalidArgument"},
	} {
		for _, binding := range bindings {
			t.Run(c.name+" over "+binding, func(t *testing.T) {
				got := r.send(t, binding, c.q)
				if got.reason != c.reason || !strings.HasPrefix(got.text, c.text) || (c.text == "") != (got.text == "") {
					t.Errorf("got %+v, want text %q or reason %q", got, c.text, c.reason)
				}
				switch {
				case binding == "grpc" && got.code != c.code:
					t.Errorf("code %s, want %s", got.code, c.code)
				case binding == "rest" && got.http != c.http:
					t.Errorf("HTTP %d, want %d", got.http, c.http)
				case binding != "grpc" && c.http == 401 && !strings.HasPrefix(kinds(got.header), "Bearer, Basic, ApiKey"):
					t.Errorf("challenges of %q, want each kind of credentials", kinds(got.header))
				}
				if strings.Contains(got.said, "127.0.0.1") || strings.Contains(got.said, "passthrough") || strings.Contains(got.said, "transport") {
					t.Errorf("it says %q, which tells how the inside is built", got.said)
				}
			})
		}
	}
}

// kinds are the schemes that an answer asks for credentials of.
func kinds(h http.Header) string {
	var all []string
	for _, c := range h.Values("WWW-Authenticate") {
		scheme, _, _ := strings.Cut(c, " ")
		all = append(all, scheme)
	}
	return strings.Join(all, ", ")
}

func TestTasksOfOthersCannotBeToldFromMissingOnes(t *testing.T) {
	r := start(t)
	asha := []string{"X-API-Key: " + r.newKey(t, "-subject", "asha", "-organisation", "acme")}
	bela := []string{"X-API-Key: " + r.newKey(t, "-subject", "bela", "-organisation", "acme")}
	again := []string{"X-API-Key: " + r.newKey(t, "-subject", "asha", "-organisation", "acme")}
	made := r.send(t, "grpc", request{skill: "work", headers: asha})
	if made.task == "" {
		t.Fatalf("got %+v, want a task", made)
	}
	client := a2apb.NewA2AServiceClient(r.conn)
	get := func(headers []string, id string) (string, string) {
		task, err := client.GetTask(request{headers: headers}.context(t.Context()), &a2apb.GetTaskRequest{Id: id})
		if err != nil {
			e := grpcError(err)
			return e.reason, strings.ReplaceAll(e.said, id, "ID")
		}
		return task.GetId(), ""
	}
	if got, _ := get(again, made.task); got != made.task {
		t.Errorf("another key of the owner gets %q, want the task", got)
	}
	foreign, foreignSaid := get(bela, made.task)
	missing, missingSaid := get(bela, "nosuchtask")
	if foreign != "TASK_NOT_FOUND" || foreign != missing || foreignSaid != missingSaid {
		t.Errorf("foreign: %s %q, missing: %s %q; want the same TASK_NOT_FOUND", foreign, foreignSaid, missing, missingSaid)
	}
	for _, headers := range [][]string{nil, {"X-API-Key: " + r.operator}} {
		if got, _ := get(headers, made.task); got != "TASK_NOT_FOUND" {
			t.Errorf("with %v: %q, want TASK_NOT_FOUND", headers, got)
		}
	}
	code, _, body := r.do(t, "GET", "/tasks", "", append([]string{"A2A-Version: 1.0"}, bela...))
	if code != 200 || !strings.Contains(body, `"totalSize":0`) {
		t.Errorf("the other's list: %d %s, want it empty", code, body)
	}
	code, _, body = r.do(t, "POST", "/tasks/"+made.task+":cancel", "", append([]string{"A2A-Version: 1.0"}, bela...))
	if code != 404 || !strings.Contains(body, "TASK_NOT_FOUND") {
		t.Errorf("the other cancels: %d %s, want 404", code, body)
	}
}

func TestNothingThatTheInsideTrustsGetsIn(t *testing.T) {
	r := start(t)
	smuggled := []string{
		"sabha-token: eyJhbGciOiJFZERTQSJ9.e30.AA", "sabha-deadline: 1", "sabha-client: 10.0.0.1", "sabha-anything: 1",
		"Grpc-Metadata-Sabha-Deadline: 1", "Grpc-Metadata-Sabha-Token: x", "X-Forwarded-For: 10.0.0.1", "Grpc-Timeout: 1n",
		"traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "A2A-Extensions: " + "urn:x",
	}
	key := "X-API-Key: " + r.newKey(t, "-subject", "asha")
	for _, binding := range bindings {
		headers := smuggled
		if binding == "grpc" {
			headers = slicesWithout(smuggled, "Grpc-")
		}
		got := r.send(t, binding, request{headers: append([]string{key}, headers...)})
		want := "/asha [] by gateway with [a2a-extensions a2a-version] trace 0af7651916cd43dd8448eb211c80319c"
		if got.text != want {
			t.Errorf("%s: the persona saw %q, want %q (%+v)", binding, got.text, want, got)
		}
		// A deadline in the past would end the task at once.
		got = r.send(t, binding, request{skill: "work", headers: append([]string{key}, headers...)})
		if got.state != "TASK_STATE_COMPLETED" {
			t.Errorf("%s: the task ends as %+v, want it completed", binding, got)
		}
	}
}

func slicesWithout(list []string, prefix string) []string {
	var out []string
	for _, s := range list {
		if !strings.HasPrefix(s, prefix) {
			out = append(out, s)
		}
	}
	return out
}

func TestLimitsAreTheCallersOwn(t *testing.T) {
	r := start(t, func(c *gateway.Config) {
		c.RateLimit = gateway.RateLimit{Caller: gateway.Limit{PerSecond: 0.5, Burst: 2}, Anonymous: gateway.Limit{PerSecond: 0.25, Burst: 3}}
	})
	for _, binding := range bindings {
		asha := request{headers: []string{"X-API-Key: " + r.newKey(t, "-subject", "asha-"+binding)}}
		bela := request{headers: []string{"X-API-Key: " + r.newKey(t, "-subject", "bela-"+binding)}}
		for range 2 {
			if got := r.send(t, binding, asha); got.reason != "" {
				t.Fatalf("%s within the limit: %+v", binding, got)
			}
		}
		got := r.send(t, binding, asha)
		if got.reason != "RATE_LIMITED" {
			t.Errorf("%s over the limit: %+v, want RATE_LIMITED", binding, got)
		}
		if binding == "rest" && (got.http != 429 || got.header.Get("Retry-After") != "2") {
			t.Errorf("REST: %d, Retry-After %q; want 429 and 2", got.http, got.header.Get("Retry-After"))
		}
		if got := r.send(t, binding, bela); got.reason != "" {
			t.Errorf("%s another caller: %+v, want no limit", binding, got)
		}
	}
	// One address on three bindings shares one bucket, and guessing keys drains it.
	for _, q := range []request{{}, {headers: []string{"X-API-Key: sk-" + strings.Repeat("1", 64)}}} {
		r.send(t, "grpc", q)
	}
	if got := r.send(t, "rest", request{}); got.reason != "" {
		t.Errorf("the third call from the address: %+v, want it answered", got)
	}
	for _, binding := range bindings {
		for _, q := range []request{{}, {headers: []string{"X-API-Key: sk-" + strings.Repeat("2", 64)}}} {
			if got := r.send(t, binding, q); got.reason != "RATE_LIMITED" {
				t.Errorf("%s: %+v, want RATE_LIMITED", binding, got)
			}
		}
	}
	r.clock.Advance(4 * time.Second)
	if got := r.send(t, "jsonrpc", request{}); got.reason != "" {
		t.Errorf("after a while: %+v, want it answered", got)
	}
}

func TestARequestThatIsTooLargeIsToldSo(t *testing.T) {
	r := start(t)
	key := "X-API-Key: " + r.operator
	for _, binding := range bindings {
		got := r.send(t, binding, request{text: strings.Repeat("x", 5<<20), headers: []string{key}})
		if got.reason != "TOO_LARGE" || (binding == "rest" && got.http != 413) {
			t.Errorf("%s: %+v, want TOO_LARGE", binding, got)
		}
	}
	stream, err := a2apb.NewA2AServiceClient(r.conn).SendStreamingMessage(request{headers: []string{key}}.context(t.Context()),
		request{text: strings.Repeat("x", 5<<20)}.message())
	if err == nil {
		_, err = stream.Recv()
	}
	if got := grpcError(err); got.reason != "TOO_LARGE" || got.code != "ResourceExhausted" {
		t.Errorf("stream: %+v, want TOO_LARGE", got)
	}
}

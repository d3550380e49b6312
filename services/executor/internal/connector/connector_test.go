package connector_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"sabha.dev/chassis/clock"
	"sabha.dev/services/executor/internal/connector"
	"sabha.dev/services/executor/internal/toolhost"
)

// approving is a ledger that has approved everything.
type approving struct{}

func (approving) Offer(context.Context, string, []toolhost.Definition, bool) error { return nil }
func (approving) Known(context.Context) (map[string][]string, error)               { return nil, nil }

func (approving) Standing(context.Context, string, string, string) (toolhost.Standing, error) {
	return toolhost.Approved, nil
}

// provider records what it is asked, and answers.
type provider struct {
	*httptest.Server
	mu   sync.Mutex
	seen []string
	keys []string
}

func serve(t *testing.T, h func(n int, w http.ResponseWriter, r *http.Request)) *provider {
	t.Helper()
	p := &provider{}
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		p.mu.Lock()
		p.seen = append(p.seen, strings.TrimSpace(r.Method+" "+r.URL.RequestURI()+" "+string(body)))
		p.keys = append(p.keys, r.Header.Get("Idempotency-Key"))
		n := len(p.seen)
		p.mu.Unlock()
		w.Header().Set("Content-Type", "application/json")
		h(n, w, r)
	}))
	t.Cleanup(p.Close)
	return p
}

func (p *provider) asked() ([]string, []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.seen, p.keys
}

// connect hosts a connector as the executor does.
func connect(t *testing.T, document string, c connector.Config) *toolhost.Host {
	t.Helper()
	c.Log = slog.New(slog.DiscardHandler)
	c.Name, c.Document, c.Clock = "shop", filepath.Join(t.TempDir(), "api.yaml"), clock.System{}
	if err := os.WriteFile(c.Document, []byte(document), 0o600); err != nil {
		t.Fatal(err)
	}
	c.Networks = []string{"127.0.0.0/8"}
	if c.MaxBytes == 0 {
		c.MaxBytes = 1 << 20
	}
	if c.Attempts == 0 {
		c.Attempts = 3
	}
	local, err := connector.New(c)
	if err != nil {
		t.Fatal(err)
	}
	h, err := toolhost.New(t.Context(), toolhost.Config{
		Ledger: approving{}, Clock: clock.System{}, Log: slog.New(slog.DiscardHandler),
		Servers: []toolhost.Server{{
			Name: "shop", Local: local, StartTimeout: time.Minute, CallTimeout: time.Minute, Refresh: time.Hour, MaxMessage: 2 << 20,
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.Close() })
	return h
}

func invoke(t *testing.T, h *toolhost.Host, operation, arguments string) (string, error) {
	t.Helper()
	found, err := h.Tool(t.Context(), "shop/"+operation)
	if err != nil {
		return "", err
	}
	res, err := h.Call(t.Context(), toolhost.Call{Tool: found, Arguments: json.RawMessage(arguments), Key: "task-1"})
	if err == nil && len(res.Content) > 0 {
		return string(res.Structured) + res.Content[0].Text, nil
	}
	return string(res.Structured), err
}

const shop = `
openapi: 3.1.0
info: {title: Shop, version: "1"}
security: [{key: []}]
paths:
  /orders/{id}:
    parameters:
      - {name: id, in: path, schema: {type: string}}
    get:
      operationId: get_order
      summary: One order
      parameters:
        - {name: expand, in: query, schema: {type: array, items: {type: string}}}
        - {name: X-Trace, in: header, schema: {type: string}}
      responses: {"200": {content: {application/json: {schema: {$ref: '#/components/schemas/Order'}}}}}
    put:
      operationId: put_order
      requestBody: {required: true, content: {application/json: {schema: {$ref: '#/components/schemas/Order'}}}}
      responses: {"204": {description: done}}
    delete: {operationId: delete_order, responses: {"204": {description: done}}}
  /orders:
    get:
      operationId: list_orders
      responses: {"200": {content: {application/json: {schema: {type: object, required: [data], properties: {data: {type: array, items: {$ref: '#/components/schemas/Order'}}}}}}}}
    post:
      operationId: add_order
      requestBody: {required: true, content: {application/json: {schema: {$ref: '#/components/schemas/Order'}}}}
      responses: {"201": {content: {application/json: {schema: {$ref: '#/components/schemas/Order'}}}}}
  /far: {get: {operationId: far, responses: {"200": {content: {application/json: {schema: {$ref: 'https://evil.example/s.json'}}}}}}}
  /odd: {get: {operationId: odd, responses: {"200": {content: {application/json: {schema: {type: 7}}}}}}}
  /twice1: {get: {operationId: twice}}
  /twice2: {get: {operationId: twice}}
  /locked: {get: {operationId: locked, security: [{other: []}]}}
components:
  securitySchemes:
    key: {type: apiKey, in: header, name: X-Key}
    other: {type: http, scheme: bearer}
  schemas:
    Order:
      type: object
      required: [id]
      properties: {id: {type: string}, count: {type: integer}, part: {$ref: '#/components/schemas/Order'}}
`

func secret(t *testing.T) map[string]connector.Credential {
	t.Helper()
	file := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(file, []byte("s3cret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return map[string]connector.Credential{"key": {SecretFile: file}}
}

func TestOperationsAreTools(t *testing.T) {
	p := serve(t, func(_ int, w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Header.Get("X-Key") != "s3cret":
			w.WriteHeader(http.StatusUnauthorized)
		case r.Method == http.MethodPut || r.Method == http.MethodDelete:
			w.WriteHeader(http.StatusNoContent)
		case r.URL.Path == "/v1/orders/wrong":
			_, _ = io.WriteString(w, `{"id": 7}`)
		case r.URL.Path == "/v1/orders/none":
			w.WriteHeader(http.StatusNotFound)
			_, _ = io.WriteString(w, `{"why": "no such order"}`)
		case r.URL.Path == "/v1/orders/keys":
			_, _ = io.WriteString(w, `{"id": "a", "id": "b"}`)
		case r.URL.Path == "/v1/orders/text":
			_, _ = io.WriteString(w, `{"id": `)
		case r.URL.Path == "/v1/orders/flood":
			_, _ = io.WriteString(w, `{"id": "`+strings.Repeat("x", 2<<20)+`"}`)
		case r.URL.Path == "/v1/orders/away":
			w.Header().Set("Location", "https://evil.example/")
			w.WriteHeader(http.StatusFound)
		default:
			_, _ = fmt.Fprintf(w, `{"id": %q, "count": 2}`, r.Header.Get("X-Trace"))
		}
	})
	h := connect(t, shop, connector.Config{URL: p.URL + "/v1/", Credentials: secret(t)})
	for name, c := range map[string]struct{ operation, arguments, want, err string }{
		"parameters":    {"get_order", `{"id": "a/b", "expand": ["x", "y"], "X-Trace": "t"}`, `{"body":{"count":2,"id":"t"},"status":200}`, ""},
		"body":          {"put_order", `{"id": "a", "body": {"id": "a", "part": {"id": "b"}}}`, `{"status":204}`, ""},
		"wrong body":    {"put_order", `{"id": "a", "body": {"id": "a", "part": {}}}`, "", "/body/part: missing property 'id'"},
		"no argument":   {"get_order", `{}`, "", "missing property 'id'"},
		"no parameter":  {"get_order", `{"id": "a", "size": 1}`, "", "additional properties 'size' not allowed"},
		"a way up":      {"get_order", `{"id": ".."}`, "", `the argument id is "..", which cannot be in a path`},
		"wrong result":  {"get_order", `{"id": "wrong"}`, "", "/body/id: got number, want string"},
		"a refusal":     {"get_order", `{"id": "none"}`, "", `the provider answers with status 404 Not Found: {"why": "no such order"}`},
		"keys twice":    {"get_order", `{"id": "keys"}`, "", `the key "id" is given twice`},
		"no JSON":       {"get_order", `{"id": "text"}`, "", "the answer of the provider cannot be read: it is not JSON"},
		"a flood":       {"get_order", `{"id": "flood"}`, "", "the provider answers with more than 1048576 bytes"},
		"a redirection": {"get_order", `{"id": "away"}`, "", "the provider answers with status 302 Found"},
		"a remote ref":  {"far", `{}`, "", `the tool "shop/far" cannot be used: it refers to https://evil.example/s.json, outside the document`},
		"no schema":     {"odd", `{}`, "", `the tool "shop/odd" cannot be used: its schemas are no schemas`},
		"a name twice":  {"twice", `{}`, "", "two operations of the document have this name: GET /twice1 and GET /twice2"},
		"no credential": {"locked", `{}`, "", "it needs credentials that are not configured: other"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := invoke(t, h, c.operation, c.arguments)
			if err == nil && got != c.want || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
				t.Errorf("result %s, error %v\nwant %s, %s", got, err, c.want, c.err)
			}
		})
	}
	seen, _ := p.asked()
	if all := strings.Join(seen, "\n"); !strings.Contains(all, "GET /v1/orders/a%2Fb?expand=x&expand=y") || !strings.Contains(all, `PUT /v1/orders/a {"id":"a","part":{"id":"b"}}`) {
		t.Errorf("the provider was asked\n%s", all)
	}
}

func TestEffectsGoByTheMethod(t *testing.T) {
	p := serve(t, func(int, http.ResponseWriter, *http.Request) {})
	h := connect(t, shop, connector.Config{URL: p.URL, Credentials: secret(t)})
	for operation, want := range map[string]string{
		"get_order": "true true false", "put_order": "false true true", "delete_order": "false true true", "add_order": "false false false",
	} {
		found, err := h.Tool(t.Context(), "shop/"+operation)
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(found.Effects.ReadOnly, found.Effects.Idempotent, found.Effects.Destructive); got != want {
			t.Errorf("%s: read only, idempotent, destructive are %s, want %s", operation, got, want)
		}
	}
}

func TestOnlyWhatMayBeRepeatedIsSentAgain(t *testing.T) {
	for name, c := range map[string]struct {
		operation, header string
		status            int
		after             string
		want              int // requests
		fails             bool
	}{
		"a read":                     {"get_order", "", 503, "0", 3, false},
		"a change":                   {"add_order", "", 503, "", 1, true},
		"a change with a key":        {"add_order", "Idempotency-Key", 502, "", 3, false},
		"a change that is not taken": {"add_order", "", 429, "1", 3, false},
		"a wrong request":            {"get_order", "", 400, "", 1, true},
		"a long wait":                {"get_order", "", 503, "86400", 1, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := serve(t, func(n int, w http.ResponseWriter, r *http.Request) {
				if n < 3 {
					w.Header().Set("Retry-After", c.after)
					w.WriteHeader(c.status)
					return
				}
				if r.Method == http.MethodPost {
					w.WriteHeader(http.StatusCreated)
				}
				_, _ = io.WriteString(w, `{"id": "a"}`)
			})
			h := connect(t, shop, connector.Config{URL: p.URL, Credentials: secret(t), IdempotencyHeader: c.header})
			arguments := `{"id": "a"}`
			if c.operation == "add_order" {
				arguments = `{"body": {"id": "a"}}`
			}
			_, err := invoke(t, h, c.operation, arguments)
			seen, keys := p.asked()
			if len(seen) != c.want || (err != nil) != c.fails {
				t.Errorf("%d requests, error %v; want %d, fails %t", len(seen), err, c.want, c.fails)
			}
			for _, key := range keys {
				if want := map[bool]string{true: "task-1"}[c.header != ""]; key != want {
					t.Errorf("the key is %q, want %q", key, want)
				}
			}
		})
	}
}

func TestListsGoOn(t *testing.T) {
	link := func(n int, w http.ResponseWriter, r *http.Request) {
		if n < 3 {
			w.Header().Set("Link", fmt.Sprintf(`</orders?page=1>; rel="prev", <%s?page=%d>; rel="next"`, r.URL.Path, n+1))
		}
		_, _ = fmt.Fprintf(w, `{"data": [{"id": "%d"}]}`, n)
	}
	cursor := func(n int, w http.ResponseWriter, _ *http.Request) {
		next := map[bool]string{true: fmt.Sprint(n + 1)}[n < 3]
		_, _ = fmt.Fprintf(w, `{"data": [{"id": "%d"}], "meta": {"next": %q}}`, n, next)
	}
	for name, c := range map[string]struct {
		handler         func(int, http.ResponseWriter, *http.Request)
		pages           connector.Pages
		want, last, err string
	}{
		"by links":      {link, connector.Pages{Items: "data", Most: 9}, `{"body":{"data":[{"id":"1"},{"id":"2"},{"id":"3"}]},"more":false,"status":200}`, "/orders?page=3", ""},
		"by a cursor":   {cursor, connector.Pages{Items: "data", Next: "meta.next", Parameter: "after", Most: 9}, `{"body":{"data":[{"id":"1"},{"id":"2"},{"id":"3"}],"meta":{"next":""}},"more":false,"status":200}`, "/orders?after=3", ""},
		"up to a bound": {cursor, connector.Pages{Items: "data", Next: "meta.next", Parameter: "after", Most: 2}, `{"body":{"data":[{"id":"1"},{"id":"2"}],"meta":{"next":"3"}},"more":true,"status":200}`, "/orders?after=2", ""},
		"in a circle": {func(_ int, w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, `{"data": [], "next": "x"}`)
		}, connector.Pages{Items: "data", Next: "next", Parameter: "after", Most: 9}, "", "/orders?after=x", "page 2 says that the list goes on where it was already"},
		"elsewhere": {func(_ int, w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, `{"data": [], "next": "https://evil.example/orders"}`)
		}, connector.Pages{Items: "data", Next: "next", Most: 9}, "", "/orders", "page 1: its link to the next page leads away from the provider"},
		"no list": {
			func(_ int, w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{"data": 1}`) },
			connector.Pages{Items: "data", Most: 9},
			"", "/orders", `page 1 has no list in "data"`,
		},
		"without end": {func(n int, w http.ResponseWriter, _ *http.Request) {
			_, _ = fmt.Fprintf(w, `{"data": [{"id": %q}], "next": %d}`, strings.Repeat("x", 400<<10), n)
		}, connector.Pages{Items: "data", Next: "next", Parameter: "after", Most: 1000}, "", "/orders?after=2", "page 3: the provider answers with more than"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := serve(t, c.handler)
			h := connect(t, shop, connector.Config{URL: p.URL, Credentials: secret(t), Pages: map[string]connector.Pages{"list_orders": c.pages}})
			got, err := invoke(t, h, "list_orders", `{}`)
			if got != c.want || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
				t.Errorf("result %s, error %v\nwant %s, %s", got, err, c.want, c.err)
			}
			seen, _ := p.asked()
			if last := strings.TrimPrefix(seen[len(seen)-1], "GET "); last != c.last {
				t.Errorf("it asked last for %s, want %s", last, c.last)
			}
		})
	}
}

func TestACallEndsInTime(t *testing.T) {
	ended := make(chan struct{})
	p := serve(t, func(_ int, _ http.ResponseWriter, r *http.Request) {
		<-r.Context().Done()
		close(ended)
	})
	h := connect(t, shop, connector.Config{URL: p.URL, Credentials: secret(t)})
	found, err := h.Tool(t.Context(), "shop/get_order")
	if err != nil {
		t.Fatal(err)
	}
	_, err = h.Call(t.Context(), toolhost.Call{Tool: found, Arguments: json.RawMessage(`{"id": "a"}`), Timeout: 100 * time.Millisecond})
	if !errors.Is(err, toolhost.ErrTimeout) {
		t.Errorf("error %v, want %v", err, toolhost.ErrTimeout)
	}
	<-ended
}

func TestWhatCannotBeReachedIsNotListed(t *testing.T) {
	p := serve(t, func(int, http.ResponseWriter, *http.Request) {})
	p.Close()
	for name, c := range map[string]struct{ document, url, want string }{
		"no provider":  {shop, p.URL, "the provider cannot be reached"},
		"no document":  {"openapi: [", p.URL, "the document cannot be read"},
		"another kind": {"swagger: '2.0'", p.URL, "the document is not OpenAPI 3"},
		"no paths":     {"openapi: 3.0.1", p.URL, "the document has no paths"},
		"no URL":       {shop, "", `the URL "" of the provider`},
		"plain secret": {shop, "http://192.0.2.1", "the URL"},
	} {
		t.Run(name, func(t *testing.T) {
			h := connect(t, c.document, connector.Config{URL: c.url, Credentials: secret(t)})
			if _, err := invoke(t, h, "get_order", `{"id": "a"}`); err == nil || !strings.Contains(err.Error(), "is away") {
				t.Errorf("error %v", err)
			}
			if s := h.Servers()["shop"]; !strings.Contains(s.Cause, c.want) {
				t.Errorf("status %+v, want %s", s, c.want)
			}
		})
	}
}

func TestCredentialsAreThoseOfTheScheme(t *testing.T) {
	p := serve(t, func(_ int, w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/token" {
			_, _ = io.WriteString(w, `{"access_token": "granted", "token_type": "Bearer", "expires_in": 3600}`)
			return
		}
		user, password, _ := r.BasicAuth()
		_, _ = fmt.Fprintf(w, `{"got": "%s|%s|%s|%s"}`, r.URL.Query().Get("key"), user, password, strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "))
	})
	with := secret(t)["key"]
	basic, oauth, plain, gone := with, with, with, with
	plain.ClientID = "bank"
	basic.Username, oauth.ClientID, oauth.TokenURL, gone.SecretFile = "ann", "bank", p.URL+"/token", "/nonexistent/key"
	h := connect(t, `
openapi: 3.1.0
paths:
  /query: {get: {operationId: query, security: [{other: []}, {query: []}]}}
  /basic: {get: {operationId: basic, security: [{basic: []}]}}
  /oauth: {get: {operationId: oauth, security: [{oauth: [read]}]}}
  /plain: {get: {operationId: plain, security: [{plain: []}]}}
  /gone: {get: {operationId: gone, security: [{gone: []}]}}
  /open: {get: {operationId: open, security: [{other: []}, {}]}}
  /cookie: {get: {operationId: cookie, security: [{cookie: []}]}}
components:
  securitySchemes:
    query: {type: apiKey, in: query, name: key}
    basic: {type: http, scheme: Basic}
    oauth: {type: oauth2, flows: {clientCredentials: {tokenUrl: "https://elsewhere.example/token"}}}
    plain: {type: oauth2, flows: {clientCredentials: {tokenUrl: "http://elsewhere.example/token"}}}
    gone: {type: http, scheme: bearer}
    cookie: {type: apiKey, in: cookie, name: key}
`, connector.Config{URL: p.URL, Credentials: map[string]connector.Credential{"query": with, "basic": basic, "oauth": oauth, "plain": plain, "gone": gone, "cookie": with}})
	for operation, want := range map[string]string{
		"query": "s3cret|||", "basic": "|ann|s3cret|Basic YW5uOnMzY3JldA==", "oauth": "|||granted", "open": "|||",
		"plain":  "the credentials of the connector cannot be had",
		"gone":   "the credentials of the connector cannot be had; the operator finds the cause in the log",
		"cookie": `its security scheme "cookie" is none of apiKey in a header or the query`,
	} {
		got, err := invoke(t, h, operation, `{}`)
		if err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, want) || strings.Contains(got, "/nonexistent") {
			t.Errorf("%s: %s, want %s", operation, got, want)
		}
	}
}

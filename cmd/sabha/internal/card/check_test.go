package card_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"sabha.dev/cmd/sabha/internal/card"
)

const sound = `{
	"name": "Council", "description": "Answers.", "version": "1", "capabilities": {},
	"supportedInterfaces": [
		{"url": "https://agents.example", "protocolBinding": "HTTP+JSON", "protocolVersion": "1.0"},
		{"url": "agents.example:9090", "protocolBinding": "GRPC", "protocolVersion": "1.0"}],
	"defaultInputModes": ["text/plain"], "defaultOutputModes": ["application/json"],
	"skills": [{"id": "ask", "name": "Ask", "description": "Answers a question.", "tags": ["rag"]}],
	"securitySchemes": {"key": {"apiKeySecurityScheme": {"location": "header", "name": "X-API-Key"}}},
	"securityRequirements": [{"schemes": {"key": {"list": []}}}],
	"signatures": [{"protected": "e30", "signature": "AA"}]
}`

// with is the sound card with fields replaced; a null removes one.
func with(t *testing.T, fields string) []byte {
	t.Helper()
	tree, change := map[string]any{}, map[string]any{}
	for raw, into := range map[string]*map[string]any{sound: &tree, fields: &change} {
		if err := json.Unmarshal([]byte(raw), into); err != nil {
			t.Fatal(err)
		}
	}
	for k, v := range change {
		if v == nil {
			delete(tree, k)
			continue
		}
		tree[k] = v
	}
	out, err := json.Marshal(tree)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func texts(findings []card.Finding) []string {
	out := make([]string, len(findings))
	for i, f := range findings {
		out[i] = string(f.Severity) + " " + f.Path + ": " + f.Message
	}
	return out
}

func TestASoundCardHasNoFindings(t *testing.T) {
	c, findings := card.Check([]byte(sound))
	if len(findings) != 0 || c.GetName() != "Council" || !card.Valid(findings) {
		t.Errorf("%v, %q", texts(findings), c.GetName())
	}
}

func TestCheckFindsWhatIsWrong(t *testing.T) {
	one := func(iface string) string { return `{"supportedInterfaces": [` + iface + `]}` }
	for name, c := range map[string]struct{ fields, want string }{
		"no name":             {`{"name": " "}`, "error name: is missing; the specification requires it"},
		"no capabilities":     {`{"capabilities": null}`, "error capabilities: is missing; write {} if there are none"},
		"no interface":        {`{"supportedInterfaces": []}`, "error supportedInterfaces: is empty: no client can reach the agent"},
		"bind address":        {one(`{"url": "https://[::]:80", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}`), `error supportedInterfaces[0].url: "https://[::]:80" is an address to listen on, which no client can call; publish the one that clients reach`},
		"gRPC without a port": {one(`{"url": "agents.example", "protocolBinding": "GRPC", "protocolVersion": "1.0"}`), `error supportedInterfaces[0].url: "agents.example" is not host:port`},
		"relative URL":        {one(`{"url": "/a2a", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}`), `error supportedInterfaces[0].url: "/a2a" is not an absolute http or https URL`},
		"plain http":          {one(`{"url": "http://agents.example", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}`), "warning supportedInterfaces[0].url: is plain http; production needs TLS (specification 7.1)"},
		"version":             {one(`{"url": "https://agents.example", "protocolBinding": "JSONRPC", "protocolVersion": "1"}`), `error supportedInterfaces[0].protocolVersion: "1" is not Major.Minor, such as 1.0`},
		"binding":             {one(`{"url": "https://agents.example", "protocolBinding": "REST", "protocolVersion": "1.0"}`), `warning supportedInterfaces[0].protocolBinding: "REST" is none of JSONRPC, GRPC, HTTP+JSON, and no URI of another binding`},
		"media type":          {`{"defaultInputModes": ["text"]}`, `error defaultInputModes[0]: "text" is not a media type`},
		"no modes":            {`{"defaultOutputModes": []}`, "error defaultOutputModes: is empty; name at least one media type, such as text/plain"},
		"same skill twice":    {`{"skills": [{"id": "a", "name": "A", "description": "a", "tags": ["x"]}, {"id": "a", "name": "B", "description": "b", "tags": ["x"]}]}`, `error skills[1].id: "a" is the id of skills[0] too`},
		"skill without tags":  {`{"skills": [{"id": "a", "name": "A", "description": "a"}]}`, "error skills[0].tags: is empty; the specification requires at least one"},
		"no such scheme":      {`{"securitySchemes": null}`, `error securityRequirements[0]: requires "key", which securitySchemes does not define`},
		"unsigned":            {`{"signatures": null}`, "warning signatures: is empty: nobody can tell whether the card was altered on its way"},
		"half a signature":    {`{"signatures": [{"protected": "e30"}]}`, "error signatures[0]: needs protected and signature (RFC 7515)"},
		"half a provider":     {`{"provider": {"url": "https://x"}}`, "error provider: needs both organization and url"},
		"extension":           {`{"capabilities": {"extensions": [{"uri": "nothing"}]}}`, `error capabilities.extensions[0].uri: "nothing" is not a URI`},
	} {
		_, findings := card.Check(with(t, c.fields))
		if got := texts(findings); !slices.Equal(got, []string{c.want}) {
			t.Errorf("%s:\ngot  %q\nwant %q", name, got, c.want)
		}
		if valid := card.Valid(findings); valid == strings.HasPrefix(c.want, "error") {
			t.Errorf("%s: valid is %v", name, valid)
		}
	}
}

func TestCheckOfOtherThings(t *testing.T) {
	for name, c := range map[string]struct{ raw, want string }{
		"HTML":         {"<html>", "is not a JSON object"},
		"null":         {"null", "is not a JSON object"},
		"a list":       {"[]", "is not a JSON object"},
		"a wrong type": {`{"name": 7}`, "does not have the form of a card"},
		"A2A 0.3":      {`{"name": "x", "url": "https://x", "protocolVersion": "0.3.0"}`, "is a card of A2A 0.3"},
		"an addition":  {string(with(t, `{"colour": "red"}`)), "has a field that A2A 1.0 does not know"},
	} {
		_, findings := card.Check([]byte(c.raw))
		if len(findings) == 0 || !strings.Contains(findings[0].Message, c.want) {
			t.Errorf("%s: %q", name, texts(findings))
		}
	}
}

func TestHeaders(t *testing.T) {
	if got := card.Headers(http.Header{"Content-Type": {"application/a2a+json; charset=utf-8"}, "Cache-Control": {"max-age=60"}, "Etag": {`"x"`}}); len(got) != 0 {
		t.Errorf("got %q", texts(got))
	}
	if got := card.Headers(http.Header{"Content-Type": {"text/html"}}); len(got) != 3 || !card.Valid(got) {
		t.Errorf("got %q", texts(got))
	}
}

func FuzzCheck(f *testing.F) {
	for _, seed := range []string{sound, "", "null", `{"url": 1}`, `{"supportedInterfaces": [null, {}]}`, `{"skills": [{"id": "\u0000"}], "securitySchemes": {"a": {}}}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		c, findings := card.Check(raw)
		if c == nil && card.Valid(findings) {
			t.Errorf("nothing was read and nothing is wrong: %q", raw)
		}
	})
}

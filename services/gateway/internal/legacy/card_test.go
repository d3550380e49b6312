package legacy_test

import (
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"sabha.dev/services/gateway/internal/legacy"
)

func aCard(t *testing.T, more string) *a2apb.AgentCard {
	t.Helper()
	c := &a2apb.AgentCard{}
	text := `{"name":"n","description":"d","version":"1","capabilities":{"extendedAgentCard":true,"streaming":true},` +
		`"supportedInterfaces":[{"url":"https://x","protocolBinding":"HTTP+JSON","protocolVersion":"1.0","tenant":"t"},` +
		`{"url":"https://x/t/rpc","protocolBinding":"JSONRPC","protocolVersion":"0.3"},{"url":"https://x/t","protocolBinding":"HTTP+JSON","protocolVersion":"0.3"}]` + more + `}`
	if err := protojson.Unmarshal([]byte(text), c); err != nil {
		t.Fatal(err)
	}
	return c
}

func TestACardOfBothVersions(t *testing.T) {
	c := aCard(t, `,"skills":[{"id":"s","name":"S","description":"d","tags":["a"],"securityRequirements":[{}]},{"id":"u","name":"U","description":"d"}],`+
		`"securityRequirements":[{"schemes":{"key":{}}},{"schemes":{"oauth":{"list":["read"]}}}],"securitySchemes":{`+
		`"key":{"apiKeySecurityScheme":{"location":"header","name":"X-API-Key"}},`+
		`"http":{"httpAuthSecurityScheme":{"scheme":"Bearer","bearerFormat":"JWT","description":"b"}},`+
		`"oauth":{"oauth2SecurityScheme":{"flows":{"clientCredentials":{"tokenUrl":"https://t","scopes":{"read":"r"}}}}},`+
		`"oidc":{"openIdConnectSecurityScheme":{"openIdConnectUrl":"https://o"}},"mtls":{"mtlsSecurityScheme":{"description":"m"}}}`)
	text, err := legacy.Card(c)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"additionalInterfaces":[{"transport":"JSONRPC","url":"https://x/t/rpc"},{"transport":"HTTP+JSON","url":"https://x/t"}],` +
		`"capabilities":{"extendedAgentCard":true,"streaming":true},"defaultInputModes":[],"defaultOutputModes":[],"description":"d","name":"n","preferredTransport":"JSONRPC","protocolVersion":"0.3.0",` +
		`"security":[{"key":[]},{"oauth":["read"]}],"securityRequirements":[{"schemes":{"key":{}}},{"schemes":{"oauth":{"list":["read"]}}}],"securitySchemes":{` +
		`"http":{"bearerFormat":"JWT","description":"b","httpAuthSecurityScheme":{"bearerFormat":"JWT","description":"b","scheme":"Bearer"},"scheme":"Bearer","type":"http"},` +
		`"key":{"apiKeySecurityScheme":{"location":"header","name":"X-API-Key"},"in":"header","name":"X-API-Key","type":"apiKey"},` +
		`"mtls":{"description":"m","mtlsSecurityScheme":{"description":"m"},"type":"mutualTLS"},` +
		`"oauth":{"flows":{"clientCredentials":{"scopes":{"read":"r"},"tokenUrl":"https://t"}},"oauth2SecurityScheme":{"flows":{"clientCredentials":{"scopes":{"read":"r"},"tokenUrl":"https://t"}}},"type":"oauth2"},` +
		`"oidc":{"openIdConnectSecurityScheme":{"openIdConnectUrl":"https://o"},"openIdConnectUrl":"https://o","type":"openIdConnect"}},` +
		`"skills":[{"description":"d","id":"s","name":"S","security":[{}],"securityRequirements":[{}],"tags":["a"]},{"description":"d","id":"u","name":"U","tags":[]}],` +
		`"supportedInterfaces":[{"protocolBinding":"HTTP+JSON","protocolVersion":"1.0","tenant":"t","url":"https://x"},{"protocolBinding":"JSONRPC","protocolVersion":"0.3","url":"https://x/t/rpc"},{"protocolBinding":"HTTP+JSON","protocolVersion":"0.3","url":"https://x/t"}],` +
		`"supportsAuthenticatedExtendedCard":true,"url":"https://x/t/rpc","version":"1"}`
	if string(text) != want {
		t.Errorf("card\n %s\nwant\n %s", text, want)
	}
	// A reader of 1.0 finds the card that was there, with nothing changed.
	read := &a2apb.AgentCard{}
	if err := (protojson.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(text, read); err != nil || !proto.Equal(read, c) {
		t.Errorf("read as 1.0: %v, %v", read, err)
	}
}

func TestACardWithoutAnOldInterfaceNamesNone(t *testing.T) {
	c := aCard(t, "")
	c.SupportedInterfaces = c.GetSupportedInterfaces()[:1]
	text, err := legacy.Card(c)
	want := `{"capabilities":{"extendedAgentCard":true,"streaming":true},"defaultInputModes":[],"defaultOutputModes":[],"description":"d","name":"n","skills":[],` +
		`"supportedInterfaces":[{"protocolBinding":"HTTP+JSON","protocolVersion":"1.0","tenant":"t","url":"https://x"}],"supportsAuthenticatedExtendedCard":true,"version":"1"}`
	if err != nil || string(text) != want {
		t.Errorf("card %s, %v\nwant %s", text, err, want)
	}
}

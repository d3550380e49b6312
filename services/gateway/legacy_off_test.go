package gateway_test

import (
	"strings"
	"testing"

	oldpb "github.com/a2aproject/a2a-go/a2apb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"sabha.dev/services/gateway"
)

func TestClientsOf03CanBeLeftOut(t *testing.T) {
	r := start(t, func(c *gateway.Config) { c.CurrentOnly = true })
	known := []string{"X-API-Key: " + r.operator}

	_, _, card := r.do(t, "GET", "/.well-known/agent-card.json", "", nil)
	for _, old := range []string{`"0.3`, "preferredTransport", "additionalInterfaces"} {
		if strings.Contains(card, old) {
			t.Errorf("the card says %s: %s", old, card)
		}
	}
	_, _, said := r.post(t, "/rpc", `{"jsonrpc":"2.0","id":1,"method":"message/send","params":`+oldMessage("m1", "work", "")+`}`, known)
	if !strings.Contains(said, `"code":-32601`) {
		t.Errorf("JSON-RPC answers %s", said)
	}
	if code, _, said := r.post(t, "/v1/message:send", `{}`, known); code != 404 {
		t.Errorf("HTTP answers %d %s", code, said)
	}
	_, err := oldpb.NewA2AServiceClient(r.conn).GetTask(oldContext(t, "x-api-key: "+r.operator), &oldpb.GetTaskRequest{Name: oldTask("t1")})
	if status.Code(err) != codes.Unimplemented {
		t.Errorf("gRPC answers %v", err)
	}
}

package remote_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"sabha.dev/chassis/agent"
	"sabha.dev/chassis/clock"
	"sabha.dev/services/partners/internal/partner"
	"sabha.dev/services/partners/internal/remote"
)

func listen(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// answerRPC answers a request of JSON-RPC with a result.
func answerRPC(w http.ResponseWriter, r *http.Request, result string) {
	_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, idOf(r), result)
}

// idOf is the id of a request, as JSON.
func idOf(r *http.Request) string {
	var req struct {
		ID json.RawMessage `json:"id"`
	}
	body, _ := io.ReadAll(r.Body)
	_ = json.Unmarshal(body, &req)
	return string(req.ID)
}

// send says hello to a partner and gives the text of a direct answer.
func send(t *testing.T, c *remote.Client, p *partner.Partner) (string, error) {
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	l, err := c.Line(p)
	if err != nil {
		return "", err
	}
	res, err := l.Send(ctx, says("hello"))
	if err != nil {
		return "", err
	}
	return agent.TextOf(res.GetMessage().GetParts()), nil
}

// systemClock is the machine's: what is waited for here is the network.
var systemClock = clock.System{}

package caller_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"

	"sabha.dev/e2e/chaos/caller"
)

// serve answers every call with one body, and remembers the cursor it was asked for.
func serve(t *testing.T, status int, mediaType, body string) (address string, cursor *string) {
	t.Helper()
	cursor = new(string)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		*cursor = r.Header.Get("Last-Event-ID")
		w.Header().Set("Content-Type", mediaType)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}))
	t.Cleanup(s.Close)
	return strings.TrimPrefix(s.URL, "http://"), cursor
}

const (
	sse       = "text/event-stream"
	event     = `{"statusUpdate":{"taskId":"t1","status":{"state":"TASK_STATE_WORKING"}}}`
	notFound  = `"details":[{"reason":"TASK_NOT_FOUND"}]`
	away      = `"details":[{"reason":"UNAVAILABLE"}]`
	rpcResult = `{"jsonrpc":"2.0","id":1,"result":`
)

func TestStreamsAreReadToTheirEnd(t *testing.T) {
	for _, c := range []struct {
		name string
		open func(address string) caller.Caller
		body string
		end  string
	}{
		{"REST", rest, ": heartbeat\n\nid: 1.1\ndata: " + event + "\n\n", "EOF"},
		{"REST, with an error", rest, "data: " + event + "\n\ndata: {\"error\":{\"message\":\"stopping\"," + away + "}}\n\n", "UNAVAILABLE: stopping"},
		{"JSON-RPC", rpc, "data: " + rpcResult + event + "}\n\n", "EOF"},
		{"JSON-RPC, with an error", rpc, "data: " + rpcResult + event + "}\n\ndata: {\"error\":{\"code\":-32001,\"message\":\"none\",\"data\":[{\"reason\":\"TASK_NOT_FOUND\"}]}}\n\n", "TASK_NOT_FOUND: none"},
	} {
		t.Run(c.name, func(t *testing.T) {
			address, cursor := serve(t, http.StatusOK, sse, c.body)
			stream, err := c.open(address).Subscribe(t.Context(), "t1", "1.7")
			if err != nil {
				t.Fatal(err)
			}
			ev, err := stream.Next()
			if err != nil || ev.GetStatusUpdate().GetStatus().GetState() != a2apb.TaskState_TASK_STATE_WORKING {
				t.Errorf("first: %v, %v", ev, err)
			}
			if _, err = stream.Next(); err == nil || err.Error() != c.end {
				t.Errorf("end: %v, want %s", err, c.end)
			}
			if *cursor != "1.7" {
				t.Errorf("asked to continue after %q", *cursor)
			}
		})
	}
}

func rest(address string) caller.Caller { return caller.REST(caller.Web(), address, "key") }

func rpc(address string) caller.Caller { return caller.JSONRPC(caller.Web(), address, "key") }

func TestRefusalsAreToldFromWhatPasses(t *testing.T) {
	for _, c := range []struct {
		name   string
		open   func(address string) caller.Caller
		status int
		body   string
		reason string // of a final one
	}{
		{"REST, final", rest, 404, `{"error":{"status":"NOT_FOUND","message":"none",` + notFound + `}}`, "TASK_NOT_FOUND"},
		{"REST, passing", rest, 503, `{"error":{"status":"UNAVAILABLE","message":"later",` + away + `}}`, ""},
		{"REST, internal", rest, 500, `{"error":{"status":"INTERNAL","message":"internal error"}}`, ""},
		{"REST, no answer of ours", rest, 502, `<html>`, ""},
		{"JSON-RPC, final", rpc, 200, `{"error":{"code":-32001,"message":"none","data":[{"reason":"TASK_NOT_FOUND"}]}}`, "TASK_NOT_FOUND"},
		{"JSON-RPC, internal", rpc, 200, `{"error":{"code":-32603,"message":"internal error"}}`, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			address, _ := serve(t, c.status, "application/json", c.body)
			_, err := c.open(address).Get(t.Context(), "t1")
			if err == nil {
				t.Fatal("no error")
			}
			if reason, final := caller.Final(err); reason != c.reason || final != (c.reason != "") {
				t.Errorf("%v: reason %q, final %v", err, reason, final)
			}
			if caller.Internal(err) != strings.Contains(c.name, "internal") {
				t.Errorf("%v: internal %v", err, caller.Internal(err))
			}
			if _, err := c.open(address).Subscribe(t.Context(), "t1", ""); err == nil || errors.Is(err, io.EOF) {
				t.Errorf("subscription: %v", err)
			}
		})
	}
}

package binding_test

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"sabha.dev/chassis/fault"
)

func info(domain, reason string) string {
	return `{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"` + reason + `","domain":"` + domain + `"}`
}

func a2aInfo(reason string) string   { return info("a2a-protocol.org", reason) }
func sabhaInfo(reason string) string { return info("sabha", reason) }

func faulty(r fault.Reason) error { return fault.Status(fault.New(r, "do < this & that")).Err() }

// conditions is every error of the conformance table, with what each binding says.
var conditions = []struct {
	name    string
	err     error
	http    int
	status  string
	code    string // JSON-RPC
	message string
	details string
	header  string // "Name: value" that the answer must carry in both bindings
}{
	{
		"task not found", fault.Status(fault.NoTask("t9")).Err(), 404, "NOT_FOUND", "-32001", `task \"t9\" does not exist or is not yours`,
		`{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"TASK_NOT_FOUND","domain":"a2a-protocol.org","metadata":{"taskId":"t9"}}`, "",
	},
	{"task not cancelable", faulty(fault.TaskNotCancelable), 400, "FAILED_PRECONDITION", "-32002", "do < this & that", a2aInfo("TASK_NOT_CANCELABLE"), ""},
	{"push not supported", faulty(fault.PushNotSupported), 400, "FAILED_PRECONDITION", "-32003", "do < this & that", a2aInfo("PUSH_NOTIFICATION_NOT_SUPPORTED"), ""},
	{"unsupported operation", faulty(fault.UnsupportedOperation), 400, "FAILED_PRECONDITION", "-32004", "do < this & that", a2aInfo("UNSUPPORTED_OPERATION"), ""},
	{"content type not supported", faulty(fault.ContentTypeNotSupported), 400, "INVALID_ARGUMENT", "-32005", "do < this & that", a2aInfo("CONTENT_TYPE_NOT_SUPPORTED"), ""},
	{"invalid agent response", faulty(fault.InvalidAgentResponse), 500, "INTERNAL", "-32006", "do < this & that", a2aInfo("INVALID_AGENT_RESPONSE"), ""},
	{"extended card not configured", faulty(fault.ExtendedCardNotConfigured), 400, "FAILED_PRECONDITION", "-32007", "do < this & that", a2aInfo("EXTENDED_AGENT_CARD_NOT_CONFIGURED"), ""},
	{"extension required", faulty(fault.ExtensionSupportRequired), 400, "FAILED_PRECONDITION", "-32008", "do < this & that", a2aInfo("EXTENSION_SUPPORT_REQUIRED"), ""},
	{"version not supported", faulty(fault.VersionNotSupported), 400, "FAILED_PRECONDITION", "-32009", "do < this & that", a2aInfo("VERSION_NOT_SUPPORTED"), ""},
	{
		"invalid field", fault.Status(fault.Invalid("message.parts", "at least one part is needed")).Err(), 400, "INVALID_ARGUMENT", "-32602", "message.parts: at least one part is needed",
		sabhaInfo("INVALID_ARGUMENT") + `,{"@type":"type.googleapis.com/google.rpc.BadRequest","fieldViolations":[{"field":"message.parts","description":"at least one part is needed"}]}`, "",
	},
	{"unknown tenant", faulty(fault.UnknownTenant), 404, "NOT_FOUND", "-32602", "do < this & that", sabhaInfo("UNKNOWN_TENANT"), ""},
	{"message id conflict", faulty(fault.MessageIDConflict), 409, "ALREADY_EXISTS", "-32040", "do < this & that", sabhaInfo("MESSAGE_ID_CONFLICT"), ""},
	{
		"rate limited with a time", fault.Status(&fault.Error{Reason: fault.RateLimited, Message: "slow down", RetryAfter: 1500 * time.Millisecond}).Err(), 429, "RESOURCE_EXHAUSTED", "-32041", "slow down",
		sabhaInfo("RATE_LIMITED") + `,{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"1.500s"}`, "Retry-After: 2",
	},
	{"rate limited", faulty(fault.RateLimited), 429, "RESOURCE_EXHAUSTED", "-32041", "do < this & that", sabhaInfo("RATE_LIMITED"), "Retry-After: 1"},
	{"too large", faulty(fault.TooLarge), 413, "RESOURCE_EXHAUSTED", "-32042", "do < this & that", sabhaInfo("TOO_LARGE"), ""},
	{"unavailable", faulty(fault.Unavailable), 503, "UNAVAILABLE", "-32043", "do < this & that", sabhaInfo("UNAVAILABLE"), ""},
	{"unauthenticated", faulty(fault.Unauthenticated), 401, "UNAUTHENTICATED", "-32044", "do < this & that", sabhaInfo("UNAUTHENTICATED"), `Www-Authenticate: Bearer realm="a2a"`},
	{"permission denied", faulty(fault.PermissionDenied), 403, "PERMISSION_DENIED", "-32045", "do < this & that", sabhaInfo("PERMISSION_DENIED"), ""},

	{"bare unavailable", status.Error(codes.Unavailable, "dial tcp 10.1.2.3:9090"), 503, "UNAVAILABLE", "-32043", "the agent cannot be reached at the moment; try again later", "", ""},
	{"bare internal", status.Error(codes.Internal, "pq: relation"), 500, "INTERNAL", "-32603", "internal error; the operator finds it in the log", "", ""},
	{"not a status", errors.New("open /etc/passwd"), 500, "INTERNAL", "-32603", "internal error; the operator finds it in the log", "", ""},
	{"bare deadline", status.Error(codes.DeadlineExceeded, "context"), 504, "DEADLINE_EXCEEDED", "-32603", "the agent did not answer in time; ask for the task's state before sending again", "", ""},
	{"bare canceled", status.Error(codes.Canceled, "context canceled"), 499, "CANCELLED", "-32603", "the call was given up before the agent answered", "", ""},
	{"bare unimplemented", status.Error(codes.Unimplemented, "unknown method"), 501, "UNIMPLEMENTED", "-32004", "this agent does not offer the operation", "", ""},
	{"bare message size", status.Error(codes.ResourceExhausted, "grpc: received message larger than max (5 vs. 4)"), 413, "RESOURCE_EXHAUSTED", "-32042", "the request or its answer is larger than the agent passes on", "", ""},
	{"bare limit", status.Error(codes.ResourceExhausted, "quota x"), 429, "RESOURCE_EXHAUSTED", "-32041", "the agent is over a limit; try again later", "", "Retry-After: 1"},
	{"bare not found", status.Error(codes.NotFound, "no such task"), 404, "NOT_FOUND", "-32001", "no such task", "", ""},
	{"bare invalid argument", status.Error(codes.InvalidArgument, "no parts"), 400, "INVALID_ARGUMENT", "-32602", "no parts", "", ""},
}

func TestErrorsAreThoseOfTheConformanceTable(t *testing.T) {
	a := &agent{}
	r := serve(t, a)
	for _, c := range conditions {
		a.err = c.err
		wantREST := `{"error":{"code":` + itoa(c.http) + `,"status":"` + c.status + `","message":"` + c.message + `","details":[` + c.details + `]}}`
		wantRPC := `{"jsonrpc":"2.0","id":7,"error":{"code":` + c.code + `,"message":"` + c.message + `","data":[` + c.details + `]}}`
		for _, path := range []string{"/message:send", "/message:stream", "/research/tasks/t1:subscribe"} {
			t.Run(c.name+" at "+path, func(t *testing.T) {
				got := r.call(t, "POST", path, `{}`)
				if got.status != c.http || got.body != wantREST || got.header.Get("Content-Type") != "application/a2a+json" {
					t.Errorf("answer %d %s %s\nwant %d %s", got.status, got.header.Get("Content-Type"), got.body, c.http, wantREST)
				}
				checkHeader(t, got, c.header)
			})
		}
		for _, method := range []string{"SendMessage", "SendStreamingMessage", "SubscribeToTask"} {
			wantStatus := 200
			if c.http == 401 || method != "SendMessage" {
				wantStatus = c.http
			}
			t.Run(c.name+" in "+method, func(t *testing.T) {
				got := r.call(t, "POST", "/rpc", `{"jsonrpc":"2.0","id":7,"method":"`+method+`","params":{}}`)
				if got.status != wantStatus || got.body != wantRPC || got.header.Get("Content-Type") != "application/json" {
					t.Errorf("answer %d %s %s\nwant %d %s", got.status, got.header.Get("Content-Type"), got.body, wantStatus, wantRPC)
				}
				checkHeader(t, got, c.header)
			})
		}
	}
	for _, secret := range []string{"10.1.2.3", "pq: relation", "/etc/passwd"} {
		if !strings.Contains(r.log.String(), secret) {
			t.Errorf("the log does not hold %q, which the client was not told", secret)
		}
	}
}

func checkHeader(t *testing.T, got answer, want string) {
	t.Helper()
	name, value, _ := strings.Cut(want, ": ")
	if want != "" && got.header.Get(name) != value {
		t.Errorf("%s: %q, want %q", name, got.header.Get(name), value)
	}
}

func itoa(n int) string {
	return string([]byte{byte('0' + n/100), byte('0' + n/10%10), byte('0' + n%10)})
}

func TestChallengeSaysWhetherCredentialsWereRefused(t *testing.T) {
	r := serve(t, &agent{err: faulty(fault.Unauthenticated)})
	for _, c := range []struct{ header, want string }{
		{"X-Other: 1", `Bearer realm="a2a"`},
		{"Authorization: Bearer sk-bad", `Bearer realm="a2a", error="invalid_token"`},
		{"X-API-Key: sk-bad", `Bearer realm="a2a", error="invalid_token"`},
	} {
		got := r.call(t, "GET", "/tasks/t1", "", c.header)
		if got.status != 401 || got.header.Get("WWW-Authenticate") != c.want {
			t.Errorf("with %q: %d %q, want 401 %q", c.header, got.status, got.header.Get("WWW-Authenticate"), c.want)
		}
	}
}

func TestUnknownDetailsAreLeftOutAndTheOthersKept(t *testing.T) {
	s, err := status.New(codes.NotFound, "gone").WithDetails(&errdetails.ErrorInfo{Reason: "TASK_NOT_FOUND", Domain: "a2a-protocol.org"})
	if err != nil {
		t.Fatal(err)
	}
	p := s.Proto()
	p.Details = append(p.Details, p.Details[0])
	p.Details[0] = cloneAny(p.Details[0], "type.googleapis.com/example.Unknown")
	got := serve(t, &agent{err: status.ErrorProto(p)}).call(t, "GET", "/tasks/t1", "")
	want := `{"error":{"code":404,"status":"NOT_FOUND","message":"gone","details":[` + a2aInfo("TASK_NOT_FOUND") + `]}}`
	if got.body != want {
		t.Errorf("answer %s\nwant   %s", got.body, want)
	}
}

func TestAgentThatCannotBeReached(t *testing.T) {
	conn := dial(t, func(context.Context) (net.Conn, error) { return nil, errors.New("dial tcp 10.9.8.7:1: refused") })
	r := serveConn(t, conn)
	for _, path := range []string{"/message:send", "/message:stream"} {
		got := r.call(t, "POST", path, `{}`)
		want := `{"error":{"code":503,"status":"UNAVAILABLE","message":"the agent cannot be reached at the moment; try again later","details":[]}}`
		if got.status != 503 || got.body != want {
			t.Errorf("%s: %d %s\nwant 503 %s", path, got.status, got.body, want)
		}
	}
	got := r.call(t, "POST", "/rpc", `{"jsonrpc":"2.0","id":1,"method":"SendStreamingMessage"}`)
	want := `{"jsonrpc":"2.0","id":1,"error":{"code":-32043,"message":"the agent cannot be reached at the moment; try again later","data":[]}}`
	if got.body != want {
		t.Errorf("answer %s\nwant   %s", got.body, want)
	}
}

package remote_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/anypb"

	"sabha.dev/services/partners/internal/partner"
	"sabha.dev/services/partners/internal/remote"
)

const (
	sound     = `{"message":{"messageId":"m","role":"ROLE_AGENT","parts":[{"text":"hello"}]}}`
	ourTask   = `{"id":"t","contextId":"c","status":{"state":"TASK_STATE_WORKING"}}`
	endOfTask = `{"statusUpdate":{"taskId":"t","contextId":"c","status":{"state":"TASK_STATE_COMPLETED"}}}`
)

// How a partner of the suite is called.
const (
	bySend   = "send"
	byStream = "stream"
	byGet    = "get"
)

// trouble is a way in which a partner misbehaves over HTTP, and what a caller is told.
type trouble struct {
	name, version, binding, call string
	do                           http.HandlerFunc
	kind                         string // of remote.Kind; "budget" where time is up; "" where it goes well
	says                         string
	retryAfter                   time.Duration
	events                       string
}

// sends answers JSON-RPC with a result.
func sends(result string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) { answerRPC(w, r, result) }
}

// writes answers with a body as it is.
func writes(body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, body) }
}

func refuses(code int, headers ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i+1 < len(headers); i += 2 {
			w.Header().Set(headers[i], headers[i+1])
		}
		w.WriteHeader(code)
	}
}

// streams answers with events of JSON-RPC; then, with what follows.
func streams(then func(http.ResponseWriter, *http.Request), results ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		id := idOf(r)
		w.Header().Set("Content-Type", "text/event-stream")
		for _, res := range results {
			_, _ = fmt.Fprintf(w, "data: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":%s}\n\n", id, res)
		}
		w.(http.Flusher).Flush()
		if then != nil {
			then(w, r)
		}
	}
}

// forEver writes a text until nobody reads.
func forEver(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		for r.Context().Err() == nil {
			if _, err := io.WriteString(w, text); err != nil {
				return
			}
		}
	}
}

func sleeps(_ http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body) // a server hears that its client has left only then
	<-r.Context().Done()
}

// dies breaks the connection.
func dies(w http.ResponseWriter, _ *http.Request) {
	w.(http.Flusher).Flush()
	panic(http.ErrAbortHandler)
}

func diesAfter(body string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", "1000")
		_, _ = io.WriteString(w, body)
		dies(w, r)
	}
}

func task(id, state string, more ...string) string {
	return fmt.Sprintf(`{"id":%q,"contextId":"c","status":{"state":%q}%s}`, id, state, strings.Join(more, ""))
}

func inTask(t string) string { return `{"task":` + t + `}` }

func troubles(internal string) []trouble {
	rpc := func(name, call string, do http.HandlerFunc, kind remote.Kind, says string) trouble {
		return trouble{name: name, version: "1.0", binding: "JSONRPC", call: call, do: do, kind: string(kind), says: says}
	}
	all := []trouble{
		rpc("answers slowly", bySend, sleeps, "budget", ""),
		rpc("answers with bytes for ever", bySend, forEver(strings.Repeat("a", 1<<16)), remote.TooLarge, "longer than it may be"),
		rpc("answers a byte at a time for ever", bySend, func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			for r.Context().Err() == nil {
				_, _ = io.WriteString(w, " ")
				w.(http.Flusher).Flush()
				select {
				case <-time.After(10 * time.Millisecond):
				case <-r.Context().Done():
				}
			}
		}, "budget", ""),
		rpc("streams events for ever", byStream, streams(forEver("data: {}\n\n"), inTask(ourTask)), remote.Invalid, ""),
		rpc("streams comments for ever", byStream, streams(forEver(": still here\n"), inTask(ourTask)), remote.TooLarge, ""),
		rpc("streams one event for ever", byStream, streams(forEver("data: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\n"), inTask(ourTask)), remote.TooLarge, "an event of the partner's stream is longer"),
		rpc("streams a line for ever", byStream, streams(forEver("data: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"), inTask(ourTask)), remote.TooLarge, "an event of the partner's stream is longer"),
		rpc("streams and falls silent", byStream, streams(sleeps, inTask(ourTask)), "budget", ""),
		rpc("sends something oversized", bySend, sends(`{"message":{"messageId":"m","role":"ROLE_AGENT","parts":[{"text":"`+strings.Repeat("a", 2<<20)+`"}]}}`), remote.TooLarge, ""),
		rpc("sends what is not JSON", bySend, writes("<html>welcome</html>"), remote.Invalid, "not JSON-RPC"),
		rpc("sends nothing", bySend, writes(""), remote.Invalid, "not JSON-RPC"),
		rpc("sends neither task nor message", bySend, sends(`{}`), remote.Invalid, "neither a message nor a task"),
		rpc("sends a task without an id", bySend, sends(inTask(task("", "TASK_STATE_WORKING"))), remote.Invalid, "a task id that is missing"),
		rpc("sends a task without a state", bySend, sends(`{"task":{"id":"t"}}`), remote.Invalid, "no state that the protocol has"),
		rpc("sends a task in a state of its own", bySend, sends(inTask(task("t", "TASK_STATE_DREAMING"))), remote.Invalid, ""),
		rpc("sends an artifact without an id", bySend, sends(inTask(task("t", "TASK_STATE_COMPLETED", `,"artifacts":[{"parts":[{"text":"x"}]}]`))), remote.Invalid, "an artifact id"),
		rpc("sends a part without content", bySend, sends(`{"message":{"messageId":"m","role":"ROLE_AGENT","parts":[{}]}}`), remote.Invalid, "a part that has no content"),
		rpc("sends a message of ours", bySend, sends(`{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"x"}]}}`), remote.Invalid, "claims to be ours"),
		rpc("sends another type of a field", bySend, sends(`{"task":{"id":7}}`), remote.Invalid, "not of the form"),
		rpc("answers with another task", byGet, sends(task("other", "TASK_STATE_COMPLETED")), remote.Invalid, "another task than the one that was asked for"),
		rpc("streams another task", byStream, streams(nil, inTask(ourTask), `{"statusUpdate":{"taskId":"other","status":{"state":"TASK_STATE_COMPLETED"}}}`), remote.Invalid, "another task"),
		rpc("answers another request", bySend, writes(`{"jsonrpc":"2.0","id":"another","result":`+sound+`}`), remote.Invalid, "another request than ours"),
		rpc("redirects to a private address", bySend, refuses(http.StatusTemporaryRedirect, "Location", internal), remote.Forbidden, "where we do not follow"),
		rpc("redirects a GET to a private address", bySend, refuses(http.StatusFound, "Location", internal), remote.Forbidden, "where we do not follow"),
		rpc("dies before it answers", bySend, dies, remote.Unreachable, "closed the connection"),
		rpc("dies in the middle of an answer", bySend, diesAfter(`{"jsonrpc":"2.0","id":`), remote.Unreachable, "closed the connection"),
		rpc("dies in the middle of a stream", byStream, streams(dies, inTask(ourTask)), remote.Unreachable, ""),
		rpc("dies in the middle of an event", byStream, streams(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "data: {\"json") }, inTask(ourTask)), remote.Unreachable, "in the middle of an event"),
		rpc("does not take the credentials", bySend, refuses(http.StatusUnauthorized), remote.Credentials, "look at credentials in the agreement"),
		rpc("forbids the call", bySend, refuses(http.StatusForbidden), remote.Refused, "does not allow"),
		rpc("is asked too often", bySend, refuses(http.StatusTooManyRequests, "Retry-After", "7"), remote.Limited, "too often"),
		rpc("has us wait for years", bySend, refuses(http.StatusServiceUnavailable, "Retry-After", "999999999"), remote.Failed, "(503)"),
		rpc("fails", bySend, refuses(http.StatusInternalServerError), remote.Failed, "(500)"),
		rpc("fails with a body for ever", bySend, func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusInternalServerError)
			forEver(strings.Repeat("a", 1<<16))(w, r)
		}, remote.Failed, "(500)"),
		rpc("says an error in many words", bySend, func(w http.ResponseWriter, r *http.Request) {
			_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32603,"message":"a\u0000b\u202e%s"}}`, idOf(r), strings.Repeat("x", 10000))
		}, remote.Failed, `it says "a b x`),
		rpc("goes on after the end", byStream, streams(nil, inTask(ourTask), endOfTask, inTask(ourTask), `{"statusUpdate":{"taskId":"t","status":{"state":"TASK_STATE_WORKING"}}}`), "", ""),
		rpc("ends a stream without an event", byStream, streams(nil), remote.Invalid, "without an event"),
		rpc("answers a stream with an error", byStream, func(w http.ResponseWriter, r *http.Request) {
			_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32001,"message":"no such task"}}`, idOf(r))
		}, remote.Gone, "no such task"),
		{name: "is of another mind over HTTP+JSON", version: "1.0", binding: "HTTP+JSON", call: bySend, do: writes(`{"jsonrpc":"2.0"}`), kind: "invalid", says: "neither a message nor a task"},
		{name: "redirects over HTTP+JSON", version: "1.0", binding: "HTTP+JSON", call: byGet, do: refuses(302, "Location", internal), kind: "forbidden"},
		{name: "sends something oversized over HTTP+JSON", version: "1.0", binding: "HTTP+JSON", call: byGet, do: forEver(strings.Repeat(" ", 1<<16)), kind: "too_large"},
		{name: "redirects in 0.3", version: "0.3", binding: "JSONRPC", call: bySend, do: refuses(307, "Location", internal), kind: "forbidden"},
		{name: "answers another request in 0.3", version: "0.3", binding: "JSONRPC", call: bySend, do: writes(`{"jsonrpc":"2.0","id":"another","result":{"kind":"message","messageId":"m","role":"agent","parts":[]}}`), kind: "invalid", says: "another request"},
		{name: "writes for ever in 0.3", version: "0.3", binding: "JSONRPC", call: bySend, do: forEver(strings.Repeat("a", 1<<16)), kind: "too_large"},
		{name: "sends what is not 0.3", version: "0.3", binding: "JSONRPC", call: bySend, do: sends(`{"kind":"dream"}`), kind: "invalid"},
		{name: "is asked too often in 0.3", version: "0.3", binding: "HTTP+JSON", call: bySend, do: refuses(429, "Retry-After", "7"), kind: "limited"},
		{name: "dies in 0.3", version: "0.3", binding: "JSONRPC", call: bySend, do: dies, kind: "unreachable"},
		{name: "is slow in 0.3", version: "0.3", binding: "HTTP+JSON", call: bySend, do: sleeps, kind: "budget"},
		{name: "answers another question in KAP", version: "kap", call: bySend, do: writes(`{"requestId":"other","protocol":"kap/1.0","status":"success","output":"x"}`), kind: "invalid", says: "the requestId is not the id that we sent"},
		{name: "answers in another protocol in KAP", version: "kap", call: bySend, do: writes(`{"requestId":"id of hello","protocol":"kap/2.0","status":"success","output":"x"}`), kind: "invalid", says: "not kap/1.0"},
		{name: "answers nothing in KAP", version: "kap", call: bySend, do: writes(`{"requestId":"id of hello","protocol":"kap/1.0","status":"success"}`), kind: "invalid", says: "without output or data"},
		{name: "has a status of its own in KAP", version: "kap", call: bySend, do: writes(`{"requestId":"id of hello","protocol":"kap/1.0","status":"dreaming"}`), kind: "invalid", says: `it says "dreaming"`},
		{name: "is asked too often in KAP", version: "kap", call: bySend, do: refuses(429, "Retry-After", "7"), kind: "limited"},
	}
	for i := range all {
		switch all[i].kind {
		case string(remote.Limited):
			all[i].retryAfter = 7 * time.Second
		}
		switch all[i].name {
		case "has us wait for years":
			all[i].retryAfter = 24 * time.Hour
		case "goes on after the end":
			all[i].events = "task WORKING; COMPLETED "
		}
	}
	return all
}

// ended is how a call came out: a kind, "budget", "ok", or an error that should not be.
func ended(err error) string {
	switch {
	case err == nil:
		return ""
	case errors.Is(err, context.DeadlineExceeded):
		return "budget"
	case remote.KindOf(err) != "":
		return string(remote.KindOf(err))
	}
	return "not told: " + err.Error()
}

// budget of calls of partners that never answer. Those that answer get all the time there is.
func budget(kind string) time.Duration {
	if kind == "budget" {
		return 300 * time.Millisecond
	}
	return time.Minute
}

func calledBy(ctx context.Context, l *remote.Line, how string) (events []*a2apb.StreamResponse, err error) {
	switch how {
	case byStream:
		err = l.Stream(ctx, says("hello"), func(ev *a2apb.StreamResponse) error { events = append(events, ev); return nil })
	case byGet:
		_, err = l.Get(ctx, "t", says("hello"))
	default:
		_, err = l.Send(ctx, says("hello"))
	}
	return events, err
}

// TestPartnersThatMisbehave calls each partner of the suite, in turn and then many at
// once, and prints how the callers fared.
func TestPartnersThatMisbehave(t *testing.T) {
	reached := false
	private := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached = true }))
	t.Cleanup(private.Close)
	all := troubles(private.URL)
	before := runtime.NumGoroutine()
	client := newClient(t, here)
	partners := map[string]*partner.Partner{}
	var servers []*httptest.Server
	for i, c := range all {
		s := httptest.NewServer(c.do)
		servers = append(servers, s)
		partners[c.name] = called(fmt.Sprintf("p%d", i), c.version, c.binding, s.URL)
	}
	var mu sync.Mutex
	count := map[string]int{}
	call := func(c trouble) {
		ctx, cancel := context.WithTimeout(t.Context(), budget(c.kind))
		defer cancel()
		l, err := client.Line(partners[c.name])
		var events []*a2apb.StreamResponse
		if err == nil {
			events, err = calledBy(ctx, l, c.call)
		}
		got := ended(err)
		mu.Lock()
		defer mu.Unlock()
		count[got]++
		if got != c.kind || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("a partner that %s: %q (%v), want %q with %q", c.name, got, err, c.kind, c.says)
		}
		var e *remote.Error
		if errors.As(err, &e) {
			if len(e.Message) > 500 || strings.ContainsAny(e.Message, "\n\x00\u202e") || strings.Contains(e.Message, "127.0.0.1") {
				t.Errorf("a partner that %s: the caller is told %q", c.name, e.Message)
			}
			if e.RetryAfter != c.retryAfter {
				t.Errorf("a partner that %s: asked again after %s, want %s", c.name, e.RetryAfter, c.retryAfter)
			}
		}
		if c.events != "" && history(events) != c.events {
			t.Errorf("a partner that %s: the stream is %q, want %q", c.name, history(events), c.events)
		}
	}
	began := time.Now()
	for _, c := range all {
		call(c)
	}
	const rounds = 4
	var wait sync.WaitGroup
	for range rounds {
		for _, c := range all {
			wait.Add(1)
			go func() { defer wait.Done(); call(c) }()
		}
	}
	wait.Wait()
	took := time.Since(began)
	if reached {
		t.Error("a redirect led to the private address")
	}
	client.Close()
	for _, s := range servers {
		s.CloseClientConnections()
		s.Close()
	}
	left := 0
	for limit := time.Now().Add(30 * time.Second); time.Now().Before(limit); time.Sleep(20 * time.Millisecond) {
		if left = runtime.NumGoroutine() - before; left <= 0 {
			break
		}
	}
	if left > 0 {
		t.Errorf("%d goroutines are left", left)
	}
	var lines []string
	calls := 0
	for kind, n := range count {
		calls += n
		lines = append(lines, fmt.Sprintf("%4d %s", n, map[bool]string{true: "ok", false: kind}[kind == ""]))
	}
	slices.Sort(lines)
	slices.Reverse(lines)
	t.Logf("%d partners that misbehave, %d calls in %.1f s; each ended as it should, none reached another address, %d goroutines are left:\n%s",
		len(all), calls, took.Seconds(), max(left, 0), strings.Join(lines, "\n"))
}

func TestPartnersThatMisbehaveOverGRPC(t *testing.T) {
	garbage, err := status.New(codes.Internal, "it broke\x00\n"+strings.Repeat("x", 5000)).WithDetails(&errdetails.RetryInfo{})
	if err != nil {
		t.Fatal(err)
	}
	p := garbage.Proto()
	p.Details = append(p.Details, &anypb.Any{TypeUrl: "type.googleapis.com/nobody.knows.This", Value: []byte{0xff, 0xff, 0xff}}, &anypb.Any{TypeUrl: "::", Value: []byte("x")})
	for name, c := range map[string]struct {
		answer func(context.Context) (string, error)
		kind   string
	}{
		"details that are garbage": {func(context.Context) (string, error) { return "", status.ErrorProto(p) }, "failed"},
		"a code of its own":        {func(context.Context) (string, error) { return "", status.Error(codes.Code(77), "strange") }, "refused"},
		"something oversized":      {func(context.Context) (string, error) { return strings.Repeat("a", 2<<20), nil }, "too_large"},
		"no answer":                {func(ctx context.Context) (string, error) { <-ctx.Done(); return "", ctx.Err() }, "budget"},
		"too often":                {func(context.Context) (string, error) { return "", status.Error(codes.ResourceExhausted, "slow down") }, "limited"},
		"not allowed":              {func(context.Context) (string, error) { return "", status.Error(codes.PermissionDenied, "no") }, "refused"},
		"no credentials":           {func(context.Context) (string, error) { return "", status.Error(codes.Unauthenticated, "no") }, "credentials"},
		"away":                     {func(context.Context) (string, error) { return "", status.Error(codes.Unavailable, "no") }, "unreachable"},
		"nothing":                  {func(context.Context) (string, error) { return "", nil }, ""},
	} {
		url := serveGRPC(t, func(s *grpc.Server) { a2apb.RegisterA2AServiceServer(s, &greeter{answer: c.answer}) })
		ctx, cancel := context.WithTimeout(t.Context(), budget(c.kind))
		l, err := newClient(t, here).Line(called("p", "1.0", "GRPC", url))
		if err == nil {
			_, err = l.Send(ctx, says("hello"))
		}
		cancel()
		if got := ended(err); got != c.kind {
			t.Errorf("%s: %q (%v), want %q", name, got, err, c.kind)
		}
		if err != nil && len(err.Error()) > 500 {
			t.Errorf("%s: the caller is told %q", name, err)
		}
	}
}

func TestAddressesThatAreNotPublicAreNotCalled(t *testing.T) {
	for _, c := range [][3]string{
		{"1.0", "JSONRPC", "http://127.0.0.1:9/"},
		{"1.0", "HTTP+JSON", "http://[::1]:9/"},
		{"1.0", "GRPC", "http://10.1.2.3:9"},
		{"0.3", "JSONRPC", "http://169.254.169.254/latest"},
		{"0.3", "GRPC", "http://localhost:9"},
		{"kap", "", "http://192.168.0.1/v1/ask"},
	} {
		_, err := send(t, newClient(t, func(string) remote.Settings { return remote.Settings{} }), called("p", c[0], c[1], c[2]))
		if remote.KindOf(err) != remote.Forbidden {
			t.Errorf("%s: %v", c[2], err)
		}
	}
}

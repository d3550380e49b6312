package conformance

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"sabha.dev/chassis/ext"
)

func newID() string { return rand.Text() }

// grpcBinding speaks A2A over gRPC.
type grpcBinding struct {
	*system
	conn *grpc.ClientConn
}

func newGRPC(t testing.TB, s *system) *grpcBinding {
	t.Helper()
	conn, err := grpc.NewClient(s.grpc, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return &grpcBinding{s, conn}
}

func (b *grpcBinding) name() string { return "grpc" }

func (b *grpcBinding) context(ctx context.Context, c call) context.Context {
	md := metadata.MD{}
	set := func(key, value string) {
		if value != "" {
			md.Set(key, value)
		}
	}
	set("x-api-key", b.keys[c.as])
	set(ext.MetadataExtensions, c.extensions)
	set(ext.MetadataCursor, c.cursor)
	if c.version != "none" {
		md.Set(ext.MetadataVersion, versionOf(c))
	}
	return metadata.NewOutgoingContext(ctx, md)
}

func versionOf(c call) string {
	switch c.version {
	case "":
		return "1.0"
	case "empty":
		return ""
	}
	return c.version
}

func (b *grpcBinding) unary(t testing.TB, c call, answer proto.Message) *failure {
	t.Helper()
	err := b.conn.Invoke(b.context(t.Context(), c), "/lf.a2a.v1.A2AService/"+c.method, c.request, answer)
	return grpcFailure(err)
}

func grpcFailure(err error) *failure {
	if err == nil || errors.Is(err, io.EOF) {
		return nil
	}
	s := status.Convert(err)
	f := &failure{number: int(s.Code()), code: codeNames[s.Code()], message: s.Message()}
	for _, d := range s.Details() {
		switch d := d.(type) {
		case *errdetails.ErrorInfo:
			f.reason, f.domain = d.GetReason(), d.GetDomain()
		case *errdetails.BadRequest:
			for _, v := range d.GetFieldViolations() {
				f.fields = append(f.fields, v.GetField())
			}
		case *errdetails.RetryInfo:
			f.retryAfter = d.GetRetryDelay().AsDuration().String()
		}
	}
	return f
}

func (b *grpcBinding) stream(t testing.TB, c call) *events {
	t.Helper()
	ctx, cancel := context.WithCancel(b.context(t.Context(), c))
	s, err := b.conn.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true}, "/lf.a2a.v1.A2AService/"+c.method)
	if err == nil {
		if err = s.SendMsg(c.request); err == nil {
			err = s.CloseSend()
		}
	}
	return &events{
		next: func() (event, bool) {
			if err != nil {
				return event{}, false
			}
			ev := &a2apb.StreamResponse{}
			if err = s.RecvMsg(ev); err != nil {
				return event{}, false
			}
			return event{placeOf(ev), ev}, true
		},
		ended: func() *failure { return grpcFailure(err) },
		close: cancel,
	}
}

// placeOf is the cursor in an event's metadata.
func placeOf(ev *a2apb.StreamResponse) string {
	md := ev.GetTask().GetMetadata()
	if u := ev.GetStatusUpdate(); u != nil {
		md = u.GetMetadata()
	}
	if u := ev.GetArtifactUpdate(); u != nil {
		md = u.GetMetadata()
	}
	return md.GetFields()[ext.Cursor].GetStringValue()
}

// exchange sends one HTTP request.
func (s *system) exchange(t testing.TB, c call, verb, path, body string) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), verb, s.http+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if body == "" {
		req.Body = http.NoBody
	} else {
		req.Header.Set("Content-Type", "application/json")
	}
	set := func(name, value string) {
		if value != "" {
			req.Header.Set(name, value)
		}
	}
	set("X-API-Key", s.keys[c.as])
	set("A2A-Extensions", c.extensions)
	set("Last-Event-ID", c.cursor)
	if c.version != "none" {
		req.Header.Set("A2A-Version", versionOf(c))
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatalf("%s %s: %v", verb, path, err)
	}
	return resp
}

func bodyOf(t testing.TB, resp *http.Response) []byte {
	t.Helper()
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// rest speaks HTTP+JSON.
type rest struct{ *system }

func (b *rest) name() string { return "rest" }

func (b *rest) send(t testing.TB, c call) *http.Response {
	t.Helper()
	r := routes[c.method]
	fields := fieldsOf(t, c.request)
	path := r.path
	for _, name := range []string{"taskId", "id"} {
		if strings.Contains(path, "{"+name+"}") {
			path = strings.ReplaceAll(path, "{"+name+"}", url.PathEscape(take(fields, name)))
		}
	}
	if tenant := take(fields, "tenant"); tenant != "" {
		path = "/" + tenant + path
	}
	if r.body {
		raw, err := json.Marshal(fields)
		if err != nil {
			t.Fatal(err)
		}
		return b.exchange(t, c, r.verb, path, string(raw))
	}
	query := url.Values{}
	for name := range fields {
		query.Set(name, take(fields, name))
	}
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	return b.exchange(t, c, r.verb, path, "")
}

func (b *rest) unary(t testing.TB, c call, answer proto.Message) *failure {
	t.Helper()
	resp := b.send(t, c)
	text := bodyOf(t, resp)
	if resp.StatusCode != http.StatusOK {
		return restFailure(t, resp, text)
	}
	if err := protojson.Unmarshal(text, answer); err != nil {
		t.Fatalf("%s: %v in %s", c.method, err, text)
	}
	return nil
}

func restFailure(t testing.TB, resp *http.Response, text []byte) *failure {
	t.Helper()
	if got := resp.Header.Get("Content-Type"); got != "application/json" && got != "application/a2a+json" {
		t.Errorf("an error has content type %q: %s", got, text)
	}
	var body struct {
		Error struct {
			Code            int
			Status, Message string
			Details         []detail
		}
	}
	if err := json.Unmarshal(text, &body); err != nil {
		t.Fatalf("error body %s: %v", text, err)
	}
	if body.Error.Code != resp.StatusCode {
		t.Errorf("code %d in the body of status %d", body.Error.Code, resp.StatusCode)
	}
	f := &failure{number: resp.StatusCode, code: body.Error.Status, message: body.Error.Message, challenge: resp.Header.Get("WWW-Authenticate")}
	f.read(t, body.Error.Details)
	f.retryAfter = resp.Header.Get("Retry-After")
	return f
}

func (b *rest) stream(t testing.TB, c call) *events {
	t.Helper()
	resp := b.send(t, c)
	if resp.StatusCode != http.StatusOK {
		f := restFailure(t, resp, bodyOf(t, resp))
		return &events{next: func() (event, bool) { return event{}, false }, ended: func() *failure { return f }, close: func() {}}
	}
	return sse(t, resp, func(data []byte) (*a2apb.StreamResponse, *failure) {
		var probe struct{ Error json.RawMessage }
		if json.Unmarshal(data, &probe) == nil && probe.Error != nil {
			return nil, &failure{message: string(data)}
		}
		ev := &a2apb.StreamResponse{}
		if err := protojson.Unmarshal(data, ev); err != nil {
			t.Errorf("frame %s: %v", data, err)
		}
		return ev, nil
	})
}

// sse reads server-sent events.
func sse(t testing.TB, resp *http.Response, decode func([]byte) (*a2apb.StreamResponse, *failure)) *events {
	t.Helper()
	if got := resp.Header.Get("Content-Type"); got != "text/event-stream" {
		t.Errorf("a stream has content type %q", got)
	}
	lines := bufio.NewReader(resp.Body)
	var end *failure
	return &events{
		next: func() (event, bool) {
			var id string
			var data []byte
			for end == nil {
				line, err := lines.ReadString('\n')
				if err != nil {
					return event{}, false
				}
				line = strings.TrimRight(line, "\r\n")
				switch {
				case line == "" && data != nil:
					ev, f := decode(data)
					if f != nil {
						end = f
						return event{}, false
					}
					if id != placeOf(ev) {
						t.Errorf("id %q of an event whose metadata says %q", id, placeOf(ev))
					}
					return event{id, ev}, true
				case strings.HasPrefix(line, "data:"):
					data = append(data, bytes.TrimPrefix([]byte(strings.TrimPrefix(line, "data:")), []byte(" "))...)
				case strings.HasPrefix(line, "id:"):
					id = strings.TrimSpace(strings.TrimPrefix(line, "id:"))
				}
			}
			return event{}, false
		},
		ended: func() *failure { return end },
		close: func() { _ = resp.Body.Close() },
	}
}

// jsonRPC speaks JSON-RPC 2.0.
type jsonRPC struct{ *system }

func (b *jsonRPC) name() string { return "jsonrpc" }

// envelope is a JSON-RPC answer.
type envelope struct {
	JSONRPC string
	ID      json.RawMessage
	Result  json.RawMessage
	Error   *struct {
		Code    int
		Message string
		Data    []detail
	}
}

func (b *jsonRPC) send(t testing.TB, c call) *http.Response {
	t.Helper()
	params, err := protojson.Marshal(c.request)
	if err != nil {
		t.Fatal(err)
	}
	return b.exchange(t, c, http.MethodPost, "/rpc", `{"jsonrpc":"2.0","id":"q","method":"`+c.method+`","params":`+string(params)+`}`)
}

// open reads an answer's envelope, which must be that of request "q".
func open(t testing.TB, text []byte) envelope {
	t.Helper()
	var e envelope
	if err := json.Unmarshal(text, &e); err != nil {
		t.Fatalf("answer %s: %v", text, err)
	}
	if e.JSONRPC != "2.0" || string(e.ID) != `"q"` || (e.Result == nil) == (e.Error == nil) {
		t.Errorf("envelope %s", text)
	}
	return e
}

func (e envelope) failure(t testing.TB, resp *http.Response) *failure {
	t.Helper()
	if e.Error == nil {
		return nil
	}
	f := &failure{number: e.Error.Code, message: e.Error.Message, challenge: resp.Header.Get("WWW-Authenticate")}
	f.read(t, e.Error.Data)
	f.retryAfter = resp.Header.Get("Retry-After")
	return f
}

func (b *jsonRPC) unary(t testing.TB, c call, answer proto.Message) *failure {
	t.Helper()
	resp := b.send(t, c)
	e := open(t, bodyOf(t, resp))
	if f := e.failure(t, resp); f != nil {
		return f
	}
	if err := protojson.Unmarshal(e.Result, answer); err != nil {
		t.Fatalf("%s: %v in %s", c.method, err, e.Result)
	}
	return nil
}

func (b *jsonRPC) stream(t testing.TB, c call) *events {
	t.Helper()
	resp := b.send(t, c)
	if resp.Header.Get("Content-Type") != "text/event-stream" {
		f := open(t, bodyOf(t, resp)).failure(t, resp)
		return &events{next: func() (event, bool) { return event{}, false }, ended: func() *failure { return f }, close: func() {}}
	}
	return sse(t, resp, func(data []byte) (*a2apb.StreamResponse, *failure) {
		e := open(t, data)
		if f := e.failure(t, resp); f != nil {
			return nil, f
		}
		ev := &a2apb.StreamResponse{}
		if err := protojson.Unmarshal(e.Result, ev); err != nil {
			t.Errorf("frame %s: %v", data, err)
		}
		return ev, nil
	})
}

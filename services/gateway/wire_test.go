package gateway_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/structpb"

	"sabha.dev/chassis/agent"
	"sabha.dev/chassis/ext"
)

// request is one message as a client sends it on any binding.
type request struct {
	tenant, skill, text, id, task string
	// headers are "name: value"; the A2A version is added unless bare is set.
	headers []string
	bare    bool
	// now asks for the task at once, without waiting for its end.
	now bool
}

var sent int

func (q request) message() *a2apb.SendMessageRequest {
	if q.skill == "" {
		q.skill = "tell"
	}
	if q.id == "" {
		sent++
		q.id = fmt.Sprintf("m%d", sent)
	}
	md, _ := structpb.NewStruct(map[string]any{ext.Skill: q.skill})
	return &a2apb.SendMessageRequest{Tenant: q.tenant, Configuration: &a2apb.SendMessageConfiguration{ReturnImmediately: q.now}, Message: &a2apb.Message{
		MessageId: q.id, TaskId: q.task, Role: a2apb.Role_ROLE_USER, Parts: []*a2apb.Part{agent.Text("hello " + q.text)}, Metadata: md,
	}}
}

func (q request) all() []string {
	if q.bare {
		return q.headers
	}
	return append([]string{"a2a-version: 1.0"}, q.headers...)
}

func (q request) context(ctx context.Context) context.Context {
	for _, h := range q.all() {
		name, value, _ := strings.Cut(h, ": ")
		ctx = metadata.AppendToOutgoingContext(ctx, strings.ToLower(name), value)
	}
	return ctx
}

// answer is what a client sees, in the same words for every binding.
type answer struct {
	// text of the message, or of the task's status message.
	text, task, state string
	// reason of the error, with the gRPC code's name and the HTTP status where there is one.
	reason, code, said string
	http               int
	header             http.Header
}

var bindings = []string{"grpc", "rest", "jsonrpc"}

// send sends a message over a binding.
func (r *rig) send(t testing.TB, binding string, q request) answer {
	t.Helper()
	m := q.message()
	switch binding {
	case "grpc":
		res, err := a2apb.NewA2AServiceClient(r.conn).SendMessage(q.context(t.Context()), m)
		return grpcAnswer(res, err)
	case "rest":
		path := "/message:send"
		if q.tenant != "" {
			path = "/" + q.tenant + path
		}
		code, header, body := r.post(t, path, encode(t, m), q.all())
		if code != http.StatusOK {
			return httpError(t, code, header, body, "details")
		}
		return decode(t, body, header)
	}
	code, header, body := r.post(t, "/rpc", `{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":`+encode(t, m)+`}`, q.all())
	var envelope struct {
		Result json.RawMessage
		Error  json.RawMessage
	}
	if err := json.Unmarshal([]byte(body), &envelope); err != nil {
		t.Fatalf("JSON-RPC answer %q: %v", body, err)
	}
	if envelope.Error != nil {
		return httpError(t, code, header, `{"error":`+string(envelope.Error)+`}`, "data")
	}
	return decode(t, string(envelope.Result), header)
}

func encode(t testing.TB, m *a2apb.SendMessageRequest) string {
	t.Helper()
	text, err := protojson.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func decode(t testing.TB, body string, h http.Header) answer {
	t.Helper()
	res := &a2apb.SendMessageResponse{}
	if err := protojson.Unmarshal([]byte(body), res); err != nil {
		t.Fatalf("answer %q: %v", body, err)
	}
	a := grpcAnswer(res, nil)
	a.http, a.header = http.StatusOK, h
	return a
}

func grpcAnswer(res *a2apb.SendMessageResponse, err error) answer {
	if err != nil {
		return grpcError(err)
	}
	return answer{
		text: agent.TextOf(append(res.GetMessage().GetParts(), res.GetTask().GetStatus().GetMessage().GetParts()...)),
		task: res.GetTask().GetId(), state: res.GetTask().GetStatus().GetState().String(),
	}
}

func grpcError(err error) answer {
	s := status.Convert(err)
	a := answer{code: s.Code().String(), said: s.Message()}
	for _, d := range s.Details() {
		if info, ok := d.(*errdetails.ErrorInfo); ok {
			a.reason = info.GetReason()
		}
	}
	return a
}

func httpError(t testing.TB, code int, h http.Header, body, detailsKey string) answer {
	t.Helper()
	var e struct{ Error map[string]json.RawMessage }
	if err := json.Unmarshal([]byte(body), &e); err != nil {
		t.Fatalf("error %q: %v", body, err)
	}
	a := answer{http: code, header: h, code: string(e.Error["code"])}
	_ = json.Unmarshal(e.Error["message"], &a.said)
	var details []struct{ Reason string }
	_ = json.Unmarshal(e.Error[detailsKey], &details)
	for _, d := range details {
		if d.Reason != "" {
			a.reason = d.Reason
		}
	}
	return a
}

func (r *rig) post(t testing.TB, path, body string, headers []string) (int, http.Header, string) {
	t.Helper()
	return r.do(t, http.MethodPost, path, body, headers)
}

func (r *rig) do(t testing.TB, method, path, body string, headers []string) (int, http.Header, string) {
	t.Helper()
	res := r.open(t, t.Context(), method, path, body, headers)
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, res.Header, string(text)
}

func (r *rig) open(t testing.TB, ctx context.Context, method, path, body string, headers []string) *http.Response {
	t.Helper()
	scheme, client := "http", http.DefaultClient
	if r.web != nil {
		scheme, client = "https", r.web
	}
	req, err := http.NewRequestWithContext(ctx, method, scheme+"://"+r.HTTPAddr()+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		req.Header.Add(name, value)
	}
	res, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// frames reads the data lines of a stream of server-sent events.
func frames(body io.Reader) *bufio.Scanner {
	s := bufio.NewScanner(body)
	s.Buffer(nil, 1<<20)
	return s
}

func nextFrame(s *bufio.Scanner) (string, bool) {
	for s.Scan() {
		if data, ok := strings.CutPrefix(s.Text(), "data: "); ok {
			return data, true
		}
	}
	return "", false
}

package remote

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"sabha.dev/chassis/a2ajson"
)

// rpc is A2A 1.0 over JSON-RPC (specification 9). It works on the protobuf types: the
// SDK's client does not compare the ids of answers, bounds no answer, and hides the
// status and Retry-After of a refusal.
type rpc struct {
	*way
	tenant string
}

// headers of A2A over HTTP.
func headers(version string) http.Header {
	return http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json"}, "A2a-Version": {version}}
}

// rpcResponse is an answer, of which the result has not been read.
type rpcResponse struct {
	version    string
	id, result json.RawMessage
	err        *rpcError
}

// readRPC reads an answer. The error says that it is none of JSON-RPC 2.0.
func readRPC(text []byte) (rpcResponse, error) {
	var res rpcResponse
	err := members(text, func(name string, value []byte) error {
		switch name {
		case "jsonrpc":
			return json.Unmarshal(value, &res.version)
		case "id":
			res.id = value
		case "result":
			res.result = value
		case "error":
			return json.Unmarshal(value, &res.err)
		}
		return nil
	})
	if err == nil && res.version != "2.0" {
		err = errors.New("another version of JSON-RPC")
	}
	return res, err
}

type rpcError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

var lenient = protojson.UnmarshalOptions{DiscardUnknown: true}

// request writes a request and gives its id.
func (c *rpc) request(method string, params proto.Message) (body []byte, id string, err error) {
	id = newID()
	// Neither an id of ours nor a method has anything to escape.
	body = append(body, `{"jsonrpc":"2.0","id":"`+id+`","method":"`+method+`","params":`...)
	if send, ok := params.(*a2apb.SendMessageRequest); ok {
		body, err = a2ajson.AppendRequest(body, send)
	} else {
		body, err = protojson.MarshalOptions{}.MarshalAppend(body, params)
	}
	if err != nil {
		return nil, "", failure(Invalid, "the message cannot be written as JSON").because(err)
	}
	return append(body, '}'), id, nil
}

// result reads an answer to the request of an id.
func result(text []byte, id string, into proto.Message) error {
	res, err := answered(text, id)
	if err != nil {
		return err
	}
	if err := lenient.Unmarshal(res.result, into); err != nil {
		return failure(Invalid, "the partner's answer is not of the form that A2A has").because(err)
	}
	return nil
}

// envelope checks that an answer is one to the request of an id, and no error.
func envelope(text []byte, id string) error {
	_, err := answered(text, id)
	return err
}

func answered(text []byte, id string) (rpcResponse, error) {
	res, err := readRPC(text)
	if err != nil {
		return res, failure(Invalid, "the partner answered with something that is not JSON-RPC 2.0").because(err)
	}
	var got string
	null := len(res.id) == 0 || bytes.Equal(res.id, []byte("null"))
	if err := json.Unmarshal(res.id, &got); (err != nil || got != id) && !(null && res.err != nil) {
		return res, failure(Invalid, "the partner answered another request than ours: the id is not the one that we sent")
	}
	if res.err != nil {
		return res, res.err.told()
	}
	return res, nil
}

// told is the error that a code of JSON-RPC stands for (specification 5.4).
func (e *rpcError) told() *Error {
	said := quote(e.Message)
	switch e.Code {
	case -32001:
		return failure(Gone, "the partner does not know its task any more%s", said)
	case -32002, -32004:
		return failure(Final, "the partner does not do that with its task%s", said)
	case -32603:
		return failure(Failed, "the partner failed%s", said)
	case -32041: // of Sabha: RATE_LIMITED
		return failure(Limited, "the partner says that we call it too often%s", said)
	case -32043: // of Sabha: UNAVAILABLE
		return failure(Failed, "the partner cannot answer now%s", said)
	case -32044: // of Sabha: UNAUTHENTICATED
		return failure(Credentials, "the partner does not take our credentials%s; look at credentials in the agreement", said)
	case -32006:
		return failure(Invalid, "the partner's agent gave no valid answer%s", said)
	}
	return failure(Refused, "the partner does not take our request (%d)%s", e.Code, said)
}

// rpcRefusal reads the error of JSON-RPC in the body of a refusal. Of another body it is nil.
func rpcRefusal(text []byte) *Error {
	res, err := readRPC(text)
	if err != nil || res.err == nil || res.err.Code == 0 {
		return nil
	}
	return res.err.told()
}

func (c *rpc) call(ctx context.Context, method string, params, into proto.Message) error {
	body, id, err := c.request(method, params)
	if err != nil {
		return err
	}
	text, err := c.post(ctx, c.url.String(), body, headers("1.0"))
	if err != nil {
		return err
	}
	return result(text, id, into)
}

func (c *rpc) watch(ctx context.Context, method string, params proto.Message, each func(*a2apb.StreamResponse) error) error {
	body, id, err := c.request(method, params)
	if err != nil {
		return err
	}
	return c.follow(ctx, http.MethodPost, c.url.String(), body, headers("1.0"), func(data []byte) error {
		ev := &a2apb.StreamResponse{}
		if err := result(data, id, ev); err != nil {
			return err
		}
		return each(ev)
	})
}

func (c *rpc) send(ctx context.Context, req *a2apb.SendMessageRequest) (*a2apb.StreamResponse, error) {
	res := &a2apb.StreamResponse{}
	return res, c.call(ctx, "SendMessage", withTenant(req, c.tenant), res)
}

func (c *rpc) stream(ctx context.Context, req *a2apb.SendMessageRequest, each func(*a2apb.StreamResponse) error) error {
	return c.watch(ctx, "SendStreamingMessage", withTenant(req, c.tenant), each)
}

func (c *rpc) get(ctx context.Context, id string, _ *a2apb.SendMessageRequest) (*a2apb.Task, error) {
	t := &a2apb.Task{}
	return t, c.call(ctx, "GetTask", &a2apb.GetTaskRequest{Id: id, HistoryLength: new(int32), Tenant: c.tenant}, t)
}

func (c *rpc) subscribe(ctx context.Context, id string, each func(*a2apb.StreamResponse) error) error {
	return c.watch(ctx, "SubscribeToTask", &a2apb.SubscribeToTaskRequest{Id: id, Tenant: c.tenant}, each)
}

func (c *rpc) cancel(ctx context.Context, id string) (*a2apb.Task, error) {
	t := &a2apb.Task{}
	return t, c.call(ctx, "CancelTask", &a2apb.CancelTaskRequest{Id: id, Tenant: c.tenant}, t)
}

// withTenant is a request with the tenant that the card's interface names (4.4.6).
func withTenant(req *a2apb.SendMessageRequest, tenant string) *a2apb.SendMessageRequest {
	if tenant == "" {
		return req
	}
	return &a2apb.SendMessageRequest{Tenant: tenant, Message: req.GetMessage(), Configuration: req.GetConfiguration(), Metadata: req.GetMetadata()}
}

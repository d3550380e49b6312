package caller

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// JSONRPC calls the JSON-RPC binding of a gateway.
func JSONRPC(web *http.Client, address, key string) Caller {
	return rpc{overHTTP{web, "http://" + address, key}}
}

type rpc struct{ overHTTP }

// post sends one request.
func (c rpc) post(ctx context.Context, method, cursor string, params proto.Message) (*http.Response, error) {
	raw, err := protojson.Marshal(params)
	if err != nil {
		return nil, err
	}
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": json.RawMessage(raw)})
	if err != nil {
		return nil, err
	}
	return c.do(ctx, http.MethodPost, "/rpc", "application/json", cursor, body)
}

func (c rpc) call(ctx context.Context, method string, params, into proto.Message) error {
	res, err := c.post(ctx, method, "", params)
	if err != nil {
		return err
	}
	raw, err := answer(res)
	if err != nil {
		return err
	}
	result, err := resultOf(raw)
	if err != nil {
		return err
	}
	return decode(result, into)
}

func (c rpc) Send(ctx context.Context, m *a2apb.SendMessageRequest) (*a2apb.Task, error) {
	res := &a2apb.SendMessageResponse{}
	if err := c.call(ctx, "SendMessage", m, res); err != nil {
		return nil, err
	}
	return taskOf(res)
}

func (c rpc) Get(ctx context.Context, task string) (*a2apb.Task, error) {
	t := &a2apb.Task{}
	return t, c.call(ctx, "GetTask", &a2apb.GetTaskRequest{Id: task}, t)
}

func (c rpc) Cancel(ctx context.Context, task string) (*a2apb.Task, error) {
	t := &a2apb.Task{}
	return t, c.call(ctx, "CancelTask", &a2apb.CancelTaskRequest{Id: task}, t)
}

func (c rpc) Stream(ctx context.Context, m *a2apb.SendMessageRequest) (Events, error) {
	return c.open(ctx, "SendStreamingMessage", "", m)
}

func (c rpc) Subscribe(ctx context.Context, task, cursor string) (Events, error) {
	return c.open(ctx, "SubscribeToTask", cursor, &a2apb.SubscribeToTaskRequest{Id: task})
}

func (c rpc) open(ctx context.Context, method, cursor string, params proto.Message) (Events, error) {
	res, err := c.post(ctx, method, cursor, params)
	if err != nil {
		return nil, err
	}
	if !strings.HasPrefix(res.Header.Get("Content-Type"), "text/event-stream") {
		raw, err := answer(res)
		if err != nil {
			return nil, err
		}
		if _, err = resultOf(raw); err == nil {
			err = fmt.Errorf("answered %s instead of a stream: %s", res.Status, raw)
		}
		return nil, err
	}
	return newFrames(ctx, res.Body, func(data []byte) (*a2apb.StreamResponse, error) {
		result, err := resultOf(data)
		if err != nil {
			return nil, err
		}
		ev := &a2apb.StreamResponse{}
		return ev, decode(result, ev)
	}), nil
}

// resultOf reads a JSON-RPC answer (specification 9.5).
func resultOf(raw []byte) (json.RawMessage, error) {
	var a struct {
		Result json.RawMessage
		Error  *struct {
			Code    int
			Message string
			Data    []struct{ Reason string }
		}
	}
	if err := json.Unmarshal(raw, &a); err != nil {
		return nil, fmt.Errorf("answered %q: %w", raw, err)
	}
	if a.Error == nil {
		return a.Result, nil
	}
	r := &Refused{Text: a.Error.Message}
	if a.Error.Code == codeInternal {
		r.Reason = internal
	}
	for _, d := range a.Error.Data {
		if d.Reason != "" {
			r.Reason = d.Reason
		}
	}
	return nil, r
}

// codeInternal of JSON-RPC 2.0.
const codeInternal = -32603

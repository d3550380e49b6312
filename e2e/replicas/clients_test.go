package replicas

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"sabha.dev/chassis/ext"
	"sabha.dev/chassis/fault"
)

// client speaks to one gateway over one binding. Errors carry the reason.
type client interface {
	call(ctx context.Context, method string, req, res proto.Message) error
	// stream gives events until the stream ends, with io.EOF or an error. A cursor
	// continues a subscription.
	stream(ctx context.Context, method string, req proto.Message, cursor string) (next func() (*a2apb.StreamResponse, error), err error)
}

var bindings = []string{"grpc", "rest", "jsonrpc"}

const prefix = "/lf.a2a.v1.A2AService/"

type overGRPC struct {
	conn *grpc.ClientConn
	key  string
}

func newGRPC(address, key string) (*overGRPC, error) {
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	return &overGRPC{conn, key}, err
}

func (c *overGRPC) context(ctx context.Context, cursor string) context.Context {
	md := metadata.Pairs(ext.MetadataVersion, "1.0", "x-api-key", c.key)
	if cursor != "" {
		md.Set(ext.MetadataCursor, cursor)
	}
	return metadata.NewOutgoingContext(ctx, md)
}

// reasoned names the reason of a gRPC error.
func reasoned(err error) error {
	if f := fault.FromStatus(err); f != nil {
		return fmt.Errorf("%s: %w", f.Reason, err)
	}
	return err
}

func (c *overGRPC) call(ctx context.Context, method string, req, res proto.Message) error {
	return reasoned(c.conn.Invoke(c.context(ctx, ""), prefix+method, req, res))
}

func (c *overGRPC) stream(ctx context.Context, method string, req proto.Message, cursor string) (func() (*a2apb.StreamResponse, error), error) {
	s, err := c.conn.NewStream(c.context(ctx, cursor), &grpc.StreamDesc{ServerStreams: true}, prefix+method)
	if err == nil {
		err = s.SendMsg(req)
	}
	if err == nil {
		err = s.CloseSend()
	}
	return func() (*a2apb.StreamResponse, error) {
		ev := &a2apb.StreamResponse{}
		return ev, reasoned(s.RecvMsg(ev))
	}, reasoned(err)
}

// overHTTP speaks HTTP+JSON, or JSON-RPC.
type overHTTP struct {
	address, key string
	rpc          bool
}

func (c *overHTTP) open(ctx context.Context, method string, req proto.Message, cursor string) (*http.Response, error) {
	raw, err := protojson.Marshal(req)
	if err != nil {
		return nil, err
	}
	verb, path, body := http.MethodPost, "/rpc", `{"jsonrpc":"2.0","id":1,"method":"`+method+`","params":`+string(raw)+`}`
	if !c.rpc {
		verb, path, body = route(method, req, string(raw))
	}
	r, err := http.NewRequestWithContext(ctx, verb, "http://"+c.address+path, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("A2A-Version", "1.0")
	r.Header.Set("X-API-Key", c.key)
	if cursor != "" {
		r.Header.Set("Last-Event-ID", cursor)
	}
	return http.DefaultClient.Do(r)
}

// route is the verb, path and body of a call over HTTP+JSON.
func route(method string, req proto.Message, raw string) (verb, path, body string) {
	tenant := func(t string) string {
		if t == "" {
			return ""
		}
		return "/" + t
	}
	switch q := req.(type) {
	case *a2apb.SendMessageRequest:
		if method == "SendStreamingMessage" {
			return http.MethodPost, tenant(q.GetTenant()) + "/message:stream", raw
		}
		return http.MethodPost, tenant(q.GetTenant()) + "/message:send", raw
	case *a2apb.GetTaskRequest:
		return http.MethodGet, tenant(q.GetTenant()) + "/tasks/" + q.GetId(), ""
	case *a2apb.CancelTaskRequest:
		return http.MethodPost, tenant(q.GetTenant()) + "/tasks/" + q.GetId() + ":cancel", ""
	case *a2apb.SubscribeToTaskRequest:
		return http.MethodPost, tenant(q.GetTenant()) + "/tasks/" + q.GetId() + ":subscribe", ""
	case *a2apb.ListTasksRequest:
		return http.MethodGet, tenant(q.GetTenant()) + "/tasks?contextId=" + q.GetContextId(), ""
	}
	panic("no route for " + method)
}

// result takes the result out of a JSON-RPC answer.
func (c *overHTTP) result(raw []byte) ([]byte, error) {
	if !c.rpc {
		return raw, nil
	}
	var e struct{ Result, Error json.RawMessage }
	if err := json.Unmarshal(raw, &e); err != nil {
		return nil, err
	}
	if e.Error != nil {
		return nil, errors.New(string(e.Error))
	}
	return e.Result, nil
}

func (c *overHTTP) call(ctx context.Context, method string, req, res proto.Message) error {
	r, err := c.open(ctx, method, req, "")
	if err != nil {
		return err
	}
	defer func() { _ = r.Body.Close() }()
	raw, err := io.ReadAll(r.Body)
	if err != nil {
		return err
	}
	if r.StatusCode != http.StatusOK {
		return errors.New(string(raw))
	}
	if raw, err = c.result(raw); err != nil {
		return err
	}
	return protojson.Unmarshal(raw, res)
}

func (c *overHTTP) stream(ctx context.Context, method string, req proto.Message, cursor string) (func() (*a2apb.StreamResponse, error), error) {
	r, err := c.open(ctx, method, req, cursor)
	if err != nil {
		return nil, err
	}
	if r.Header.Get("Content-Type") != "text/event-stream" {
		defer func() { _ = r.Body.Close() }()
		raw, err := io.ReadAll(r.Body)
		return nil, errors.Join(errors.New(string(raw)), err)
	}
	context.AfterFunc(ctx, func() { _ = r.Body.Close() })
	lines := bufio.NewReader(r.Body)
	failed := false
	return func() (*a2apb.StreamResponse, error) {
		for {
			line, err := lines.ReadString('\n')
			if err != nil {
				return nil, err
			}
			failed = failed || strings.HasPrefix(line, "event: error")
			data, ok := strings.CutPrefix(line, "data: ")
			switch {
			case !ok:
				continue
			case failed:
				return nil, errors.New(data)
			}
			raw, err := c.result([]byte(data))
			if err != nil {
				return nil, err
			}
			ev := &a2apb.StreamResponse{}
			return ev, protojson.Unmarshal(raw, ev)
		}
	}, nil
}

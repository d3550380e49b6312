package caller

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// Web is the HTTP client of callers; gateways come and go, so it keeps many
// connections and no opinion about any.
func Web() *http.Client {
	return &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 256}}
}

type overHTTP struct {
	web       *http.Client
	base, key string
}

// REST calls the HTTP+JSON binding of a gateway.
func REST(web *http.Client, address, key string) Caller {
	return rest{overHTTP{web, "http://" + address, key}}
}

type rest struct{ overHTTP }

// do makes a request and returns the answer, which the caller closes.
func (c overHTTP) do(ctx context.Context, method, path, mediaType, cursor string, body []byte) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", mediaType)
	req.Header.Set("A2A-Version", "1.0")
	req.Header.Set("X-API-Key", c.key)
	if cursor != "" {
		req.Header.Set("Last-Event-ID", cursor)
	}
	return c.web.Do(req)
}

// answer reads a whole answer.
func answer(res *http.Response) ([]byte, error) {
	defer func() { _ = res.Body.Close() }()
	return io.ReadAll(res.Body)
}

const restType = "application/a2a+json"

func (c rest) call(ctx context.Context, method, path string, body []byte, into proto.Message) error {
	res, err := c.do(ctx, method, path, restType, "", body)
	if err != nil {
		return err
	}
	raw, err := answer(res)
	if err != nil {
		return err
	}
	if res.StatusCode != http.StatusOK {
		return restRefusal(res.Status, raw)
	}
	return decode(raw, into)
}

func (c rest) Send(ctx context.Context, m *a2apb.SendMessageRequest) (*a2apb.Task, error) {
	body, err := protojson.Marshal(m)
	if err != nil {
		return nil, err
	}
	res := &a2apb.SendMessageResponse{}
	if err := c.call(ctx, http.MethodPost, "/message:send", body, res); err != nil {
		return nil, err
	}
	return taskOf(res)
}

func (c rest) Get(ctx context.Context, task string) (*a2apb.Task, error) {
	t := &a2apb.Task{}
	return t, c.call(ctx, http.MethodGet, "/tasks/"+task, nil, t)
}

func (c rest) Cancel(ctx context.Context, task string) (*a2apb.Task, error) {
	t := &a2apb.Task{}
	return t, c.call(ctx, http.MethodPost, "/tasks/"+task+":cancel", nil, t)
}

func (c rest) Stream(ctx context.Context, m *a2apb.SendMessageRequest) (Events, error) {
	body, err := protojson.Marshal(m)
	if err != nil {
		return nil, err
	}
	return c.open(ctx, "/message:stream", "", body)
}

func (c rest) Subscribe(ctx context.Context, task, cursor string) (Events, error) {
	return c.open(ctx, "/tasks/"+task+":subscribe", cursor, nil)
}

func (c rest) open(ctx context.Context, path, cursor string, body []byte) (Events, error) {
	res, err := c.do(ctx, http.MethodPost, path, restType, cursor, body)
	if err != nil {
		return nil, err
	}
	if res.StatusCode != http.StatusOK {
		raw, err := answer(res)
		if err != nil {
			return nil, err
		}
		return nil, restRefusal(res.Status, raw)
	}
	return newFrames(ctx, res.Body, restFrame), nil
}

// restFrame reads the data of one frame: an event, or the error that ends the stream.
func restFrame(data []byte) (*a2apb.StreamResponse, error) {
	var failed struct{ Error json.RawMessage }
	if err := json.Unmarshal(data, &failed); err == nil && failed.Error != nil {
		return nil, restRefusal("stream", data)
	}
	ev := &a2apb.StreamResponse{}
	return ev, decode(data, ev)
}

// restRefusal reads an error of the HTTP+JSON binding (specification 11.6).
func restRefusal(status string, body []byte) error {
	var e struct {
		Error struct {
			Status, Message string
			Details         []struct{ Reason string }
		}
	}
	if err := json.Unmarshal(body, &e); err != nil {
		return fmt.Errorf("answered %s: %s", status, body)
	}
	r := &Refused{Reason: e.Error.Status, Text: e.Error.Message}
	for _, d := range e.Error.Details {
		if d.Reason != "" {
			r.Reason = d.Reason
		}
	}
	return r
}

func decode(raw []byte, into proto.Message) error {
	return protojson.UnmarshalOptions{DiscardUnknown: true}.Unmarshal(raw, into)
}

package remote

import (
	"context"
	"net/http"
	"net/url"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// rest is A2A 1.0 over HTTP+JSON (specification 11), for the same reasons as [rpc] on
// the protobuf types.
type rest struct {
	*way
	tenant string
}

func (c *rest) at(elements ...string) string {
	if c.tenant != "" {
		elements = append([]string{url.PathEscape(c.tenant)}, elements...)
	}
	return c.url.JoinPath(elements...).String()
}

func (c *rest) call(ctx context.Context, method, address string, body, into proto.Message) error {
	text, err := written(body)
	if err != nil {
		return err
	}
	if text, err = c.read(ctx, method, address, text, headers("1.0")); err != nil {
		return err
	}
	return unmarshal(text, into)
}

func written(body proto.Message) ([]byte, error) {
	if body == nil {
		return nil, nil
	}
	text, err := protojson.Marshal(body)
	if err != nil {
		return nil, failure(Invalid, "the message cannot be written as JSON").because(err)
	}
	return text, nil
}

func unmarshal(text []byte, into proto.Message) error {
	if err := lenient.Unmarshal(text, into); err != nil {
		return failure(Invalid, "the partner's answer is not of the form that A2A has").because(err)
	}
	return nil
}

func (c *rest) watch(ctx context.Context, method, address string, body proto.Message, each func(*a2apb.StreamResponse) error) error {
	text, err := written(body)
	if err != nil {
		return err
	}
	return c.follow(ctx, method, address, text, headers("1.0"), func(data []byte) error {
		ev := &a2apb.StreamResponse{}
		if err := unmarshal(data, ev); err != nil {
			return err
		}
		return each(ev)
	})
}

func (c *rest) send(ctx context.Context, req *a2apb.SendMessageRequest) (*a2apb.StreamResponse, error) {
	res := &a2apb.StreamResponse{}
	return res, c.call(ctx, http.MethodPost, c.at("message:send"), req, res)
}

func (c *rest) stream(ctx context.Context, req *a2apb.SendMessageRequest, each func(*a2apb.StreamResponse) error) error {
	return c.watch(ctx, http.MethodPost, c.at("message:stream"), req, each)
}

func (c *rest) get(ctx context.Context, id string, _ *a2apb.SendMessageRequest) (*a2apb.Task, error) {
	t := &a2apb.Task{}
	return t, c.call(ctx, http.MethodGet, c.at("tasks", url.PathEscape(id))+"?historyLength=0", nil, t)
}

// subscribe takes the POST of the specification (11.3.2). Agents that follow the
// annotation in its protobuf file take GET alone.
func (c *rest) subscribe(ctx context.Context, id string, each func(*a2apb.StreamResponse) error) error {
	address := c.at("tasks", url.PathEscape(id)+":subscribe")
	err := c.watch(ctx, http.MethodPost, address, nil, each)
	if k := KindOf(err); k == Gone || k == Refused {
		return c.watch(ctx, http.MethodGet, address, nil, each)
	}
	return err
}

func (c *rest) cancel(ctx context.Context, id string) (*a2apb.Task, error) {
	t := &a2apb.Task{}
	return t, c.call(ctx, http.MethodPost, c.at("tasks", url.PathEscape(id)+":cancel"), nil, t)
}

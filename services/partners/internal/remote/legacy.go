package remote

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"net/http"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2aclient"
	"github.com/a2aproject/a2a-go/v2/a2acompat/a2av0"
	grpcv0 "github.com/a2aproject/a2a-go/v2/a2agrpc/v0"
	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"github.com/a2aproject/a2a-go/v2/a2apb/v1/pbconv"
)

// legacy is A2A 0.3 in any binding, translated by the SDK. What the SDK's clients leave
// out (bounds, ids, redirects, statuses) is done below them, in [legacyTrip] and in the
// interceptors of gRPC.
type legacy struct {
	*way
	transport a2aclient.Transport
}

func newLegacy(w *way, binding string) (*legacy, error) {
	client := &http.Client{Transport: &legacyTrip{w, binding == jsonRPC}}
	switch binding {
	case jsonRPC:
		return &legacy{w, a2av0.NewJSONRPCTransport(a2av0.JSONRPCTransportConfig{URL: w.url.String(), Client: client})}, nil
	case httpJSON:
		t, err := a2av0.NewRESTTransport(a2av0.RESTTransportConfig{URL: w.url.String(), Client: client})
		return &legacy{w, t}, err
	}
	conn, err := w.connect()
	if err != nil {
		return nil, err
	}
	return &legacy{w, grpcv0.NewGRPCTransport(conn)}, nil
}

func (c *legacy) close() {
	_ = c.transport.Destroy()
	c.way.close()
}

var version0 = a2aclient.ServiceParams{a2a.SvcParamVersion: {"0.3"}}

// told is the error of the SDK's client as ours. The SDK keeps the conditions of A2A as
// errors of its own; everything else that it finds wrong is wrong with the answer.
func told(ctx context.Context, err error) error {
	var own *Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &own):
		return own
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, context.DeadlineExceeded):
		return context.DeadlineExceeded
	case errors.Is(err, a2a.ErrTaskNotFound):
		return failure(Gone, "the partner does not know its task any more")
	case errors.Is(err, a2a.ErrTaskNotCancelable), errors.Is(err, a2a.ErrUnsupportedOperation):
		return failure(Final, "the partner does not do that with its task")
	case errors.Is(err, a2a.ErrUnauthenticated):
		return failure(Credentials, "the partner does not take our credentials; look at credentials in the agreement")
	case errors.Is(err, a2a.ErrInvalidParams), errors.Is(err, a2a.ErrInvalidRequest), errors.Is(err, a2a.ErrMethodNotFound),
		errors.Is(err, a2a.ErrUnsupportedContentType), errors.Is(err, a2a.ErrUnauthorized), errors.Is(err, a2a.ErrParseError):
		return failure(Refused, "the partner does not take our request%s", quote(err.Error()))
	case errors.Is(err, a2a.ErrInternalError), errors.Is(err, a2a.ErrServerError):
		return failure(Failed, "the partner failed%s", quote(err.Error()))
	}
	return failure(Invalid, "the partner's answer is not of the form that A2A 0.3 has").because(err)
}

func (c *legacy) send(ctx context.Context, req *a2apb.SendMessageRequest) (*a2apb.StreamResponse, error) {
	r, err := pbconv.FromProtoSendMessageRequest(req)
	if err != nil {
		return nil, failure(Invalid, "the message cannot be written in A2A 0.3").because(err)
	}
	res, err := c.transport.SendMessage(ctx, version0, r)
	if err != nil {
		return nil, told(ctx, err)
	}
	return event(res)
}

// event is an event of the SDK as we have it.
func event(ev a2a.Event) (*a2apb.StreamResponse, error) {
	pb, err := pbconv.ToProtoStreamResponse(ev)
	if err != nil {
		return nil, failure(Invalid, "the partner's answer is not of the form that A2A 0.3 has").because(err)
	}
	return pb, nil
}

func (c *legacy) stream(ctx context.Context, req *a2apb.SendMessageRequest, each func(*a2apb.StreamResponse) error) error {
	r, err := pbconv.FromProtoSendMessageRequest(req)
	if err != nil {
		return failure(Invalid, "the message cannot be written in A2A 0.3").because(err)
	}
	return pass(ctx, c.transport.SendStreamingMessage(ctx, version0, r), each)
}

func pass(ctx context.Context, all iter.Seq2[a2a.Event, error], each func(*a2apb.StreamResponse) error) error {
	for ev, err := range all {
		if err != nil {
			return told(ctx, err)
		}
		pb, err := event(ev)
		if err == nil {
			err = each(pb)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (c *legacy) get(ctx context.Context, id string, _ *a2apb.SendMessageRequest) (*a2apb.Task, error) {
	t, err := c.transport.GetTask(ctx, version0, &a2a.GetTaskRequest{ID: a2a.TaskID(id), HistoryLength: new(int)})
	return task(ctx, t, err)
}

func task(ctx context.Context, t *a2a.Task, err error) (*a2apb.Task, error) {
	if err != nil {
		return nil, told(ctx, err)
	}
	pb, err := pbconv.ToProtoTask(t)
	if err != nil {
		return nil, failure(Invalid, "the partner's task is not of the form that A2A 0.3 has").because(err)
	}
	return pb, nil
}

func (c *legacy) subscribe(ctx context.Context, id string, each func(*a2apb.StreamResponse) error) error {
	return pass(ctx, c.transport.SubscribeToTask(ctx, version0, &a2a.SubscribeToTaskRequest{ID: a2a.TaskID(id)}), each)
}

func (c *legacy) cancel(ctx context.Context, id string) (*a2apb.Task, error) {
	t, err := c.transport.CancelTask(ctx, version0, &a2a.CancelTaskRequest{ID: a2a.TaskID(id)})
	return task(ctx, t, err)
}

// legacyTrip carries the requests of the SDK's clients over HTTP.
type legacyTrip struct {
	way *way
	rpc bool
}

// RoundTrip sends a request. An answer of another status than those of success, and one
// that is not to this request, is an error.
func (t *legacyTrip) RoundTrip(r *http.Request) (*http.Response, error) {
	var body []byte
	if r.Body != nil {
		var err error
		if body, err = io.ReadAll(r.Body); err != nil {
			return nil, err
		}
		_ = r.Body.Close()
	}
	streams := r.Header.Get("Accept") == eventStream
	limit := t.way.max
	if streams {
		limit *= streamAnswers
	}
	res, err := t.way.do(r.Context(), r.Method, r.URL.String(), body, r.Header, limit)
	if err != nil || !t.rpc {
		return res, err
	}
	if streams && mediaType(res) == eventStream {
		return res, nil
	}
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		return nil, broken(r.Context(), err)
	}
	var asked struct {
		ID string `json:"id"`
	}
	if err := json.Unmarshal(body, &asked); err != nil {
		return nil, err
	}
	if err := envelope(text, asked.ID); err != nil {
		return nil, err
	}
	if streams {
		return nil, failure(Invalid, "the partner answered without a stream where one was asked for")
	}
	res.Body = io.NopCloser(bytes.NewReader(text))
	return res, nil
}

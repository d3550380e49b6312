package binding

import (
	"context"
	"io"
	"maps"
	"net/http"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"sabha.dev/chassis/fault"
	"sabha.dev/gen/a2agw"
)

// restCall is one pass through the gateway: what goes in beside the request, and
// the error that comes out. The gateway does not write errors itself, because
// only afterwards is it known whether a stream has begun.
type restCall struct {
	metadata metadata.MD
	failure  error
	// invalid is a body that could not be decoded; it says more than the bare
	// status that the generated code makes of it.
	invalid error
}

type restCallKey struct{}

func restCallOf(ctx context.Context) *restCall {
	call, _ := ctx.Value(restCallKey{}).(*restCall)
	return call
}

// err is what went wrong, if anything.
func (c *restCall) err() error {
	if c.invalid != nil {
		return c.invalid
	}
	return c.failure
}

// newGateway makes the generated HTTP+JSON handlers over conn.
func newGateway(conn grpc.ClientConnInterface) (*runtime.ServeMux, error) {
	mux := runtime.NewServeMux(
		runtime.WithMarshalerOption(typeA2A, marshaler{typeA2A}),
		runtime.WithMarshalerOption(typeJSON, marshaler{typeJSON}),
		runtime.WithMarshalerOption(runtime.MIMEWildcard, marshaler{typeA2A}),
		runtime.WithMetadata(func(ctx context.Context, _ *http.Request) metadata.MD {
			return restCallOf(ctx).metadata
		}),
		runtime.WithIncomingHeaderMatcher(func(string) (string, bool) { return "", false }),
		runtime.WithOutgoingHeaderMatcher(answerHeader),
		runtime.WithOutgoingTrailerMatcher(func(string) (string, bool) { return "", false }),
		runtime.WithErrorHandler(func(ctx context.Context, _ *runtime.ServeMux, _ runtime.Marshaler, _ http.ResponseWriter, _ *http.Request, err error) {
			restCallOf(ctx).failure = err
		}),
		runtime.WithStreamErrorHandler(func(ctx context.Context, err error) *status.Status {
			restCallOf(ctx).failure = err
			return status.Convert(err)
		}),
		runtime.WithRoutingErrorHandler(func(ctx context.Context, _ *runtime.ServeMux, _ runtime.Marshaler, _ http.ResponseWriter, r *http.Request, _ int) {
			restCallOf(ctx).failure = fault.Invalid("path", "%q cannot be read", r.URL.Path)
		}),
		runtime.WithDisablePathLengthFallback(),
		runtime.WithDisableHTTPMethodOverride(),
		runtime.WithDisableChunkedEncoding(),
	)
	// The context is not used by handlers over a connection that already exists.
	if err := a2agw.RegisterA2AServiceHandlerClient(context.Background(), mux, a2apb.NewA2AServiceClient(conn)); err != nil {
		return nil, err
	}
	return mux, nil
}

// answerHeader lets through the one header an agent may answer with: the
// extensions it activated.
func answerHeader(key string) (string, bool) {
	if key == "a2a-extensions" {
		return "A2A-Extensions", true
	}
	return "", false
}

// rest serves an HTTP+JSON operation through the gateway.
func (x *exchange) rest(op operation) {
	inner, err := x.inner(op)
	if err != nil {
		x.refuse(diagnose(err))
		return
	}
	if op.kind != unaryKind {
		x.restStream(inner, op.kind)
		return
	}
	x.gateway.ServeHTTP(x.w, inner)
	if err := x.call.err(); err != nil {
		x.refuse(diagnose(err))
	}
}

// inner is the request that the gateway sees: the method, the path, the query
// and the body, and no header that it could take for metadata.
func (x *exchange) inner(op operation) (*http.Request, error) {
	md, err := callMetadata(x.r, op.kind)
	if err != nil {
		return nil, err
	}
	x.call.metadata = md
	inner := &http.Request{
		Method: x.r.Method,
		URL:    x.r.URL,
		Proto:  x.r.Proto, ProtoMajor: x.r.ProtoMajor, ProtoMinor: x.r.ProtoMinor,
		Header: http.Header{"Accept": {x.mediaType}},
		Body:   http.NoBody,
	}
	if op.query == nil {
		body, err := x.readBody()
		if err != nil {
			return nil, err
		}
		inner.Body = &payload{text: body, call: &x.call}
	} else if err := checkQuery(x.r.URL.RawQuery, op.query); err != nil {
		return nil, err
	}
	if op.kind == subscribeKind {
		// The contract has GET only; POST (11.3.2) has the same input.
		inner.Method = http.MethodGet
	}
	return inner.WithContext(context.WithValue(x.r.Context(), restCallKey{}, &x.call)), nil
}

// restStream serves a streaming operation. An error before the first event is an
// ordinary answer; a later one is the last frame of the stream.
func (x *exchange) restStream(inner *http.Request, k kind) {
	events := x.newEvents(k)
	defer events.close()
	x.gateway.ServeHTTP(&streamWriter{x: x, events: events, header: http.Header{}}, inner)

	begun := events.begun()
	err := x.call.err()
	if err == nil && !begun {
		err = errNoEvent
	}
	if err == nil {
		return
	}
	p := diagnose(err)
	if !begun {
		x.refuse(p)
		return
	}
	x.report(p)
	// The specification names no form for this. The JavaScript SDK goes by the
	// event type, the Go SDK by the member "error".
	_ = events.write(appendFrame(nil, "error", p.appendJSON(nil)))
}

var errNoEvent = fault.New(fault.InvalidAgentResponse, "%s", "the agent ended the stream without an event")

// streamWriter takes whole frames from the gateway's stream loop.
type streamWriter struct {
	x      *exchange
	events *events
	header http.Header
	sent   bool
}

// Header is what the gateway adds to the header of the answer. It is kept apart
// until the first frame, because the stream may begin meanwhile.
func (w *streamWriter) Header() http.Header { return w.header }

// WriteHeader is called by the gateway for an error before the first event only,
// and that is answered elsewhere.
func (w *streamWriter) WriteHeader(int) {}

// Write sends one frame. Empty ones are the gateway's delimiter, and one after a
// failure is its own form of the error.
func (w *streamWriter) Write(frame []byte) (int, error) {
	if len(frame) == 0 || w.x.call.err() != nil {
		return len(frame), nil
	}
	if !w.sent {
		w.sent = true
		w.events.head(func(h http.Header) { maps.Copy(h, w.header) })
	}
	return len(frame), w.events.write(frame)
}

// FlushError does nothing, since each frame is flushed as it is written.
func (w *streamWriter) FlushError() error { return nil }

// marshaler is A2A's JSON for the gateway.
type marshaler struct{ contentType string }

// Marshal encodes a message, or as a frame a message in the map that the gateway
// puts around those of a stream.
func (marshaler) Marshal(v any) ([]byte, error) {
	switch v := v.(type) {
	case proto.Message:
		return appendMessage(nil, v)
	case map[string]any:
		event, ok := v["result"].(*a2apb.StreamResponse)
		if !ok {
			return nil, errNoEvent
		}
		return appendEvent(nil, event, nil, appendMessage)
	}
	return nil, nil
}

// Unmarshal decodes a body.
func (marshaler) Unmarshal(text []byte, v any) error {
	m, ok := v.(proto.Message)
	if !ok {
		return fault.Invalid("body", "this operation takes no body")
	}
	return decode("body", text, m)
}

// NewDecoder decodes the body that has been read already.
func (j marshaler) NewDecoder(r io.Reader) runtime.Decoder {
	return runtime.DecoderFunc(func(v any) error {
		body, ok := r.(*payload)
		if !ok {
			return io.EOF
		}
		err := j.Unmarshal(body.text, v)
		body.call.invalid = err
		return err
	})
}

// NewEncoder encodes to a writer.
func (j marshaler) NewEncoder(w io.Writer) runtime.Encoder {
	return runtime.EncoderFunc(func(v any) error {
		b, err := j.Marshal(v)
		if err != nil {
			return err
		}
		_, err = w.Write(b)
		return err
	})
}

// ContentType is that of an answer which is not a stream.
func (j marshaler) ContentType(any) string { return j.contentType }

// StreamContentType is that of a stream.
func (marshaler) StreamContentType(any) string { return typeStream }

// Delimiter is empty, because frames end themselves.
func (marshaler) Delimiter() []byte { return []byte{} }

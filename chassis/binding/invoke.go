package binding

import (
	"context"
	"errors"
	"io"
	"net/http"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"
)

// encoder appends a message in the JSON of a protocol version.
type encoder func(b []byte, m proto.Message) ([]byte, error)

// form is how the answers to one request are written.
type form struct {
	method rpcMethod
	// extensions is the header that names the extensions which the agent activated.
	extensions string
	// around is put around each answer and each event.
	around *envelope
	encode encoder
	// fail answers with an error.
	fail func(error)
	// frame is the last frame of a stream that has begun and fails.
	frame func(problem) []byte
}

// invoke makes a call and writes its answer.
func (x *exchange) invoke(ctx context.Context, f form, request proto.Message) {
	if f.method.kind == unaryKind {
		x.invokeUnary(ctx, f, request)
		return
	}
	x.invokeStream(ctx, f, request)
}

func (x *exchange) invokeUnary(ctx context.Context, f form, request proto.Message) {
	response := f.method.response()
	var header metadata.MD
	if err := x.conn.Invoke(ctx, f.method.path, request, response, grpc.Header(&header)); err != nil {
		f.fail(err)
		return
	}
	b, err := f.encode(append([]byte(nil), f.around.head...), response)
	if err != nil {
		f.fail(err)
		return
	}
	x.answerHeaders(header, f.extensions)
	if b = append(b, f.around.tail...); len(b) == 0 {
		x.w.WriteHeader(http.StatusNoContent)
		return
	}
	x.send(typeJSON, http.StatusOK, b)
}

// invokeStream serves a streaming method. An error before the first event is an
// ordinary error answer; a later one is the last frame.
func (x *exchange) invokeStream(ctx context.Context, f form, request proto.Message) {
	stream, err := x.conn.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true}, f.method.path)
	if err == nil {
		err = stream.SendMsg(request)
		if err == nil || errors.Is(err, io.EOF) {
			// EOF means that the stream has failed; receiving says why.
			err = stream.CloseSend()
		}
	}
	if err != nil {
		f.fail(err)
		return
	}
	events := x.newEvents(f.method.kind)
	defer events.close()
	first := true
	var frame []byte
	for {
		event := &a2apb.StreamResponse{}
		if err = stream.RecvMsg(event); err != nil {
			break
		}
		if first {
			first = false
			if header, err := stream.Header(); err == nil {
				events.head(func(http.Header) { x.answerHeaders(header, f.extensions) })
			}
		}
		if frame, err = appendEvent(frame[:0], event, f.around, f.encode); err != nil {
			break
		}
		if err := events.write(frame); err != nil {
			return
		}
	}
	begun := events.begun()
	switch {
	case errors.Is(err, io.EOF) && begun:
		return
	case errors.Is(err, io.EOF):
		f.fail(errNoEvent)
	case !begun:
		f.fail(err)
	default:
		p := diagnose(err)
		x.report(p)
		_ = events.write(f.frame(p))
	}
}

// answerHeaders passes on what an agent may say in response headers.
func (x *exchange) answerHeaders(md metadata.MD, extensions string) {
	for key, values := range md {
		if _, ok := answerHeader(key); ok {
			for _, v := range values {
				x.w.Header().Add(extensions, v)
			}
		}
	}
}

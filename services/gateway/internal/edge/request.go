package edge

import (
	"context"
	"net/http"
	"path"
	"strings"
	"sync"
	"time"

	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"go.opentelemetry.io/otel/attribute"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"sabha.dev/chassis/trace"
)

// Request is one HTTP request on its way through the gateway: where it comes from,
// which call it becomes, and what that call came to.
type Request struct {
	guard *Guard
	origin
	verb  string
	path  string
	began time.Time
	span  *trace.Span

	mu sync.Mutex
	// method is the full name of the gRPC method that is called; empty for none.
	method, route string
	code          codes.Code
}

type requestKey struct{}

// Begin notes a request of a client, and begins its span. The request that it
// returns goes on instead.
func (g *Guard) Begin(r *http.Request) (*http.Request, *Request) {
	q := &Request{guard: g, origin: origin{r.RemoteAddr, shown(r.TLS)}, verb: r.Method, path: r.URL.Path, began: g.clock.Now()}
	ctx := context.WithValue(r.Context(), requestKey{}, q)
	if g.tracer != nil {
		from, _ := trace.FromHeaders(r.Header.Values)
		ctx, q.span = trace.Start(g.tracer.At(ctx, from), trace.Server, r.Method)
		r.Header = r.Header.Clone()
		trace.Inject(ctx, r.Header)
	}
	return r.WithContext(ctx), q
}

// requestOf gives the request that a call over a Dial connection is made for.
func requestOf(ctx context.Context) *Request {
	if q, ok := ctx.Value(requestKey{}).(*Request); ok {
		return q
	}
	return &Request{}
}

// calls notes which method the request calls.
func (q *Request) calls(ctx context.Context, method string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.method = method
	q.route, _ = runtime.HTTPPathPattern(ctx)
}

func (q *Request) answered(err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.code = status.Code(err)
}

// End counts the request and ends its span. answer is the status that the client
// was given.
func (q *Request) End(answer int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.guard.counts.answered(q, answer, q.guard.clock.Now())
	if q.span == nil {
		return
	}
	method, route := q.method, q.route
	q.span.Set(attribute.String("http.request.method", q.verb), attribute.Int("http.response.status_code", answer))
	switch {
	case route != "":
		q.span.Name(q.verb + " " + route)
		q.span.Set(attribute.String("http.route", route), attribute.String("rpc.method", strings.TrimPrefix(method, "/")))
	case method != "":
		q.span.Name(path.Base(method))
		q.span.Set(attribute.String("rpc.system.name", "jsonrpc"), attribute.String("rpc.method", path.Base(method)))
	}
	if answer >= http.StatusInternalServerError {
		q.span.Fail(http.StatusText(answer))
	}
	q.span.End()
}

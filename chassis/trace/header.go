package trace

import (
	"context"
	"net/http"
	"strings"
)

// FromHeaders reads the place that a message with headers comes from, an HTTP
// request or a NATS message. values gives all values of a header.
func FromHeaders(values func(name string) []string) (Context, bool) {
	v := values(Header)
	if len(v) != 1 {
		return Context{}, false
	}
	c, ok := Parse(v[0])
	if ok {
		c.State = strings.Join(values(StateHeader), ",")
	}
	return c, ok
}

// Inject sends the place of a context along with an HTTP request. A context that
// belongs to no trace adds nothing.
func Inject(ctx context.Context, h http.Header) {
	if !Known(ctx) {
		return
	}
	c := Of(ctx)
	h.Set(Header, c.String())
	h.Del(StateHeader)
	if c.State != "" {
		h.Set(StateHeader, c.State)
	}
}

package people

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/encoding/protojson"

	"sabha.dev/chassis/binding"
	"sabha.dev/chassis/fault"
)

// forwarded lists the headers that become metadata; everything else stops here.
var forwarded = []string{"Authorization", "X-API-Key", "Traceparent", "Tracestate"}

// Handler serves the contracts as HTTP+JSON, with bodies of at most so many
// bytes, over the connection to the gateway's own guard. Errors have the form of A2A's.
func (s Service) Handler(conn *grpc.ClientConn, maxBody int64) (http.Handler, error) {
	mux := runtime.NewServeMux(
		runtime.WithMarshalerOption(runtime.MIMEWildcard, marshaler{&runtime.JSONPb{MarshalOptions: protojson.MarshalOptions{EmitDefaultValues: true}}}),
		runtime.WithMetadata(func(_ context.Context, r *http.Request) metadata.MD {
			md := metadata.MD{}
			for _, name := range forwarded {
				if v := r.Header.Get(name); v != "" {
					md.Set(strings.ToLower(name), v)
				}
			}
			return md
		}),
		runtime.WithIncomingHeaderMatcher(func(string) (string, bool) { return "", false }),
		runtime.WithOutgoingHeaderMatcher(func(string) (string, bool) { return "", false }),
		runtime.WithOutgoingTrailerMatcher(func(string) (string, bool) { return "", false }),
		runtime.WithErrorHandler(func(_ context.Context, _ *runtime.ServeMux, _ runtime.Marshaler, w http.ResponseWriter, _ *http.Request, err error) {
			refuse(w, err)
		}),
		runtime.WithMiddlewares(probing),
		runtime.WithDisablePathLengthFallback(),
		runtime.WithDisableHTTPMethodOverride(),
	)
	// The context is not used by handlers over a connection that already exists.
	var err error
	for _, register := range s.rest {
		err = errors.Join(err, register(context.Background(), mux, conn))
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for _, name := range forwarded {
			if strings.ContainsFunc(r.Header.Get(name), func(c rune) bool { return c < 0x20 || c > 0x7e }) {
				refuse(w, fault.Invalid("header "+name, "only printable ASCII characters are allowed"))
				return
			}
		}
		w.Header().Set("Cache-Control", "no-store")
		if takes := methods(mux, r.URL); len(takes) > 0 && !slices.Contains(takes, r.Method) {
			binding.RefuseMethod(w, r, takes...)
			return
		}
		r.Body = http.MaxBytesReader(w, r.Body, maxBody)
		mux.ServeHTTP(w, r)
	}), err
}

// probe notes whether a handler takes a request, in place of the handler.
type probe struct{ taken bool }

type probeKey struct{}

func probing(next runtime.HandlerFunc) runtime.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request, params map[string]string) {
		if p, ok := r.Context().Value(probeKey{}).(*probe); ok {
			p.taken = true
			return
		}
		next(w, r, params)
	}
}

// methods gives those that a path takes, sorted. A path with a verb, such as items/i7:claim,
// takes its POST alone: without it the verb would be read as a part of the id.
func methods(mux *runtime.ServeMux, u *url.URL) []string {
	takes := func(method string) bool {
		p := &probe{}
		r := &http.Request{Method: method, URL: u, Header: http.Header{}, Body: http.NoBody}
		mux.ServeHTTP(discard{}, r.WithContext(context.WithValue(context.Background(), probeKey{}, p)))
		return p.taken
	}
	last := u.Path[strings.LastIndex(u.Path, "/")+1:]
	switch get, post := takes(http.MethodGet), takes(http.MethodPost); {
	case post && strings.Contains(last, ":") || post && !get:
		return []string{http.MethodPost}
	case get && post:
		return []string{http.MethodGet, http.MethodPost}
	case get:
		return []string{http.MethodGet}
	}
	return nil
}

// discard is where a probe's answer goes.
type discard struct{}

// Header is one of its own each time.
func (discard) Header() http.Header { return http.Header{} }

// Write takes everything.
func (discard) Write(b []byte) (int, error) { return len(b), nil }

// WriteHeader does nothing.
func (discard) WriteHeader(int) {}

func refuse(w http.ResponseWriter, err error) {
	code, body := binding.Refusal(err)
	h := w.Header()
	if code == http.StatusUnauthorized {
		h.Set("WWW-Authenticate", `Bearer realm="sabha"`)
	}
	h.Set("Content-Type", "application/json")
	h.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(code)
	_, _ = w.Write(body) // a client that has gone needs no answer
}

// marshaler says of a body that cannot be read what is wrong with it.
type marshaler struct{ *runtime.JSONPb }

// NewDecoder reads a body.
func (m marshaler) NewDecoder(r io.Reader) runtime.Decoder {
	return runtime.DecoderFunc(func(v any) error {
		raw, err := io.ReadAll(r)
		var large *http.MaxBytesError
		switch {
		case errors.As(err, &large):
			return errors.New("the body has more than " + strconv.FormatInt(large.Limit, 10) + " bytes")
		case err != nil:
			return errors.New("the body cannot be read to its end")
		case len(raw) == 0:
			return io.EOF
		}
		if err := m.Unmarshal(raw, v); err != nil {
			// protojson varies its spaces, so that nobody compares its texts.
			return errors.New("the body is not what this call takes: " + strings.Join(strings.Fields(strings.TrimPrefix(err.Error(), "proto:")), " "))
		}
		return nil
	})
}

package edge

import (
	"encoding/json"
	"math"
	"net/http"
	"strconv"

	"google.golang.org/genproto/googleapis/rpc/code"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/encoding/protojson"

	"sabha.dev/chassis/fault"
	"sabha.dev/chassis/identity"
)

// Handler guards HTTP endpoints beside the A2A bindings, with the same
// credentials and limits: the caller needs one of the scopes; none means that
// everybody may call, anonymously too. The call is in the context of next.
func (g *Guard) Handler(next http.Handler, scopes ...string) http.Handler {
	r := rule{scopes: scopes}
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		call, err := g.Identify(req)
		if err == nil {
			err = r.allows(call.Principal)
		}
		if err != nil {
			refuse(w, fault.Mapped(req.Context(), g.log, req.URL.Path, err))
			return
		}
		inner := req.WithContext(identity.WithCall(req.Context(), call))
		inner.Header = req.Header.Clone()
		inner.Header.Del("X-API-Key")
		inner.Header.Del("Authorization")
		next.ServeHTTP(w, inner)
	})
}

// Identify gives the call that a request of HTTP makes, counted against its limit. The
// error is a fault.
func (g *Guard) Identify(req *http.Request) (identity.Call, error) {
	call, _, err := g.identify(req.Context(), given{req.Header.Values("X-API-Key"), req.Header.Values("Authorization"), shown(req.TLS)}, req.RemoteAddr)
	return call, err
}

// Notifies counts a notification that somebody without credentials sends, from an address
// that may send as many as a caller who is known may call.
func (g *Guard) Notifies(address string) error {
	return g.take(g.callers, "notifier "+ClientName(address))
}

// Guesses counts one that nobody waits for, as credentials are counted that are not good.
func (g *Guard) Guesses(address string) error { return g.take(g.strangers, ClientName(address)) }

// refuse answers with the error body of HTTP+JSON (specification 11.6).
func refuse(w http.ResponseWriter, err error) {
	s := fault.Status(err)
	answer := http.StatusInternalServerError
	switch s.Code() {
	case codes.Unauthenticated:
		answer = http.StatusUnauthorized
		w.Header().Set("WWW-Authenticate", `Bearer realm="a2a"`)
	case codes.PermissionDenied:
		answer = http.StatusForbidden
	case codes.ResourceExhausted:
		answer = http.StatusTooManyRequests
		if e := fault.FromStatus(err); e != nil {
			w.Header().Set("Retry-After", strconv.Itoa(max(1, int(math.Ceil(e.RetryAfter.Seconds())))))
		}
	case codes.Unavailable:
		answer = http.StatusServiceUnavailable
	}
	details := []json.RawMessage{}
	for _, d := range s.Proto().GetDetails() {
		if text, err := protojson.Marshal(d); err == nil {
			details = append(details, text)
		}
	}
	body, err := json.Marshal(map[string]any{"error": map[string]any{
		"code": answer, "status": code.Code(s.Code()).String(), "message": s.Message(), "details": details,
	}})
	if err != nil {
		answer, body = http.StatusInternalServerError, nil
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(answer)
	_, _ = w.Write(body)
}

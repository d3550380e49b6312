package binding

import (
	"encoding/json"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"google.golang.org/genproto/googleapis/rpc/code"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"

	"sabha.dev/chassis/fault"
)

// problem is an error as a client sees it, before a binding spells it.
type problem struct {
	code    codes.Code
	http    int
	message string
	// domain and reason are those of google.rpc.ErrorInfo; empty without one.
	domain, reason string
	// details are the status details in ProtoJSON, as the agent sent them.
	details []json.RawMessage
	// retryAfter is from google.rpc.RetryInfo; 0 without one.
	retryAfter time.Duration
	// hidden is what the agent's side said that a client must not see, for logs.
	hidden string
}

// diagnose turns any error of a call into what the client may see. Details pass
// as they are. A status without details did not come from our services' error
// mapping; where its code is one that transports produce too, a sentence of ours
// replaces its message, which may hold addresses and the like.
func diagnose(err error) problem {
	s := statusOf(err)
	p := problem{code: s.Code(), message: s.Message(), http: runtime.HTTPStatusFromCode(s.Code())}
	for _, detail := range s.Proto().GetDetails() {
		// A type this program does not know has no JSON form.
		if encoded, err := protojson.Marshal(detail); err == nil {
			p.details = append(p.details, encoded)
		}
	}
	for _, detail := range s.Details() {
		switch detail := detail.(type) {
		case *errdetails.ErrorInfo:
			if p.reason == "" {
				p.domain, p.reason = detail.GetDomain(), detail.GetReason()
			}
		case *errdetails.RetryInfo:
			p.retryAfter = detail.GetRetryDelay().AsDuration()
		}
	}
	if len(p.details) == 0 {
		p.withoutDetails()
	}
	if p.domain == fault.DomainSabha && p.reason == string(fault.TooLarge) {
		p.http = http.StatusRequestEntityTooLarge
	}
	return p
}

func statusOf(err error) *status.Status {
	if fault.As(err) != nil {
		return fault.Status(err)
	}
	return status.Convert(err)
}

// withoutDetails makes a bare status fit for clients.
func (p *problem) withoutDetails() {
	said := p.message
	switch p.code {
	case codes.Unavailable:
		p.message = "the agent cannot be reached at the moment; try again later"
	case codes.DeadlineExceeded:
		p.message = "the agent did not answer in time; ask for the task's state before sending again"
	case codes.Canceled:
		p.message = "the call was given up before the agent answered"
	case codes.Unimplemented:
		p.message = "this agent does not offer the operation"
	case codes.ResourceExhausted:
		p.message = "the agent is over a limit; try again later"
		if strings.Contains(said, "message larger than max") {
			p.message = "the request or its answer is larger than the agent passes on"
			p.domain, p.reason = fault.DomainSabha, string(fault.TooLarge)
		}
	case codes.Internal, codes.Unknown, codes.DataLoss:
		p.code, p.http = codes.Internal, http.StatusInternalServerError
		p.message = "internal error; the operator finds it in the log"
	default:
		return
	}
	if said != p.message {
		p.hidden = said
	}
}

// Refusal is how HTTP+JSON answers an error: the status and the body (specification
// 11.6). Other contracts that the same port serves answer alike.
func Refusal(err error) (int, []byte) {
	p := diagnose(err)
	return p.http, p.appendJSON(nil)
}

// RefuseMethod answers a request whose method its path does not take, as HTTP+JSON does:
// 405 with what it takes, sorted.
func RefuseMethod(w http.ResponseWriter, r *http.Request, takes ...string) {
	allow := strings.Join(takes, ", ")
	p := wrongVerb(r.Method, allow)
	body := p.appendJSON(nil)
	h := w.Header()
	h.Set("Allow", allow)
	h.Set("Content-Type", typeJSON)
	h.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(p.http)
	_, _ = w.Write(body) // a client that has gone needs no answer
}

func noSuchPath() problem {
	return problem{
		code: codes.NotFound, http: http.StatusNotFound,
		message: "no such path; the agent card at /.well-known/agent-card.json names the interfaces",
	}
}

func wrongVerb(method, allow string) problem {
	return problem{
		code: codes.Unimplemented, http: http.StatusMethodNotAllowed,
		message: "this path takes " + allow + ", not " + method,
	}
}

// refuse answers with the error body of HTTP+JSON (specification 11.6).
func (x *exchange) refuse(p problem) {
	x.report(p)
	x.headers(p)
	x.send(x.mediaType, p.http, p.appendJSON(nil))
}

// report logs what the client is not told.
func (x *exchange) report(p problem) {
	if p.hidden == "" || x.r.Context().Err() != nil {
		return
	}
	x.Log.WarnContext(x.r.Context(), "call to the agent failed",
		"method", x.r.Method, "path", x.r.URL.Path, "code", p.code.String(), "error", p.hidden)
}

// headers sets what HTTP wants beside an error body: a challenge with 401 (RFC
// 9110 section 11.6.1, RFC 6750 section 3) and the time to wait with 429 and 503.
func (x *exchange) headers(p problem) {
	header := x.w.Header()
	switch p.http {
	case http.StatusUnauthorized:
		challenge := `Bearer realm="a2a"`
		if x.r.Header.Get("Authorization") != "" || x.r.Header.Get("X-API-Key") != "" {
			challenge += `, error="invalid_token"`
		}
		header.Set("WWW-Authenticate", challenge)
	case http.StatusTooManyRequests:
		header.Set("Retry-After", retrySeconds(max(p.retryAfter, time.Second)))
	case http.StatusServiceUnavailable:
		if p.retryAfter > 0 {
			header.Set("Retry-After", retrySeconds(p.retryAfter))
		}
	}
}

// retrySeconds rounds up: a client that comes too early is refused again.
func retrySeconds(d time.Duration) string {
	return strconv.Itoa(int(math.Ceil(d.Seconds())))
}

// appendJSON appends {"error":{…}}.
func (p problem) appendJSON(b []byte) []byte {
	b = append(b, `{"error":{"code":`...)
	b = strconv.AppendInt(b, int64(p.http), 10)
	b = append(b, `,"status":`...)
	b = appendString(b, code.Code(p.code).String())
	b = append(b, `,"message":`...)
	b = appendString(b, p.message)
	b = append(b, `,"details":`...)
	b = p.appendDetails(b)
	return append(b, "}}"...)
}

// appendDetails appends the list of details, empty rather than null.
func (p problem) appendDetails(b []byte) []byte {
	b = append(b, '[')
	for i, detail := range p.details {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, detail...)
	}
	return append(b, ']')
}

// send writes one whole answer.
func (x *exchange) send(contentType string, code int, body []byte) {
	header := x.w.Header()
	header.Set("Content-Type", contentType)
	header.Set("Content-Length", strconv.Itoa(len(body)))
	x.w.WriteHeader(code)
	// A failed write means that the client has gone, which nobody needs to hear.
	_, _ = x.w.Write(body)
}

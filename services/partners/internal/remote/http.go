package remote

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"sabha.dev/chassis/clock"
	"sabha.dev/chassis/egress"
	"sabha.dev/chassis/fault"
	"sabha.dev/chassis/trace"
	"sabha.dev/services/partners/internal/credential"
)

// perHost is how many connections to a partner are kept.
const perHost = 64

// way is how an address of a partner is reached, whatever is spoken there.
type way struct {
	url        *url.URL
	guard      *egress.Guard
	transport  *http.Transport
	credential *credential.Credential
	secure     bool
	trace      Trace
	max        int64
	clock      clock.Clock
	// refused says that the guard did not let the last connection of gRPC come about.
	refused atomic.Bool
}

func (c *Client) way(raw, binding string, s Settings) (*way, error) {
	u, err := address(raw, binding)
	if err != nil {
		return nil, err
	}
	guard, err := egress.New(s.Networks)
	if err != nil {
		return nil, failure(Forbidden, "the agreement's networks: %v", err)
	}
	w := &way{url: u, guard: guard, secure: secure(u, s.Credential), trace: s.Trace, max: c.MaxAnswer, clock: c.Clock}
	if s.Credential.Secret() && !w.secure && !s.Credential.Plaintext && !loopback(u.Hostname()) {
		return nil, failure(Credentials, "the partner's address has no TLS, so our credentials are not sent; have the partner offer https, or set plaintext: true in the agreement's credentials")
	}
	// The token endpoint is another party than the partner, but the operator names both.
	if w.credential, err = credential.Open(s.Credential, guard.Transport(nil, 1), c.Clock); err != nil {
		return nil, failure(Credentials, "our credentials for the partner cannot be used: %v", err)
	}
	w.transport = guard.Transport(w.credential.TLS(), perHost)
	return w, nil
}

// secure tells whether connections have TLS. An address of gRPC without a scheme has,
// unless it is this host or the agreement says that secrets may go without.
func secure(u *url.URL, c *credential.Config) bool {
	switch u.Scheme {
	case "https", "grpcs":
		return true
	case "grpc":
		return !loopback(u.Hostname()) && (c == nil || !c.Plaintext)
	}
	return false
}

func loopback(host string) bool {
	a, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && a.Unmap().IsLoopback()
}

func (w *way) close() { w.transport.CloseIdleConnections() }

// place is the trace that the partner is told of.
func (w *way) place(ctx context.Context) (parent, state string) {
	if w.trace != Full && w.trace != ID || !trace.Known(ctx) {
		return "", ""
	}
	c := trace.Of(ctx)
	if w.trace == ID {
		return trace.Context{TraceID: c.TraceID, SpanID: trace.New().SpanID, Sampled: c.Sampled}.String(), ""
	}
	return c.String(), c.State
}

// do sends a request and gives an answer of status 200 with a body that is bounded. The
// caller closes it. What else comes is an *Error.
func (w *way) do(ctx context.Context, method, address string, body []byte, header http.Header, limit int64) (*http.Response, error) {
	for again := true; ; again = false {
		var content io.Reader
		if body != nil {
			content = bytes.NewReader(body)
		}
		r, err := http.NewRequestWithContext(ctx, method, address, content)
		if err != nil {
			return nil, failure(Invalid, "the address of the partner cannot be called").because(err)
		}
		r.Header = header.Clone()
		res, shown, err := w.trip(r, limit)
		if err != nil {
			return nil, err
		}
		if res.StatusCode == http.StatusUnauthorized && again && w.credential.Renew(shown) {
			discard(res)
			continue
		}
		if res.StatusCode >= 200 && res.StatusCode < 300 {
			return res, nil
		}
		defer discard(res)
		return nil, w.refusal(res)
	}
}

// trip sends a request as it is, with credentials and trace.
func (w *way) trip(r *http.Request, limit int64) (*http.Response, credential.Shown, error) {
	ctx := r.Context()
	if parent, state := w.place(ctx); parent != "" {
		r.Header.Set(trace.Header, parent)
		if state != "" {
			r.Header.Set(trace.StateHeader, state)
		}
	}
	shown, err := w.credential.Show(ctx, r)
	if err != nil {
		if ctx.Err() != nil {
			return nil, shown, ctx.Err()
		}
		return nil, shown, &Error{Kind: Credentials, Unsent: true, Message: "our credentials for the partner cannot be had: " + err.Error()}
	}
	res, err := w.transport.RoundTrip(r)
	if err != nil {
		e := broken(ctx, err)
		var own *Error
		var dial *net.OpError
		if errors.As(e, &own) && errors.As(err, &dial) && dial.Op == "dial" {
			own.Unsent = true
		}
		return nil, shown, e
	}
	res.Body = &bounded{body: res.Body, left: limit, ctx: ctx}
	return res, shown, nil
}

// bounded is a body that ends with an error where it is too long.
type bounded struct {
	body io.ReadCloser
	left int64
	ctx  context.Context
}

func (b *bounded) Read(p []byte) (int, error) {
	if b.left <= 0 {
		// One byte more tells whether the body ends here.
		var one [1]byte
		if n, err := b.body.Read(one[:]); n == 0 && err != nil {
			return 0, b.told(err)
		}
		return 0, failure(TooLarge, "the partner's answer is longer than it may be")
	}
	n, err := b.body.Read(p[:min(int64(len(p)), b.left)])
	b.left -= int64(n)
	return n, b.told(err)
}

func (b *bounded) told(err error) error {
	if err == nil || errors.Is(err, io.EOF) {
		return err
	}
	return broken(b.ctx, err)
}

func (b *bounded) Close() error { return b.body.Close() }

// maxDiscard bounds what is read of an answer only so that its connection can be kept.
const maxDiscard = 64 << 10

func discard(res *http.Response) {
	_, _ = io.CopyN(io.Discard, res.Body, maxDiscard)
	_ = res.Body.Close()
}

// refusal is the error of an answer with another status than those of success.
func (w *way) refusal(res *http.Response) *Error {
	said := ""
	if text, err := io.ReadAll(io.LimitReader(res.Body, maxDiscard)); err == nil {
		if e := rpcRefusal(text); e != nil {
			return e
		}
		if message, reason := problem(text); message != "" {
			said = quote(message)
			if reason == fault.TaskNotCancelable || reason == fault.UnsupportedOperation {
				return failure(Final, "the partner does not do that with its task%s", said)
			}
		} else if strings.HasPrefix(res.Header.Get("Content-Type"), "text/plain") {
			said = quote(string(text))
		}
	}
	e := refused(res.StatusCode, said)
	e.RetryAfter = w.retryAfter(res.Header.Get("Retry-After"))
	return e
}

// problem reads the body of an error over HTTP+JSON (specification 11.6): what it says,
// and A2A's reason if it gives one.
func problem(text []byte) (message string, reason fault.Reason) {
	var body struct {
		Error struct {
			Message string `json:"message"`
			Details []struct {
				Reason string `json:"reason"`
				Domain string `json:"domain"`
			} `json:"details"`
		} `json:"error"`
	}
	if json.Unmarshal(text, &body) != nil {
		return "", ""
	}
	for _, d := range body.Error.Details {
		if d.Domain == fault.DomainA2A {
			reason = fault.Reason(d.Reason)
		}
	}
	return body.Error.Message, reason
}

// refused is the error of a status of HTTP.
func refused(status int, said string) *Error {
	switch {
	case status >= 300 && status < 400:
		return failure(Forbidden, "the partner sends us to another address, where we do not follow; have its card name the right one")
	case status == http.StatusUnauthorized:
		return failure(Credentials, "the partner does not take our credentials (401)%s; look at credentials in the agreement", said)
	case status == http.StatusForbidden:
		return failure(Refused, "the partner does not allow us this call (403)%s", said)
	case status == http.StatusTooManyRequests:
		return failure(Limited, "the partner says that we call it too often (429)%s", said)
	case status == http.StatusNotFound:
		return failure(Gone, "the partner does not know what we ask for (404)%s", said)
	case status >= 500:
		return failure(Failed, "the partner failed (%d)%s", status, said)
	}
	return failure(Refused, "the partner does not take our request (%d)%s", status, said)
}

// maxRetryAfter bounds how long a partner may have us wait.
const maxRetryAfter = 24 * time.Hour

// retryAfter reads the header (RFC 9110 section 10.2.3).
func (w *way) retryAfter(v string) time.Duration {
	d := time.Duration(0)
	if n, err := strconv.Atoi(v); err == nil {
		d = time.Duration(min(n, int(maxRetryAfter/time.Second))) * time.Second
	} else if at, err := http.ParseTime(v); err == nil {
		d = at.Sub(w.clock.Now())
	}
	return min(max(d, 0), maxRetryAfter)
}

// post sends JSON and reads the answer whole.
func (w *way) post(ctx context.Context, address string, body []byte, header http.Header) ([]byte, error) {
	return w.read(ctx, http.MethodPost, address, body, header)
}

// maxGrown bounds what is set aside for an answer before it is there.
const maxGrown = 64 << 10

func (w *way) read(ctx context.Context, method, address string, body []byte, header http.Header) ([]byte, error) {
	res, err := w.do(ctx, method, address, body, header, w.max)
	if err != nil {
		return nil, err
	}
	defer func() { _ = res.Body.Close() }()
	var text bytes.Buffer
	text.Grow(int(min(max(res.ContentLength, 0), maxGrown)) + bytes.MinRead)
	if _, err := text.ReadFrom(res.Body); err != nil {
		return nil, broken(ctx, err)
	}
	return text.Bytes(), nil
}

// follow sends a request and gives the data of each event of the answer's stream.
func (w *way) follow(ctx context.Context, method, address string, body []byte, header http.Header, each func([]byte) error) error {
	header.Set("Accept", eventStream)
	res, err := w.do(ctx, method, address, body, header, w.max*streamAnswers)
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }()
	if mediaType(res) != eventStream {
		// An error before the first event is an ordinary answer.
		text, err := io.ReadAll(io.LimitReader(res.Body, w.max))
		if err != nil {
			return broken(ctx, err)
		}
		return each(text)
	}
	return events(ctx, res.Body, int(w.max), each)
}

func mediaType(res *http.Response) string {
	kind, _, _ := strings.Cut(res.Header.Get("Content-Type"), ";")
	return strings.ToLower(strings.TrimSpace(kind))
}

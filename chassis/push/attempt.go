package push

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"syscall"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"

	"sabha.dev/chassis/a2ajson"
	"sabha.dev/chassis/egress"
	"sabha.dev/chassis/taskstore"
	"sabha.dev/chassis/trace"
)

// within bounds one attempt, from name resolution to the answer. It is the
// machine's time: it bounds the network.
const within = 10 * time.Second

// maxBuffer bounds what a worker keeps of a body's buffer, bytes.
const maxBuffer = 64 << 10

// Outcomes of attempts, as they are counted.
const (
	delivered = "delivered"
	failed    = "failed"
	refused   = "refused"
	gone      = "gone"
)

// job is one attempt.
type job struct {
	key         taskstore.PushKey
	config      *a2apb.TaskPushNotificationConfig
	claim       int64
	version     int64
	event       *event
	traceparent string
}

// result of an attempt.
type result struct {
	// outcome is empty when this side could not make the attempt.
	outcome string
	// taskGone says that there is nothing left to tell of.
	taskGone bool
	version  int64
	reason   string
	// retryAfter is what the receiver asks for.
	retryAfter time.Duration
	took       time.Duration
	// status is that of the receiver's answer, 0 without one.
	status int
	// at is when the newest thing that was told of happened.
	at time.Time
}

// attempt writes the body into a buffer that it is given, for the next one to use again.
func (d *Deliverer) attempt(ctx context.Context, j job, buffer *[]byte) result {
	r := result{version: j.version}
	ev, epoch := (*a2apb.StreamResponse)(nil), d.Store.Epoch()
	if j.event != nil {
		r.version, r.at = j.event.version, j.event.at
		ev = d.Frame(j.event.ev, epoch, r.version, false)
	} else {
		rec, err := d.Store.Get(ctx, j.key.TaskID)
		if err != nil {
			r.taskGone = errors.Is(err, taskstore.ErrNotFound)
			return r
		}
		r.version, r.at = max(rec.Version, j.version), rec.Task.GetStatus().GetTimestamp().AsTime()
		ev = d.Frame(&a2apb.StreamResponse{Payload: &a2apb.StreamResponse_Task{Task: rec.Task}}, epoch, rec.Version, rec.Version > j.version+1)
		j.traceparent = rec.Traceparent()
	}
	if d.Outlet != nil {
		var err error
		if ev, err = d.disclose(ctx, j, ev); err != nil {
			return r // the replica stops
		}
	}
	body, err := a2ajson.AppendEvent((*buffer)[:0], ev)
	if err != nil {
		d.Log.Error("an event cannot be written as JSON", "task_id", j.key.TaskID, "error", err)
		r.outcome, r.reason = failed, "the event cannot be written as JSON"
		return r
	}
	if cap(body) <= maxBuffer {
		*buffer = body
	}
	ctx, span := d.span(ctx, j)
	defer func() { r.tell(span) }()
	header := d.header(ctx, j, epoch, r.version, body)
	began := time.Now()
	answer, err := d.client.Post(j.config.GetUrl(), header, body)
	r.took = time.Since(began)
	if err != nil {
		r.outcome, r.reason = explain(err)
		d.Log.Debug("push failed", "task_id", j.key.TaskID, "config", j.key.ID, "error", err)
		return r
	}
	r.judge(answer, d.Clock.Now())
	return r
}

// header of a notification. Its names are written as they are.
func (d *Deliverer) header(ctx context.Context, j job, epoch, version int64, body []byte) http.Header {
	place := strconv.FormatInt(epoch, 10) + "." + strconv.FormatInt(version, 10)
	h := http.Header{
		"Content-Type":  {"application/a2a+json"},
		"User-Agent":    {"Sabha"},
		"A2a-Version":   {"1.0"},
		SignatureHeader: {d.signer.sign(j.config.GetUrl(), j.key, place, body)},
	}
	if t := j.config.GetToken(); t != "" {
		h[TokenHeader] = []string{t}
	}
	if a := j.config.GetAuthentication(); a.GetScheme() != "" {
		value := a.GetScheme()
		if c := a.GetCredentials(); c != "" {
			value += " " + c
		}
		h["Authorization"] = []string{value}
	}
	if d.Tracer == nil && j.traceparent != "" {
		h[trace.Header] = []string{j.traceparent}
	} else {
		trace.Inject(ctx, h)
	}
	return h
}

// judge reads a receiver's answer. Its body does not count.
func (r *result) judge(a egress.Answer, now time.Time) {
	code := a.Status
	r.status = code
	switch {
	case code >= 200 && code < 300:
		r.outcome = delivered
		return
	case code == http.StatusGone:
		r.outcome, r.reason = gone, "HTTP 410: the receiver wants no more notifications"
	case code >= 300 && code < 400:
		r.outcome, r.reason = failed, fmt.Sprintf("HTTP %d: redirects are not followed; name the address that they lead to", code)
	default:
		r.outcome, r.reason = failed, fmt.Sprintf("HTTP %d", code)
	}
	r.retryAfter = retryAfter(a.RetryAfter, now)
}

// retryAfter reads the header of that name (RFC 9110 section 10.2.3), bounded.
func retryAfter(value string, now time.Time) time.Duration {
	var d time.Duration
	if n, err := strconv.ParseUint(value, 10, 31); err == nil {
		d = time.Duration(n) * time.Second
	} else if at, err := http.ParseTime(value); err == nil {
		d = at.Sub(now)
	}
	return min(max(d, 0), maxRetryAfter)
}

// explain says why no answer came, without what only the operator should see.
func explain(err error) (outcome, reason string) {
	var (
		no          *egress.Refused
		name        *net.DNSError
		certificate *tls.CertificateVerificationError
		authority   x509.UnknownAuthorityError
		plain       tls.RecordHeaderError
		timeout     net.Error
	)
	switch {
	case errors.As(err, &no):
		return refused, "the receiver's address is not public; whoever runs the sender can open its network with push.allow"
	case errors.Is(err, egress.ErrRequest):
		return failed, "the notification cannot be made of this configuration"
	case errors.As(err, &name) && !name.IsTimeout:
		return failed, "the receiver's name does not resolve"
	case errors.As(err, &certificate), errors.As(err, &authority):
		return failed, "the receiver's TLS certificate is not valid"
	case errors.As(err, &plain):
		return failed, "the receiver does not speak TLS"
	case errors.Is(err, syscall.ECONNREFUSED):
		return failed, "connection refused"
	case errors.As(err, &timeout) && timeout.Timeout(), errors.Is(err, context.DeadlineExceeded):
		return failed, fmt.Sprintf("no answer within %s", within)
	case errors.Is(err, net.ErrClosed):
		return "", ""
	}
	return failed, "the connection broke before an answer"
}

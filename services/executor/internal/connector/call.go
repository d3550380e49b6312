package connector

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"sabha.dev/chassis/tool"
)

// call is one call of an operation.
type call struct {
	*Connector
	*operation
	url string
	// again says that a request may be sent a second time.
	again bool
	// key is that of the call, for a provider that knows requests by one.
	key string
}

// answered is what came back.
type answered struct {
	status int
	header http.Header
	body   []byte
}

// make sends the request, and those for more pages, and gives the answer.
func (k *call) make(ctx context.Context, arguments json.RawMessage) (*mcp.CallToolResult, error) {
	value, err := tool.Decode(arguments)
	if err != nil {
		return nil, err
	}
	if k.exact != nil {
		if value, err = k.exact.arguments(value); err != nil {
			return nil, err
		}
	}
	fields, _ := value.(object)
	target, header, body, err := k.request(fields)
	if err != nil {
		return nil, err
	}
	if p, ok := k.Pages[k.name]; ok {
		return k.pages(ctx, p, target, header, body)
	}
	a, err := k.send(ctx, target, header, body, k.MaxBytes)
	if err != nil {
		return nil, err
	}
	if !isJSON(a.header.Get("Content-Type")) || len(a.body) == 0 {
		return k.other(a)
	}
	read, err := tool.Decode(a.body)
	if err != nil {
		return nil, fmt.Errorf("the answer of the provider cannot be read: %w", err)
	}
	return k.structured(object{"status": a.status, "body": read})
}

func (k *call) structured(v any) (*mcp.CallToolResult, error) {
	if k.exact != nil {
		var err error
		if v, err = k.exact.result(v); err != nil {
			return nil, err
		}
	}
	raw, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return &mcp.CallToolResult{StructuredContent: json.RawMessage(raw), Content: []mcp.Content{}}, nil
}

// other is an answer that is no JSON.
func (k *call) other(a answered) (*mcp.CallToolResult, error) {
	res, err := k.structured(object{"status": a.status})
	if err != nil || len(a.body) == 0 {
		return res, err
	}
	kind, _, _ := strings.Cut(a.header.Get("Content-Type"), ";")
	if strings.HasPrefix(kind, "text/") {
		res.Content = []mcp.Content{&mcp.TextContent{Text: strings.ToValidUTF8(string(a.body), "\uFFFD")}}
	} else {
		res.Content = []mcp.Content{&mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "answer:body", MIMEType: kind, Blob: a.body}}}
	}
	return res, nil
}

// request puts arguments where the document wants them.
func (k *call) request(arguments object) (target string, header http.Header, body []byte, err error) {
	path, query := k.path, url.Values{}
	header = http.Header{"Accept": {"application/json"}, "User-Agent": {"sabha-executor"}}
	for _, p := range k.parameters {
		v, given := arguments[p.name]
		if !given || v == nil {
			continue
		}
		words, err := texts(v)
		if err != nil {
			return "", nil, nil, fmt.Errorf("the argument %s %w", p.name, err)
		}
		one := strings.Join(words, ",")
		switch {
		case p.in == "path" && (one == "" || one == "." || one == ".."):
			return "", nil, nil, fmt.Errorf("the argument %s is %q, which cannot be in a path", p.name, one)
		case p.in == "path":
			path = strings.ReplaceAll(path, "{"+p.name+"}", url.PathEscape(one))
		case p.in == "header" && strings.ContainsFunc(one, func(r rune) bool { return r < ' ' || r == 0x7f }):
			return "", nil, nil, fmt.Errorf("the argument %s has a character that cannot be in a header", p.name)
		case p.in == "header":
			header.Set(p.name, one)
		case p.apart:
			query[p.name] = words
		default:
			query.Set(p.name, one)
		}
	}
	if v, given := arguments["body"]; given && k.body {
		if body, err = json.Marshal(v); err != nil {
			return "", nil, nil, err
		}
		header.Set("Content-Type", "application/json")
	}
	if k.IdempotencyHeader != "" && k.key != "" && !k.effects.ReadOnly {
		header.Set(k.IdempotencyHeader, k.key)
	}
	target = k.url + path
	if len(query) > 0 {
		target += "?" + query.Encode()
	}
	return target, header, body, nil
}

// texts writes a value as parameters have it.
func texts(v any) ([]string, error) {
	switch v := v.(type) {
	case string:
		return []string{v}, nil
	case json.Number:
		return []string{v.String()}, nil
	case bool:
		return []string{strconv.FormatBool(v)}, nil
	case []any:
		var all []string
		for _, e := range v {
			one, err := texts(e)
			if err != nil || len(one) != 1 {
				return nil, errors.New("holds more than a list of plain values")
			}
			all = append(all, one...)
		}
		return all, nil
	}
	return nil, errors.New("is an object, which is supported in a body only")
}

// Waits between attempts.
const (
	firstWait = 200 * time.Millisecond
	maxWait   = 30 * time.Second
)

// send sends a request, again where that may help and may be done: an operation that
// may be repeated, or that the provider knows by a key; or a request that was not taken.
func (k *call) send(ctx context.Context, target string, header http.Header, body []byte, most int) (answered, error) {
	repeatable := k.again || k.IdempotencyHeader != "" && k.key != ""
	for attempt := 1; ; attempt++ {
		a, err := k.once(ctx, target, header, body, most)
		if err == nil && a.status/100 == 2 {
			return a, nil
		}
		wait := min(firstWait<<(attempt-1), maxWait)
		wait = wait/2 + rand.N(wait/2)
		if told := k.after(a.header); told > 0 {
			wait = told
		}
		if attempt >= k.Attempts || !passing(a, err, repeatable) || !k.within(ctx, wait) {
			if err == nil {
				err = refusal(a)
			}
			return a, err
		}
		select {
		case <-ctx.Done():
			return answered{}, context.Cause(ctx)
		case <-k.Clock.After(wait):
		}
	}
}

// within tells whether a wait ends before the call does.
func (k *call) within(ctx context.Context, wait time.Duration) bool {
	end, bounded := ctx.Deadline()
	return wait <= maxWait && (!bounded || time.Until(end) > wait)
}

// passing tells whether an attempt failed in a way that another may not.
func passing(a answered, err error, repeatable bool) bool {
	if err != nil {
		var dial *net.OpError
		return errors.Is(err, errAway) && (repeatable || errors.As(err, &dial) && dial.Op == "dial")
	}
	switch a.status {
	case http.StatusTooManyRequests: // it was not taken
		return true
	case http.StatusInternalServerError, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return repeatable
	}
	return false
}

// after reads how long the provider asks to wait (RFC 9110 section 10.2.3).
func (k *call) after(h http.Header) time.Duration {
	text := h.Get("Retry-After")
	if seconds, err := strconv.Atoi(text); err == nil && seconds >= 0 && seconds < 1<<20 {
		return time.Duration(seconds) * time.Second
	}
	if at, err := http.ParseTime(text); err == nil {
		return at.Sub(k.Clock.Now())
	}
	return 0
}

// errAway is told of a provider that gave no answer.
var errAway = errors.New("the provider cannot be reached, or broke off; the operator finds the cause in the log")

// hidden is an error whose cause is for the log: it may name hosts and files.
type hidden struct{ told, cause error }

func (h *hidden) Error() string   { return h.told.Error() }
func (h *hidden) Unwrap() []error { return []error{h.told, h.cause} }

func away(err error) error {
	if of, ok := errors.AsType[*url.Error](err); ok {
		err = of.Err // without the URL, which may hold a key
	}
	return &hidden{errAway, err}
}

func (k *call) once(ctx context.Context, target string, header http.Header, body []byte, most int) (answered, error) {
	r, err := http.NewRequestWithContext(ctx, k.method, target, bytes.NewReader(body))
	if err != nil {
		return answered{}, errors.New("the arguments make no URL")
	}
	if body == nil {
		r.Body, r.GetBody = http.NoBody, nil
	}
	r.Header = header.Clone()
	if err := k.show(ctx, r); err != nil {
		return answered{}, err
	}
	if k.IdempotencyHeader == "" || k.key == "" {
		r.GetBody = nil // the transport does not send it again by itself
	}
	res, err := k.client.Do(r)
	if err != nil {
		return answered{}, away(err)
	}
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(res.Body, int64(most)+1))
	switch {
	case len(text) > most:
		return answered{}, fmt.Errorf("the provider answers with more than %d bytes", most)
	case err != nil:
		return answered{}, away(err)
	}
	return answered{res.StatusCode, res.Header, text}, nil
}

// maxRefusal bounds what is told of a provider's own words.
const maxRefusal = 2000

// refusal is an answer that is no success.
func refusal(a answered) error {
	text := fmt.Sprintf("the provider answers with status %d %s", a.status, http.StatusText(a.status))
	if words := strings.TrimSpace(clip(strings.ToValidUTF8(string(a.body), ""), maxRefusal)); words != "" {
		text += ": " + words
	}
	return errors.New(text)
}

package toolhost

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"sabha.dev/chassis/egress"
	"sabha.dev/services/executor/internal/credential"
)

// perHost connections to a server are kept.
const perHost = 8

// start makes a connection over Streamable HTTP. Nothing is sent yet.
func (r *Remote) start(_ context.Context, f *frames) (*wire, error) {
	guard, err := egress.New(r.Networks)
	if err != nil {
		return nil, err
	}
	base := guard.Transport(nil, perHost)
	door := &door{frames: f, next: base, remote: r, tokens: credential.Tokens{OAuth: r.OAuth, Next: base}}
	client := &http.Client{Transport: door, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	return &wire{
		transport: &mcp.StreamableClientTransport{Endpoint: r.URL, HTTPClient: client, MaxEventSize: f.max + 4096},
		frames:    f,
		stop:      func(<-chan struct{}) { base.CloseIdleConnections() },
	}, nil
}

// door is what requests leave by: it shows who we are, and looks at what comes back.
type door struct {
	frames *frames
	next   http.RoundTripper
	remote *Remote
	tokens credential.Tokens
}

// RoundTrip sends a request. A token that is not taken is asked for anew, once.
func (d *door) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.GetBody != nil {
		if body, err := r.GetBody(); err == nil {
			if text, err := io.ReadAll(body); err == nil {
				d.frames.out(text)
			}
		}
	}
	for again := false; ; again = true {
		out := r.Clone(r.Context())
		if again && r.GetBody != nil {
			body, err := r.GetBody()
			if err != nil {
				return nil, err
			}
			out.Body = body
		}
		token, err := d.show(out)
		if err != nil {
			return nil, err
		}
		res, err := d.next.RoundTrip(out)
		if err != nil {
			return nil, err
		}
		if res.StatusCode == http.StatusUnauthorized && !again && d.tokens.OAuth != nil && (r.Body == nil || r.GetBody != nil) {
			d.tokens.Drop(token)
			_ = res.Body.Close()
			continue
		}
		return d.watched(res), nil
	}
}

// show puts credentials into a request.
func (d *door) show(r *http.Request) (token string, err error) {
	for name, file := range d.remote.HeaderFiles {
		value, err := credential.Read(file)
		if err != nil {
			return "", err
		}
		r.Header.Set(name, value)
	}
	switch {
	case d.tokens.OAuth != nil:
		if token, err = d.tokens.Get(r.Context()); err != nil {
			return "", err
		}
	case d.remote.BearerFile != "":
		if token, err = credential.Read(d.remote.BearerFile); err != nil {
			return "", err
		}
	default:
		return "", nil
	}
	r.Header.Set("Authorization", "Bearer "+token)
	return token, nil
}

// watched has each message of an answer looked at.
func (d *door) watched(res *http.Response) *http.Response {
	switch kind, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type")); kind {
	case "text/event-stream":
		res.Body = &events{frames: d.frames, Closer: res.Body, in: bufio.NewReaderSize(res.Body, 16<<10)}
	case "application/json":
		res.Body = &document{frames: d.frames, ReadCloser: res.Body, checks: res.StatusCode == http.StatusOK}
		res.ContentLength = -1
		res.Header.Del("Content-Length")
	default:
		res.Body = &bounded{ReadCloser: res.Body, left: int64(d.frames.max)}
	}
	return res
}

// bounded gives no more than so many bytes.
type bounded struct {
	io.ReadCloser
	left int64
}

var errLong = errors.New("the answer is too long")

func (b *bounded) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, errLong
	}
	n, err := b.ReadCloser.Read(p[:min(int64(len(p)), b.left)])
	b.left -= int64(n)
	return n, err
}

// document is an answer of one message.
type document struct {
	*frames
	io.ReadCloser
	checks bool
	once   sync.Once
	rest   *bytes.Reader
	err    error
}

func (d *document) Read(p []byte) (int, error) {
	d.once.Do(func() {
		var text []byte
		if text, d.err = io.ReadAll(io.LimitReader(d.ReadCloser, int64(d.max)+1)); d.err != nil {
			return
		}
		if text = bytes.TrimSpace(text); len(text) > 0 && d.checks {
			text, d.err = d.frames.in(text)
		} else if len(text) > d.max {
			d.err = errLong
		}
		d.rest = bytes.NewReader(text)
	})
	if d.err != nil {
		return 0, d.err
	}
	return d.rest.Read(p)
}

// events is an answer of several messages, one in each line of data.
type events struct {
	*frames
	io.Closer
	in   *bufio.Reader
	rest []byte
}

func (e *events) Read(p []byte) (int, error) {
	if len(e.rest) == 0 {
		text, err := line(e.in, e.max)
		if errors.Is(err, bufio.ErrTooLong) {
			return 0, e.fail(fmt.Errorf("it sent a message of more than %d bytes", e.max))
		}
		if err != nil && len(text) == 0 {
			return 0, err
		}
		if data, ok := bytes.CutPrefix(text, []byte("data:")); ok && len(bytes.TrimSpace(data)) > 0 {
			if data, err = e.frames.in(bytes.TrimSpace(data)); err != nil {
				return 0, err
			}
			text = append(append([]byte("data: "), data...), '\n')
		}
		e.rest = text
	}
	n := copy(p, e.rest)
	e.rest = e.rest[n:]
	return n, nil
}

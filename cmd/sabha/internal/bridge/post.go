package bridge

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
)

// post sends a message and passes on the messages of the answer. It tells whether one of
// them answers the call.
func (b *Bridge) post(ctx context.Context, m message, line []byte) (answered bool, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, b.URL, bytes.NewReader(line))
	if err != nil {
		return false, err
	}
	req.Header = b.headers(m)
	res, err := b.Client.Do(req)
	if err != nil {
		return false, fmt.Errorf("the platform cannot be reached at %s", b.URL)
	}
	defer func() { _ = res.Body.Close() }()
	if id := res.Header.Get("Mcp-Session-Id"); id != "" && m.Method == "initialize" {
		b.mu.Lock()
		b.session = id
		b.mu.Unlock()
	}
	kind, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type"))
	if kind == "text/event-stream" {
		return b.stream(m, res.Body)
	}
	body, err := io.ReadAll(io.LimitReader(res.Body, maxMessage+1))
	switch {
	case err != nil:
		return false, errors.New("the answer of the platform broke off")
	case len(body) > maxMessage:
		return false, errTooLong
	case kind == "application/json" && b.take(m, body):
		return true, nil
	case res.StatusCode >= http.StatusBadRequest:
		return false, fmt.Errorf("%s: %s", res.Status, text(body))
	}
	return false, nil
}

// take passes a message on, if it is one; it tells whether it answers the call.
func (b *Bridge) take(m message, body []byte) bool {
	var envelope struct {
		Version string `json:"jsonrpc"`
	}
	if json.Unmarshal(body, &envelope) != nil || envelope.Version != "2.0" {
		return false
	}
	var got message
	_ = json.Unmarshal(body, &got)
	if m.Method == "initialize" && got.Result.ProtocolVersion != "" {
		b.mu.Lock()
		b.version = got.Result.ProtocolVersion
		b.mu.Unlock()
	}
	b.say(body)
	return got.Method == ""
}

// stream passes on the messages of a stream of events.
func (b *Bridge) stream(m message, body io.Reader) (answered bool, err error) {
	scanner := bufio.NewScanner(body)
	scanner.Buffer(make([]byte, 0, 64<<10), maxMessage)
	var data []byte
	for scanner.Scan() {
		line := scanner.Bytes()
		if value, ok := bytes.CutPrefix(line, []byte("data:")); ok {
			data = append(data, value...)
		}
		if len(line) == 0 && len(data) > 0 {
			answered = b.take(m, data) || answered
			data = nil
		}
	}
	if scanner.Err() != nil {
		return answered, errors.New("the answer of the platform broke off")
	}
	return answered, nil
}

// end tells the platform that the session is over.
func (b *Bridge) end(ctx context.Context) {
	b.mu.Lock()
	session := b.session
	b.mu.Unlock()
	if session == "" {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, grace)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodDelete, b.URL, nil)
	if err != nil {
		return
	}
	req.Header = b.headers(message{})
	if res, err := b.Client.Do(req); err == nil {
		_ = res.Body.Close()
	}
}

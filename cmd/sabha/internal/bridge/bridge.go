// Package bridge carries the Model Context Protocol between a client that starts a
// program and speaks over its standard input and output, and a platform that serves
// it over HTTP. It passes messages on as they are, of every version.
package bridge

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"
)

const (
	// maxMessage is the longest message in either direction, bytes.
	maxMessage = 16 << 20
	// grace is how long answers are waited for once the client has closed its side.
	grace = 5 * time.Second
	// modern is the first version without sessions: what is said of a request is in its headers.
	modern = "2026-07-28"
)

// Bridge leads to one platform.
type Bridge struct {
	// URL of the endpoint; Header goes with every request, credentials too.
	URL    string
	Header http.Header
	Client *http.Client
	// After waits.
	After func(time.Duration) <-chan time.Time

	write   sync.Mutex
	out     io.Writer
	mu      sync.Mutex
	session string
	version string // agreed on by initialize
	calls   map[string]context.CancelFunc
}

// message is what has to be known of a message to carry it.
type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		Meta      map[string]any  `json:"_meta"`
		Name      string          `json:"name"`
		URI       string          `json:"uri"`
		RequestID json.RawMessage `json:"requestId"`
	} `json:"params"`
	Result struct {
		ProtocolVersion string `json:"protocolVersion"`
	} `json:"result"`
}

func (m message) version() string {
	v, _ := m.Params.Meta["io.modelcontextprotocol/protocolVersion"].(string)
	return v
}

// call tells whether an answer is expected.
func (m message) call() bool { return m.Method != "" && m.ID != nil }

// Run carries messages until the client closes its side or ctx ends.
func (b *Bridge) Run(ctx context.Context, in io.Reader, out io.Writer) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	b.out, b.calls = out, map[string]context.CancelFunc{}
	lines, ended := make(chan []byte), make(chan error, 1)
	go func() {
		ended <- read(ctx, in, lines)
		close(lines)
	}()
	var calls sync.WaitGroup
	for {
		var line []byte
		var ok bool
		select {
		case line, ok = <-lines:
		case <-ctx.Done():
		}
		if !ok {
			break
		}
		var m message
		if err := json.Unmarshal(line, &m); err != nil && !json.Valid(line) {
			b.answer(json.RawMessage("null"), -32700, "the message is not JSON")
			continue
		}
		switch {
		case m.Method == "notifications/cancelled" && b.cancel(m.Params.RequestID):
		case m.call() && m.Method != "initialize":
			calls.Go(func() { b.carry(ctx, m, line) })
		default: // what comes after it builds on it
			b.carry(ctx, m, line)
		}
	}
	done := make(chan struct{})
	go func() { calls.Wait(); close(done) }()
	select {
	case <-done:
	case <-ctx.Done():
	case <-b.After(grace):
	}
	b.end(context.WithoutCancel(ctx))
	cancel()
	calls.Wait()
	select {
	case err := <-ended:
		return err
	default: // it still waits for its input, which ends with the process
		return nil
	}
}

var errTooLong = fmt.Errorf("a message is longer than %d MiB", maxMessage>>20)

// read gives line by line.
func read(ctx context.Context, in io.Reader, lines chan<- []byte) error {
	scanner := bufio.NewScanner(in)
	scanner.Buffer(make([]byte, 0, 64<<10), maxMessage)
	for scanner.Scan() {
		line := bytes.TrimSpace(bytes.Clone(scanner.Bytes()))
		if len(line) == 0 {
			continue
		}
		select {
		case lines <- line:
		case <-ctx.Done():
			return nil
		}
	}
	if errors.Is(scanner.Err(), bufio.ErrTooLong) {
		return errTooLong
	}
	return scanner.Err()
}

// cancel ends a call of a version in which the end of the request says so.
func (b *Bridge) cancel(id json.RawMessage) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	end, ok := b.calls[string(id)]
	if ok {
		end()
	}
	return ok
}

// carry sends one message and passes on what comes back.
func (b *Bridge) carry(ctx context.Context, m message, line []byte) {
	if m.call() && m.version() >= modern {
		var end context.CancelFunc
		ctx, end = context.WithCancel(ctx)
		defer end()
		b.mu.Lock()
		b.calls[string(m.ID)] = end
		b.mu.Unlock()
		defer func() {
			b.mu.Lock()
			delete(b.calls, string(m.ID))
			b.mu.Unlock()
		}()
	}
	answered, err := b.post(ctx, m, line)
	if err == nil && m.call() && !answered {
		err = errors.New("the platform ended its answer early; call again")
	}
	if err != nil && m.call() && ctx.Err() == nil {
		b.answer(m.ID, -32603, err.Error())
	}
}

// answer writes an error of JSON-RPC.
func (b *Bridge) answer(id json.RawMessage, code int, text string) {
	line, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": id, "error": map[string]any{"code": code, "message": text}})
	if err == nil {
		b.say(line)
	}
}

// say writes one message to the client.
func (b *Bridge) say(line []byte) {
	var flat bytes.Buffer
	if json.Compact(&flat, line) != nil {
		return
	}
	flat.WriteByte('\n')
	b.write.Lock()
	defer b.write.Unlock()
	_, _ = b.out.Write(flat.Bytes()) // a client that has gone closes its side too
}

// headers that a message is sent with.
func (b *Bridge) headers(m message) http.Header {
	h := b.Header.Clone()
	h.Set("Content-Type", "application/json")
	h.Set("Accept", "application/json, text/event-stream")
	b.mu.Lock()
	defer b.mu.Unlock()
	switch v := m.version(); {
	case v >= modern:
		h.Set("Mcp-Protocol-Version", v)
		h.Set("Mcp-Method", m.Method)
		if name := m.Params.Name + m.Params.URI; name != "" {
			h.Set("Mcp-Name", name)
		}
	case m.Method != "initialize":
		if b.session != "" {
			h.Set("Mcp-Session-Id", b.session)
		}
		if b.version != "" {
			h.Set("Mcp-Protocol-Version", b.version)
		}
	}
	return h
}

// text shortens what a server says for an error message.
func text(body []byte) string {
	var told struct {
		Error struct {
			Message string `json:"message"`
		} `json:"error"`
	}
	if json.Unmarshal(body, &told) == nil && told.Error.Message != "" {
		return told.Error.Message
	}
	return strings.Join(strings.Fields(string(body[:min(len(body), 300)])), " ")
}

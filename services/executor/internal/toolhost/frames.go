package toolhost

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"sabha.dev/chassis/clock"
)

const (
	// atOnce messages of a server's own may come at once, perSecond of them in the long run.
	atOnce    = 1000
	perSecond = 200
	// refusedCode is that of an error that stands in the place of an answer that cannot be taken.
	refusedCode = -31000
)

// frames looks at each message of a server before the SDK does. What breaks the protocol
// ends the connection with the reason; an answer that cannot be taken is replaced by an
// error, and ends nothing.
type frames struct {
	max   int
	clock clock.Clock
	// sign is at the head of the errors that are ours: the server cannot make one.
	sign string
	// sent is the newest id of a request of ours; the SDK counts them.
	sent atomic.Int64

	// broken is closed with the first reason to end the connection.
	broken chan struct{}

	mu    sync.Mutex
	left  float64
	since time.Time
	why   error
}

func newFrames(maximum int, c clock.Clock) *frames {
	return &frames{max: maximum, clock: c, sign: rand.Text() + " ", broken: make(chan struct{}), left: atOnce, since: c.Now()}
}

// fail ends the connection; the first reason counts.
func (f *frames) fail(err error) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.why == nil {
		f.why = err
		close(f.broken)
	}
	return f.why
}

// reason is why the connection was ended, or nil.
func (f *frames) reason() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.why
}

// in gives a message as the SDK may see it.
func (f *frames) in(text []byte) ([]byte, error) {
	if len(text) > f.max {
		return nil, f.fail(fmt.Errorf("it sent a message of more than %d bytes", f.max))
	}
	m, err := inspect(text)
	if err == nil && text[0] != '{' && text[0] != '[' {
		err = errNotJSON
	}
	if err != nil {
		return nil, f.fail(fmt.Errorf("it sent what is no MCP message: %w", err))
	}
	if m.method || m.id == nil {
		return text, f.take()
	}
	if id, err := strconv.ParseInt(string(m.id), 10, 64); err != nil || id > f.sent.Load() {
		return nil, f.fail(fmt.Errorf("it answers the request %s, which was not made", clip(string(m.id), 40)))
	}
	if m.problem == "" {
		return text, nil
	}
	return json.Marshal(map[string]any{
		"jsonrpc": "2.0", "id": json.RawMessage(m.id), "error": map[string]any{"code": refusedCode, "message": f.sign + m.problem},
	})
}

// refusal gives what is wrong with an answer that [frames.in] has replaced by an error.
func (f *frames) refusal(err error) (string, bool) {
	var e *jsonrpc.Error
	if !errors.As(err, &e) || e.Code != refusedCode {
		return "", false
	}
	return strings.CutPrefix(e.Message, f.sign)
}

// take counts a message that we have not asked for.
func (f *frames) take() error {
	f.mu.Lock()
	now := f.clock.Now()
	f.left = min(f.left+now.Sub(f.since).Seconds()*perSecond, atOnce) - 1
	f.since = now
	over := f.left < 0
	f.mu.Unlock()
	if over {
		return f.fail(fmt.Errorf("it sends more than %d messages a second that nobody asked for", perSecond))
	}
	return nil
}

// out notes the id of a request of ours.
func (f *frames) out(text []byte) {
	m, err := inspect(bytes.TrimSpace(text))
	if err != nil || !m.method || m.id == nil {
		return
	}
	if id, err := strconv.ParseInt(string(m.id), 10, 64); err == nil {
		for {
			old := f.sent.Load()
			if id <= old || f.sent.CompareAndSwap(old, id) {
				return
			}
		}
	}
}

// lines reads a server's output line by line, each as the SDK may see it.
type lines struct {
	*frames
	io.Closer
	in   *bufio.Reader
	rest []byte
}

func (f *frames) reader(r io.ReadCloser) io.ReadCloser {
	return &lines{frames: f, Closer: r, in: bufio.NewReaderSize(r, 64<<10)}
}

func (l *lines) Read(b []byte) (int, error) {
	for len(l.rest) == 0 {
		text, err := line(l.in, l.max)
		if errors.Is(err, bufio.ErrTooLong) {
			return 0, l.fail(fmt.Errorf("it sent a message of more than %d bytes", l.max))
		}
		if text = bytes.TrimSpace(text); len(text) > 0 {
			if text, err = l.frames.in(text); err != nil {
				return 0, err
			}
			l.rest = append(text, '\n')
			break
		}
		if err != nil {
			return 0, err
		}
	}
	n := copy(b, l.rest)
	l.rest = l.rest[n:]
	return n, nil
}

// line reads one of at most most bytes, with its end. It is the caller's own.
func line(r *bufio.Reader, most int) ([]byte, error) {
	var all []byte
	for {
		part, err := r.ReadSlice('\n')
		if len(all)+len(part) > most+2 {
			return nil, bufio.ErrTooLong
		}
		all = append(all, part...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return all, err
		}
	}
}

// writer notes what is sent.
type writer struct {
	io.WriteCloser
	frames *frames
}

func (w *writer) Write(b []byte) (int, error) {
	w.frames.out(b)
	return w.WriteCloser.Write(b)
}

package replicas

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"sabha.dev/chassis/ext"
)

// watch is what a subscriber has seen of a task, over however many streams.
type watch struct {
	mu     sync.Mutex
	cursor string
	events map[string]string // by cursor, what changed
	states []string
	// wrong lists holes, repeats and gaps.
	wrong []string
	// breaks are the errors that ended streams.
	breaks []error
	ended  bool
	done   chan struct{}
}

func place(ev *a2apb.StreamResponse) (string, bool) {
	var md *structpb.Struct
	switch p := ev.GetPayload().(type) {
	case *a2apb.StreamResponse_Task:
		md = p.Task.GetMetadata()
	case *a2apb.StreamResponse_StatusUpdate:
		md = p.StatusUpdate.GetMetadata()
	case *a2apb.StreamResponse_ArtifactUpdate:
		md = p.ArtifactUpdate.GetMetadata()
	}
	return md.GetFields()[ext.Cursor].GetStringValue(), md.GetFields()[ext.Cursor+"/gap"].GetBoolValue()
}

func (w *watch) note(ev *a2apb.StreamResponse) {
	w.mu.Lock()
	defer w.mu.Unlock()
	at, gap := place(ev)
	var epoch, before, version int64
	_, _ = fmt.Sscanf(at, "%d.%d", &epoch, &version)
	if w.cursor != "" {
		_, _ = fmt.Sscanf(w.cursor, "%d.%d", &epoch, &before)
		if version != before+1 || gap {
			w.wrong = append(w.wrong, fmt.Sprintf("%s after %s, gap %v", at, w.cursor, gap))
		}
	}
	w.cursor = at
	st := ev.GetStatusUpdate().GetStatus().GetState()
	if t := ev.GetTask(); t != nil {
		st = t.GetStatus().GetState()
	} else {
		raw, _ := protojson.Marshal(ev)
		w.events[at] = strings.ReplaceAll(string(raw), " ", "") // protojson varies its spaces
	}
	if s := strings.TrimPrefix(st.String(), "TASK_STATE_"); s != "UNSPECIFIED" {
		w.states = append(w.states, s)
		switch s {
		case "COMPLETED", "FAILED", "CANCELED", "REJECTED":
			w.ended = true
		}
	}
}

// subscribe follows a task at one client until its stream ends.
func (f *fleet) subscribe(c client, tenant, id string) *watch {
	f.Helper()
	return f.follow(f.ctx(), tenant, id, func() client { return c }, 1)
}

// follow follows a task, each stream at the next client, until it has ended or so
// many streams have.
func (f *fleet) follow(ctx context.Context, tenant, id string, next func() client, streams int) *watch {
	w := &watch{events: map[string]string{}, done: make(chan struct{})}
	first := make(chan struct{})
	var once sync.Once
	go func() {
		defer close(w.done)
		defer once.Do(func() { close(first) })
		for range streams {
			err := w.read(ctx, next(), tenant, id, func() { once.Do(func() { close(first) }) })
			if w.finished(err) || pause(ctx, 50*time.Millisecond) != nil {
				return
			}
		}
	}()
	<-first
	return w
}

// followAfter reads what came after a cursor.
func (f *fleet) followAfter(cursor string, c client, tenant, id string) *watch {
	w := &watch{cursor: cursor, events: map[string]string{}, done: make(chan struct{})}
	defer close(w.done)
	w.finished(w.read(f.ctx(), c, tenant, id, func() {}))
	return w
}

func (w *watch) read(ctx context.Context, c client, tenant, id string, begun func()) error {
	w.mu.Lock()
	cursor := w.cursor
	w.mu.Unlock()
	next, err := c.stream(ctx, "SubscribeToTask", &a2apb.SubscribeToTaskRequest{Tenant: tenant, Id: id}, cursor)
	for err == nil {
		var ev *a2apb.StreamResponse
		if ev, err = next(); err == nil {
			w.note(ev)
			begun()
		}
	}
	return err
}

func (w *watch) finished(err error) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !errors.Is(err, io.EOF) {
		w.breaks = append(w.breaks, err)
	}
	return w.ended
}

// seen waits for the end and gives the last state, how often a terminal state was
// seen and what was wrong.
func (w *watch) seen() string {
	<-w.done
	w.mu.Lock()
	defer w.mu.Unlock()
	terminal := 0
	for _, s := range w.states {
		if s == "COMPLETED" || s == "FAILED" || s == "CANCELED" || s == "REJECTED" {
			terminal++
		}
	}
	last := ""
	if len(w.states) > 0 {
		last = w.states[len(w.states)-1]
	}
	if len(w.wrong) > 0 || terminal != 1 {
		return fmt.Sprintf("%s; %d terminal states in %v; wrong: %v; breaks: %v", last, terminal, w.states, w.wrong, w.breaks)
	}
	return last
}

// leaving is a client that leaves every stream after some events.
type leaving struct {
	client
	after int
}

func (l *leaving) stream(ctx context.Context, method string, req proto.Message, cursor string) (func() (*a2apb.StreamResponse, error), error) {
	ctx, leave := context.WithCancel(ctx)
	next, err := l.client.stream(ctx, method, req, cursor)
	n := 0
	return func() (*a2apb.StreamResponse, error) {
		if n++; n > l.after {
			leave()
			return nil, context.Canceled
		}
		return next()
	}, err
}

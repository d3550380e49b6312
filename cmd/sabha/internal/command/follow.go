package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"sabha.dev/cmd/sabha/internal/client"
	"sabha.dev/cmd/sabha/internal/render"
)

type events = iter.Seq2[*a2apb.StreamResponse, error]

// errDetached says that the user has stopped watching.
var errDetached = errors.New("detached")

// redrawEvery is how often running times move on a terminal.
const redrawEvery = time.Second

// follow shows events as they come until the task has ended or waits for
// input. Progress goes to w: redrawn in place on a terminal, as plain lines
// elsewhere. began is when the request was sent; zero when it was not sent here,
// and then times are those of its steps.
func (r *run) follow(ctx context.Context, c *client.Client, seq events, began time.Time, w io.Writer) (*render.Progress, error) {
	var v view = &plainView{app: r.App, w: w}
	if _, _, ok := r.Screen(); ok && r.Env("TERM") != "dumb" {
		v = &liveView{app: r.App, w: w, began: began}
	}
	p := &render.Progress{}
	err := r.read(ctx, seq, func(e *a2apb.StreamResponse) error {
		v.event(p, p.Apply(e))
		return nil
	}, func() { v.tick(p) }, func(text string) { v.notice(p, text) })
	if err == nil && p.Unsettled() {
		// The end of a task may come before the end of its last steps is told; the
		// stored task has both.
		if t, gone := c.Get(ctx, p.Task.GetId()); gone == nil {
			e := &a2apb.StreamResponse{Payload: &a2apb.StreamResponse_Task{Task: t}}
			v.event(p, p.Apply(e))
		}
	}
	return p, err
}

// followJSON prints each event as one line of JSON and the whole task at the end.
func (r *run) followJSON(ctx context.Context, c *client.Client, seq events) (*render.Progress, error) {
	p := &render.Progress{}
	show := func(e *a2apb.StreamResponse) error {
		l, err := render.JSON(e)
		if err != nil {
			return err
		}
		return r.say(l)
	}
	err := r.read(ctx, seq, func(e *a2apb.StreamResponse) error {
		p.Apply(e)
		return show(e)
	}, func() {}, func(text string) { fmt.Fprintln(r.Err, text) })
	if err != nil || p.Task == nil {
		return p, err
	}
	t, err := c.Get(ctx, p.Task.GetId())
	if err != nil {
		return p, err
	}
	return p, show(&a2apb.StreamResponse{Payload: &a2apb.StreamResponse_Task{Task: t}})
}

type arrival struct {
	event *a2apb.StreamResponse
	err   error
}

// read hands events on until there are no more, or the task needs its client.
func (r *run) read(ctx context.Context, seq events, take func(*a2apb.StreamResponse) error, tick func(), notice func(string)) error {
	streamCtx, stop := context.WithCancel(ctx)
	defer stop()
	arrivals := make(chan arrival)
	go func() {
		defer close(arrivals)
		for e, err := range seq {
			select {
			case arrivals <- arrival{e, err}:
			case <-streamCtx.Done():
				return
			}
		}
	}()
	// One timer at a time: a task of many events must not leave a heap of them.
	timer := r.Clock.After(redrawEvery)
	for {
		select {
		case <-ctx.Done():
			return errDetached
		case <-timer:
			timer = r.Clock.After(redrawEvery)
			tick()
		case text := <-r.notices:
			notice(text)
		case a, open := <-arrivals:
			switch {
			case !open:
				return nil
			case a.err != nil && (ctx.Err() != nil || status.Code(a.err) == codes.Canceled):
				return errDetached
			case a.err != nil:
				return a.err
			}
			if err := take(a.event); err != nil {
				return err
			}
			if waits(a.event) {
				return nil
			}
		}
	}
}

// waits tells whether an event says that nothing goes on without the client.
func waits(e *a2apb.StreamResponse) bool {
	const state = a2apb.TaskState_TASK_STATE_INPUT_REQUIRED
	return e.GetStatusUpdate().GetStatus().GetState() == state || e.GetTask().GetStatus().GetState() == state
}

// view shows progress.
type view interface {
	event(*render.Progress, render.Change)
	tick(*render.Progress)
	// notice tells something that is not of the task.
	notice(*render.Progress, string)
}

// plainView writes a line for each change.
type plainView struct {
	app *App
	w   io.Writer
}

func (v *plainView) event(p *render.Progress, c render.Change) {
	for _, l := range v.app.style().Plain(p, c, v.app.Clock.Now()) {
		fmt.Fprintln(v.w, l)
	}
}

func (v *plainView) tick(*render.Progress) {}

func (v *plainView) notice(_ *render.Progress, text string) { fmt.Fprintln(v.w, text) }

// liveView draws the whole state and redraws it in place.
type liveView struct {
	app   *App
	w     io.Writer
	began time.Time
	drawn int // lines on the screen that are ours
}

func (v *liveView) event(p *render.Progress, _ render.Change) { v.draw(p, "") }

func (v *liveView) tick(p *render.Progress) { v.draw(p, "") }

func (v *liveView) notice(p *render.Progress, text string) { v.draw(p, text) }

// draw replaces the picture, with a line above it that stays.
func (v *liveView) draw(p *render.Progress, above string) {
	_, height, _ := v.app.Screen()
	lines := v.app.style().Board(p, v.began, v.app.Clock.Now(), height-1)
	var b strings.Builder
	if v.drawn > 0 {
		fmt.Fprintf(&b, "\x1b[%dA\r", v.drawn)
	}
	if above != "" {
		b.WriteString(above + "\x1b[K\n")
	}
	for _, l := range lines {
		b.WriteString(l + "\x1b[K\n")
	}
	b.WriteString("\x1b[J")
	v.drawn = len(lines)
	// One write, so that no half of a picture is seen.
	_, _ = io.WriteString(v.w, b.String())
}

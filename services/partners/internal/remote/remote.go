// Package remote calls agents of other organisations, each in the protocol and the
// binding that its card names: A2A 1.0 and 0.3 over gRPC, HTTP+JSON and JSON-RPC, and
// KAP 1.0. Whatever comes back is bounded, and checked for its form, before anybody
// else sees it.
package remote

import (
	"bytes"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"

	"sabha.dev/chassis/clock"
	"sabha.dev/services/partners/internal/credential"
	"sabha.dev/services/partners/internal/partner"
)

// Trace says how much of a trace a partner is told.
type Trace string

// Full shares the traceparent and the tracestate of the call, ID the id of the trace and
// nothing of who called, None nothing. The zero value is None.
const (
	Full Trace = "full"
	ID   Trace = "id"
	None Trace = "none"
)

// Settings are what the agreement with a partner says of calls to it.
type Settings struct {
	// Networks are opened for calls to this partner beside public ones (chassis/egress).
	Networks []string
	// Credential is what the platform shows to the partner; nil shows nothing.
	Credential *credential.Config
	Trace      Trace
}

// Identity is who the platform says that it is where a protocol asks: from of KAP.
type Identity struct {
	ID           string `json:"id"`
	Name         string `json:"name"`
	Organisation string `json:"organization"`
}

// Config of a client.
type Config struct {
	// Settings of a partner, by its id.
	Settings func(partner string) Settings
	// MaxAnswer bounds one answer, or one event of a stream, in bytes; 0 means 8 MiB. A
	// stream has at most eight times as much.
	MaxAnswer int64
	Identity  Identity
	Clock     clock.Clock
}

const (
	defaultAnswer = 8 << 20
	// streamAnswers is how many times as long as an answer a stream may be.
	streamAnswers = 8
)

// Client calls partners. It keeps connections to those that it has called.
type Client struct {
	Config
	mu    sync.Mutex
	lines map[string]*Line
}

// New makes a client.
func New(c Config) *Client {
	if c.MaxAnswer == 0 {
		c.MaxAnswer = defaultAnswer
	}
	return &Client{Config: c, lines: map[string]*Line{}}
}

// Close ends the connections of the client. Calls that are under way end with an error.
func (c *Client) Close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, l := range c.lines {
		l.wire.close()
	}
	clear(c.lines)
}

// Features are what a partner's card says of how tasks can be followed.
type Features struct {
	// Streams says that a message may be streamed, and a task subscribed to. Pushes says that
	// the partner calls a webhook. Tasks says that its tasks can be canceled.
	Streams, Pushes, Tasks bool
}

// Line is the way to a partner. Its methods are safe for concurrent use. An error is
// an *Error, or the context's.
type Line struct {
	Features
	// Binding is the protocol, its version and its binding, for records: "a2a/1.0 JSONRPC".
	Binding  string
	wire     wire
	card     []byte
	settings Settings
}

// wire is one binding.
type wire interface {
	send(context.Context, *a2apb.SendMessageRequest) (*a2apb.StreamResponse, error)
	stream(context.Context, *a2apb.SendMessageRequest, func(*a2apb.StreamResponse) error) error
	// get gives a task. sent is the request that it came of, for protocols that know no other way.
	get(ctx context.Context, id string, sent *a2apb.SendMessageRequest) (*a2apb.Task, error)
	subscribe(context.Context, string, func(*a2apb.StreamResponse) error) error
	cancel(context.Context, string) (*a2apb.Task, error)
	close()
}

// Line gives the way to a partner as its card and its agreement are now.
func (c *Client) Line(p *partner.Partner) (*Line, error) {
	settings := c.Settings(p.ID)
	c.mu.Lock()
	defer c.mu.Unlock()
	old := c.lines[p.ID]
	if old != nil && bytes.Equal(old.card, p.Card) && old.settings.same(settings) {
		return old, nil
	}
	l, err := c.open(p, settings)
	if err != nil {
		return nil, err
	}
	if old != nil {
		// Calls that are under way end before their connections do.
		go func() {
			<-c.Clock.After(retireAfter)
			old.wire.close()
		}()
	}
	c.lines[p.ID] = l
	return l, nil
}

// retireAfter is how long a line is kept for the calls on it when there is a newer one.
const retireAfter = 5 * time.Minute

func (s Settings) same(o Settings) bool {
	return slices.Equal(s.Networks, o.Networks) && s.Credential == o.Credential && s.Trace == o.Trace
}

// Send sends a message and gives the partner's answer: a Message or a Task.
func (l *Line) Send(ctx context.Context, req *a2apb.SendMessageRequest) (*a2apb.StreamResponse, error) {
	res, err := l.wire.send(ctx, req)
	if err != nil {
		return nil, err
	}
	if err := checkAnswer(res, req.GetMessage()); err != nil {
		return nil, err
	}
	return res, nil
}

// Stream sends a message and gives what happens, in order, as far as it is sound: after
// the first event of a task those of that task, none after its end. It returns when the
// partner ends the stream.
func (l *Line) Stream(ctx context.Context, req *a2apb.SendMessageRequest, each func(*a2apb.StreamResponse) error) error {
	c := &course{task: req.GetMessage().GetTaskId(), sent: req.GetMessage(), each: each}
	return c.ended(l.wire.stream(ctx, req, c.next))
}

// Get gives the partner's task. sent is the request that it came of.
func (l *Line) Get(ctx context.Context, id string, sent *a2apb.SendMessageRequest) (*a2apb.Task, error) {
	t, err := l.wire.get(ctx, id, sent)
	if err != nil {
		return nil, err
	}
	return t, checkTask(t, id)
}

// Subscribe gives what happens to the partner's task, beginning with the task. It
// returns when the partner ends the stream.
func (l *Line) Subscribe(ctx context.Context, id string, each func(*a2apb.StreamResponse) error) error {
	c := &course{task: id, each: each}
	return c.ended(l.wire.subscribe(ctx, id, c.next))
}

// Cancel asks the partner to cancel its task, and gives how the task then is.
func (l *Line) Cancel(ctx context.Context, id string) (*a2apb.Task, error) {
	t, err := l.wire.cancel(ctx, id)
	if err != nil {
		return nil, err
	}
	return t, checkTask(t, id)
}

// Answer is what a partner said to one question.
type Answer struct {
	// Parts of its message, or of the artifacts of its task.
	Parts []*a2apb.Part
	// State of its task; unspecified for a direct Message.
	State a2apb.TaskState
	// Took is how long the answer took, by the client's clock.
	Took time.Duration
}

// Ask puts one question to a partner and waits for the answer, as long as the context
// lasts: a message of these parts for the skill. It is not recorded and not repeated.
func (c *Client) Ask(ctx context.Context, p *partner.Partner, skill string, parts []*a2apb.Part) (Answer, error) {
	began := c.Clock.Now()
	l, err := c.Line(p)
	if err != nil {
		return Answer{}, err
	}
	req := Request(newID(), skill, parts)
	res, err := l.Send(ctx, req)
	if err != nil {
		return Answer{}, err
	}
	t := res.GetTask()
	for pause := firstPoll; t != nil && !Settled(t.GetStatus().GetState()); pause = min(2*pause, lastPoll) {
		select {
		case <-c.Clock.After(pause):
		case <-ctx.Done():
			return Answer{}, ctx.Err()
		}
		if t, err = l.Get(ctx, t.GetId(), req); err != nil {
			return Answer{}, err
		}
	}
	a := Answer{Parts: res.GetMessage().GetParts(), State: t.GetStatus().GetState(), Took: c.Clock.Now().Sub(began)}
	for _, x := range t.GetArtifacts() {
		a.Parts = append(a.Parts, x.GetParts()...)
	}
	if len(a.Parts) == 0 {
		a.Parts = t.GetStatus().GetMessage().GetParts()
	}
	return a, nil
}

const (
	firstPoll = 250 * time.Millisecond
	lastPoll  = 5 * time.Second
)

// Settled tells whether a task is not going on by itself: it ended, or waits for us.
func Settled(s a2apb.TaskState) bool {
	return Ended(s) || s == a2apb.TaskState_TASK_STATE_INPUT_REQUIRED || s == a2apb.TaskState_TASK_STATE_AUTH_REQUIRED
}

// Ended tells whether a state is terminal (specification 4.1.3).
func Ended(s a2apb.TaskState) bool {
	switch s {
	case a2apb.TaskState_TASK_STATE_COMPLETED, a2apb.TaskState_TASK_STATE_FAILED, a2apb.TaskState_TASK_STATE_CANCELED, a2apb.TaskState_TASK_STATE_REJECTED:
		return true
	}
	return false
}

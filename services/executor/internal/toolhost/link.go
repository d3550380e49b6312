package toolhost

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"sabha.dev/chassis/clock"
)

// State of a server.
type State string

// The states of a server.
const (
	Connecting State = "connecting"
	Ready      State = "ready"
	Away       State = "away"
	closed     State = "closed"
)

// Status of a server as it was last seen.
type Status struct {
	State State
	// Why it is away, in our words; Cause is what was found, for operators and logs.
	Why, Cause string
	Since      time.Time
	// Version of MCP that was negotiated, while it is ready.
	Version string
}

const (
	// steady is how long a server must be ready for its end to count as the first one.
	steady    = 10 * time.Second
	firstWait = 250 * time.Millisecond
	maxWait   = time.Minute
	// listGap is the least time between two lists that a server asks for.
	listGap = time.Second
)

// link keeps one server connected.
type link struct {
	server Server
	ledger Ledger
	clock  clock.Clock
	log    *slog.Logger
	client *mcp.Client
	stale  chan struct{} // the server says that its tools have changed
	running
	progress
}

// running is what calls see of a link.
type running struct {
	mu      sync.Mutex
	status  Status
	session *session
	names   []string      // of the tools that it listed last
	turn    chan struct{} // closed at the next change of the status
}

// session is one connection to the server.
type session struct {
	*mcp.ClientSession
	wire  *wire
	tools map[string]*checked
	// lost is closed when the SDK has seen its end, broken when a call finds that it is of no use.
	lost, broken chan struct{}
	// abandon closes broken: whoever calls next waits for another connection.
	abandon func()
}

// over tells whether the connection has ended, be it that the link has not seen it yet.
func (s *session) over() bool {
	for _, end := range []<-chan struct{}{s.lost, s.broken, s.wire.gone, s.wire.frames.broken} {
		select {
		case <-end:
			return true
		default:
		}
	}
	return false
}

func newLink(server Server, c Config) *link {
	l := &link{server: server, ledger: c.Ledger, clock: c.Clock, log: c.Log.With("mcp_server", server.Name), stale: make(chan struct{}, 1)}
	l.status, l.turn = Status{State: Connecting, Since: c.Clock.Now()}, make(chan struct{})
	l.client = mcp.NewClient(&mcp.Implementation{Name: "sabha-executor", Version: "1"}, &mcp.ClientOptions{
		Capabilities:                &mcp.ClientCapabilities{},
		ToolListChangedHandler:      func(context.Context, *mcp.ToolListChangedRequest) { l.relist() },
		ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) { l.hear(r.Params) },
	})
	l.client.AddSendingMiddleware(uncached)
	return l
}

// uncached has every list read from the server: one that may be kept for a year would
// hide a change for a year.
func uncached(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		res, err := next(ctx, method, req)
		if list, ok := res.(*mcp.ListToolsResult); ok && list != nil {
			list.TTLMs = 0
		}
		return res, err
	}
}

func (l *link) relist() {
	select {
	case l.stale <- struct{}{}:
	default:
	}
}

// set tells calls how the server is.
func (l *link) set(s Status, on *session) {
	l.mu.Lock()
	if l.status.State == Away && s.State == Away {
		s.Since = l.status.Since
	} else {
		s.Since = l.clock.Now()
	}
	l.status, l.session = s, on
	if on != nil {
		l.names = slices.Sorted(maps.Keys(on.tools))
	}
	close(l.turn)
	l.turn = make(chan struct{})
	l.mu.Unlock()
}

// seen is how the server is, and what tools it has or had.
func (l *link) seen() (Status, []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.status, l.names
}

// acquire gives the session, waiting for a server that is being connected. One that is
// away is not waited for.
func (l *link) acquire(ctx context.Context) (*session, error) {
	for {
		l.mu.Lock()
		status, on, turn := l.status, l.session, l.turn
		l.mu.Unlock()
		switch status.State {
		case Ready:
			if !on.over() {
				return on, nil
			}
		case Away:
			return nil, &Unavailable{Server: l.server.Name, What: "is away: " + status.Why}
		case closed:
			return nil, ErrClosed
		}
		select {
		case <-turn:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// run keeps the server connected until the context ends.
func (l *link) run(ctx context.Context) {
	failures := 0
	for {
		ready, err := l.serve(ctx)
		if ctx.Err() != nil {
			l.set(Status{State: closed}, nil)
			return
		}
		if ready > steady {
			failures = 0
		}
		failures++
		status := Status{State: Away, Why: whyAway(err), Cause: err.Error()}
		if failures == 1 && ready > 0 {
			status = Status{State: Connecting} // it is there at once again, as a rule
		}
		l.log.WarnContext(ctx, "the MCP server is not connected", "error", err, "failures", failures)
		l.set(status, nil)
		if status.State == Away {
			select {
			case <-ctx.Done():
			case <-l.clock.After(pause(failures)):
			}
		}
	}
}

// pause doubles, with jitter: several replicas do not come at the same moment.
func pause(failures int) time.Duration {
	d := min(firstWait<<min(failures-1, 20), maxWait)
	return d/2 + rand.N(d/2)
}

// serve connects and stays until the connection is over. It gives how long the server was
// ready, and why it is no more.
func (l *link) serve(ctx context.Context) (ready time.Duration, err error) {
	bounded, cancel := context.WithTimeoutCause(ctx, l.server.StartTimeout, errSlowStart)
	defer cancel()
	f := newFrames(l.server.MaxMessage, l.clock)
	w, err := l.server.open(bounded, f, l.log)
	if err != nil {
		return 0, &start{err}
	}
	lost := make(chan struct{})
	client, err := l.client.Connect(bounded, w.transport, nil)
	if err != nil {
		close(lost)
		w.stop(lost)
		return 0, because(bounded, f, &start{err})
	}
	go func() { _ = client.Wait(); close(lost) }()
	defer func() {
		w.stop(lost)
		_ = client.Close()
	}()
	broken := make(chan struct{})
	s := &session{ClientSession: client, wire: w, lost: lost, broken: broken, abandon: sync.OnceFunc(func() { close(broken) })}
	if err := l.list(bounded, s); err != nil {
		return 0, because(bounded, f, err)
	}
	began := l.clock.Now()
	lasted := func() time.Duration { return max(l.clock.Now().Sub(began), 1) }
	l.set(Status{State: Ready, Version: client.InitializeResult().ProtocolVersion}, s)
	cancel()
	for {
		select {
		case <-ctx.Done():
			return lasted(), ctx.Err()
		case <-lost:
			return lasted(), because(ctx, f, errEnded)
		case <-s.broken:
			return lasted(), because(ctx, f, errEnded)
		case <-f.broken:
			return lasted(), because(ctx, f, errEnded)
		case <-w.gone:
			return lasted(), because(ctx, f, errEnded)
		case <-l.clock.After(l.server.Refresh):
		case <-l.stale:
		}
		next := &session{ClientSession: client, wire: w, lost: lost, broken: broken, abandon: s.abandon}
		listing, done := context.WithTimeoutCause(ctx, l.server.StartTimeout, errSlowStart)
		err := l.list(listing, next)
		if err != nil {
			err = because(listing, f, err)
			done()
			return lasted(), err
		}
		done()
		s = next
		l.set(Status{State: Ready, Version: client.InitializeResult().ProtocolVersion}, s)
		select {
		case <-ctx.Done():
		case <-l.clock.After(listGap):
		}
	}
}

// because prefers the reason why we have ended a connection to what came of that.
func because(ctx context.Context, f *frames, err error) error {
	if why := f.reason(); why != nil {
		return &protocol{why}
	}
	if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, context.Canceled) {
		return cause
	}
	return err
}

func (s Server) open(ctx context.Context, f *frames, log *slog.Logger) (*wire, error) {
	if s.Process != nil {
		return s.Process.start(ctx, f, log)
	}
	if s.Local != nil {
		return within(s.Local, f), nil
	}
	return s.Remote.start(ctx, f)
}

// list reads the server's tools, all pages, and puts them before the ledger.
func (l *link) list(ctx context.Context, s *session) error {
	s.tools = map[string]*checked{}
	var offered []Definition
	for t, err := range s.Tools(ctx, nil) {
		if ours, ok := s.wire.frames.refusal(err); ok {
			return &protocol{errors.New("in its list of tools " + ours)}
		}
		if err != nil {
			return &listing{err}
		}
		if len(s.tools) == maxTools {
			return &protocol{errManyTools}
		}
		if first, twice := s.tools[t.Name]; twice {
			first.err = &Unusable{Tool: l.server.Name + "/" + t.Name, Why: "the server lists two tools of this name"}
			continue
		}
		d, err := define(t)
		if err != nil {
			return &listing{err}
		}
		c := check(l.server.Name, t, d, l.server.Effects[t.Name])
		if why, ok := t.Meta[MetaUnusable].(string); ok && l.server.Local != nil {
			c.err = &Unusable{Tool: c.Full(), Why: why}
		}
		s.tools[t.Name] = c
		if c.err == nil { // there is nothing to approve of what can never be called
			offered = append(offered, d)
		}
	}
	if err := l.ledger.Offer(ctx, l.server.Name, offered, l.server.FirstUse); err != nil {
		return &ledgerAway{err}
	}
	return nil
}

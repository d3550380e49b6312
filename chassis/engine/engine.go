// Package engine is the A2A server: the eleven operations of the protocol over
// durable tasks. One engine serves one agent on one replica; replicas share the
// task store and any of them serves any call.
package engine

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"github.com/nats-io/nats.go"

	"sabha.dev/chassis/agent"
	"sabha.dev/chassis/clock"
	"sabha.dev/chassis/eventlog"
	"sabha.dev/chassis/ext"
	"sabha.dev/chassis/metrics"
	"sabha.dev/chassis/push"
	"sabha.dev/chassis/taskstore"
	"sabha.dev/chassis/trace"
)

// Screener decides whether a message that crosses a trust boundary may be worked on.
type Screener interface {
	// Screen gives the verdict on a message. An error means that screening could not
	// be reached: it never means that the message is allowed.
	Screen(ctx context.Context, m *a2apb.Message) (Verdict, error)
}

// Verdict of screening.
type Verdict struct {
	Allowed bool
	// Reason is a sentence for the client when the message is refused.
	Reason string
	// PolicyVersion names the rules that decided.
	PolicyVersion string
}

// Config of an engine.
type Config struct {
	Agent agent.Agent
	Store *taskstore.Store
	Log   *eventlog.Log
	NATS  *nats.Conn
	Clock clock.Clock
	// Logger receives what operators need and clients must not see.
	Logger *slog.Logger
	// Screener judges what comes in from outside; nil trusts every caller (security itself).
	Screener Screener
	// Sweep is how often orphaned and due tasks are looked for; 0 means 2 s.
	Sweep time.Duration
	// Lease is how long a replica keeps its tasks without renewal; 0 means 10 s.
	Lease time.Duration
	// ScreeningBudget is how long a task waits for screening to be reachable; 0 means 30 s.
	ScreeningBudget time.Duration
	// AllowRepeatedMessageIDs switches deduplication off. Only the agent for the public
	// test kit needs it.
	AllowRepeatedMessageIDs bool
	// Metrics, when nil, count for nobody.
	Metrics *metrics.Metrics
	// Push says how events are sent to webhooks: who signs, what may be called. What
	// the engine has itself is filled in. nil: the agent sends none, and its card says so.
	Push *push.Config
	// Tracer makes the spans of runs; nil makes none.
	Tracer *trace.Tracer
	// Card is the agent's card with its reachable interfaces.
	Card *a2apb.AgentCard
}

// Engine implements A2A for one agent.
type Engine struct {
	a2apb.UnimplementedA2AServiceServer
	Config
	skills map[string]*agent.Skill
	counts map[string]*metrics.Skill
	hub    *eventlog.Hub
	// backlog is for readers that miss something.
	backlog backlog
	push    *push.Deliverer
	// base is the context of runs: it ends when the engine stops.
	base context.Context
	halt context.CancelFunc
	work sync.WaitGroup
	// beside are loops of the persona.
	beside []func(context.Context)

	mu       sync.Mutex
	running  map[string]*run
	draining bool
	drain    chan struct{}
	watches  *nats.Subscription
}

// New makes an engine. Start it before it serves.
func New(c Config) (*Engine, error) {
	if len(c.Agent.Skills) == 0 && c.Agent.Lookup == nil {
		return nil, errors.New("engine: an agent needs at least one skill")
	}
	if c.Sweep == 0 {
		c.Sweep = 2 * time.Second
	}
	if c.Lease == 0 {
		c.Lease = 10 * time.Second
	}
	if c.ScreeningBudget == 0 {
		c.ScreeningBudget = 30 * time.Second
	}
	if c.Metrics == nil {
		var err error
		if c.Metrics, err = metrics.New(nil); err != nil {
			return nil, err
		}
	}
	e := &Engine{Config: c, skills: map[string]*agent.Skill{}, counts: map[string]*metrics.Skill{}, running: map[string]*run{}, drain: make(chan struct{})}
	for i := range c.Agent.Skills {
		s := &c.Agent.Skills[i]
		if (s.Answer == nil) == (s.Run == nil) {
			return nil, errors.New("engine: skill " + s.ID + " needs exactly one of Answer and Run")
		}
		if s.Anonymous && s.Run != nil {
			return nil, errors.New("engine: skill " + s.ID + ": anonymous callers cannot own tasks")
		}
		e.skills[s.ID] = s
		e.counts[s.ID] = c.Metrics.Skill(s.ID, s.Answer != nil, terminal...)
	}
	if c.Agent.Lookup != nil {
		tasks, answers := c.Metrics.Skill(lookedUp, false, terminal...), c.Metrics.Skill(lookedUp, true)
		tasks.AnsweredWell, tasks.AnsweredBadly, tasks.AnswerSeconds = answers.AnsweredWell, answers.AnsweredBadly, answers.AnswerSeconds
		e.counts[lookedUp] = tasks
	}
	e.hub = eventlog.NewHub(c.Agent.Tenant, c.NATS)
	c.Store.Listen(e)
	if c.Push == nil {
		return e, nil
	}
	p := *c.Push
	p.Store, p.Clock, p.Log, p.Metrics, p.Tracer, p.Frame, p.Sweep = c.Store, c.Clock, c.Logger, c.Metrics, c.Tracer, withCursor, c.Sweep
	var err error
	if e.push, err = push.New(p); err != nil {
		return nil, err
	}
	c.Store.SetPusher(e.push)
	return e, nil
}

// Start begins to relay events, to renew the lease and to look for tasks that
// need a replica.
func (e *Engine) Start(ctx context.Context) error {
	e.base, e.halt = context.WithCancel(context.WithoutCancel(ctx))
	sub, err := e.NATS.Subscribe(wakeSubject(e.Agent.Tenant), e.woken)
	if err != nil {
		return err
	}
	e.watches = sub
	relay := &eventlog.Relay{Tracer: e.Tracer, Seconds: e.Metrics.RelaySeconds, Log: e.Log, Outbox: e.Store, Clock: e.Clock, Logger: e.Logger}
	loops := []func(context.Context){relay.Run, e.renew, e.sweep, e.compare}
	if e.push != nil {
		loops = append(loops, e.push.Run)
	}
	loops = append(loops, e.beside...)
	for _, loop := range loops {
		e.work.Add(1)
		go func() {
			defer e.work.Done()
			loop(e.base)
		}()
	}
	return nil
}

// Beside has a loop run from Start, before which it is called, until the engine stops.
func (e *Engine) Beside(loop func(context.Context)) { e.beside = append(e.beside, loop) }

// Drain ends open streams with UNAVAILABLE; new calls are still answered.
func (e *Engine) Drain() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.draining {
		e.draining = true
		close(e.drain)
	}
}

// Stop interrupts runs, which stay stored for others or for the next start, and
// waits until they have let go. The store is closed by its owner afterwards.
func (e *Engine) Stop() {
	e.Drain()
	_ = e.watches.Unsubscribe()
	e.halt()
	e.work.Wait()
}

// terminal are the states in which tasks end, by name.
var terminal = []string{
	a2apb.TaskState_TASK_STATE_COMPLETED.String(), a2apb.TaskState_TASK_STATE_FAILED.String(),
	a2apb.TaskState_TASK_STATE_CANCELED.String(), a2apb.TaskState_TASK_STATE_REJECTED.String(),
}

// lookedUp is what skills are counted as that are found by Lookup: how many there are, and
// their names, is for others to say.
const lookedUp = "other"

// countsOf counts for a skill, also for one that a former release had.
func (e *Engine) countsOf(skill string) *metrics.Skill {
	if c, ok := e.counts[skill]; ok {
		return c
	}
	if e.Agent.Lookup != nil {
		return e.counts[lookedUp]
	}
	return e.Metrics.Skill(skill, false)
}

// Committed is told by the store of every commit of this replica.
func (e *Engine) Committed(s taskstore.Snapshot, events []*a2apb.StreamResponse) {
	e.hub.Publish(s.TaskID, s.Epoch, s.Version, events)
	if taskstore.Terminal(s.State) {
		e.countsOf(s.Skill).Ended(s.State.String(), s.Age.Seconds())
	}
	needed := interrupted(s.State) || s.ParentTask != "" && beginsToWait(events)
	if !needed && (s.ParentTask == "" || !taskstore.Terminal(s.State)) {
		return
	}
	r := e.runOf(s.TaskID)
	if needed && r != nil {
		r.tell()
	}
	if s.ParentTask == "" || r != nil && r.waited.Load() > 0 {
		return // nobody to wake, or the caller is on the line and hears it there
	}
	e.wake(s.Caller, s.ParentTask, childEnded)
}

// beginsToWait tells whether the newest status says that a task waits for a person
// while it is WORKING: whoever started it lets go of it meanwhile.
func beginsToWait(events []*a2apb.StreamResponse) bool {
	for _, ev := range slices.Backward(events) {
		if u := ev.GetStatusUpdate(); u != nil {
			return u.GetStatus().GetState() == a2apb.TaskState_TASK_STATE_WORKING && u.GetMetadata().GetFields()[ext.Wait] != nil
		}
	}
	return false
}

func interrupted(s a2apb.TaskState) bool {
	return s == a2apb.TaskState_TASK_STATE_INPUT_REQUIRED || s == a2apb.TaskState_TASK_STATE_AUTH_REQUIRED
}

func wakeSubject(service string) string { return "sabha.wake." + service }

// What a wake-up says about a task, as its first byte.
const (
	// changed: somebody else wrote to it.
	changed = 'c'
	// childEnded: a task that it started has ended, or needs the client or a person.
	childEnded = 'e'
)

// wake tells the replicas of a service to look at one of its tasks now. It is a
// hint: whoever misses it finds the task at the next sweep.
func (e *Engine) wake(service, taskID string, why byte) {
	if err := e.NATS.Publish(wakeSubject(service), append([]byte{why}, taskID...)); err != nil {
		e.Logger.Debug("wake-up not sent", "service", service, "task_id", taskID, "error", err)
	}
}

// Package agent is what a persona is made of: a card, skills, and the run of a
// task as its executor sees it. It works on the protobuf types of A2A.
package agent

import (
	"context"
	"database/sql"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/protobuf/types/known/structpb"

	"sabha.dev/chassis/identity"
)

// Agent is one persona: who it is and what it can do.
type Agent struct {
	// Tenant is the A2A tenant that selects the persona, for example "research".
	Tenant string
	// Name, Description and Version appear on the card.
	Name, Description, Version string
	// Skills in the order of the card; the first is the default. Each has either Answer or Run.
	Skills []Skill
	// Lookup finds a skill that is not among Skills, for an agent whose skills come and go;
	// nil where there is none. It is asked when a message names such a skill, and whenever a
	// task of one runs, gets a message or is canceled, so it answers from memory and knows a
	// skill as long as tasks of it may be there. A skill that it finds may have both Answer
	// and Run: Answer then replies to first messages, and Run goes on with tasks that were
	// begun while there was none. An agent with Lookup may have no Skills.
	Lookup func(id string) *Skill
	// Route picks the skill of a first message where metadata does not name one.
	// nil means the default skill.
	Route func(*a2apb.SendMessageRequest) string
	// Extended adds to a copy of the card what a caller who is known may see. nil: none is declared.
	Extended func(context.Context, identity.Principal, *a2apb.AgentCard) error
	// Extensions beyond those of the platform, for the card.
	Extensions []*a2apb.AgentExtension
}

// Skill is one thing an agent does. Answer or Run is set.
type Skill struct {
	ID, Name, Description string
	Tags, Examples        []string
	// InputModes and OutputModes are media types; empty means text/plain and application/json.
	InputModes, OutputModes []string
	// Input is the JSON Schema (Draft 2020-12) of the data part that the skill takes, an
	// object, for programs that have to know: it is on the card, and the arguments of a
	// call of the skill as a tool of MCP. It checks nothing here. Empty: text and any data.
	Input string
	// Anonymous callers may use the skill. Only allowed with Answer.
	Anonymous bool
	// Internal skills are for other services of the platform: they are not on the
	// public card and callers from outside cannot reach them.
	Internal bool
	// Compensates says that a cancel needs work: the run is told (Run.Canceling)
	// and ends itself as canceled. Without it a cancel ends the task at once and
	// the run's context is canceled.
	Compensates bool
	// ReadOnly says that the skill changes nothing outside its task and calls no other
	// agent. Its run may then begin while the task is on the way to the disk.
	ReadOnly bool
	// Budget bounds a run from its acceptance; 0 means 10 minutes. Time spent
	// waiting for the client does not count.
	Budget time.Duration
	// OwnClock says that a task outlives the deadline of the task that asked for it:
	// its skill waits for people, whose time is not the caller's.
	OwnClock bool

	// BudgetOf states the budget of one request; nil or 0 means Budget.
	BudgetOf func(*Request) time.Duration
	// Check refuses a first message before anything is stored; nil accepts all.
	Check func(context.Context, *Request) error
	// Answer replies with a direct Message: no task, no event.
	Answer func(context.Context, *Request) (*a2apb.Message, error)
	// Run executes a task. It is called again after a restart, a takeover, a wake-up
	// and a follow-up, so it starts from what is stored. The outcome it returns is the
	// task's next state. An error fails the task: one made with package fault gives
	// its sentence to the client, any other is logged and told as an internal error.
	Run func(context.Context, Run) (Outcome, error)
}

// Request is a message to an agent with its governed surroundings.
type Request struct {
	Message *a2apb.Message
	Skill   string
	// Principal is on whose behalf the call is made.
	Principal identity.Principal
	// Caller is the service that made the call.
	Caller string
	// TraceID is the W3C trace id, 32 hex digits.
	TraceID string
	// RootTaskID is the task that the client started: this one if it is one. It is there
	// when a task runs.
	RootTaskID string
	// AtOnce says that the caller does not wait for the task: returnImmediately of the
	// send's configuration. It is there when a first message is checked.
	AtOnce bool
	// Digest is the SHA-256 of the message as it was sent, in hex: a message that is sent
	// again has the same one, whatever is known of it by then. It is there when a message
	// is answered directly.
	Digest string
}

// Run is a task in execution. Its methods are safe for concurrent use. Updates
// are committed in the order of the calls; a nil error from a method that says
// so means the update is durable.
type Run interface {
	// Task is the stored task. The caller must not change it.
	Task() *a2apb.Task
	// Request is the message that is answered: the first, or the newest follow-up.
	Request() *Request
	// Attempt counts failed attempts before this one. Restarts do not count.
	Attempt() int
	// Deadline is when the run's budget ends.
	Deadline() time.Time

	// Working reports progress. It does not wait for durability.
	Working(message *a2apb.Message) error
	// Artifact adds an artifact or replaces the one of the same id. It does not wait for durability.
	Artifact(artifact *a2apb.Artifact) error
	// Append adds parts to an artifact of the same id (a chunk of a stream); last marks its end.
	// It does not wait for durability.
	Append(artifact *a2apb.Artifact, last bool) error
	// Commit makes a change durable together with the caller's own rows and waits for it.
	Commit(ctx context.Context, change Change) error
	// Note puts a change in the order of commits without waiting for it.
	Note(change Change) error

	// Canceling is closed when a cancel was requested (skills with Compensates).
	Canceling() <-chan struct{}
	// Nudged receives when something that the run may wait for has happened: a
	// follow-up message, or a wake-up from a task it started.
	Nudged() <-chan struct{}
	// Outgoing gives the context for calls to other agents made for this task: its
	// identity, deadline and trace.
	Outgoing(ctx context.Context) context.Context
}

// Change is one commit of a run.
type Change struct {
	// Events in order: status or artifact updates. Task and context ids and times are filled in.
	Events []*a2apb.StreamResponse
	// Rows writes the caller's own tables in the task's transaction. It may be called
	// again when the transaction has to be repeated.
	Rows func(context.Context, *sql.Tx) error
	// Metadata sets keys of the task's metadata.
	Metadata map[string]*structpb.Value
}

// Outcome is how a run ends or pauses. Make it with the functions below.
type Outcome struct {
	State   a2apb.TaskState
	Message *a2apb.Message
	// WakeAt is when a parked run is to be called again.
	WakeAt time.Time
	// Rows as in Change, committed with the outcome.
	Rows func(context.Context, *sql.Tx) error
	// Retry asks for another attempt at WakeAt after a failure.
	Retry bool
	// Elsewhere says that this replica cannot carry the task out and another may.
	Elsewhere bool
}

// Completed ends the task; the parts are the closing message, which may be empty.
func Completed(parts ...*a2apb.Part) Outcome {
	return Outcome{State: a2apb.TaskState_TASK_STATE_COMPLETED, Message: Message(parts...)}
}

// Failed ends the task as failed with the reason that the client reads.
func Failed(parts ...*a2apb.Part) Outcome {
	return Outcome{State: a2apb.TaskState_TASK_STATE_FAILED, Message: Message(parts...)}
}

// Rejected ends the task as refused by policy with the reason that the client reads.
func Rejected(parts ...*a2apb.Part) Outcome {
	return Outcome{State: a2apb.TaskState_TASK_STATE_REJECTED, Message: Message(parts...)}
}

// Canceled ends the task after a requested cancel; the parts are the report.
func Canceled(parts ...*a2apb.Part) Outcome {
	return Outcome{State: a2apb.TaskState_TASK_STATE_CANCELED, Message: Message(parts...)}
}

// Elsewhere gives the task to a replica of another release: this one does not know what
// the task needs. The parts are the reason that the client reads until one has it. The
// task fails with it when its budget ends; one that waits for people goes on waiting.
func Elsewhere(parts ...*a2apb.Part) Outcome {
	return Outcome{Elsewhere: true, Message: Message(parts...)}
}

// InputRequired pauses the task until the client sends what the parts ask for.
func InputRequired(parts ...*a2apb.Part) Outcome {
	return Outcome{State: a2apb.TaskState_TASK_STATE_INPUT_REQUIRED, Message: Message(parts...)}
}

// AuthRequired pauses the task until an authorisation arrives out of band; the
// run is called again at wakeAt at the latest.
func AuthRequired(wakeAt time.Time, parts ...*a2apb.Part) Outcome {
	return Outcome{State: a2apb.TaskState_TASK_STATE_AUTH_REQUIRED, Message: Message(parts...), WakeAt: wakeAt}
}

// Parked frees the replica until wakeAt or a nudge; the task stays WORKING.
func Parked(wakeAt time.Time) Outcome {
	return Outcome{State: a2apb.TaskState_TASK_STATE_WORKING, WakeAt: wakeAt}
}

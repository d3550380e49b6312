package taskstore

import (
	"errors"
	"maps"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"sabha.dev/chassis/identity"
	"sabha.dev/chassis/trace"
)

// Errors of the store.
var (
	// ErrNotFound means that no task has the id.
	ErrNotFound = errors.New("no such task")
	// ErrFenced means that another replica owns the task now: the caller must stop
	// working on it and has written nothing.
	ErrFenced = errors.New("another replica owns the task")
	// ErrEnded means that the task has reached a terminal state; nothing changes it.
	ErrEnded = errors.New("the task has ended")
	// ErrCanceling means that a cancel was requested, so the task can no longer complete.
	ErrCanceling = errors.New("a cancel was requested")
)

// Info is what does not change about a task, or rarely.
type Info struct {
	Principal  identity.Principal `json:"principal"`
	Grant      string             `json:"grant,omitempty"`
	Caller     string             `json:"caller"`
	ParentTask string             `json:"parent,omitempty"`
	TraceID    string             `json:"trace,omitempty"`
	SpanID     string             `json:"span,omitempty"`
	// TraceState came with the trace. Unrecorded says that the trace is not recorded.
	TraceState string `json:"tracestate,omitempty"`
	Unrecorded bool   `json:"unrecorded,omitempty"`
	Protocol   string `json:"protocol"`
	// Digest is the SHA-256 of the first message's content.
	Digest string `json:"digest"`
	// Admission is the verdict of screening with its policy version. Empty: not asked
	// for. Pending: to be screened before it runs.
	Admission string `json:"admission,omitempty"`
	// Budget of a run, and what is left of it while the client is awaited.
	Budget time.Duration `json:"budget"`
	Left   time.Duration `json:"left,omitempty"`
}

// Traceparent is the W3C trace context of the call that made the task; empty without one.
func (r *Record) Traceparent() string { return r.Info.traceparent() }

// Place is the span that the task was asked for by. Its runs are the spans below.
func (i Info) Place() trace.Context {
	return trace.Context{TraceID: i.TraceID, SpanID: i.SpanID, State: i.TraceState, Sampled: !i.Unrecorded}
}

func (i Info) traceparent() string {
	if i.TraceID == "" {
		return ""
	}
	return i.Place().String()
}

// Pending is the admission of a task that still has to be screened.
const Pending = "pending"

// Record is one task with what the platform keeps about it.
type Record struct {
	Task  *a2apb.Task
	Info  Info
	Owner string // owner key: who may read and change it
	Agent string
	Skill string
	// RootTask is the task that the client started; the task itself if it is one.
	RootTask string

	CreatedAt time.Time
	// Version counts events; Rev counts writes and is what compare-and-set compares.
	Version, Rev int64
	// RunOwner is the replica that runs it, empty when none does.
	RunOwner string
	// RunEpoch rises with every claim, so a replica that lost its lease is fenced.
	RunEpoch int64
	// WakeAt is when a task that nobody runs is due; zero means it waits for a message.
	WakeAt   time.Time
	Deadline time.Time
	// Attempts counts failed attempts; Takeovers counts claims from dead replicas since the last progress.
	Attempts, Takeovers int
	CancelRequested     bool
	// Push says that the task has, or had, push configurations.
	Push bool
}

// Terminal tells whether a state ends a task.
func Terminal(s a2apb.TaskState) bool {
	switch s {
	case a2apb.TaskState_TASK_STATE_COMPLETED, a2apb.TaskState_TASK_STATE_FAILED,
		a2apb.TaskState_TASK_STATE_CANCELED, a2apb.TaskState_TASK_STATE_REJECTED:
		return true
	}
	return false
}

// Ended tells whether the task has reached a terminal state.
func (r *Record) Ended() bool { return Terminal(r.Task.GetStatus().GetState()) }

// Key is the owner key of a call: the principal for calls through the gateway,
// the calling service for calls inside the platform, so that child tasks are
// invisible to clients.
func Key(c identity.Call) string {
	if c.Actor == "gateway" || c.Actor == "" {
		return c.Principal.Key()
	}
	return "service:" + c.Actor
}

// apply changes the task by one event and completes the event: ids, time,
// version. It refuses what the state machine forbids.
func (r *Record) apply(ev *a2apb.StreamResponse, now time.Time) error {
	if r.Ended() {
		return ErrEnded
	}
	switch p := ev.GetPayload().(type) {
	case *a2apb.StreamResponse_StatusUpdate:
		u := p.StatusUpdate
		state := u.GetStatus().GetState()
		if r.CancelRequested && Terminal(state) && state != a2apb.TaskState_TASK_STATE_CANCELED {
			return ErrCanceling
		}
		u.TaskId, u.ContextId = r.Task.GetId(), r.Task.GetContextId()
		u.Status.Timestamp = timestamppb.New(now)
		if m := u.GetStatus().GetMessage(); m != nil {
			m.TaskId, m.ContextId = u.GetTaskId(), u.GetContextId()
		}
		if interrupted(state) && !interrupted(r.Task.GetStatus().GetState()) {
			// The clock stands from here on, also for a run that dies before it has let go.
			r.Info.Left = max(r.Deadline.Sub(now), 0)
		}
		if old := r.Task.GetStatus(); old.GetMessage() != nil && interrupted(old.GetState()) {
			r.Task.History = append(r.Task.History, old.GetMessage())
		}
		r.Task.Status = u.GetStatus()
	case *a2apb.StreamResponse_ArtifactUpdate:
		u := p.ArtifactUpdate
		u.TaskId, u.ContextId = r.Task.GetId(), r.Task.GetContextId()
		r.Task.Artifacts = placeArtifact(r.Task.GetArtifacts(), u)
	default:
		return errors.New("taskstore: an event must be a status or artifact update")
	}
	r.Version++
	return nil
}

func interrupted(s a2apb.TaskState) bool {
	return s == a2apb.TaskState_TASK_STATE_INPUT_REQUIRED || s == a2apb.TaskState_TASK_STATE_AUTH_REQUIRED
}

// placeArtifact appends chunks to the artifact of the same id, replaces it, or adds it.
func placeArtifact(list []*a2apb.Artifact, u *a2apb.TaskArtifactUpdateEvent) []*a2apb.Artifact {
	for i, a := range list {
		if a.GetArtifactId() != u.GetArtifact().GetArtifactId() {
			continue
		}
		if !u.GetAppend() {
			list[i] = u.GetArtifact()
			return list
		}
		merged := proto.CloneOf(a)
		merged.Parts = append(merged.Parts, u.GetArtifact().GetParts()...)
		list[i] = merged
		return list
	}
	return append(list, u.GetArtifact())
}

// SetMetadata sets keys of the task's metadata.
func (r *Record) SetMetadata(values map[string]*structpb.Value) {
	if len(values) == 0 {
		return
	}
	// The old map may be on its way to the disk or to a reader: it is not changed.
	fields := make(map[string]*structpb.Value, len(r.Task.GetMetadata().GetFields())+len(values))
	maps.Copy(fields, r.Task.GetMetadata().GetFields())
	maps.Copy(fields, values)
	r.Task.Metadata = &structpb.Struct{Fields: fields}
}

// clone copies a record so that readers and the owner do not share it.
func (r *Record) clone() *Record {
	c := *r
	c.Task = proto.CloneOf(r.Task)
	return &c
}

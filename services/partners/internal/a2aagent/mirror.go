package a2aagent

import (
	"context"
	"database/sql"
	"maps"
	"slices"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"sabha.dev/chassis/agent"
	"sabha.dev/services/partners/internal/call"
	"sabha.dev/services/partners/internal/gate"
	"sabha.dev/services/partners/internal/remote"
)

// mirror makes what happens at the partner happen to our task.
type mirror struct {
	*step
	spoken
	// state and status are the newest of the partner's task.
	state  a2apb.TaskState
	status *a2apb.Message
	// answer is a direct Message.
	answer *a2apb.Message
	news   bool
	// tails are the ends of artifacts that may be tokens, by their ids.
	tails map[string]*tail
	// broken is an error of ours.
	broken error
}

func (m *mirror) settled() bool { return m.answer != nil || remote.Settled(m.state) }

// take takes an event of the partner's, which has been checked.
func (m *mirror) take(ctx context.Context, ev *a2apb.StreamResponse) error {
	m.say()
	m.news = true
	m.heardOf(call.PlaceOf(metadataOf(ev)))
	switch p := ev.GetPayload().(type) {
	case *a2apb.StreamResponse_Message:
		m.answer = p.Message
	case *a2apb.StreamResponse_Task:
		m.adopt(ctx, p.Task.GetId(), p.Task.GetContextId())
		for _, a := range p.Task.GetArtifacts() {
			m.artifact(ctx, a, false, remote.Settled(p.Task.GetStatus().GetState()))
		}
		m.is(p.Task.GetStatus())
	case *a2apb.StreamResponse_StatusUpdate:
		m.adopt(ctx, p.StatusUpdate.GetTaskId(), p.StatusUpdate.GetContextId())
		m.is(p.StatusUpdate.GetStatus())
	case *a2apb.StreamResponse_ArtifactUpdate:
		m.adopt(ctx, p.ArtifactUpdate.GetTaskId(), p.ArtifactUpdate.GetContextId())
		m.artifact(ctx, p.ArtifactUpdate.GetArtifact(), p.ArtifactUpdate.GetAppend(), p.ArtifactUpdate.GetLastChunk())
	}
	return m.broken
}

func metadataOf(ev *a2apb.StreamResponse) *structpb.Struct {
	switch p := ev.GetPayload().(type) {
	case *a2apb.StreamResponse_Task:
		return p.Task.GetMetadata()
	case *a2apb.StreamResponse_StatusUpdate:
		return p.StatusUpdate.GetMetadata()
	case *a2apb.StreamResponse_ArtifactUpdate:
		return p.ArtifactUpdate.GetMetadata()
	}
	return nil
}

func (m *mirror) heardOf(at call.Place) {
	if at.After(m.Seen) {
		m.Seen = at
	}
}

// told takes the state that verified notifications tell of, where it is news. Without, the
// partner has to be asked.
func (m *mirror) told(ctx context.Context) (bool, error) {
	if m.Hook == "" {
		return false, nil
	}
	t, at, err := m.Calls.Told(ctx, m.Hook)
	if err != nil || t == nil || !at.After(m.Seen) || t.GetId() != m.RemoteTask {
		return false, err
	}
	m.heardOf(at)
	m.Polls = max(m.Polls, 1) // what follows is told, too
	return true, m.take(ctx, &a2apb.StreamResponse{Payload: &a2apb.StreamResponse_Task{Task: t}})
}

// adopt stores the partner's task before anything is made of it: whoever takes this task
// over follows it instead of asking again.
func (m *mirror) adopt(ctx context.Context, task, contextID string) {
	if m.broken != nil || m.Phase == call.Following && m.RemoteTask == task {
		return
	}
	m.RemoteTask, m.RemoteContext, m.Phase, m.Polls = task, contextID, call.Following, 0
	m.begun.Store(true)
	m.broken = m.save(context.WithoutCancel(ctx))
}

// is takes a status. Progress is told as it comes.
func (m *mirror) is(st *a2apb.TaskStatus) {
	m.state, m.status = st.GetState(), st.GetMessage()
	if m.broken == nil && m.state == a2apb.TaskState_TASK_STATE_WORKING && len(m.status.GetParts()) > 0 {
		m.broken = m.run.Working(agent.Message(m.arrived(m.status.GetParts())...))
	}
}

// arrived are parts of the partner as they become ours, without tokens being resolved:
// that is done with what is whole.
func (m *mirror) arrived(parts []*a2apb.Part) []*a2apb.Part {
	return labelled(bare(parts), foreign(m.asked[m.Current]))
}

// whole are parts of the partner with their tokens resolved.
func (m *mirror) whole(ctx context.Context, parts []*a2apb.Part) ([]*a2apb.Part, func(context.Context, *sql.Tx) error, error) {
	parts, record, err := m.Border.Arrive(ctx, m.crossing(), m.Sealed, bare(parts))
	if err != nil {
		return nil, nil, err
	}
	return labelled(parts, foreign(m.asked[m.Current])), record.Rows, nil
}

// artifact takes an artifact or a chunk of one.
func (m *mirror) artifact(ctx context.Context, a *a2apb.Artifact, more, last bool) {
	if m.broken != nil {
		return
	}
	if m.Sealed == nil {
		m.put(ctx, a, more, last)
		return
	}
	id := a.GetArtifactId()
	t := m.tails[id]
	if t == nil || !more {
		t = &tail{}
		if !more {
			t.head = a
		}
		if m.tails == nil {
			m.tails = map[string]*tail{}
		}
		m.tails[id] = t
	}
	parts := t.take(a.GetParts(), last, m.Border.Open)
	if last {
		delete(m.tails, id)
	}
	if len(parts) == 0 && !(last && t.head == nil) {
		return // it is told with what comes
	}
	head := a
	if t.head != nil {
		head, more = t.head, false
	}
	t.head = nil
	m.put(ctx, &a2apb.Artifact{ArtifactId: id, Name: head.GetName(), Description: head.GetDescription(), Parts: parts, Metadata: head.GetMetadata()}, more, last)
}

// flush tells what is held of artifacts that the partner has not ended.
func (m *mirror) flush(ctx context.Context) {
	for _, id := range slices.Sorted(maps.Keys(m.tails)) {
		if t := m.tails[id]; t.held != "" || t.head != nil {
			m.artifact(ctx, &a2apb.Artifact{ArtifactId: id}, true, true)
		}
	}
}

// put makes an artifact of the partner one of ours, unless it is there already.
func (m *mirror) put(ctx context.Context, a *a2apb.Artifact, more, last bool) {
	parts, rows, err := m.whole(ctx, a.GetParts())
	if err != nil {
		m.broken = err
		return
	}
	mine := &a2apb.Artifact{
		ArtifactId: a.GetArtifactId(), Name: a.GetName(), Description: a.GetDescription(), Parts: parts, Metadata: withoutOurs(a.GetMetadata()),
	}
	if !more {
		for _, known := range m.run.Task().GetArtifacts() {
			if proto.Equal(known, mine) {
				return
			}
		}
	}
	m.broken = m.run.Note(agent.Change{Rows: rows, Events: []*a2apb.StreamResponse{{Payload: &a2apb.StreamResponse_ArtifactUpdate{
		ArtifactUpdate: &a2apb.TaskArtifactUpdateEvent{Artifact: mine, Append: more, LastChunk: last},
	}}}})
}

// settle makes of the end of the partner's task, or of its question, ours. done tells the
// gate how the call went.
func (s *step) settle(ctx context.Context, m *mirror, done func(gate.Result)) (*agent.Outcome, error) {
	var said []*a2apb.Part
	var rows func(context.Context, *sql.Tx) error
	m.flush(ctx)
	if m.broken != nil {
		return nil, m.broken
	}
	from := m.status.GetParts()
	if m.answer != nil {
		from = m.answer.GetParts()
	}
	if len(from) > 0 {
		var err error
		if said, rows, err = m.whole(ctx, from); err != nil {
			return nil, err
		}
	}
	o := agent.Outcome{Message: agent.Message(said...)}
	switch {
	case m.answer != nil, m.state == a2apb.TaskState_TASK_STATE_COMPLETED:
		done(gate.OK)
		o.State = a2apb.TaskState_TASK_STATE_COMPLETED
	case m.state == a2apb.TaskState_TASK_STATE_REJECTED:
		done(gate.OK) // it has decided
		o.State = a2apb.TaskState_TASK_STATE_REJECTED
		if o.Message == nil {
			o.Message = agent.Message(agent.Text("the partner refused, and gave no reason"))
		}
	case remote.Ended(m.state):
		done(gate.Failed)
		return s.ended(ctx, m.state, said, rows)
	default:
		done(gate.OK)
		return s.question(m, o, rows)
	}
	o.Rows = together(rows, s.Calls.End(s.Call))
	return &o, nil
}

// Waiting for our client while the partner's task waits for us: how often it is looked at,
// since what it waits for may come another way.
const (
	askedPoll   = 10 * time.Minute
	allowedPoll = 30 * time.Second
)

// question asks our client what the partner asks us.
func (s *step) question(m *mirror, o agent.Outcome, rows func(context.Context, *sql.Tx) error) (*agent.Outcome, error) {
	s.Phase, s.Polls = call.Asking, 0
	o.State, o.WakeAt = m.state, s.Clock.Now().Add(askedPoll)
	if m.state == a2apb.TaskState_TASK_STATE_AUTH_REQUIRED {
		o.WakeAt = s.Clock.Now().Add(allowedPoll)
	}
	if s.run.Task().GetStatus().GetState() == o.State {
		o.Message = nil // it has been asked
	} else if o.Message == nil {
		o.Message = agent.Message(agent.Text("the partner needs something to go on, and does not say what"))
	}
	o.Rows = s.rows(rows)
	return &o, nil
}

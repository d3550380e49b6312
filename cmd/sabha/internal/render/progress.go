package render

import (
	"cmp"
	"slices"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"sabha.dev/chassis/ext"
)

// Step of a plan, as the planner describes it under ext.Plan.
type Step struct {
	Name, State, Agent, Skill string
	Started, Ended, RetryAt   time.Time // zero when not given
	Attempt, Round            int       // from 0
	Reason, WaitsFor, Kind    string
}

// States of a step.
const (
	pending   = "PENDING"
	running   = "RUNNING"
	completed = "COMPLETED"
	skipped   = "SKIPPED"
	failed    = "FAILED"
	canceled  = "CANCELED"
)

func (s Step) settled() bool {
	switch s.State {
	case completed, skipped, failed, canceled:
		return true
	}
	return false
}

// took is how long a step ran, up to now if it still does.
func (s Step) took(now time.Time) (time.Duration, bool) {
	switch {
	case s.Started.IsZero() || s.State == pending || s.State == skipped:
		return 0, false
	case !s.Ended.IsZero():
		return s.Ended.Sub(s.Started), true
	case s.settled():
		return 0, false
	}
	return now.Sub(s.Started), true
}

// identity of a step: a revision loop runs one again, a compensation undoes it.
type identity struct {
	kind, name string
	round      int
}

func (s Step) identity() identity { return identity{s.Kind, s.Name, s.Round} }

// label names the step with what sets it apart.
func (s Step) label() string {
	name := line(s.Name)
	if s.Kind == "compensation" {
		name = "undo " + name
	}
	return name
}

// Progress is a request as far as its events have told.
type Progress struct {
	// Task, nil until it is known.
	Task *a2apb.Task
	// Message is the direct answer of a skill that makes no task.
	Message *a2apb.Message
	// Playbook and Version of the plan; empty without one.
	Playbook, Version string
	// Steps in the order in which they were first heard of.
	Steps []Step
}

// OfTask is the progress that a stored task tells.
func OfTask(t *a2apb.Task) *Progress {
	p := &Progress{}
	p.Apply(&a2apb.StreamResponse{Payload: &a2apb.StreamResponse_Task{Task: t}})
	return p
}

// Change is what one event has changed.
type Change struct {
	// State tells that the task's state or its note is another one.
	State bool
	// Steps that changed, as they are now.
	Steps []Step
}

// Apply takes in an event.
func (p *Progress) Apply(e *a2apb.StreamResponse) Change {
	switch e := e.GetPayload().(type) {
	case *a2apb.StreamResponse_Message:
		p.Message = e.Message
	case *a2apb.StreamResponse_Task:
		before := p.Task.GetStatus()
		p.Task = proto.CloneOf(e.Task)
		return Change{State: differs(before, p.Task.GetStatus()), Steps: p.plan(e.Task.GetMetadata())}
	case *a2apb.StreamResponse_StatusUpdate:
		t := p.task(e.StatusUpdate.GetTaskId(), e.StatusUpdate.GetContextId())
		before := t.GetStatus()
		t.Status = e.StatusUpdate.GetStatus()
		return Change{State: differs(before, t.GetStatus()), Steps: p.plan(e.StatusUpdate.GetMetadata())}
	case *a2apb.StreamResponse_ArtifactUpdate:
		t := p.task(e.ArtifactUpdate.GetTaskId(), e.ArtifactUpdate.GetContextId())
		t.Artifacts = merge(t.GetArtifacts(), e.ArtifactUpdate)
	}
	return Change{}
}

// differs tells whether a status says something new; that a note has gone is no news.
func differs(before, after *a2apb.TaskStatus) bool {
	note := text(after.GetMessage().GetParts())
	return before.GetState() != after.GetState() || (note != "" && note != text(before.GetMessage().GetParts()))
}

// task is the task that events are about, also when the first event is not it.
func (p *Progress) task(id, contextID string) *a2apb.Task {
	if p.Task == nil {
		p.Task = &a2apb.Task{Id: id, ContextId: contextID}
	}
	return p.Task
}

// merge adds an artifact, replaces the one of its id, or appends to it (specification 4.2.2).
func merge(list []*a2apb.Artifact, u *a2apb.TaskArtifactUpdateEvent) []*a2apb.Artifact {
	for i, a := range list {
		if a.GetArtifactId() != u.GetArtifact().GetArtifactId() {
			continue
		}
		if u.GetAppend() {
			a = proto.CloneOf(a)
			a.Parts = append(a.Parts, u.GetArtifact().GetParts()...)
			list[i] = a
		} else {
			list[i] = u.GetArtifact()
		}
		return list
	}
	return append(list, u.GetArtifact())
}

// plan takes in what metadata says of the plan and gives the steps that changed.
func (p *Progress) plan(md *structpb.Struct) []Step {
	fields := md.GetFields()[ext.Plan].GetStructValue().GetFields()
	if fields == nil {
		return nil
	}
	p.Playbook = cmp.Or(line(fields["playbook"].GetStringValue()), p.Playbook)
	p.Version = cmp.Or(line(fields["version"].GetStringValue()), p.Version)
	var changed []Step
	for _, v := range fields["steps"].GetListValue().GetValues() {
		s := readStep(v.GetStructValue().GetFields())
		if s.Name != "" && p.put(s) {
			changed = append(changed, s)
		}
	}
	return changed
}

func (p *Progress) put(s Step) bool {
	for i, known := range p.Steps {
		if known.identity() == s.identity() {
			p.Steps[i] = s
			return known != s
		}
	}
	p.Steps = append(p.Steps, s)
	return true
}

func readStep(f map[string]*structpb.Value) Step {
	at := func(name string) time.Time {
		t, err := time.Parse(time.RFC3339Nano, f[name].GetStringValue())
		if err != nil {
			return time.Time{}
		}
		return t.UTC()
	}
	return Step{
		Name: f["step"].GetStringValue(), State: f["state"].GetStringValue(), Agent: f["agent"].GetStringValue(), Skill: f["skill"].GetStringValue(),
		Started: at("started_at"), Ended: at("ended_at"), RetryAt: at("retry_at"),
		Attempt: int(f["attempt"].GetNumberValue()), Round: int(f["round"].GetNumberValue()),
		Reason: f["reason"].GetStringValue(), WaitsFor: f["waits_for"].GetStringValue(), Kind: f["kind"].GetStringValue(),
	}
}

// Unsettled tells whether the task has ended and some of its steps, as far as is
// known, have not.
func (p *Progress) Unsettled() bool {
	return ended(p.State()) && slices.ContainsFunc(p.Steps, func(s Step) bool { return !s.settled() })
}

// State of the task, unspecified until it is known.
func (p *Progress) State() a2apb.TaskState { return p.Task.GetStatus().GetState() }

// Note is the text of the current status.
func (p *Progress) Note() string { return text(p.Task.GetStatus().GetMessage().GetParts()) }

// text joins the text of parts.
func text(parts []*a2apb.Part) string {
	out := ""
	for _, part := range parts {
		if t := part.GetText(); t != "" {
			if out != "" {
				out += "\n"
			}
			out += t
		}
	}
	return out
}

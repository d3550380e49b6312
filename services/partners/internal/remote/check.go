package remote

import (
	"errors"
	"strings"
	"unicode"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
)

// Bounds of what a partner may say in one task.
const (
	maxID        = 256
	maxArtifacts = 1000
	maxParts     = 1000
)

func checkID(what, id string) error {
	if id == "" || len(id) > maxID || strings.ContainsFunc(id, unicode.IsControl) {
		return failure(Invalid, "the partner answered with %s that is missing, longer than %d bytes or not plain text", what, maxID)
	}
	return nil
}

// checkAnswer checks what came of a message.
func checkAnswer(res *a2apb.StreamResponse, sent *a2apb.Message) error {
	switch p := res.GetPayload().(type) {
	case *a2apb.StreamResponse_Message:
		return checkMessage(p.Message)
	case *a2apb.StreamResponse_Task:
		return checkTask(p.Task, sent.GetTaskId())
	}
	return failure(Invalid, "the partner answered with neither a message nor a task")
}

// CheckEvent checks the form of an event of a task, and that it is of the one with this id.
func CheckEvent(ev *a2apb.StreamResponse, task string) error {
	return (&course{task: task, any: true, each: func(*a2apb.StreamResponse) error { return nil }}).next(ev)
}

func checkMessage(m *a2apb.Message) error {
	if m == nil || len(m.GetParts()) == 0 {
		return failure(Invalid, "the partner answered with a message that says nothing")
	}
	if m.GetRole() == a2apb.Role_ROLE_USER {
		return failure(Invalid, "the partner answered with a message that claims to be ours")
	}
	return checkParts(m.GetParts())
}

func checkParts(parts []*a2apb.Part) error {
	if len(parts) > maxParts {
		return failure(TooLarge, "the partner answered with %d parts; at most %d are taken", len(parts), maxParts)
	}
	for _, p := range parts {
		if p.GetContent() == nil {
			return failure(Invalid, "the partner answered with a part that has no content")
		}
	}
	return nil
}

// checkTask checks a task; id is the one that it must have, if it is known.
func checkTask(t *a2apb.Task, id string) error {
	if t == nil {
		return failure(Invalid, "the partner answered without a task")
	}
	if err := checkID("a task id", t.GetId()); err != nil {
		return err
	}
	if id != "" && t.GetId() != id {
		return failure(Invalid, "the partner answered with another task than the one that was asked for")
	}
	if len(t.GetContextId()) > maxID {
		return failure(Invalid, "the partner answered with a context id longer than %d bytes", maxID)
	}
	if err := checkStatus(t.GetStatus()); err != nil {
		return err
	}
	if len(t.GetArtifacts()) > maxArtifacts {
		return failure(TooLarge, "the partner answered with %d artifacts; at most %d are taken", len(t.GetArtifacts()), maxArtifacts)
	}
	for _, a := range t.GetArtifacts() {
		if err := checkArtifact(a); err != nil {
			return err
		}
	}
	return nil
}

func checkStatus(s *a2apb.TaskStatus) error {
	state := s.GetState()
	if _, known := a2apb.TaskState_name[int32(state)]; !known || state == a2apb.TaskState_TASK_STATE_UNSPECIFIED {
		return failure(Invalid, "the partner answered with a task in no state that the protocol has")
	}
	return checkParts(s.GetMessage().GetParts())
}

func checkArtifact(a *a2apb.Artifact) error {
	if err := checkID("an artifact id", a.GetArtifactId()); err != nil {
		return err
	}
	return checkParts(a.GetParts())
}

// errEnough ends a stream that has said what it had to.
var errEnough = errors.New("the task has ended")

// course is a stream of events of one task, or of one message.
type course struct {
	task  string
	sent  *a2apb.Message
	each  func(*a2apb.StreamResponse) error
	any   bool
	state a2apb.TaskState
	done  bool
	own   error // of each
}

func (c *course) next(ev *a2apb.StreamResponse) error {
	if c.done {
		// States do not go back from an end, and nothing follows a message.
		return errEnough
	}
	var id string
	switch p := ev.GetPayload().(type) {
	case *a2apb.StreamResponse_Message:
		if c.any {
			return failure(Invalid, "the partner sent a message into the stream of a task")
		}
		if err := checkMessage(p.Message); err != nil {
			return err
		}
		c.done = true
	case *a2apb.StreamResponse_Task:
		if err := checkTask(p.Task, c.task); err != nil {
			return err
		}
		id, c.state = p.Task.GetId(), p.Task.GetStatus().GetState()
	case *a2apb.StreamResponse_StatusUpdate:
		if err := checkStatus(p.StatusUpdate.GetStatus()); err != nil {
			return err
		}
		id, c.state = p.StatusUpdate.GetTaskId(), p.StatusUpdate.GetStatus().GetState()
	case *a2apb.StreamResponse_ArtifactUpdate:
		if err := checkArtifact(p.ArtifactUpdate.GetArtifact()); err != nil {
			return err
		}
		id = p.ArtifactUpdate.GetTaskId()
	default:
		return failure(Invalid, "the partner sent an event that says nothing")
	}
	if !c.done {
		if err := checkID("a task id", id); err != nil {
			return err
		}
		if c.task == "" {
			c.task = id
		}
		if id != c.task {
			return failure(Invalid, "the partner sent an event of another task than the one that was asked for")
		}
	}
	c.any = true
	c.done = c.done || Ended(c.state)
	if c.own = c.each(ev); c.own != nil {
		return c.own
	}
	return nil
}

// ended gives the end of a stream.
func (c *course) ended(err error) error {
	switch {
	case c.own != nil:
		return c.own
	case c.done:
		return nil // what came after the end, and how the line was closed, does not matter
	case err == nil && !c.any:
		return failure(Invalid, "the partner ended a stream without an event")
	}
	return err
}

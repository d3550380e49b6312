package discussion

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/protobuf/types/known/structpb"

	"sabha.dev/chassis/agent"
	"sabha.dev/chassis/fault"
	"sabha.dev/chassis/label"
	"sabha.dev/chassis/taskstore"
)

// Tasks are the tasks behind the questions.
type Tasks interface {
	Update(ctx context.Context, id string, mutate taskstore.Mutation) (*taskstore.Record, error)
}

var _ Tasks = (*taskstore.Store)(nil)

// errOver says that a task does not wait any more.
var errOver = errors.New("the question does not wait for a reply")

// Reply adds a reply of a person. The first one by another person than who asked
// completes the task in the same transaction, at the time of the reply. A discussion
// whose task has ended takes replies all the same. The newest reply sent again by its
// author is answered as it is.
func (b *Board) Reply(ctx context.Context, who Person, id, text string) (Reply, error) {
	if err := checkReply(text); err != nil {
		return Reply{}, err
	}
	d, err := b.find(ctx, who, id)
	if err != nil {
		return Reply{}, err
	}
	switch {
	case who.mute:
		return Reply{}, fault.New(fault.PermissionDenied, "auditors read discussions; replying needs one of the scopes viewer, reviewer, operator and admin")
	case d.Replies >= MaxReplies:
		return Reply{}, fault.New(fault.TooLarge, "the discussion has %d replies, which is as many as one may have; ask a new question", MaxReplies)
	}
	if last, err := b.replies(ctx, id, d.Replies); err != nil {
		return Reply{}, err
	} else if len(last) == 1 && last[0].Author == who.Key && last[0].Text == text {
		return last[0], nil
	}
	r := Reply{Author: who.Key, Text: text}
	if who.Key != d.Author {
		err := b.complete(ctx, id, &r)
		if !errors.Is(err, errOver) {
			return r, err
		}
	}
	r.At = b.clock.Now()
	return r, b.write(ctx, id, func(tx *sql.Tx) error { return appendReply(ctx, tx, id, &r) })
}

// complete ends a task that waits with the reply. The error is errOver when it does not.
func (b *Board) complete(ctx context.Context, id string, r *Reply) error {
	tasks := b.tasks.Load()
	if tasks == nil {
		return fault.New(fault.Unavailable, "the service is starting; try again")
	}
	_, err := (*tasks).Update(ctx, id, func(rec *taskstore.Record) (taskstore.Change, error) {
		if rec.Ended() || rec.CancelRequested {
			return taskstore.Change{}, errOver
		}
		return taskstore.Change{
			Events: ending(*r),
			Rows: func(ctx context.Context, tx *sql.Tx) error {
				r.At = rec.Task.GetStatus().GetTimestamp().AsTime() // the task ends when the reply is made
				return appendReply(ctx, tx, id, r)
			},
		}, nil
	})
	switch {
	case err == nil:
		b.tell(id)
	case errors.Is(err, taskstore.ErrNotFound):
		return errOver // the task is no longer kept
	}
	return err
}

// ending is what the task of a question ends with. What people write is nothing that
// agents may act on unseen.
func ending(r Reply) []*a2apb.StreamResponse {
	text := func() *a2apb.Part { return label.Labels{Integrity: label.Untrusted}.Put(agent.Text(r.Text)) }
	message := agent.Message(text())
	message.MessageId = rand.Text()
	return []*a2apb.StreamResponse{
		{Payload: &a2apb.StreamResponse_ArtifactUpdate{ArtifactUpdate: &a2apb.TaskArtifactUpdateEvent{
			LastChunk: true,
			Artifact: &a2apb.Artifact{
				ArtifactId: "reply", Name: "reply", Description: "The first reply. That somebody replied does not say that it is right.",
				Parts: []*a2apb.Part{text()}, Metadata: &structpb.Struct{Fields: map[string]*structpb.Value{"author": structpb.NewStringValue(r.Author)}},
			},
		}}},
		{Payload: &a2apb.StreamResponse_StatusUpdate{StatusUpdate: &a2apb.TaskStatusUpdateEvent{
			Status: &a2apb.TaskStatus{State: a2apb.TaskState_TASK_STATE_COMPLETED, Message: message},
		}}},
	}
}

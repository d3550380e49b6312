// Package caller calls the platform as clients of each binding do.
package caller

import (
	"context"
	"errors"
	"fmt"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
)

// Caller makes calls over one binding to one gateway.
type Caller interface {
	Send(context.Context, *a2apb.SendMessageRequest) (*a2apb.Task, error)
	Stream(context.Context, *a2apb.SendMessageRequest) (Events, error)
	// Subscribe continues after a cursor; an empty one begins with the task.
	Subscribe(ctx context.Context, task, cursor string) (Events, error)
	Get(ctx context.Context, task string) (*a2apb.Task, error)
	Cancel(ctx context.Context, task string) (*a2apb.Task, error)
}

// Events is an open stream. It ends with its context.
type Events interface {
	// Next waits for the next event; io.EOF is the orderly end.
	Next() (*a2apb.StreamResponse, error)
}

// Refused is what the platform answers to a call that it does not take.
type Refused struct {
	// Reason of the ErrorInfo, for example TASK_NOT_FOUND.
	Reason, Text string
}

// Error gives reason and sentence.
func (r *Refused) Error() string { return r.Reason + ": " + r.Text }

// Reasons that a client acts on.
const (
	UnsupportedOperation = "UNSUPPORTED_OPERATION"
	TaskNotCancelable    = "TASK_NOT_CANCELABLE"
	internal             = "INTERNAL"
)

// passing are the reasons for which the same call is made again.
var passing = map[string]bool{"UNAVAILABLE": true, internal: true, "RATE_LIMITED": true, "": true}

// Final gives the reason of an error that will not go away by trying again.
func Final(err error) (reason string, final bool) {
	var r *Refused
	if !errors.As(err, &r) || passing[r.Reason] {
		return "", false
	}
	return r.Reason, true
}

// Internal tells whether the platform answered with an internal error, which a
// client sees and cannot do anything about.
func Internal(err error) bool {
	var r *Refused
	return errors.As(err, &r) && r.Reason == internal
}

func taskOf(res *a2apb.SendMessageResponse) (*a2apb.Task, error) {
	if res.GetTask() == nil {
		return nil, fmt.Errorf("answered with a message instead of a task: %v", res)
	}
	return res.GetTask(), nil
}

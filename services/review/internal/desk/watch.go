package desk

import (
	"context"
	"errors"

	"google.golang.org/grpc"

	"sabha.dev/chassis/eventlog"
	"sabha.dev/chassis/fault"
	"sabha.dev/chassis/identity"
	reviewv1 "sabha.dev/gen/sabha/review/v1"
)

// Changes are where the desk hears which items change.
type Changes interface {
	// Watch begins to watch. The error is eventlog.ErrAway while nothing can be heard.
	Watch() (*eventlog.Watcher, error)
	// Draining is closed when the replica is about to stop.
	Draining() <-chan struct{}
}

// Watch tells which items change until the caller leaves or the replica stops.
func (d *Desk) Watch(_ *reviewv1.WatchRequest, stream grpc.ServerStreamingServer[reviewv1.WatchResponse]) error {
	ctx := stream.Context()
	if err := d.mayWatch(ctx); err != nil {
		return err
	}
	w, err := d.changes.Watch()
	switch {
	case errors.Is(err, eventlog.ErrAway):
		return fault.New(fault.Unavailable, "changes of reviews cannot be heard at the moment; they can be read meanwhile, try again later").Because(err)
	case err != nil:
		return err
	}
	defer w.Close()
	if err := stream.Send(&reviewv1.WatchResponse{}); err != nil {
		return err
	}
	return w.Tell(ctx, d.changes.Draining(), func(ids []string, more bool) error {
		return stream.Send(&reviewv1.WatchResponse{ItemIds: ids, More: more})
	})
}

// mayWatch admits whoever may list items, and the console by itself: it learns ids, and
// reads for its people what they may see.
func (d *Desk) mayWatch(ctx context.Context) error {
	if call, ok := identity.CallOf(ctx); ok && call.Actor == identity.Console && call.Principal.Anonymous() {
		return nil
	}
	_, err := d.person(ctx)
	return err
}

package oversight

import (
	"context"
	"errors"

	"sabha.dev/chassis/identity"
	adminv1 "sabha.dev/gen/sabha/admin/v1"
)

// Changes tells which tasks of a service change, until ctx ends or the service can
// tell no more. It asks in the console's own name: ids are all it learns.
func Changes(service adminv1.AdminServiceClient) func(ctx context.Context, begun func(), told func(ids []string, more bool)) error {
	return func(ctx context.Context, begun func(), told func([]string, bool)) error {
		stream, err := service.Watch(identity.WithOutgoing(ctx, identity.Call{}), &adminv1.WatchRequest{})
		if err != nil {
			return err
		}
		for first := true; ; first = false {
			res, err := stream.Recv()
			switch {
			case err != nil:
				return errors.Join(ctx.Err(), err)
			case first:
				begun()
			default:
				told(res.GetTaskIds(), res.GetMore())
			}
		}
	}
}

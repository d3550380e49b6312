package desk

import (
	"context"
	"errors"

	"sabha.dev/chassis/identity"
	reviewv1 "sabha.dev/gen/sabha/review/v1"
)

// Changes tells which items change, until ctx ends or the service can tell no more. It
// asks in the console's own name: ids are all it learns.
func Changes(reviews reviewv1.ReviewServiceClient) func(ctx context.Context, begun func(), told func(ids []string, more bool)) error {
	return func(ctx context.Context, begun func(), told func([]string, bool)) error {
		stream, err := reviews.Watch(identity.WithOutgoing(ctx, identity.Call{}), &reviewv1.WatchRequest{})
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
				told(res.GetItemIds(), res.GetMore())
			}
		}
	}
}

package oversight

import (
	"context"
	"errors"
	"fmt"

	"sabha.dev/chassis/identity"
	adminv1 "sabha.dev/gen/sabha/admin/v1"
	"sabha.dev/services/console/internal/live"
)

// Changes tells what of a kind changes in a service, until ctx ends or the service can
// tell no more; without a kind it is tasks. It asks in the console's own name: ids are
// all it learns.
func Changes(service adminv1.AdminServiceClient, kind string) live.Changes {
	return func(ctx context.Context, begun func(), told func([]string, bool)) error {
		stream, err := service.Watch(identity.WithOutgoing(ctx, identity.Call{}), &adminv1.WatchRequest{Kind: kind})
		if err != nil {
			return err
		}
		for first := true; ; first = false {
			res, err := stream.Recv()
			switch {
			case err != nil:
				return errors.Join(ctx.Err(), err)
			case first && res.GetKind() != kind: // a release that knows tasks alone
				return fmt.Errorf("the service does not tell which %s change", kind)
			case first:
				begun()
			default:
				told(res.GetIds(), res.GetMore())
			}
		}
	}
}

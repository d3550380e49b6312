package proxy

import (
	"context"
	"errors"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"sabha.dev/chassis/fault"
)

// retryAfter is when a client may try again after an agent could not be reached.
const retryAfter = time.Second

// visible is the error of an agent as a client sees it. What the agent said
// passes as it is; what the transport said, which may name addresses, does not.
func visible(ctx context.Context, err error) error {
	if errors.Is(context.Cause(ctx), errDraining) {
		return errDraining
	}
	s := status.Convert(err)
	if len(s.Proto().GetDetails()) > 0 {
		return err
	}
	switch s.Code() {
	case codes.Unavailable:
		e := fault.New(fault.Unavailable, "the agent cannot be reached at the moment; try again later")
		e.RetryAfter = retryAfter
		return e.Because(err)
	case codes.ResourceExhausted:
		if strings.Contains(s.Message(), "larger than max") {
			return fault.New(fault.TooLarge, "the request or its answer is larger than the agent takes; send large content by reference").Because(err)
		}
		e := fault.New(fault.Unavailable, "the agent has no room for the call at the moment; try again later")
		e.RetryAfter = retryAfter
		return e.Because(err)
	case codes.Unimplemented:
		return fault.New(fault.UnsupportedOperation, "the agent does not offer the operation").Because(err)
	case codes.Canceled, codes.DeadlineExceeded:
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return status.Error(s.Code(), "the agent gave the call up; ask for the task's state before sending again")
	case codes.Internal, codes.Unknown, codes.DataLoss:
		// fault.Status makes an internal error of it that reveals nothing, and it is logged.
		return errors.New("agent: " + s.Code().String() + ": " + s.Message())
	}
	return err
}

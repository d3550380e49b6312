package fault_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"sabha.dev/chassis/fault"
)

var errInside = errors.New("secret: dial tcp 10.0.0.7:5432")

func TestStatusIsWhatAClientMaySee(t *testing.T) {
	for _, c := range []struct {
		name string
		err  error
		code codes.Code
		says string
	}{
		{"a condition of the specification", fault.NoTask("t1"), codes.NotFound, `task "t1" does not exist or is not yours`},
		{"wrapped", fmt.Errorf("context: %w", fault.NoTask("t1")), codes.NotFound, `task "t1" does not exist or is not yours`},
		{"its cause stays inside", fault.New(fault.Unavailable, "try again").Because(errInside), codes.Unavailable, "try again"},
		{"any other error stays inside", errInside, codes.Internal, "internal error; the operator finds it in the log by trace id"},
		{"the caller left", context.Canceled, codes.Canceled, "the caller went away"},
		{"the caller's time is over", fmt.Errorf("wait: %w", context.DeadlineExceeded), codes.DeadlineExceeded, "the call took longer than its deadline"},
		{"another service's status passes", status.Error(codes.AlreadyExists, "used"), codes.AlreadyExists, "used"},
		{"an unknown reason is internal", fault.New("MADE_UP", "hm"), codes.Internal, "hm"},
	} {
		s := fault.Status(c.err)
		if s.Code() != c.code || s.Message() != c.says {
			t.Errorf("%s: %v %q, want %v %q", c.name, s.Code(), s.Message(), c.code, c.says)
		}
		if strings.Contains(fmt.Sprint(s.Proto()), "secret") {
			t.Errorf("%s: the status tells a secret: %v", c.name, s)
		}
	}
	if fault.Status(nil) != nil {
		t.Error("no error has a status")
	}
}

func TestAnErrorCrossesAConnectionWhole(t *testing.T) {
	sent := fault.Invalid("pageSize", "must be from 1 to %d", 100).With("limit", "100")
	sent.RetryAfter = 3 * time.Second
	got := fault.FromStatus(fault.Status(sent).Err())
	if got == nil || got.Reason != fault.InvalidArgument || got.Message != "pageSize: must be from 1 to 100" || got.RetryAfter != 3*time.Second ||
		got.Meta["limit"] != "100" || len(got.Fields) != 1 || got.Fields[0] != (fault.Field{Path: "pageSize", Problem: "must be from 1 to 100"}) {
		t.Errorf("received %+v", got)
	}
	if !fault.Is(fmt.Errorf("call: %w", sent), fault.InvalidArgument) || fault.Is(errInside, fault.InvalidArgument) {
		t.Error("reasons are not told apart")
	}
	if e := fault.FromStatus(status.Error(codes.NotFound, "x")); e != nil {
		t.Errorf("a status without a reason gives %+v", e)
	}
	if e := fault.FromStatus(errInside); e != nil {
		t.Errorf("an error that is no status gives %+v", e)
	}
}

func TestWithAndBecauseLeaveTheOriginalAlone(t *testing.T) {
	original := fault.New(fault.TooLarge, "too large")
	_ = original.With("a", "1").Because(errInside)
	if original.Meta != nil || errors.Unwrap(original) != nil {
		t.Errorf("the original has become %+v", original)
	}
}

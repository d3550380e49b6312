package fault

import (
	"context"
	"log/slog"
	"runtime/debug"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"sabha.dev/chassis/outage"
)

// Unary is the server's interceptor that turns the errors of handlers into
// statuses for clients and panics into internal errors. What stays inside goes to
// the log with the trace id.
func Unary(log *slog.Logger) grpc.UnaryServerInterceptor {
	return func(ctx context.Context, req any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (res any, err error) {
		defer func() {
			if p := recover(); p != nil {
				res, err = nil, panicked(ctx, log, info.FullMethod, p)
			}
		}()
		res, err = next(ctx, req)
		if err != nil {
			return nil, Mapped(ctx, log, info.FullMethod, err)
		}
		return res, nil
	}
}

// Stream is the same for streams.
func Stream(log *slog.Logger) grpc.StreamServerInterceptor {
	return func(srv any, ss grpc.ServerStream, info *grpc.StreamServerInfo, next grpc.StreamHandler) (err error) {
		defer func() {
			if p := recover(); p != nil {
				err = panicked(ss.Context(), log, info.FullMethod, p)
			}
		}()
		return Mapped(ss.Context(), log, info.FullMethod, next(srv, ss))
	}
}

// Mapped is the status of an error as clients see it; what stays inside is logged.
func Mapped(ctx context.Context, log *slog.Logger, method string, err error) error {
	if err == nil {
		return nil
	}
	e, s := As(err), Status(err)
	switch _, passed := status.FromError(err); {
	case e != nil && e.Unwrap() != nil:
		log.WarnContext(ctx, "call refused", "method", method, "reason", e.Reason, "error", err)
	case outage.Of(err):
		log.WarnContext(ctx, "call failed for want of the database", "method", method, "error", err)
	case e == nil && !passed && s.Code() == codes.Internal:
		log.ErrorContext(ctx, "call failed", "method", method, "error", err)
	}
	return s.Err()
}

func panicked(ctx context.Context, log *slog.Logger, method string, p any) error {
	log.ErrorContext(ctx, "a handler panicked", "method", method, "panic", p, "stack", string(debug.Stack()))
	return status.Error(codes.Internal, "internal error; the operator finds it in the log by trace id")
}

package trace

import (
	"context"
	"log/slog"
)

// Logs has every line that is logged with the context of a request carry its trace_id.
func Logs(h slog.Handler) slog.Handler { return logs{h} }

type logs struct{ slog.Handler }

// Handle adds the trace id.
func (l logs) Handle(ctx context.Context, r slog.Record) error {
	if Known(ctx) {
		r.AddAttrs(slog.String("trace_id", Of(ctx).TraceID))
	}
	return l.Handler.Handle(ctx, r)
}

// WithAttrs keeps the trace id.
func (l logs) WithAttrs(attrs []slog.Attr) slog.Handler { return logs{l.Handler.WithAttrs(attrs)} }

// WithGroup keeps the trace id.
func (l logs) WithGroup(name string) slog.Handler { return logs{l.Handler.WithGroup(name)} }

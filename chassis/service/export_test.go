package service

import (
	"bytes"
	"context"
)

// RunForTest runs a service's command and gives its exit code and what it wrote.
func RunForTest[C any](ctx context.Context, args []string, define func(C) Definition) (int, string) {
	var out bytes.Buffer
	code := run(ctx, args, &out, define)
	return code, out.String()
}

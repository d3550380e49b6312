package client

import (
	"context"

	executorv1 "sabha.dev/gen/sabha/executor/v1"
)

// Tools makes one call about the tools of MCP servers.
func Tools[Res any](ctx context.Context, c *Client, f func(context.Context, executorv1.ToolServiceClient) (Res, error)) (Res, error) {
	ctx, cancel := c.call(ctx)
	defer cancel()
	res, err := f(ctx, executorv1.NewToolServiceClient(c.conn))
	return res, c.fault(err)
}

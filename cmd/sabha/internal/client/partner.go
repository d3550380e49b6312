package client

import (
	"context"

	registryv1 "sabha.dev/gen/sabha/registry/v1"
)

// Registry makes one call of the registry of partners.
func Registry[Res any](ctx context.Context, c *Client, f func(context.Context, registryv1.RegistryServiceClient) (Res, error)) (Res, error) {
	ctx, cancel := c.call(ctx)
	defer cancel()
	res, err := f(ctx, registryv1.NewRegistryServiceClient(c.conn))
	return res, c.fault(err)
}

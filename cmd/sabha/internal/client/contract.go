package client

import (
	"context"

	partnersv1 "sabha.dev/gen/sabha/partners/v1"
)

// Contracts makes one call of the contract tests of partners.
func Contracts[Res any](ctx context.Context, c *Client, f func(context.Context, partnersv1.ContractServiceClient) (Res, error)) (Res, error) {
	ctx, cancel := c.call(ctx)
	defer cancel()
	res, err := f(ctx, partnersv1.NewContractServiceClient(c.conn))
	return res, c.fault(err)
}

package client

import (
	"context"

	partnersv1 "sabha.dev/gen/sabha/partners/v1"
)

// Attainment tells how a partner stands against its agreement.
func (c *Client) Attainment(ctx context.Context, req *partnersv1.GetAttainmentRequest) (*partnersv1.GetAttainmentResponse, error) {
	ctx, cancel := c.call(ctx)
	defer cancel()
	res, err := partnersv1.NewAttainmentServiceClient(c.conn).GetAttainment(ctx, req)
	return res, c.fault(err)
}

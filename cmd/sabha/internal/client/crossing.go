package client

import (
	"context"

	partnersv1 "sabha.dev/gen/sabha/partners/v1"
)

// Crossings lists what left for partners and what came from them.
func (c *Client) Crossings(ctx context.Context, req *partnersv1.ListCrossingsRequest) (*partnersv1.ListCrossingsResponse, error) {
	ctx, cancel := c.call(ctx)
	defer cancel()
	res, err := partnersv1.NewCrossingServiceClient(c.conn).ListCrossings(ctx, req)
	return res, c.fault(err)
}

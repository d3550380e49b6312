// Package people passes what reviewers and discussants do on to the review service,
// over gRPC and as HTTP+JSON. Who may do it is decided there, by the scopes of the
// call.
package people

import (
	"context"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"sabha.dev/chassis/fault"
	"sabha.dev/chassis/identity"
	reviewv1 "sabha.dev/gen/sabha/review/v1"
)

// Register serves the review services on a server, over a connection to who has them.
func Register(s grpc.ServiceRegistrar, conn grpc.ClientConnInterface) {
	reviewv1.RegisterReviewServiceServer(s, &reviews{to: reviewv1.NewReviewServiceClient(conn)})
	reviewv1.RegisterDiscussionServiceServer(s, &discussions{to: reviewv1.NewDiscussionServiceClient(conn)})
}

// pass makes a call again on behalf of who has made it.
func pass[Req, Res any](ctx context.Context, req *Req, call func(context.Context, *Req, ...grpc.CallOption) (*Res, error)) (*Res, error) {
	from, ok := identity.CallOf(ctx)
	if !ok {
		return nil, fault.New(fault.Unauthenticated, "the call carries no identity")
	}
	res, err := call(identity.WithOutgoing(ctx, from), req)
	if s := status.Convert(err); s.Code() == codes.Unavailable && len(s.Proto().GetDetails()) == 0 {
		return nil, fault.New(fault.Unavailable, "reviews cannot be reached at the moment; try again later").Because(err)
	}
	return res, err
}

type reviews struct {
	reviewv1.UnimplementedReviewServiceServer
	to reviewv1.ReviewServiceClient
}

// ListItems lists items.
func (r *reviews) ListItems(ctx context.Context, req *reviewv1.ListItemsRequest) (*reviewv1.ListItemsResponse, error) {
	return pass(ctx, req, r.to.ListItems)
}

// GetItem gives an item.
func (r *reviews) GetItem(ctx context.Context, req *reviewv1.GetItemRequest) (*reviewv1.GetItemResponse, error) {
	return pass(ctx, req, r.to.GetItem)
}

// Claim makes the caller the holder.
func (r *reviews) Claim(ctx context.Context, req *reviewv1.ClaimRequest) (*reviewv1.ClaimResponse, error) {
	return pass(ctx, req, r.to.Claim)
}

// Release gives a claim back.
func (r *reviews) Release(ctx context.Context, req *reviewv1.ReleaseRequest) (*reviewv1.ReleaseResponse, error) {
	return pass(ctx, req, r.to.Release)
}

// Reassign hands an item over.
func (r *reviews) Reassign(ctx context.Context, req *reviewv1.ReassignRequest) (*reviewv1.ReassignResponse, error) {
	return pass(ctx, req, r.to.Reassign)
}

// ListPeople gives those to whom an item may be handed.
func (r *reviews) ListPeople(ctx context.Context, req *reviewv1.ListPeopleRequest) (*reviewv1.ListPeopleResponse, error) {
	return pass(ctx, req, r.to.ListPeople)
}

// Decide decides.
func (r *reviews) Decide(ctx context.Context, req *reviewv1.DecideRequest) (*reviewv1.DecideResponse, error) {
	return pass(ctx, req, r.to.Decide)
}

// DecideBatch decides several.
func (r *reviews) DecideBatch(ctx context.Context, req *reviewv1.DecideBatchRequest) (*reviewv1.DecideBatchResponse, error) {
	return pass(ctx, req, r.to.DecideBatch)
}

// Ask asks the requester.
func (r *reviews) Ask(ctx context.Context, req *reviewv1.AskRequest) (*reviewv1.AskResponse, error) {
	return pass(ctx, req, r.to.Ask)
}

// ListQueues gives the queues.
func (r *reviews) ListQueues(ctx context.Context, req *reviewv1.ListQueuesRequest) (*reviewv1.ListQueuesResponse, error) {
	return pass(ctx, req, r.to.ListQueues)
}

type discussions struct {
	reviewv1.UnimplementedDiscussionServiceServer
	to reviewv1.DiscussionServiceClient
}

// ListDiscussions lists questions.
func (d *discussions) ListDiscussions(ctx context.Context, req *reviewv1.ListDiscussionsRequest) (*reviewv1.ListDiscussionsResponse, error) {
	return pass(ctx, req, d.to.ListDiscussions)
}

// GetDiscussion gives a question with its replies.
func (d *discussions) GetDiscussion(ctx context.Context, req *reviewv1.GetDiscussionRequest) (*reviewv1.GetDiscussionResponse, error) {
	return pass(ctx, req, d.to.GetDiscussion)
}

// Reply adds a reply.
func (d *discussions) Reply(ctx context.Context, req *reviewv1.ReplyRequest) (*reviewv1.ReplyResponse, error) {
	return pass(ctx, req, d.to.Reply)
}

// Acknowledge notes what was read.
func (d *discussions) Acknowledge(ctx context.Context, req *reviewv1.AcknowledgeRequest) (*reviewv1.AcknowledgeResponse, error) {
	return pass(ctx, req, d.to.Acknowledge)
}

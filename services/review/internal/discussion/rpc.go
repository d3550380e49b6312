package discussion

import (
	"context"

	"google.golang.org/protobuf/types/known/timestamppb"

	"sabha.dev/chassis/fault"
	"sabha.dev/chassis/identity"
	reviewv1 "sabha.dev/gen/sabha/review/v1"
)

// RPC serves discussions to front ends.
type RPC struct {
	reviewv1.UnimplementedDiscussionServiceServer
	Board *Board
}

func caller(ctx context.Context) (Person, error) {
	call, ok := identity.CallOf(ctx)
	if !ok {
		return Person{}, fault.New(fault.Unauthenticated, "the call carries no identity")
	}
	return PersonOf(call.Principal)
}

// Bounds of a page.
const (
	defaultPage = 50
	maxPage     = 100
)

// ListDiscussions lists questions, the newest activity first.
func (s *RPC) ListDiscussions(ctx context.Context, req *reviewv1.ListDiscussionsRequest) (*reviewv1.ListDiscussionsResponse, error) {
	who, err := caller(ctx)
	if err != nil {
		return nil, err
	}
	size := int(req.GetPageSize())
	if size == 0 {
		size = defaultPage
	}
	if size < 1 || size > maxPage {
		return nil, fault.Invalid("page_size", "must be from 1 to %d", maxPage)
	}
	list, next, err := s.Board.List(ctx, who, Filter{Waiting: req.GetWaiting(), Mine: req.GetMine(), Unread: req.GetUnread(), Limit: size, Token: req.GetPageToken()})
	if err != nil {
		return nil, err
	}
	res := &reviewv1.ListDiscussionsResponse{NextPageToken: next}
	for _, d := range list {
		res.Discussions = append(res.Discussions, told(d))
	}
	return res, nil
}

// GetDiscussion gives a question with its replies.
func (s *RPC) GetDiscussion(ctx context.Context, req *reviewv1.GetDiscussionRequest) (*reviewv1.GetDiscussionResponse, error) {
	who, err := caller(ctx)
	if err != nil {
		return nil, err
	}
	d, replies, err := s.Board.Get(ctx, who, req.GetId())
	if err != nil {
		return nil, err
	}
	res := &reviewv1.GetDiscussionResponse{Discussion: told(d)}
	for _, r := range replies {
		res.Replies = append(res.Replies, message(r))
	}
	return res, nil
}

// Reply adds a reply.
func (s *RPC) Reply(ctx context.Context, req *reviewv1.ReplyRequest) (*reviewv1.ReplyResponse, error) {
	who, err := caller(ctx)
	if err != nil {
		return nil, err
	}
	r, err := s.Board.Reply(ctx, who, req.GetId(), req.GetText())
	if err != nil {
		return nil, err
	}
	return &reviewv1.ReplyResponse{Reply: message(r)}, nil
}

// Acknowledge notes that the caller has taken note up to a reply.
func (s *RPC) Acknowledge(ctx context.Context, req *reviewv1.AcknowledgeRequest) (*reviewv1.AcknowledgeResponse, error) {
	who, err := caller(ctx)
	if err != nil {
		return nil, err
	}
	return &reviewv1.AcknowledgeResponse{}, s.Board.Acknowledge(ctx, who, req.GetId(), int(req.GetUpTo()))
}

func told(d Discussion) *reviewv1.Discussion {
	return &reviewv1.Discussion{
		Id: d.ID, Title: d.Title, Author: d.Author, Question: d.Question, Tags: d.Tags, AskedAt: timestamppb.New(d.AskedAt),
		LastActivityAt: timestamppb.New(d.LastActivityAt), State: d.State, ReplyCount: int32(d.Replies), Unread: int32(d.Unread),
	}
}

func message(r Reply) *reviewv1.Message {
	return &reviewv1.Message{Number: int32(r.Number), Author: r.Author, Text: r.Text, At: timestamppb.New(r.At)}
}

package reviewtest

import (
	"context"
	"slices"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"sabha.dev/chassis/fault"
	reviewv1 "sabha.dev/gen/sabha/review/v1"
)

// discussion is a question with what people have taken note of.
type discussion struct {
	*reviewv1.GetDiscussionResponse
	noted map[string]int32
}

// AskPeople adds a question that somebody asks.
func (s *Service) AskPeople(id, author, title, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.discussions = append(s.discussions, &discussion{&reviewv1.GetDiscussionResponse{Discussion: &reviewv1.Discussion{
		Id: id, Author: author, Title: title, Question: text, State: "TASK_STATE_WORKING", AskedAt: timestamppb.New(s.now()), LastActivityAt: timestamppb.New(s.now()),
	}}, map[string]int32{}})
}

func (s *Service) discussed(ctx context.Context, d *discussion) *reviewv1.Discussion {
	out, _ := proto.Clone(d.Discussion).(*reviewv1.Discussion)
	for _, r := range d.Replies {
		if r.GetAuthor() != caller(ctx) && r.GetNumber() > d.noted[caller(ctx)] {
			out.Unread++
		}
	}
	out.ReplyCount = int32(len(d.Replies)) //nolint:gosec // a few
	return out
}

// ListDiscussions implements the contract.
func (s *Service) ListDiscussions(ctx context.Context, q *reviewv1.ListDiscussionsRequest) (*reviewv1.ListDiscussionsResponse, error) {
	res := &reviewv1.ListDiscussionsResponse{}
	for _, d := range slices.Backward(s.discussions) {
		out := s.discussed(ctx, d)
		if (!q.GetWaiting() || out.GetState() == "TASK_STATE_WORKING") && (!q.GetMine() || out.GetAuthor() == caller(ctx)) && (!q.GetUnread() || out.GetUnread() > 0) {
			res.Discussions = append(res.Discussions, out)
		}
	}
	return res, nil
}

func (s *Service) discussion(id string) (*discussion, error) {
	for _, d := range s.discussions {
		if d.Discussion.GetId() == id {
			return d, nil
		}
	}
	return nil, fault.New(fault.TaskNotFound, "there is no question %s", id)
}

// GetDiscussion implements the contract.
func (s *Service) GetDiscussion(ctx context.Context, q *reviewv1.GetDiscussionRequest) (*reviewv1.GetDiscussionResponse, error) {
	d, err := s.discussion(q.GetId())
	if err != nil {
		return nil, err
	}
	out, _ := proto.Clone(d.GetDiscussionResponse).(*reviewv1.GetDiscussionResponse)
	out.Discussion = s.discussed(ctx, d)
	return out, nil
}

// Reply implements the contract.
func (s *Service) Reply(ctx context.Context, q *reviewv1.ReplyRequest) (*reviewv1.ReplyResponse, error) {
	d, err := s.discussion(q.GetId())
	if err != nil {
		return nil, err
	}
	if q.GetText() == "" {
		return nil, fault.Invalid("text", "is missing")
	}
	r := &reviewv1.Message{Number: int32(len(d.Replies) + 1), Author: caller(ctx), Text: q.GetText(), At: timestamppb.New(s.now())} //nolint:gosec // a few
	d.Replies = append(d.Replies, r)
	if r.GetAuthor() != d.Discussion.GetAuthor() {
		d.Discussion.State = "TASK_STATE_COMPLETED"
	}
	return &reviewv1.ReplyResponse{Reply: r}, nil
}

// Acknowledge implements the contract.
func (s *Service) Acknowledge(ctx context.Context, q *reviewv1.AcknowledgeRequest) (*reviewv1.AcknowledgeResponse, error) {
	d, err := s.discussion(q.GetId())
	if err != nil {
		return nil, err
	}
	d.noted[caller(ctx)] = max(d.noted[caller(ctx)], q.GetUpTo())
	return &reviewv1.AcknowledgeResponse{}, nil
}

// Package reviewtest is a review service in memory for tests of its front end: it
// keeps items, claims and decisions by the rules of the contract, and serves them on a
// real socket.
package reviewtest

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"sabha.dev/chassis/fault"
	adminv1 "sabha.dev/gen/sabha/admin/v1"
	reviewv1 "sabha.dev/gen/sabha/review/v1"
	"sabha.dev/services/console/internal/person"
)

// header carries who calls, in place of a grant.
const header = "test-person"

// claimFor is how long a claim lasts.
const claimFor = 15 * time.Minute

// Service is a review service.
type Service struct {
	reviewv1.UnimplementedReviewServiceServer
	reviewv1.UnimplementedDiscussionServiceServer

	mu          sync.Mutex
	now         func() time.Time
	items       []*reviewv1.Detail
	down        bool
	watchers    map[chan string]bool
	discussions []*discussion
}

// New makes a service without items.
func New(now func() time.Time) *Service { return &Service{now: now} }

// Serve serves it until the test ends.
func (s *Service) Serve(tb testing.TB) *grpc.ClientConn {
	tb.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	server := grpc.NewServer(grpc.UnaryInterceptor(func(ctx context.Context, req any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.down {
			return nil, fault.Status(fault.New(fault.Unavailable, "the database is away")).Err()
		}
		res, err := next(ctx, req)
		if err != nil {
			return nil, fault.Status(err).Err()
		}
		if changed, ok := req.(interface{ GetId() string }); ok && !strings.Contains(info.FullMethod, "/Get") {
			for w := range s.watchers {
				w <- changed.GetId()
			}
		}
		return res, nil
	}))
	reviewv1.RegisterReviewServiceServer(server, s)
	reviewv1.RegisterDiscussionServiceServer(server, s)
	adminv1.RegisterAdminServiceServer(server, &admin{service: s})
	go func() { _ = server.Serve(l) }()
	tb.Cleanup(server.Stop)
	conn, err := grpc.NewClient(l.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithUnaryInterceptor(
		func(ctx context.Context, method string, req, res any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
			if p, ok := person.Of(ctx); ok {
				ctx = metadata.AppendToOutgoingContext(ctx, header, p.Key())
			}
			return invoke(ctx, method, req, res, cc, opts...)
		}))
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = conn.Close() })
	return conn
}

// Add puts an item into the queue.
func (s *Service) Add(d *reviewv1.Detail) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := d.GetItem()
	i.Version, i.State = 1, reviewv1.State_STATE_OPEN
	if i.GetDigest() == "" {
		i.Digest = "digest-1"
	}
	i.ApprovalsNeeded = max(i.GetApprovalsNeeded(), 1)
	s.items = append(s.items, d)
	slices.SortStableFunc(s.items, func(a, b *reviewv1.Detail) int {
		return a.GetItem().GetDueAt().AsTime().Compare(b.GetItem().GetDueAt().AsTime())
	})
}

// admin tells of what people have done with one item, or one discussion.
type admin struct {
	adminv1.UnimplementedAdminServiceServer
	service *Service
}

func (a *admin) Watch(req *adminv1.WatchRequest, stream grpc.ServerStreamingServer[adminv1.WatchResponse]) error {
	s := a.service
	w := make(chan string, 1000)
	s.mu.Lock()
	if s.watchers == nil {
		s.watchers = map[chan string]bool{}
	}
	s.watchers[w] = true
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.watchers, w)
	}()
	res := &adminv1.WatchResponse{Kind: req.GetKind()}
	for {
		if err := stream.Send(res); err != nil {
			return err
		}
		select {
		case id := <-w:
			res = &adminv1.WatchResponse{Ids: []string{id}}
		case <-stream.Context().Done():
			return nil
		}
	}
}

// SetDown has every call fail, or no longer.
func (s *Service) SetDown(down bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.down = down
}

func caller(ctx context.Context) string {
	md, _ := metadata.FromIncomingContext(ctx)
	if v := md.Get(header); len(v) > 0 {
		return v[0]
	}
	return ""
}

// seen is an item as the caller sees it.
func (s *Service) seen(ctx context.Context, i *reviewv1.Item) *reviewv1.Item {
	out, _ := proto.Clone(i).(*reviewv1.Item)
	out.MayNotBecause = s.mayNot(ctx, i)
	out.MayDecide = out.GetMayNotBecause() == ""
	return out
}

func (s *Service) mayNot(ctx context.Context, i *reviewv1.Item) string {
	me := caller(ctx)
	switch {
	case !slices.Contains([]reviewv1.State{reviewv1.State_STATE_OPEN, reviewv1.State_STATE_ASKED}, i.GetState()):
		return "it has ended"
	case me == i.GetRequester() && me != "":
		return "you asked for it yourself, and somebody else has to decide"
	case slices.ContainsFunc(i.GetDecisions(), func(d *reviewv1.Decision) bool { return d.GetPerson() == me && d.GetApproved() }):
		return "you have approved it already, and another person has to as well"
	case i.GetHolder() != "" && i.GetHolder() != me:
		return i.GetHolder() + " holds it"
	}
	return ""
}

func (s *Service) find(id string) (*reviewv1.Detail, error) {
	for _, d := range s.items {
		if d.GetItem().GetId() == id {
			return d, nil
		}
	}
	return nil, fault.New(fault.ItemNotFound, "there is no item %s", id)
}

// ListItems implements the contract, in pages of the size that is asked for.
func (s *Service) ListItems(ctx context.Context, q *reviewv1.ListItemsRequest) (*reviewv1.ListItemsResponse, error) {
	res := &reviewv1.ListItemsResponse{}
	if q.GetPageToken() == "wrong" {
		return nil, fault.Invalid("page_token", "is not one that a list gave")
	}
	states := q.GetStates()
	if len(states) == 0 {
		states = []reviewv1.State{reviewv1.State_STATE_OPEN, reviewv1.State_STATE_ASKED}
	}
	for _, d := range s.items {
		i := d.GetItem()
		if i.GetState() == reviewv1.State_STATE_OPEN {
			res.Open++
			switch i.GetHolder() {
			case "":
				res.Unassigned++
			case caller(ctx):
				res.Mine++
			}
			if i.GetDueAt().AsTime().Before(s.now()) {
				res.Overdue++
			}
		}
		words := strings.ToLower(i.GetTitle() + " " + i.GetRequester() + " " + i.GetId())
		if slices.Contains(states, i.GetState()) && (!q.GetMine() || i.GetHolder() == caller(ctx)) && (!q.GetUnassigned() || i.GetHolder() == "") &&
			(q.GetQueue() == "" || q.GetQueue() == i.GetQueue()) && (q.GetRisk() == "" || q.GetRisk() == i.GetRisk()) && (q.GetProduct() == "" || q.GetProduct() == i.GetProduct()) &&
			(q.GetBatchKey() == "" || q.GetBatchKey() == i.GetBatchKey()) && strings.Contains(words, strings.ToLower(q.GetQuery())) {
			res.Items = append(res.Items, s.seen(ctx, i))
		}
	}
	if n := int(q.GetPageSize()); len(res.GetItems()) > n {
		res.Items, res.NextPageToken = res.GetItems()[:n], "more"
	}
	return res, nil
}

// GetItem implements the contract.
func (s *Service) GetItem(ctx context.Context, q *reviewv1.GetItemRequest) (*reviewv1.GetItemResponse, error) {
	d, err := s.find(q.GetId())
	if err != nil {
		return nil, err
	}
	out, _ := proto.Clone(d).(*reviewv1.Detail)
	out.Item = s.seen(ctx, d.GetItem())
	return &reviewv1.GetItemResponse{Detail: out}, nil
}

// ListQueues implements the contract.
func (s *Service) ListQueues(context.Context, *reviewv1.ListQueuesRequest) (*reviewv1.ListQueuesResponse, error) {
	count := map[string]int64{}
	for _, d := range s.items {
		if d.GetItem().GetState() == reviewv1.State_STATE_OPEN {
			count[d.GetItem().GetQueue()]++
		}
	}
	res := &reviewv1.ListQueuesResponse{}
	for _, name := range []string{"general", "lending"} {
		res.Queues = append(res.Queues, &reviewv1.Queue{Name: name, Title: strings.ToUpper(name[:1]) + name[1:], Open: count[name], MayDecide: true})
	}
	return res, nil
}

// change finds an item that the caller may change.
func (s *Service) change(ctx context.Context, id string) (*reviewv1.Detail, error) {
	d, err := s.find(id)
	if err != nil {
		return nil, err
	}
	i := d.GetItem()
	if why := s.mayNot(ctx, i); why != "" {
		reason := fault.NotPermitted
		if i.GetHolder() != "" && i.GetHolder() != caller(ctx) {
			reason = fault.ItemHeld
		}
		return nil, fault.New(reason, "you may not decide on item %s: %s", id, why)
	}
	i.Version++
	return d, nil
}

func (s *Service) note(ctx context.Context, d *reviewv1.Detail, what, note string) {
	d.History = append(d.History, &reviewv1.Event{At: timestamppb.New(s.now()), By: caller(ctx), What: what, Note: note})
}

// Claim implements the contract.
func (s *Service) Claim(ctx context.Context, q *reviewv1.ClaimRequest) (*reviewv1.ClaimResponse, error) {
	d, err := s.change(ctx, q.GetId())
	if err != nil {
		return nil, err
	}
	d.Item.Holder, d.Item.HeldUntil = caller(ctx), timestamppb.New(s.now().Add(claimFor))
	s.note(ctx, d, "claimed", "")
	return &reviewv1.ClaimResponse{Item: s.seen(ctx, d.GetItem())}, nil
}

// Release implements the contract.
func (s *Service) Release(ctx context.Context, q *reviewv1.ReleaseRequest) (*reviewv1.ReleaseResponse, error) {
	d, err := s.find(q.GetId())
	if err != nil {
		return nil, err
	}
	if d.GetItem().GetHolder() != caller(ctx) {
		return nil, fault.New(fault.ItemHeld, "%s holds it", d.GetItem().GetHolder())
	}
	d.Item.Version++
	d.Item.Holder, d.Item.HeldUntil = "", nil
	s.note(ctx, d, "released", q.GetNote())
	return &reviewv1.ReleaseResponse{Item: s.seen(ctx, d.GetItem())}, nil
}

// Reassign implements the contract.
func (s *Service) Reassign(ctx context.Context, q *reviewv1.ReassignRequest) (*reviewv1.ReassignResponse, error) {
	d, err := s.change(ctx, q.GetId())
	if err != nil {
		return nil, err
	}
	d.Item.Holder, d.Item.HeldUntil = q.GetTo(), timestamppb.New(s.now().Add(claimFor))
	s.note(ctx, d, "reassigned", "to "+q.GetTo())
	return &reviewv1.ReassignResponse{Item: s.seen(ctx, d.GetItem())}, nil
}

// ListPeople implements the contract: ben is known.
func (s *Service) ListPeople(_ context.Context, q *reviewv1.ListPeopleRequest) (*reviewv1.ListPeopleResponse, error) {
	if _, err := s.find(q.GetId()); err != nil {
		return nil, err
	}
	return &reviewv1.ListPeopleResponse{People: []string{"acme/ben"}}, nil
}

// Ask implements the contract.
func (s *Service) Ask(ctx context.Context, q *reviewv1.AskRequest) (*reviewv1.AskResponse, error) {
	d, err := s.change(ctx, q.GetId())
	if err != nil {
		return nil, err
	}
	d.Item.State = reviewv1.State_STATE_ASKED
	d.Exchanges = append(d.Exchanges, &reviewv1.Exchange{AskedBy: caller(ctx), Question: q.GetQuestion(), AskedAt: timestamppb.New(s.now())})
	s.note(ctx, d, "asked", q.GetQuestion())
	return &reviewv1.AskResponse{Item: s.seen(ctx, d.GetItem())}, nil
}

// Decide implements the contract. An edited text that begins with "wrong" is refused
// as one that the schema does not allow.
func (s *Service) Decide(ctx context.Context, q *reviewv1.DecideRequest) (*reviewv1.DecideResponse, error) {
	d, err := s.change(ctx, q.GetId())
	if err != nil {
		return nil, err
	}
	i := d.GetItem()
	switch {
	case q.GetDigest() != i.GetDigest():
		return nil, fault.New(fault.ItemChanged, "item %s is not what you were shown any more; look at it again and decide then", i.GetId())
	case !q.GetApprove() && q.GetReason() == "":
		return nil, fault.Invalid("reason", "is missing; a rejection says why")
	case strings.HasPrefix(q.GetEdited().GetStringValue(), "wrong"):
		return nil, fault.Invalid("edited", "does not match the schema")
	}
	i.Decisions = append(i.Decisions, &reviewv1.Decision{
		Person: caller(ctx), Approved: q.GetApprove(), Reason: q.GetReason(), Digest: q.GetDigest(), Edited: q.GetEdited(), At: timestamppb.New(s.now()),
	})
	if q.GetEdited() != nil {
		i.Digest += "'"
		if d.GetOriginal() == nil {
			d.Original = d.GetContent()
		}
		d.Content = q.GetEdited()
	}
	i.Holder, i.HeldUntil = "", nil
	switch {
	case !q.GetApprove():
		s.end(i, reviewv1.State_STATE_REJECTED, "rejected by "+caller(ctx)+": "+q.GetReason())
		s.note(ctx, d, "rejected", q.GetReason())
		return &reviewv1.DecideResponse{Item: s.seen(ctx, i)}, nil
	case len(i.GetDecisions()) >= int(i.GetApprovalsNeeded()):
		s.end(i, reviewv1.State_STATE_APPROVED, "approved by "+caller(ctx))
	}
	s.note(ctx, d, "approved", q.GetReason())
	return &reviewv1.DecideResponse{Item: s.seen(ctx, i)}, nil
}

func (s *Service) end(i *reviewv1.Item, state reviewv1.State, why string) {
	i.State, i.OutcomeReason, i.DecidedAt = state, why, timestamppb.New(s.now())
}

// DecideBatch implements the contract.
func (s *Service) DecideBatch(ctx context.Context, q *reviewv1.DecideBatchRequest) (*reviewv1.DecideBatchResponse, error) {
	res := &reviewv1.DecideBatchResponse{}
	for _, one := range q.GetDecisions() {
		o := &reviewv1.BatchOutcome{Id: one.GetId()}
		decided, err := s.Decide(ctx, one)
		if f := fault.FromStatus(fault.Status(err).Err()); err != nil && f != nil {
			o.ErrorReason, o.Error = string(f.Reason), f.Message
		}
		o.Item = decided.GetItem()
		res.Outcomes = append(res.Outcomes, o)
	}
	return res, nil
}

// ID makes the id of an item of a test.
func ID(n int) string { return fmt.Sprintf("01990000-0000-7000-8000-%012d", n) }

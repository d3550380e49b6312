// Package oversight answers operators and auditors for the platform as a whole.
package oversight

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"sabha.dev/chassis/fault"
	"sabha.dev/chassis/identity"
	adminv1 "sabha.dev/gen/sabha/admin/v1"
	plannerv1 "sabha.dev/gen/sabha/planner/v1"
)

// Service asks the services of the platform. Its callers have been checked for
// their scope; what they ask is logged with who asked.
type Service struct {
	adminv1.UnimplementedAdminServiceServer
	plannerv1.UnimplementedPlannerServiceServer
	plans    plannerv1.PlannerServiceClient
	front    adminv1.AdminServiceClient
	services map[string]adminv1.AdminServiceClient
	log      *slog.Logger
}

// front is the name of the service that has the requests of clients.
const front = "planner"

// New makes the service over the admin services of the front agent, which has
// the requests of clients, and of every service that records hops, by name, and over
// the plans of the front agent.
func New(front adminv1.AdminServiceClient, services map[string]adminv1.AdminServiceClient, plans plannerv1.PlannerServiceClient, log *slog.Logger) *Service {
	return &Service{front: front, services: services, plans: plans, log: log}
}

func (s *Service) outgoing(ctx context.Context, method, about string) (context.Context, error) {
	call, ok := identity.CallOf(ctx)
	if !ok {
		return nil, fault.New(fault.Unauthenticated, "the call carries no identity")
	}
	s.log.InfoContext(ctx, "oversight", "method", method, "about", about, "principal", call.Principal.Key())
	return identity.WithOutgoing(ctx, call), nil
}

// ListHops gives the hops of a request in every service, in the order in which
// they began. A service that cannot be asked fails the call: a trail with a hole
// looks like one without.
func (s *Service) ListHops(ctx context.Context, req *adminv1.ListHopsRequest) (*adminv1.ListHopsResponse, error) {
	ctx, err := s.outgoing(ctx, "ListHops", req.GetTaskId()+req.GetTraceId())
	if err != nil {
		return nil, err
	}
	hops, err := s.hops(ctx, req)
	if err != nil {
		return nil, err
	}
	// Only the service that has a child task knows its root, under which the others find theirs.
	if root := rootOf(hops); root != "" && req.GetTaskId() != "" && root != req.GetTaskId() {
		if hops, err = s.hops(ctx, &adminv1.ListHopsRequest{TaskId: root}); err != nil {
			return nil, err
		}
	}
	slices.SortStableFunc(hops, func(a, b *adminv1.Hop) int {
		if c := a.GetStartedAt().AsTime().Compare(b.GetStartedAt().AsTime()); c != 0 {
			return c
		}
		return strings.Compare(a.GetAgent()+a.GetTaskId(), b.GetAgent()+b.GetTaskId())
	})
	return &adminv1.ListHopsResponse{Hops: hops}, nil
}

func rootOf(hops []*adminv1.Hop) string {
	for _, h := range hops {
		if h.GetRootTaskId() != "" {
			return h.GetRootTaskId()
		}
	}
	return ""
}

func (s *Service) hops(ctx context.Context, req *adminv1.ListHopsRequest) ([]*adminv1.Hop, error) {
	return collect(ctx, s, func(ctx context.Context, service adminv1.AdminServiceClient) ([]*adminv1.Hop, error) {
		res, err := service.ListHops(ctx, req)
		return res.GetHops(), err
	})
}

// collect asks every service. One that cannot be asked fails the call: a list with
// a hole looks like one without.
func collect[T any](ctx context.Context, s *Service, ask func(context.Context, adminv1.AdminServiceClient) ([]T, error)) ([]T, error) {
	var (
		mu  sync.Mutex
		all []T
	)
	group, ctx := errgroup.WithContext(ctx)
	for name, service := range s.services {
		group.Go(func() error {
			some, err := ask(ctx, service)
			if err != nil {
				return named(name, err)
			}
			mu.Lock()
			defer mu.Unlock()
			all = append(all, some...)
			return nil
		})
	}
	return all, group.Wait()
}

// ListDeadPushes lists the push configurations that were given up, in one service
// or in all, the newest first.
func (s *Service) ListDeadPushes(ctx context.Context, req *adminv1.ListDeadPushesRequest) (*adminv1.ListDeadPushesResponse, error) {
	ctx, err := s.outgoing(ctx, "ListDeadPushes", req.GetService())
	if err != nil {
		return nil, err
	}
	if req.GetService() != "" {
		service, err := s.service(req.GetService())
		if err != nil {
			return nil, err
		}
		res, err := service.ListDeadPushes(ctx, req)
		if err != nil {
			return nil, named(req.GetService(), err)
		}
		return res, nil
	}
	if req.GetPageToken() != "" {
		return nil, fault.Invalid("service", "is missing; a page continues the list of one service")
	}
	all, err := collect(ctx, s, func(ctx context.Context, service adminv1.AdminServiceClient) ([]*adminv1.DeadPush, error) {
		res, err := service.ListDeadPushes(ctx, req)
		return res.GetPushes(), err
	})
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(all, func(a, b *adminv1.DeadPush) int {
		if c := b.GetDisabledAt().AsTime().Compare(a.GetDisabledAt().AsTime()); c != 0 {
			return c
		}
		return strings.Compare(a.GetTaskId()+a.GetConfigId(), b.GetTaskId()+b.GetConfigId())
	})
	return &adminv1.ListDeadPushesResponse{Pushes: all}, nil
}

// ResendPush enables a push configuration of a service again.
func (s *Service) ResendPush(ctx context.Context, req *adminv1.ResendPushRequest) (*adminv1.ResendPushResponse, error) {
	ctx, err := s.outgoing(ctx, "ResendPush", req.GetService()+" "+req.GetTaskId()+" "+req.GetConfigId())
	if err != nil {
		return nil, err
	}
	service, err := s.service(req.GetService())
	if err != nil {
		return nil, err
	}
	if _, err := service.ResendPush(ctx, req); err != nil {
		return nil, named(req.GetService(), err)
	}
	return &adminv1.ResendPushResponse{}, nil
}

// of gives the service of a name; the front agent, which has the requests, when it is empty.
func (s *Service) of(name string) (adminv1.AdminServiceClient, string, error) {
	if name == "" {
		return s.front, front, nil
	}
	service, err := s.service(name)
	return service, name, err
}

func (s *Service) service(name string) (adminv1.AdminServiceClient, error) {
	service, ok := s.services[name]
	if !ok {
		return nil, fault.Invalid("service", "%q is none of %s", name, strings.Join(slices.Sorted(maps.Keys(s.services)), ", "))
	}
	return service, nil
}

// named says which service could not be asked.
func named(service string, err error) error {
	if s := status.Convert(err); s.Code() == codes.Unavailable && len(s.Proto().GetDetails()) == 0 {
		return fault.New(fault.Unavailable, "service %s cannot be reached, and without it the answer would be incomplete; try again later", service).
			With("service", service).Because(err)
	}
	return err
}

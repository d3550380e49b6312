package oversight

import (
	"context"
	"strings"

	"google.golang.org/grpc"

	plannerv1 "sabha.dev/gen/sabha/planner/v1"
)

// GetPlan gives the plan of a request.
func (s *Service) GetPlan(ctx context.Context, req *plannerv1.GetPlanRequest) (*plannerv1.GetPlanResponse, error) {
	return planned(ctx, s, "GetPlan", req.GetTaskId(), req, s.plans.GetPlan)
}

// RetryStep has a step that waits for its next try run now.
func (s *Service) RetryStep(ctx context.Context, req *plannerv1.RetryStepRequest) (*plannerv1.RetryStepResponse, error) {
	return planned(ctx, s, "RetryStep", req.GetTaskId()+" "+req.GetStep(), req, s.plans.RetryStep)
}

// ForkPlan begins an ended request again at a step.
func (s *Service) ForkPlan(ctx context.Context, req *plannerv1.ForkPlanRequest) (*plannerv1.ForkPlanResponse, error) {
	return planned(ctx, s, "ForkPlan", req.GetTaskId()+" "+req.GetStep(), req, s.plans.ForkPlan)
}

// ListPlaybooks lists the playbooks in force.
func (s *Service) ListPlaybooks(ctx context.Context, req *plannerv1.ListPlaybooksRequest) (*plannerv1.ListPlaybooksResponse, error) {
	return planned(ctx, s, "ListPlaybooks", "", req, s.plans.ListPlaybooks)
}

// GetPlaybook gives a playbook.
func (s *Service) GetPlaybook(ctx context.Context, req *plannerv1.GetPlaybookRequest) (*plannerv1.GetPlaybookResponse, error) {
	return planned(ctx, s, "GetPlaybook", strings.TrimSuffix(req.GetName()+"@"+req.GetVersion(), "@"), req, s.plans.GetPlaybook)
}

// planned asks the front agent about its plans.
func planned[Q, R any](ctx context.Context, s *Service, method, about string, req Q, ask func(context.Context, Q, ...grpc.CallOption) (R, error)) (R, error) {
	var none R
	ctx, err := s.outgoing(ctx, method, about)
	if err != nil {
		return none, err
	}
	res, err := ask(ctx, req)
	if err != nil {
		return none, named(front, err)
	}
	return res, nil
}

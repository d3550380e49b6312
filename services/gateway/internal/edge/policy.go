package edge

import (
	oldpb "github.com/a2aproject/a2a-go/a2apb"
	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/health/grpc_health_v1"

	"sabha.dev/chassis/identity"
	adminv1 "sabha.dev/gen/sabha/admin/v1"
	executorv1 "sabha.dev/gen/sabha/executor/v1"
	partnersv1 "sabha.dev/gen/sabha/partners/v1"
	plannerv1 "sabha.dev/gen/sabha/planner/v1"
	registryv1 "sabha.dev/gen/sabha/registry/v1"
	reviewv1 "sabha.dev/gen/sabha/review/v1"
)

// rule says who may call a method.
type rule struct {
	// open methods need no credentials and are not counted.
	open bool
	// scopes, one of which the caller needs; none means everybody, anonymous callers too.
	scopes []string
	// relayed methods are only translated behind this guard, and then called again
	// through the inner one, which admits them.
	relayed bool
	// a2a methods are called in a version of the protocol.
	a2a bool
}

// policy names the methods that may be called from outside. What it does not
// name is refused. Which skills anonymous callers may use is the agent's own decision.
var policy = makePolicy()

func makePolicy() map[string]rule {
	overseers := rule{scopes: []string{identity.Viewer, identity.Operator, identity.Auditor, identity.Admin}}
	operators := rule{scopes: []string{identity.Operator, identity.Admin}}
	p := map[string]rule{
		grpc_health_v1.Health_Check_FullMethodName:         {open: true},
		adminv1.AdminService_ListTasks_FullMethodName:      overseers,
		adminv1.AdminService_ListHops_FullMethodName:       overseers,
		adminv1.AdminService_ListDeadPushes_FullMethodName: overseers,
		adminv1.AdminService_GetTask_FullMethodName:        overseers,
		adminv1.AdminService_ListEvents_FullMethodName:     overseers,
		adminv1.AdminService_GetFigures_FullMethodName:     overseers,
		adminv1.AdminService_ResendPush_FullMethodName:     operators,
		adminv1.AdminService_CancelTasks_FullMethodName:    operators,

		plannerv1.PlannerService_GetPlan_FullMethodName:       overseers,
		plannerv1.PlannerService_ListPlaybooks_FullMethodName: overseers,
		plannerv1.PlannerService_GetPlaybook_FullMethodName:   overseers,
		plannerv1.PlannerService_RetryStep_FullMethodName:     operators,
		plannerv1.PlannerService_ForkPlan_FullMethodName:      operators,
	}
	for _, m := range []string{
		a2apb.A2AService_SendMessage_FullMethodName,
		a2apb.A2AService_SendStreamingMessage_FullMethodName,
		a2apb.A2AService_GetTask_FullMethodName,
		a2apb.A2AService_ListTasks_FullMethodName,
		a2apb.A2AService_CancelTask_FullMethodName,
		a2apb.A2AService_SubscribeToTask_FullMethodName,
		a2apb.A2AService_CreateTaskPushNotificationConfig_FullMethodName,
		a2apb.A2AService_GetTaskPushNotificationConfig_FullMethodName,
		a2apb.A2AService_ListTaskPushNotificationConfigs_FullMethodName,
		a2apb.A2AService_DeleteTaskPushNotificationConfig_FullMethodName,
		a2apb.A2AService_GetExtendedAgentCard_FullMethodName,
	} {
		p[m] = rule{a2a: true}
	}
	for _, s := range []grpc.ServiceDesc{reviewv1.ReviewService_ServiceDesc, reviewv1.DiscussionService_ServiceDesc} {
		for _, m := range s.Methods {
			p["/"+s.ServiceName+"/"+m.MethodName] = rule{scopes: identity.Roles()} // the service knows who may do what
		}
	}
	for _, s := range []grpc.ServiceDesc{executorv1.ToolService_ServiceDesc, registryv1.RegistryService_ServiceDesc, partnersv1.AttainmentService_ServiceDesc, partnersv1.ContractService_ServiceDesc, partnersv1.CrossingService_ServiceDesc} {
		for _, m := range s.Methods {
			p["/"+s.ServiceName+"/"+m.MethodName] = rule{scopes: identity.Roles()}
		}
	}
	for _, m := range registryv1.DirectoryService_ServiceDesc.Methods {
		p["/"+registryv1.DirectoryService_ServiceDesc.ServiceName+"/"+m.MethodName] = rule{} // the service refuses who is not known
	}
	for _, m := range oldpb.A2AService_ServiceDesc.Methods {
		p["/"+oldpb.A2AService_ServiceDesc.ServiceName+"/"+m.MethodName] = rule{relayed: true}
	}
	for _, m := range oldpb.A2AService_ServiceDesc.Streams {
		p["/"+oldpb.A2AService_ServiceDesc.ServiceName+"/"+m.StreamName] = rule{relayed: true}
	}
	return p
}

package gateway_test

import (
	"sort"
	"strings"
	"testing"

	oldpb "github.com/a2aproject/a2a-go/a2apb"
	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/protobuf/types/known/emptypb"

	adminv1 "sabha.dev/gen/sabha/admin/v1"
	executorv1 "sabha.dev/gen/sabha/executor/v1"
	partnersv1 "sabha.dev/gen/sabha/partners/v1"
	plannerv1 "sabha.dev/gen/sabha/planner/v1"
	registryv1 "sabha.dev/gen/sabha/registry/v1"
	reviewv1 "sabha.dev/gen/sabha/review/v1"
	"sabha.dev/services/gateway"
)

const (
	admitted = "admitted"
	unknown  = "UNAUTHENTICATED"
	refused  = "PERMISSION_DENIED"
)

// who is the expected answer to nobody, to a caller without scopes, to the scopes
// that only see, to those that act, and to that of reviewers.
type who struct{ nobody, caller, reader, operator, reviewer string }

var (
	everyone  = who{admitted, admitted, admitted, admitted, admitted}
	overseers = who{unknown, refused, admitted, admitted, refused}
	operators = who{unknown, refused, refused, admitted, refused}
	noOne     = who{refused, refused, refused, refused, refused}
	people    = who{unknown, refused, admitted, admitted, admitted} // of whom the review service chooses
)

// decided is the decision on every method that the public port registers.
var decided = map[string]who{
	a2apb.A2AService_SendMessage_FullMethodName:                      everyone,
	a2apb.A2AService_SendStreamingMessage_FullMethodName:             everyone,
	a2apb.A2AService_GetTask_FullMethodName:                          everyone,
	a2apb.A2AService_ListTasks_FullMethodName:                        everyone,
	a2apb.A2AService_CancelTask_FullMethodName:                       everyone,
	a2apb.A2AService_SubscribeToTask_FullMethodName:                  everyone,
	a2apb.A2AService_CreateTaskPushNotificationConfig_FullMethodName: everyone,
	a2apb.A2AService_GetTaskPushNotificationConfig_FullMethodName:    everyone,
	a2apb.A2AService_ListTaskPushNotificationConfigs_FullMethodName:  everyone,
	a2apb.A2AService_DeleteTaskPushNotificationConfig_FullMethodName: everyone,
	a2apb.A2AService_GetExtendedAgentCard_FullMethodName:             everyone,
	oldpb.A2AService_SendMessage_FullMethodName:                      everyone,
	oldpb.A2AService_SendStreamingMessage_FullMethodName:             everyone,
	oldpb.A2AService_GetTask_FullMethodName:                          everyone,
	oldpb.A2AService_ListTasks_FullMethodName:                        everyone,
	oldpb.A2AService_CancelTask_FullMethodName:                       everyone,
	oldpb.A2AService_TaskSubscription_FullMethodName:                 everyone,
	oldpb.A2AService_CreateTaskPushNotificationConfig_FullMethodName: everyone,
	oldpb.A2AService_GetTaskPushNotificationConfig_FullMethodName:    everyone,
	oldpb.A2AService_ListTaskPushNotificationConfig_FullMethodName:   everyone,
	oldpb.A2AService_DeleteTaskPushNotificationConfig_FullMethodName: everyone,
	oldpb.A2AService_GetAgentCard_FullMethodName:                     everyone,
	adminv1.AdminService_ListTasks_FullMethodName:                    overseers,
	adminv1.AdminService_ListHops_FullMethodName:                     overseers,
	adminv1.AdminService_ListDeadPushes_FullMethodName:               overseers,
	adminv1.AdminService_GetTask_FullMethodName:                      overseers,
	adminv1.AdminService_ListEvents_FullMethodName:                   overseers,
	adminv1.AdminService_GetFigures_FullMethodName:                   overseers,
	adminv1.AdminService_ResendPush_FullMethodName:                   operators,
	adminv1.AdminService_CancelTasks_FullMethodName:                  operators,
	plannerv1.PlannerService_GetPlan_FullMethodName:                  overseers,
	plannerv1.PlannerService_ListPlaybooks_FullMethodName:            overseers,
	plannerv1.PlannerService_GetPlaybook_FullMethodName:              overseers,
	plannerv1.PlannerService_RetryStep_FullMethodName:                operators,
	plannerv1.PlannerService_ForkPlan_FullMethodName:                 operators,
	adminv1.AdminService_Watch_FullMethodName:                        noOne, // only the console, of each service itself
	adminv1.AdminService_GetCard_FullMethodName:                      noOne,
	adminv1.AdminService_GetStates_FullMethodName:                    noOne,
	reviewv1.ReviewService_ListItems_FullMethodName:                  people,
	reviewv1.ReviewService_GetItem_FullMethodName:                    people,
	reviewv1.ReviewService_Claim_FullMethodName:                      people,
	reviewv1.ReviewService_Release_FullMethodName:                    people,
	reviewv1.ReviewService_Reassign_FullMethodName:                   people,
	reviewv1.ReviewService_ListPeople_FullMethodName:                 people,
	reviewv1.ReviewService_Decide_FullMethodName:                     people,
	reviewv1.ReviewService_DecideBatch_FullMethodName:                people,
	reviewv1.ReviewService_Ask_FullMethodName:                        people,
	reviewv1.ReviewService_ListQueues_FullMethodName:                 people,
	reviewv1.DiscussionService_ListDiscussions_FullMethodName:        people,
	reviewv1.DiscussionService_GetDiscussion_FullMethodName:          people,
	reviewv1.DiscussionService_Reply_FullMethodName:                  people,
	reviewv1.DiscussionService_Acknowledge_FullMethodName:            people,
	partnersv1.AttainmentService_GetAttainment_FullMethodName:        people,
	partnersv1.AttainmentService_ListBreakers_FullMethodName:         people,
	partnersv1.CrossingService_ListCrossings_FullMethodName:          people,
	partnersv1.ContractService_ListSuites_FullMethodName:             people,
	partnersv1.ContractService_RunSuite_FullMethodName:               people,
	partnersv1.ContractService_ListRuns_FullMethodName:               people,
	partnersv1.ContractService_GetVerdict_FullMethodName:             people,
	partnersv1.ContractService_Rebaseline_FullMethodName:             people,
	executorv1.ToolService_ListTools_FullMethodName:                  people,
	executorv1.ToolService_GetTool_FullMethodName:                    people,
	executorv1.ToolService_DecideTool_FullMethodName:                 people,
	registryv1.RegistryService_RegisterPartner_FullMethodName:        people,
	registryv1.RegistryService_GetPartner_FullMethodName:             people,
	registryv1.RegistryService_ListPartners_FullMethodName:           people,
	registryv1.RegistryService_VerifyPartner_FullMethodName:          people,
	registryv1.RegistryService_ApprovePartner_FullMethodName:         people,
	registryv1.RegistryService_SuspendPartner_FullMethodName:         people,
	registryv1.RegistryService_SetRights_FullMethodName:              people,
	registryv1.RegistryService_RefreshPartner_FullMethodName:         people,
	registryv1.RegistryService_ListChanges_FullMethodName:            people,
	registryv1.RegistryService_DecideChange_FullMethodName:           people,
	registryv1.RegistryService_ListHistory_FullMethodName:            people,
	registryv1.DirectoryService_RegisterAgent_FullMethodName:         everyone,
	registryv1.DirectoryService_DiscoverAgents_FullMethodName:        everyone,
	registryv1.DirectoryService_GetAgent_FullMethodName:              everyone,
	grpc_health_v1.Health_Check_FullMethodName:                       everyone,
	grpc_health_v1.Health_List_FullMethodName:                        noOne,
	grpc_health_v1.Health_Watch_FullMethodName:                       noOne,
}

func TestEveryRegisteredMethodHasADecision(t *testing.T) {
	r := start(t, withPeople)
	keys := map[string]string{
		"caller":   r.newKey(t, "-subject", "asha"),
		"viewer":   r.newKey(t, "-subject", "vera", "-scopes", "viewer"),
		"reviewer": r.newKey(t, "-subject", "rita", "-scopes", "reviewer"),
		"operator": r.newKey(t, "-subject", "omar", "-scopes", "operator"),
		"auditor":  r.newKey(t, "-subject", "alma", "-scopes", "auditor"),
		"admin":    r.newKey(t, "-subject", "adam", "-scopes", "admin"),
	}
	for _, method := range gateway.Registered(r.Running) {
		want, ok := decided[method]
		if !ok {
			t.Errorf("%s is registered and nobody decided who may call it", method)
			continue
		}
		for name, want := range map[string]string{
			"nobody": want.nobody, "caller": want.caller, "reviewer": want.reviewer, "viewer": want.reader, "auditor": want.reader,
			"operator": want.operator, "admin": want.operator,
		} {
			q := request{}
			if key := keys[name]; key != "" {
				q.headers = []string{"x-api-key: " + key}
			}
			// An empty message is read as the method's request. What the method then says
			// of it, for instance that the task is missing, is not the policy's answer.
			err := r.conn.Invoke(q.context(t.Context()), method, &emptypb.Empty{}, &emptypb.Empty{})
			got := admitted
			if a := grpcError(err); err != nil && (a.reason == refused || (a.reason == unknown && !strings.Contains(a.said, "card"))) {
				got = a.reason
			}
			if got != want {
				t.Errorf("%s by %s: %v (%s), want %s", method, name, err, got, want)
			}
		}
	}
}

func TestTheDecisionsNameOnlyWhatIsRegistered(t *testing.T) {
	r := start(t, withPeople)
	registered := gateway.Registered(r.Running)
	for method := range decided {
		if i := sort.SearchStrings(registered, method); i == len(registered) || registered[i] != method {
			t.Errorf("%s is decided on and not registered", method)
		}
	}
}

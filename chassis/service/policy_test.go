package service

import (
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/health/grpc_health_v1"

	adminv1 "sabha.dev/gen/sabha/admin/v1"
)

// Every method that a persona registers is named by its policy with the callers
// that somebody decided on, or is refused to all.
func TestEveryMethodOfAPersonaHasItsRule(t *testing.T) {
	decided := map[string]string{
		"/grpc.health.v1.Health/Check": "open",
		"/grpc.health.v1.Health/List":  "refused",
		"/grpc.health.v1.Health/Watch": "refused",
	}
	for _, m := range []string{"ListTasks", "ListHops", "GetTask", "ListEvents", "GetFigures", "ListDeadPushes"} {
		decided["/sabha.admin.v1.AdminService/"+m] = "gateway console for viewer operator auditor admin"
	}
	for _, m := range []string{"ResendPush", "CancelTasks"} {
		decided["/sabha.admin.v1.AdminService/"+m] = "gateway console for operator admin"
	}
	decided["/sabha.admin.v1.AdminService/GetCard"] = "gateway console"
	decided["/sabha.admin.v1.AdminService/Watch"] = "console"
	decided["/sabha.admin.v1.AdminService/GetStates"] = "services"
	for _, m := range []string{
		"SendMessage", "SendStreamingMessage", "GetTask", "ListTasks", "CancelTask", "SubscribeToTask",
		"CreateTaskPushNotificationConfig", "GetTaskPushNotificationConfig", "ListTaskPushNotificationConfigs", "DeleteTaskPushNotificationConfig",
		"GetExtendedAgentCard",
	} {
		decided["/lf.a2a.v1.A2AService/"+m] = "services"
	}
	policy := personaPolicy()
	seen := 0
	for _, desc := range []*grpc.ServiceDesc{&a2apb.A2AService_ServiceDesc, &adminv1.AdminService_ServiceDesc, &grpc_health_v1.Health_ServiceDesc} {
		var methods []string
		for _, m := range desc.Methods {
			methods = append(methods, m.MethodName)
		}
		for _, s := range desc.Streams {
			methods = append(methods, s.StreamName)
		}
		for _, m := range methods {
			seen++
			name := "/" + desc.ServiceName + "/" + m
			rule, named := policy[name]
			got := "refused"
			switch {
			case named && rule.Open:
				got = "open"
			case named && len(rule.Actors) == 0:
				got = "services"
			case named:
				got = strings.Join(rule.Actors, " ")
			}
			if len(rule.Scopes) > 0 {
				got += " for " + strings.Join(rule.Scopes, " ")
			}
			if got != decided[name] {
				t.Errorf("%s is %s; what was decided is %q", name, got, decided[name])
			}
		}
	}
	if seen != len(decided) {
		t.Errorf("%d methods are registered, %d were decided on", seen, len(decided))
	}
}

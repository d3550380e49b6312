package page_test

import (
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"

	partnersv1 "sabha.dev/gen/sabha/partners/v1"
	registryv1 "sabha.dev/gen/sabha/registry/v1"
	"sabha.dev/services/console/internal/agents"
	"sabha.dev/services/console/internal/page"
	"sabha.dev/services/console/internal/partners"
	"sabha.dev/services/console/internal/request"
)

func TestAgentsAreHeldAgainstWhatPlaybooksAllowThem(t *testing.T) {
	d := page.AgentDesk{
		All: []agents.Agent{
			{Tenant: "executor"},
			{Tenant: "memory", Card: &a2apb.AgentCard{Version: "1"}},
			{Tenant: "research", Card: &a2apb.AgentCard{Version: "1", Skills: []*a2apb.AgentSkill{{Id: "investigate"}}}},
			{Tenant: "validator", Card: &a2apb.AgentCard{Version: "1"}},
		},
		Figures: request.Figures{Span: page.Hour, Skills: []request.Skill{
			{Agent: "research", Skill: "investigate", Calls: 1200, Failures: 30, P50: time.Second, P95: 50 * time.Second},
			{Agent: "research", Skill: "search", Calls: 10, P50: time.Millisecond, P95: 3 * time.Millisecond},
			{Agent: "validator", Skill: "judge", Calls: 4, Failures: 4, P50: 30 * time.Second, P95: 61 * time.Second},
			{Agent: "partners", Skill: "underwriter/underwrite", Calls: 3, P50: time.Second, P95: 2 * time.Second},
			{Agent: "partners", Skill: "underwriters/other", Calls: 99, P50: time.Second, P95: 2 * time.Second},
		}},
		Budgets: []request.Budget{
			{Playbook: "general", Step: "find", Agent: "research", Skill: "investigate", Most: 2 * time.Minute},
			{Playbook: "brief", Step: "look", Agent: "research", Skill: "investigate", Most: time.Minute},
			{Playbook: "brief", Step: "judge", Agent: "validator", Skill: "judge", Most: time.Minute},
			{Playbook: "loan", Step: "decide", Agent: "partners", Skill: "underwriter/underwrite", Most: 2 * time.Minute},
			{Playbook: "loan", Step: "price", Agent: "partners", Skill: "underwriter/<quote>", Most: time.Minute},
		},
		Partners: []partners.Neighbour{
			{
				Partner:  &registryv1.Partner{Id: "underwriter", Name: "Under<b>writer", Organisation: "Underwriter plc", Trust: 0.5},
				Breakers: []*partnersv1.Breaker{{Partner: "underwriter", Skill: "underwrite", State: "open", Why: "slowness", Replica: "p1"}},
				Standing: &partnersv1.GetAttainmentResponse{Skills: []*partnersv1.Attainment{{Targets: []*partnersv1.Target{
					{Name: "p95", Status: partnersv1.Status_STATUS_MISSED}, {Name: "availability", Status: partnersv1.Status_STATUS_ATTAINED}, {Name: "p99", Status: partnersv1.Status_STATUS_UNKNOWN},
				}}}},
			},
			{Partner: &registryv1.Partner{Id: "broker"}},
		},
		Elsewhere: true, Unknown: []string{"budgets of playbooks"},
	}
	wants(t, text(t, page.AgentList(d)), "|Not read just now: budgets of playbooks.|",
		"|Not called in the last hour, and no playbook names it.|",
		"|1\u202f210 calls in the last hour|2.5 % failed|", "|investigate|1\u202f200|30 failed|1 s|50 s|1 min 00 s|near budget|brief|· look and 1 step more|",
		"|search|10|1 ms|3 ms|no playbook|", "|4 calls in the last hour|100.0 % failed|", "|judge|4|4 failed|30 s|1 min 01 s|1 min 00 s|over budget|brief|· judge|",
		"|Partners that plans may call|Under&lt;b&gt;writer|not asked yet|Underwriter plc|trust 0.5|underwrite: breaker open at p1: slowness|agreement: 1 target of 2 missed|",
		"|3 calls in the last hour|0.0 % failed|", "|&lt;quote&gt;|0|–|–|1 min 00 s|loan|· price|", "|underwrite|3|1 s|2 s|2 min 00 s|within budget|loan|· decide|",
		"|broker|not asked yet|", "|trust 0|breakers closed|no agreement|", "|All partners|")
}

func TestTheDashboardTellsHowPartnersKeepTheirAgreements(t *testing.T) {
	attained := func(left float64, status partnersv1.Status) *partnersv1.GetAttainmentResponse {
		return &partnersv1.GetAttainmentResponse{Skills: []*partnersv1.Attainment{
			{Calls: &partnersv1.Calls{Ok: 1000, Failed: 3}, Targets: []*partnersv1.Target{{Name: "p95", Status: partnersv1.Status_STATUS_ATTAINED}}, ErrorBudget: &partnersv1.ErrorBudget{Left: 0.9}},
			{Calls: &partnersv1.Calls{Ok: 10, Abandoned: 1}, Targets: []*partnersv1.Target{{Name: "availability", Status: status}}, ErrorBudget: &partnersv1.ErrorBudget{Left: left}},
			{Calls: &partnersv1.Calls{}},
		}}
	}
	o := page.Overview{Figures: request.Figures{Span: page.Hour}, Neighbours: []partners.Neighbour{
		{Partner: &registryv1.Partner{Id: "broker"}},
		{Partner: &registryv1.Partner{Id: "good"}, Standing: attained(0.5, partnersv1.Status_STATUS_ATTAINED)},
		{Partner: &registryv1.Partner{Id: "under<b>writer"}, Standing: attained(-0.25, partnersv1.Status_STATUS_MISSED), Breakers: []*partnersv1.Breaker{{State: "half-open"}}},
	}}
	wants(t, text(t, page.DashboardPage(o)), "|Partners against their agreements|over the last 30 days|", "|broker|no agreement|0|–|not asked yet|",
		"|good|agreement kept: all 2 targets|1\u202f014|50 %|", "|under&lt;b&gt;writer|agreement: 1 target of 2 missed|1\u202f014|-25 %|not asked yet|breaker half-open|")
}

package page

import (
	"cmp"
	"slices"
	"strings"

	partnersv1 "sabha.dev/gen/sabha/partners/v1"
	"sabha.dev/services/console/internal/agents"
	"sabha.dev/services/console/internal/partners"
	"sabha.dev/services/console/internal/request"
)

// AgentDesk is what the page of agents shows.
type AgentDesk struct {
	All     []agents.Agent
	Figures request.Figures
	// Budgets of the steps of every playbook in force.
	Budgets []request.Budget
	// Partners that plans may call; Elsewhere says that there are more than stand here.
	Partners  []partners.Neighbour
	Elsewhere bool
	// Unknown says what could not be read.
	Unknown []string
}

// edge is the agent through which partners are called: the skill names the partner.
const edge = "partners"

// health is how calls of a skill fare, and against which step they are held.
type health struct {
	Skill string
	Fared *request.Skill
	// Tightest is the shortest budget of a step that calls the skill; nil when none does.
	Tightest *request.Budget
	// Steps are how many call it.
	Steps int
}

// Shares of a budget: beyond near it is close, at 1 it is spent. A figure is that of the
// slowest twentieth of the calls.
const near = 0.8

// Held says whether the slowest twentieth of the calls keeps within the budget.
func (h health) Held() (word, tone string) {
	switch {
	case h.Tightest == nil || h.Fared == nil || h.Tightest.Most <= 0:
		return "", ""
	case h.Fared.P95 >= h.Tightest.Most:
		return "over budget", "bad"
	case h.Fared.P95.Seconds() >= near*h.Tightest.Most.Seconds():
		return "near budget", "warn"
	}
	return "within budget", "good"
}

// healthOf are the skills of an agent that were called lately or that a step calls; of
// partners those that begin with the partner's name.
func (d AgentDesk) healthOf(agent, prefix string) []health {
	all := map[string]*health{}
	of := func(skill string) *health {
		if all[skill] == nil {
			all[skill] = &health{Skill: skill}
		}
		return all[skill]
	}
	for i, f := range d.Figures.Skills {
		if f.Agent == agent && strings.HasPrefix(f.Skill, prefix) {
			of(f.Skill).Fared = &d.Figures.Skills[i]
		}
	}
	for i, b := range d.Budgets {
		if b.Agent != agent || !strings.HasPrefix(b.Skill, prefix) {
			continue
		}
		h := of(b.Skill)
		h.Steps++
		if h.Tightest == nil || b.Most < h.Tightest.Most {
			h.Tightest = &d.Budgets[i]
		}
	}
	list := make([]health, 0, len(all))
	for _, h := range all {
		h.Skill = strings.TrimPrefix(h.Skill, prefix)
		list = append(list, *h)
	}
	slices.SortFunc(list, func(a, b health) int { return cmp.Compare(a.Skill, b.Skill) })
	return list
}

// sums are the calls of several skills.
func sums(all []health) (calls, failures int64) {
	for _, h := range all {
		if h.Fared != nil {
			calls, failures = calls+h.Fared.Calls, failures+h.Fared.Failures
		}
	}
	return calls, failures
}

// failing says how bad a share of failures is: a few are ordinary, a tenth is not.
func failing(failures, calls int64) string {
	switch {
	case failures == 0:
		return "good"
	case 10*failures >= calls:
		return "bad"
	}
	return "warn"
}

// kept says how many of the things that were agreed on with a partner were attained.
func kept(res *partnersv1.GetAttainmentResponse) (words, tone string) {
	var good, all int
	for _, s := range res.GetSkills() {
		for _, t := range s.GetTargets() {
			switch t.GetStatus() {
			case partnersv1.Status_STATUS_ATTAINED:
				good++
				all++
			case partnersv1.Status_STATUS_MISSED:
				all++
			}
		}
	}
	switch {
	case res == nil:
		return "no agreement", ""
	case all == 0:
		return "nothing to measure yet", ""
	case good < all:
		return "agreement: " + counted(all-good, "target", "targets") + " of " + number(int64(all)) + " missed", "bad"
	}
	return "agreement kept: all " + counted(all, "target", "targets"), "good"
}

// called are the calls of all skills of a partner.
func called(res *partnersv1.GetAttainmentResponse) (n int64) {
	for _, s := range res.GetSkills() {
		c := s.GetCalls()
		n += c.GetOk() + c.GetFailed() + c.GetInvalid() + c.GetThrottled() + c.GetAbandoned()
	}
	return n
}

// worst is the error budget of which the least is left.
func worst(res *partnersv1.GetAttainmentResponse) standingCell {
	cell, least := budgetCell(nil), 0.0
	for _, s := range res.GetSkills() {
		if b := s.GetErrorBudget(); b != nil && (cell.Text == budgetCell(nil).Text || b.GetLeft() < least) {
			cell, least = budgetCell(s), b.GetLeft()
		}
	}
	return cell
}

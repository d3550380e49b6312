package partners

import (
	"fmt"
	"slices"
	"time"

	"sabha.dev/services/partners/internal/agreement"
	"sabha.dev/services/partners/internal/partner"
)

// Step of a playbook that calls a partner.
type Step struct {
	ID string
	// Skill is the address, such as underwriter/underwrite.
	Skill string
	// Budget of one attempt at the step; 0 where only the address counts, as of a compensation.
	Budget time.Duration
}

// Steps holds steps of a playbook against the agreements of a folder. Problems are why a
// step cannot work, warnings what it will often meet. The error is that of agreements that
// cannot be read.
func Steps(folder string, steps []Step) (problems, warnings []string, err error) {
	all, err := agreement.Check(folder)
	if err != nil {
		return nil, nil, err
	}
	terms := func(a partner.Address) *agreement.Terms {
		i := slices.IndexFunc(all, func(x *agreement.Agreement) bool { return x.Partner == a.Partner })
		if i < 0 {
			return nil
		}
		return all[i].Terms(a.Skill)
	}
	for _, s := range steps {
		to, ok := partner.ParseAddress(s.Skill)
		if !ok {
			continue // a skill of partners themselves
		}
		t := terms(to)
		if t == nil {
			problems = append(problems, fmt.Sprintf("step %s: no agreement allows %s", s.ID, s.Skill))
			continue
		}
		problem, warning := fits(t, s.Budget)
		if problem != "" {
			problems = append(problems, "step "+s.ID+": "+problem)
		}
		if warning != "" {
			warnings = append(warnings, "step "+s.ID+": "+warning)
		}
	}
	return problems, warnings, nil
}

// fits holds the budget of a step against what is agreed on.
func fits(t *agreement.Terms, budget time.Duration) (problem, warning string) {
	agreed := t.Response
	// What a step can use: each attempt as long as may be, with the pauses before the retries.
	most := t.Budget * time.Duration(1+t.Retries.Max)
	for i := range t.Retries.Max {
		most += t.Retries.Backoff << i
	}
	others := t.Confirm || t.Escalate || t.Fallback != (partner.Address{})
	switch {
	case budget == 0:
	case agreed.P50 > budget:
		problem = fmt.Sprintf("its budget of %s is shorter than the %s within which half of the answers of %s come; most calls will not end in time", budget, agreed.P50, t.Address)
	case agreed.P95 > budget:
		warning = fmt.Sprintf("its budget of %s is shorter than the p95 of %s that %s has agreed on; calls that are in time by the agreement will be given up", budget, agreed.P95, t.Address)
	case agreed.P99 > budget:
		warning = fmt.Sprintf("its budget of %s is shorter than the p99 of %s that %s has agreed on; calls that are in time by the agreement will be given up", budget, agreed.P99, t.Address)
	case t.Budget > budget:
		warning = fmt.Sprintf("its budget of %s is shorter than the %s that the agreement gives a call of %s; the step ends it first", budget, t.Budget, t.Address)
	case budget > most && !others:
		warning = fmt.Sprintf("its budget of %s is longer than the %s that calls of %s can take with all retries; the agreement ends them first", budget, most, t.Address)
	}
	return problem, warning
}

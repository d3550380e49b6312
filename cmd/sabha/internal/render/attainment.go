package render

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	partnersv1 "sabha.dev/gen/sabha/partners/v1"
)

// Attainment tells how a partner stands against its agreement, a line for each thing that
// was agreed on.
func Attainment(r *partnersv1.GetAttainmentResponse) []string {
	lines := []string{Clean(fmt.Sprintf("%s (%s), agreement version %s, from %s to %s", r.GetPartner(), r.GetOrganisation(), r.GetAgreementVersion(),
		r.GetFrom().AsTime().Format(time.RFC3339), r.GetTo().AsTime().Format(time.RFC3339)))}
	for _, s := range r.GetSkills() {
		c := s.GetCalls()
		lines = append(lines, "", Clean(fmt.Sprintf("%s: %d ok, %d failed, %d invalid, %d throttled, %d given up by us, %d in maintenance", s.GetSkill(),
			c.GetOk(), c.GetFailed(), c.GetInvalid(), c.GetThrottled(), c.GetAbandoned(), c.GetInMaintenance())))
		for _, t := range s.GetTargets() {
			status := strings.ToLower(strings.TrimPrefix(t.GetStatus().String(), "STATUS_"))
			line := fmt.Sprintf("  %-12s  %-8s  agreed %s", t.GetName(), status, rounded(t.GetAgreed()))
			if t.GetStatus() != partnersv1.Status_STATUS_UNKNOWN {
				line += ", measured " + rounded(t.GetMeasured())
			}
			lines = append(lines, Clean(line+" "+t.GetUnit()))
		}
		if b := s.GetErrorBudget(); b != nil {
			lines = append(lines, fmt.Sprintf("  error budget: %s%% left, %d of %s calls used", rounded(100*b.GetLeft()), b.GetUsed(), rounded(b.GetAllowed())))
		}
		for _, c := range s.GetCallers() {
			name := c.GetCaller()
			if name == "" {
				name = "others"
			}
			lines = append(lines, Clean(fmt.Sprintf("  by %s: %d ok, %d failed, %d invalid, %d throttled, %d given up by us, %d slow", name,
				c.GetOk(), c.GetFailed(), c.GetInvalid(), c.GetThrottled(), c.GetAbandoned(), c.GetSlow())))
		}
	}
	return lines
}

// rounded writes a number with three decimals at most.
func rounded(v float64) string { return strconv.FormatFloat(math.Round(v*1000)/1000, 'f', -1, 64) }

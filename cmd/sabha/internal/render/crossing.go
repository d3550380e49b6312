package render

import (
	"fmt"

	partnersv1 "sabha.dev/gen/sabha/partners/v1"
)

// Crossings draws what crossed the boundary, with what was found in it.
func (s Style) Crossings(list []*partnersv1.Crossing) []string {
	if len(list) == 0 {
		return []string{"Nothing has crossed."}
	}
	var out []string
	for _, c := range list {
		way := "to"
		if c.GetDirection() == partnersv1.Direction_DIRECTION_IN {
			way = "from"
		}
		what := fmt.Sprintf("%d bytes", c.GetBytes())
		if c.GetRefused() {
			what = "refused"
		}
		out = append(out, fmt.Sprintf("%s  %-4s %s/%s  %s  by agreement %s", s.moment(c.GetAt()), way, line(c.GetPartner()), line(c.GetSkill()), what, line(c.GetPolicy())))
		if c.GetPurpose() != "" {
			use := ", without consent"
			if c.GetConsent() != "" {
				use = ", with the consent recorded by " + line(c.GetConsent())
			}
			out = append(out, "  for "+line(c.GetPurpose())+use)
		}
		for _, f := range c.GetFindings() {
			at := fmt.Sprintf("part %d", f.GetPart()+1)
			if f.GetPath() != "" {
				at += " " + line(f.GetPath())
			}
			if f.GetEnd() > 0 {
				at += fmt.Sprintf(" bytes %d-%d", f.GetStart(), f.GetEnd())
			}
			text := fmt.Sprintf("  %-8s %s in %s", line(f.GetAction()), line(f.GetClass()), at)
			if f.GetRule() != "" {
				text += ", by " + line(f.GetRule())
			}
			out = append(out, text)
		}
		if more := c.GetMoreFindings(); more > 0 {
			out = append(out, fmt.Sprintf("  and %d more", more))
		}
	}
	return out
}

package page

import (
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/structpb"

	partnersv1 "sabha.dev/gen/sabha/partners/v1"
	"sabha.dev/services/console/internal/partners"
)

// trustPart is a part of a score: its days for and against are weighted by age.
type trustPart struct {
	Name             string
	Score, Good, Bad float64
}

// trustParts reads the parts that a score is made of; none when it was not computed yet.
func trustParts(s *structpb.Struct) []trustPart {
	var all []trustPart
	for _, one := range []struct{ key, name string }{{"uptime", "Being there"}, {"answers", "Answers"}, {"history", "Both, for long"}} {
		f := s.GetFields()[one.key].GetStructValue().GetFields()
		if f == nil {
			continue
		}
		all = append(all, trustPart{one.name, f["score"].GetNumberValue(), f["good"].GetNumberValue(), f["bad"].GetNumberValue()})
	}
	return all
}

// trustMark counts against a partner.
type trustMark struct {
	Words  string
	Factor float64
}

func trustMarksOf(s *structpb.Struct) []trustMark {
	var all []trustMark
	for _, v := range s.GetFields()["marks"].GetListValue().GetValues() {
		f := v.GetStructValue().GetFields()
		words := titled(visible(f["kind"].GetStringValue()))
		if f["other"].GetBoolValue() {
			words += " of " + visible(f["partner"].GetStringValue()) + ", of the same organisation"
		}
		if at, err := time.Parse(time.RFC3339Nano, f["at"].GetStringValue()); err == nil {
			words += ", " + at.UTC().Format("2006-01-02")
		}
		if f["open"].GetBoolValue() {
			words += ", stands"
		}
		all = append(all, trustMark{words, f["factor"].GetNumberValue()})
	}
	return all
}

// skillView is how a skill stands, window by window.
type skillView struct {
	Skill    string
	Breakers []*partnersv1.Breaker
	Rows     []standingRow
}

type standingRow struct {
	Name, Agreed string
	Cells        []standingCell
}

// standingCell is a figure over a window; Tone says whether it is what was agreed on.
type standingCell struct{ Text, More, Tone string }

// standingOf puts the windows of each skill side by side.
func standingOf(d PartnerView) []skillView {
	var all []skillView
	for _, first := range d.Standing[0].GetSkills() {
		s := skillView{Skill: first.GetSkill()}
		for _, b := range d.Breakers {
			if b.GetSkill() == s.Skill {
				s.Breakers = append(s.Breakers, b)
			}
		}
		var windows []*partnersv1.Attainment
		for _, w := range d.Standing {
			at := slices.IndexFunc(w.GetSkills(), func(a *partnersv1.Attainment) bool { return a.GetSkill() == s.Skill })
			if at < 0 {
				windows = append(windows, nil)
				continue
			}
			windows = append(windows, w.GetSkills()[at])
		}
		s.Rows = append(s.Rows, rowOf("Calls", "", windows, callsCell))
		for _, t := range first.GetTargets() {
			s.Rows = append(s.Rows, rowOf(targetName(t.GetName()), inUnit(t.GetAgreed(), t.GetUnit()), windows, func(a *partnersv1.Attainment) standingCell { return targetCell(a, t.GetName()) }))
		}
		s.Rows = append(s.Rows, rowOf("Error budget left", "", windows, budgetCell))
		all = append(all, s)
	}
	return all
}

func rowOf(name, agreed string, windows []*partnersv1.Attainment, cell func(*partnersv1.Attainment) standingCell) standingRow {
	r := standingRow{Name: name, Agreed: agreed}
	for _, a := range windows {
		r.Cells = append(r.Cells, cell(a))
	}
	return r
}

func callsCell(a *partnersv1.Attainment) standingCell {
	c := a.GetCalls()
	bad := c.GetFailed() + c.GetInvalid() + c.GetThrottled()
	cell := standingCell{Text: number(c.GetOk() + bad + c.GetAbandoned())}
	var more []string
	for _, one := range []struct {
		n    int64
		word string
	}{{c.GetFailed(), "failed"}, {c.GetInvalid(), "invalid"}, {c.GetThrottled(), "throttled"}, {c.GetSlow(), "slow"}, {c.GetAbandoned(), "given up"}} {
		if one.n > 0 {
			more = append(more, number(one.n)+" "+one.word)
		}
	}
	held := int64(0)
	for _, n := range c.GetHeldBack() {
		held += n
	}
	if held > 0 {
		more = append(more, number(held)+" held back")
	}
	cell.More = strings.Join(more, ", ")
	return cell
}

func targetCell(a *partnersv1.Attainment, name string) standingCell {
	for _, t := range a.GetTargets() {
		if t.GetName() != name {
			continue
		}
		switch t.GetStatus() {
		case partnersv1.Status_STATUS_ATTAINED:
			return standingCell{Text: inUnit(t.GetMeasured(), t.GetUnit()), Tone: "good"}
		case partnersv1.Status_STATUS_MISSED:
			return standingCell{Text: inUnit(t.GetMeasured(), t.GetUnit()) + ", missed", Tone: "bad"}
		}
	}
	return standingCell{Text: "–"}
}

func budgetCell(a *partnersv1.Attainment) standingCell {
	b := a.GetErrorBudget()
	switch {
	case b == nil:
		return standingCell{Text: "–"}
	case b.GetLeft() <= 0:
		return standingCell{Text: plain(100*b.GetLeft(), 0) + " %", Tone: "bad"}
	}
	return standingCell{Text: plain(100*b.GetLeft(), 0) + " %"}
}

// targetName of what was agreed on, as one reads it.
func targetName(name string) string {
	switch name {
	case "p50":
		return "Half within"
	case "p95":
		return "95 % within"
	case "p99":
		return "99 % within"
	}
	return titled(visible(name))
}

func inUnit(v float64, unit string) string {
	switch unit {
	case "seconds":
		return took(time.Duration(v * float64(time.Second)))
	case "percent":
		return plain(v, 2) + " %"
	}
	return plain(v, 1) + " " + visible(unit)
}

func windowWords(w string) string {
	return map[string]string{"1h": "Last hour", "24h": "Last day", "30d": "Last 30 days"}[w]
}

func standingNote(d PartnerView) string {
	if len(d.Standing) == len(partners.Windows) {
		return "version " + visible(d.Standing[0].GetAgreementVersion())
	}
	return ""
}

func breakerTone(b *partnersv1.Breaker) string { return openTrip([]*partnersv1.Breaker{b}) }

func breakerWords(b *partnersv1.Breaker) string {
	words := "breaker " + visible(b.GetState()) + " at " + visible(b.GetReplica())
	if b.GetWhy() != "" {
		words += ": " + visible(b.GetWhy())
	}
	return words
}

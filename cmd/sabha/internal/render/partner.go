package render

import (
	"encoding/json"
	"fmt"
	"strings"

	"google.golang.org/protobuf/types/known/structpb"

	registryv1 "sabha.dev/gen/sabha/registry/v1"
)

// Partners draws agents of other organisations.
func (s Style) Partners(list []*registryv1.Partner) []string {
	rows := make([][]string, len(list))
	for n, p := range list {
		rows[n] = []string{line(p.GetId()), partnerState(p), rights(p), online(p), fmt.Sprintf("%.2f", p.GetTrust()), line(p.GetOrganisation()), line(p.GetName())}
	}
	return s.Table([]string{"PARTNER", "STATE", "RIGHTS", "ONLINE", "TRUST", "ORGANISATION", "NAME"}, rows)
}

// partnerState is the state in a word, with what has become of the card.
func partnerState(p *registryv1.Partner) string {
	state := strings.ToLower(strings.TrimPrefix(p.GetState().String(), "STATE_"))
	if c := p.GetCondition(); c > registryv1.Condition_CONDITION_GOOD {
		state += ", card " + strings.ToLower(strings.TrimPrefix(c.String(), "CONDITION_"))
	}
	return state
}

func rights(p *registryv1.Partner) string {
	var all []string
	if p.GetDiscoverable() {
		all = append(all, "discoverable")
	}
	if p.GetCallable() {
		all = append(all, "callable")
	}
	if len(all) == 0 {
		return "none"
	}
	return strings.Join(all, ", ")
}

func online(p *registryv1.Partner) string {
	switch {
	case p.GetProbedAt() == nil:
		return "not probed"
	case p.GetOnline():
		return "yes"
	}
	return "no"
}

// Partner draws a partner with what an approval rests on.
func (s Style) Partner(d *registryv1.GetPartnerResponse) []string {
	p := d.GetPartner()
	out := []string{s.paint(bold, line(p.GetName()))}
	fact := func(name, value string) {
		if value != "" {
			out = append(out, s.paint(dim, fmt.Sprintf("  %-13s", name))+value)
		}
	}
	fact("partner", line(p.GetId()))
	fact("state", partnerState(p))
	fact("reason", line(p.GetReason()))
	fact("rights", rights(p))
	fact("organisation", line(p.GetOrganisation())+map[string]string{"card": ", as its card says", "person": ", as whoever registered it says", "credential": ", as its credential says"}[p.GetOrganisationBy()])
	fact("description", line(p.GetDescription()))
	fact("protocol", line(p.GetProtocol()))
	fact("card", line(p.GetCardUrl()))
	fact("read", s.moment(p.GetFetchedAt()))
	fact("problem", line(p.GetProblem()))
	fact("signature", line(p.GetSignature()))
	fact("hosts", line(strings.Join(p.GetHosts(), ", ")))
	fact("tags", line(strings.Join(p.GetTags(), ", ")))
	fact("online", online(p)+at(s.moment(p.GetProbedAt())))
	fact("not because", line(p.GetProbeProblem()))
	fact("trust", fmt.Sprintf("%.2f", p.GetTrust()))
	fact("registered", s.moment(p.GetCreatedAt())+" by "+line(strings.TrimPrefix(p.GetRegisteredBy(), "/")))
	fact("digest", p.GetDigest()[:min(DigestShown, len(p.GetDigest()))])
	out = append(out, "", s.paint(bold, "Skills"))
	for _, k := range p.GetSkills() {
		text := "  " + line(p.GetId()+"/"+k.GetId())
		if k.GetDescription() != "" {
			text += ": " + line(k.GetDescription())
		}
		if k.GetRequiresConfirmation() {
			text += " (asks for a person's approval)"
		}
		out = append(out, text)
	}
	if c := d.GetChange(); c != nil {
		out = append(out, "", s.paint(bold, "A change of the card waits for a decision"))
		out = append(out, s.change(c)...)
	}
	return out
}

func at(moment string) string {
	if moment == "–" {
		return ""
	}
	return ", asked at " + moment
}

// PartnerChanges draws changes of cards that wait.
func (s Style) PartnerChanges(list []*registryv1.Change) []string {
	var out []string
	for n, c := range list {
		if n > 0 {
			out = append(out, "")
		}
		out = append(append(out, s.paint(bold, line(c.GetPartnerId()))), s.change(c)...)
	}
	return out
}

func (s Style) change(c *registryv1.Change) []string {
	out := []string{
		s.paint(dim, "  digest  ") + c.GetDigest()[:min(DigestShown, len(c.GetDigest()))],
		s.paint(dim, "  found   ") + s.moment(c.GetFoundAt()) + ", signature " + line(c.GetSignature()),
	}
	return append(out, differences(c.GetDifferences())...)
}

// maxValue of a difference that is shown, bytes.
const maxValue = 200

func differences(list []*registryv1.Difference) []string {
	var out []string
	for _, d := range list {
		text := fmt.Sprintf("  %-7s %s", d.GetKind(), line(d.GetPath()))
		if !d.GetStructural() {
			text += " (text)"
		}
		out = append(out, text)
		for _, side := range []struct {
			mark string
			v    *structpb.Value
		}{{"-", d.GetBefore()}, {"+", d.GetAfter()}} {
			if side.v == nil {
				continue
			}
			raw, err := json.Marshal(side.v.AsInterface())
			if err != nil {
				continue
			}
			value := line(string(raw))
			if len(value) > maxValue {
				value = strings.ToValidUTF8(value[:maxValue], "") + "…"
			}
			out = append(out, "    "+side.mark+" "+value)
		}
	}
	return out
}

// PartnerHistory draws what happened to a partner.
func (s Style) PartnerHistory(list []*registryv1.HistoryEntry) []string {
	var out []string
	for _, e := range list {
		out = append(out, strings.TrimRight(fmt.Sprintf("%s  %-16s by %s  %s", s.moment(e.GetAt()), e.GetWhat(), line(strings.TrimPrefix(e.GetBy(), "/")), line(e.GetNote())), " "))
		out = append(out, differences(e.GetDifferences())...)
	}
	return out
}

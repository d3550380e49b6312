package render

import (
	"encoding/json"
	"fmt"
	"strings"

	"google.golang.org/protobuf/types/known/structpb"

	executorv1 "sabha.dev/gen/sabha/executor/v1"
)

// Tools draws tools of MCP servers, and above them the servers that are not ready.
func (s Style) Tools(servers []*executorv1.Server, list []*executorv1.Tool) []string {
	var out []string
	for _, v := range servers {
		if v.GetState() == executorv1.ServerState_SERVER_STATE_READY {
			continue
		}
		text := fmt.Sprintf("server %s is %s since %s", line(v.GetName()), strings.ToLower(strings.TrimPrefix(v.GetState().String(), "SERVER_STATE_")), s.moment(v.GetSince()))
		if v.GetReason() != "" {
			text += ": " + line(v.GetReason())
		}
		if v.GetCause() != "" {
			text += " (" + line(v.GetCause()) + ")"
		}
		out = append(out, text)
	}
	rows := make([][]string, len(list))
	for n, t := range list {
		rows[n] = []string{line(t.GetServer() + "/" + t.GetName()), standing(t), t.GetDigest()[:min(DigestShown, len(t.GetDigest()))], short(line(t.GetDescription()), 60)}
	}
	return append(out, s.Table([]string{"TOOL", "STANDING", "DIGEST", "DESCRIPTION"}, rows)...)
}

func standing(t *executorv1.Tool) string {
	word := strings.ToLower(strings.TrimPrefix(t.GetStanding().String(), "STANDING_"))
	if t.GetStanding() == executorv1.Standing_STANDING_HELD && t.GetApprovedDigest() != "" {
		return "changed, held"
	}
	return word
}

func short(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}

// Tool draws a tool with what a decision rests on.
func (s Style) Tool(d *executorv1.GetToolResponse) []string {
	t := d.GetTool()
	out := []string{
		s.paint(bold, line(t.GetServer()+"/"+t.GetName())),
		s.paint(dim, "  standing  ") + standing(t) + " since " + s.moment(t.GetChangedAt()),
		s.paint(dim, "  digest    ") + t.GetDigest(),
	}
	fields := d.GetDefinition().GetFields()
	for _, name := range []string{"title", "description", "annotations", "inputSchema", "outputSchema"} {
		v := fields[name]
		if v == nil || v.GetStringValue() == "" && v.GetStructValue() == nil {
			continue
		}
		text := v.GetStringValue()
		if v.GetStructValue() != nil {
			raw, err := json.Marshal(v.AsInterface())
			if err != nil {
				continue
			}
			text = string(raw)
		}
		out = append(out, s.paint(dim, fmt.Sprintf("  %-12s  ", name))+line(text))
	}
	if len(d.GetDifferences()) > 0 {
		out = append(out, "", s.paint(bold, "Since it was approved"))
	}
	for _, x := range d.GetDifferences() {
		out = append(out, fmt.Sprintf("  %-7s %s", x.GetKind(), line(x.GetPath())))
		for _, side := range []struct {
			mark string
			v    *structpb.Value
		}{{"-", x.GetBefore()}, {"+", x.GetAfter()}} {
			if raw, err := json.Marshal(side.v.AsInterface()); side.v != nil && err == nil {
				out = append(out, "    "+side.mark+" "+short(line(string(raw)), maxValue))
			}
		}
	}
	if len(d.GetHistory()) > 0 {
		out = append(out, "", s.paint(bold, "History"))
	}
	for _, e := range d.GetHistory() {
		out = append(out, strings.TrimRight(fmt.Sprintf("  %s  %-8s by %s  %s  %s", s.moment(e.GetAt()), e.GetWhat(), line(strings.TrimPrefix(e.GetBy(), "/")), e.GetDigest()[:min(DigestShown, len(e.GetDigest()))], line(e.GetNote())), " "))
	}
	return out
}

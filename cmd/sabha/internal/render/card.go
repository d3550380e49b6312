package render

import (
	"fmt"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"

	"sabha.dev/cmd/sabha/internal/card"
)

// Card draws what an agent says of itself.
func (s Style) Card(c *a2apb.AgentCard) []string {
	out := []string{s.paint(bold, cut(strings.TrimSpace(line(c.GetName())+" "+line(c.GetVersion())), s.Width))}
	out = append(out, s.wrap("", line(c.GetDescription()))...)
	if p := c.GetProvider(); p != nil {
		out = append(out, s.wrap("By ", line(p.GetOrganization()+", "+p.GetUrl()))...)
	}
	var rows [][]string
	for _, i := range c.GetSupportedInterfaces() {
		rows = append(rows, []string{"  " + i.GetProtocolBinding(), i.GetProtocolVersion(), strings.TrimSpace(i.GetUrl() + tenant(i))})
	}
	if len(rows) > 0 {
		out = append(append(out, ""), s.Table([]string{"INTERFACE", "A2A", "URL"}, rows)...)
	}
	can := c.GetCapabilities()
	out = append(out, "", "Streaming "+yes(can.GetStreaming())+", push notifications "+yes(can.GetPushNotifications())+", extended card "+yes(can.GetExtendedAgentCard()))
	if names := sorted(c.GetSecuritySchemes()); len(names) > 0 {
		out = append(out, s.wrap("Callers identify with: ", line(strings.Join(names, ", ")))...)
	}
	rows = nil
	for _, sk := range c.GetSkills() {
		rows = append(rows, []string{sk.GetId(), sk.GetDescription()})
	}
	if len(rows) > 0 {
		out = append(append(out, ""), s.Table([]string{"SKILL", "WHAT IT DOES"}, rows)...)
	}
	rows = nil
	for _, e := range can.GetExtensions() {
		rows = append(rows, []string{e.GetUri(), e.GetDescription()})
	}
	if len(rows) > 0 {
		out = append(append(out, ""), s.Table([]string{"EXTENSION", "WHAT IT IS"}, rows)...)
	}
	return out
}

func tenant(i *a2apb.AgentInterface) string {
	if i.GetTenant() == "" {
		return ""
	}
	return " (tenant " + i.GetTenant() + ")"
}

func yes(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

// Findings draws what is wrong with a card, and the verdict.
func (s Style) Findings(list []card.Finding) []string {
	var out []string
	errs, warnings := 0, 0
	for _, f := range list {
		sign, look := "✗ ", red
		if f.Severity == card.Warning {
			sign, look = "! ", yellow
			warnings++
		} else {
			errs++
		}
		text := line(f.Message)
		if f.Path != "" {
			text = line(f.Path) + ": " + text
		}
		lines := s.wrap(sign, text)
		lines[0] = s.paint(look, sign) + strings.TrimPrefix(lines[0], sign)
		out = append(out, lines...)
	}
	switch {
	case errs > 0:
		out = append(out, s.paint(red, fmt.Sprintf("Not a valid A2A 1.0 card: %s, %s.", number(errs, "error"), number(warnings, "warning"))))
	case warnings > 0:
		out = append(out, s.paint(green, fmt.Sprintf("A valid A2A 1.0 card, with %s.", number(warnings, "warning"))))
	default:
		out = append(out, s.paint(green, "A valid A2A 1.0 card."))
	}
	return out
}

func number(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

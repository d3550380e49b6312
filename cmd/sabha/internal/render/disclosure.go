package render

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"

	"sabha.dev/chassis/disclosure"
)

// maxLeaving bounds what is shown of what would leave, in lines.
const maxLeaving = 60

// Disclosure shows what a policy decides about what is to leave: each finding with its
// value masked, and the form in which the whole would leave.
func Disclosure(r disclosure.Result, shown []string, to disclosure.Recipient, s Style) []string {
	recipient := to.Partner
	if to.Skill != "" {
		recipient += "/" + to.Skill
	}
	if to.Organisation != "" {
		recipient += " (" + to.Organisation + ")"
	}
	verdict := s.paint(green, "may leave")
	if r.Refused != "" {
		verdict = s.paint(red, "may not leave")
	}
	lines := []string{fmt.Sprintf("For %s: %s. %s", s.paint(bold, line(recipient)), verdict, count(len(r.Findings)))}
	for i, f := range r.Findings {
		what := string(f.Class)
		if f.Kind != "" {
			what += " (" + f.Kind + ")"
		}
		if shown[i] != "" {
			what += " " + line(shown[i])
		}
		lines = append(lines, fmt.Sprintf("  %s  %s", s.paint(look(f.Action), fmt.Sprintf("%-8s", f.Action)), what))
		why := "by " + f.Rule
		if f.Why != "" {
			why += ": " + f.Why
		}
		lines = append(lines, "            "+s.paint(dim, line(f.Place()+", "+why)))
	}
	if r.Refused != "" {
		return append(lines, "", "Nothing would leave: "+line(r.Refused))
	}
	lines = append(lines, "", "What would leave:")
	if len(r.Parts) == 0 {
		return append(lines, "  nothing")
	}
	for _, p := range r.Parts {
		lines = append(lines, leaving(p)...)
	}
	return lines
}

func count(n int) string {
	switch n {
	case 0:
		return "Nothing sensitive was found."
	case 1:
		return "1 finding:"
	}
	return fmt.Sprintf("%d findings:", n)
}

func look(a disclosure.Action) string {
	switch a {
	case disclosure.Refuse:
		return red
	case disclosure.Allow:
		return yellow
	}
	return green
}

// leaving gives the lines of a part.
func leaving(p *a2apb.Part) []string {
	text := p.GetText()
	switch {
	case p.GetData() != nil:
		var b bytes.Buffer
		if raw, err := p.GetData().MarshalJSON(); err == nil && json.Indent(&b, raw, "", "  ") == nil {
			text = b.String()
		}
	case p.GetUrl() != "":
		text = p.GetUrl()
	case len(p.GetRaw()) > 0:
		text = string(p.GetRaw())
		if strings.IndexByte(text, 0) >= 0 || !isText(text) {
			text = fmt.Sprintf("%d bytes of %s", len(p.GetRaw()), p.GetMediaType())
		}
	}
	var lines []string
	all := strings.Split(strings.TrimRight(Clean(text), "\n"), "\n")
	for i, l := range all {
		if i == maxLeaving {
			lines = append(lines, fmt.Sprintf("  … %d more lines", len(all)-i))
			break
		}
		lines = append(lines, "  "+l)
	}
	return lines
}

func isText(s string) bool { return strings.ToValidUTF8(s, "") == s }

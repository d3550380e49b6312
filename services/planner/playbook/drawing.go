package playbook

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"sabha.dev/chassis/strictyaml"
)

// Format is a way to draw a playbook's graph.
type Format string

// The formats of Graph.
const (
	TextFormat    Format = "text"    // levels with arrows, for a terminal
	DOTFormat     Format = "dot"     // Graphviz
	MermaidFormat Format = "mermaid" // Mermaid flowchart
)

// Graph draws the playbook. An unknown format is an error that names the known ones.
func (p *Playbook) Graph(w io.Writer, format Format) error {
	var b strings.Builder
	switch format {
	case TextFormat:
		p.drawText(&b)
	case DOTFormat:
		p.drawDOT(&b)
	case MermaidFormat:
		p.drawMermaid(&b)
	default:
		return fmt.Errorf("unknown format %q; use %s, %s or %s", format, TextFormat, DOTFormat, MermaidFormat)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// Levels groups the step ids so that each step stands after everything it needs; the steps of one
// level can run in parallel.
func (p *Playbook) Levels() [][]string {
	level := map[string]int{}
	var out [][]string
	for _, s := range p.Steps {
		l := 0
		for _, need := range s.Needs {
			l = max(l, level[need]+1)
		}
		level[s.ID] = l
		if l == len(out) {
			out = append(out, nil)
		}
		out[l] = append(out[l], s.ID)
	}
	return out
}

// Edges returns the needs of a step without those that follow from others.
func (p *Playbook) Edges(s *Step) []string {
	var out []string
	for _, need := range s.Needs {
		implied := slices.ContainsFunc(s.Needs, func(other string) bool { return other != need && p.reaches(other, need) })
		if !implied {
			out = append(out, need)
		}
	}
	return out
}

// reaches reports whether a step waits for another, directly or not.
func (p *Playbook) reaches(id, target string) bool {
	seen := map[string]bool{}
	var visit func(string) bool
	visit = func(id string) bool {
		for _, need := range p.byID[id].Needs {
			if need == target {
				return true
			}
			if !seen[need] {
				seen[need] = true
				if visit(need) {
					return true
				}
			}
		}
		return false
	}
	return visit(id)
}

func (s *Step) call() string { return s.Agent + "/" + s.Skill }

// traits are what a reader of the graph should know of a step beyond its call.
func (p *Playbook) traits(s *Step) []string {
	out := []string{"budget " + strictyaml.Short(s.Budget)}
	if s.When != nil {
		out = append(out, "when "+oneLine(s.When.Source))
	}
	if s.Optional {
		out = append(out, "optional")
	}
	if s.SideEffects {
		out = append(out, "side effects")
	}
	if s.Risk != p.Risk {
		out = append(out, "risk "+string(s.Risk))
	}
	if s.Compensation != nil {
		out = append(out, fmt.Sprintf("undone by %s/%s", s.Compensation.Agent, s.Compensation.Skill))
	}
	if s.Revise != nil {
		out = append(out, "back to "+s.Revise.From+" until "+oneLine(s.Revise.Until.Source)+", at most "+count(s.Revise.Max, "time"))
	}
	if p.Threshold != nil && p.Threshold.Step == s.ID {
		out = append(out, fmt.Sprintf("threshold %g", p.Threshold.MinConfidence))
	}
	if p.Threshold != nil && p.Threshold.Review == s.ID {
		out = append(out, "under the threshold only")
	}
	return out
}

func oneLine(s string) string { return strictyaml.Clip(strings.Join(strings.Fields(s), " ")) }

func (p *Playbook) drawText(b *strings.Builder) {
	fmt.Fprintf(b, "%s version %s (budget %s, risk %s)\n", p.Name, p.Version, strictyaml.Short(p.Budget), p.Risk)
	wide, call := 0, 0
	for _, s := range p.Steps {
		wide, call = max(wide, len(s.ID)), max(call, len(s.call()))
	}
	for i, level := range p.Levels() {
		if i > 0 {
			b.WriteString("  │\n  ▼\n")
		}
		for _, id := range level {
			s := p.byID[id]
			from := ""
			if e := p.Edges(s); len(e) > 0 {
				from = "  ◀ " + strings.Join(e, ", ")
			}
			fmt.Fprintf(b, "  %-*s  %-*s%s  [%s]\n", wide, id, call, s.call(), from, strings.Join(p.traits(s), "; "))
		}
	}
}

func (p *Playbook) drawDOT(b *strings.Builder) {
	fmt.Fprintf(b, "digraph %s {\n  rankdir=TB;\n  node [shape=box, fontname=\"sans-serif\"];\n", dotQuote(p.Name))
	for _, s := range p.Steps {
		style := ""
		if s.When != nil || s.Optional {
			style = ", style=dashed"
		}
		fmt.Fprintf(b, "  %s [label=%s%s];\n", dotQuote(s.ID), dotQuote(s.ID+"\n"+s.call()), style)
	}
	for _, s := range p.Steps {
		for _, need := range p.Edges(s) {
			fmt.Fprintf(b, "  %s -> %s;\n", dotQuote(need), dotQuote(s.ID))
		}
	}
	for _, l := range p.Loops() {
		fmt.Fprintf(b, "  %s -> %s [style=dotted, constraint=false, label=%s];\n", dotQuote(l.Judge), dotQuote(l.From), dotQuote(fmt.Sprintf("revise, max %d", l.Max)))
	}
	b.WriteString("}\n")
}

func dotQuote(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(s) + `"`
}

func (p *Playbook) drawMermaid(b *strings.Builder) {
	b.WriteString("flowchart TD\n")
	for _, s := range p.Steps {
		fmt.Fprintf(b, "  s_%s[\"%s<br/>%s\"]\n", s.ID, s.ID, mermaidText(s.call()))
	}
	for _, s := range p.Steps {
		for _, need := range p.Edges(s) {
			fmt.Fprintf(b, "  s_%s --> s_%s\n", need, s.ID)
		}
	}
	for _, l := range p.Loops() {
		fmt.Fprintf(b, "  s_%s -. \"revise, max %d\" .-> s_%s\n", l.Judge, l.Max, l.From)
	}
}

func mermaidText(s string) string {
	return strings.NewReplacer("&", "&amp;", `"`, "&quot;", "<", "&lt;", ">", "&gt;").Replace(s)
}

package page

import (
	"fmt"
	"strings"

	"sabha.dev/services/console/internal/graph"
	"sabha.dev/services/console/internal/request"
)

// Sizes of a plan's drawing, pixels.
var drawn = graph.Size{Width: 188, Height: 54, Across: 46, Between: 18, Margin: 14}

// plot is a plan ready to be drawn.
type plot struct {
	graph.Drawing
	steps []request.Step
	edges []line
}

// line is an edge as a path, with the state of the step that it leads from.
type line struct {
	path string
	from request.State
	to   request.State
}

// plotOf draws the steps of a plan. Of a step that was gone through several times
// the last pass is drawn.
func plotOf(steps []request.Step) plot {
	var p plot
	at := map[string]int{}
	for _, s := range steps {
		if i, ok := at[s.Name]; ok {
			if s.Round >= p.steps[i].Round {
				p.steps[i] = s
			}
			continue
		}
		at[s.Name] = len(p.steps)
		p.steps = append(p.steps, s)
	}
	nodes := make([]graph.Node, len(p.steps))
	for i, s := range p.steps {
		nodes[i] = graph.Node{ID: s.Name, Needs: s.Needs}
	}
	p.Drawing = graph.Lay(nodes, drawn)
	for _, e := range p.Edges {
		p.edges = append(p.edges, line{curve(e.Points), p.steps[at[e.From]].State, p.steps[at[e.To]].State})
	}
	return p
}

// curve is a path through points that leaves and arrives level.
func curve(points []graph.Point) string {
	var b strings.Builder
	fmt.Fprintf(&b, "M%.1f %.1f", points[0].X, points[0].Y)
	for i := 1; i < len(points); i++ {
		a, z := points[i-1], points[i]
		if a.Y == z.Y {
			fmt.Fprintf(&b, "L%.1f %.1f", z.X, z.Y)
			continue
		}
		half := (z.X - a.X) / 2
		fmt.Fprintf(&b, "C%.1f %.1f %.1f %.1f %.1f %.1f", a.X+half, a.Y, z.X-half, z.Y, z.X, z.Y)
	}
	return b.String()
}

func px(f float64) string { return fmt.Sprintf("%.1f", f) }

// below is what stands under the name of a step in the drawing.
func below(s request.Step) string {
	var parts []string
	if s.Attempt > 0 {
		parts = append(parts, fmt.Sprintf("try %d", s.Attempt+1))
	}
	if s.Round > 0 {
		parts = append(parts, fmt.Sprintf("round %d", s.Round+1))
	}
	parts = append(parts, s.Agent)
	return excerpt(strings.Join(parts, " · "), 24)
}

// elapsed is how long a step took; empty while it runs.
func elapsed(s request.Step) string {
	if s.Started.IsZero() || s.Ended.IsZero() {
		return ""
	}
	return took(max(0, s.Ended.Sub(s.Started)))
}

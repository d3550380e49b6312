package main

import (
	"fmt"
	"io"
)

// print writes a line for each series and tells whether all have levelled off.
func (m *meter) print(w io.Writer) bool {
	level := true
	_, _ = fmt.Fprintf(w, "%-14s %-12s %10s %10s %12s\n", "", "", "half-way", "end", "per hour")
	for _, s := range m.order {
		from, to, perHour, ok := s.secondHalf()
		verdict := ""
		switch {
		case s.slack < 0:
			verdict = "  (every task is kept)"
		case !ok:
			verdict = "  GROWS"
			level = false
		}
		_, _ = fmt.Fprintf(w, "%-14s %-12s %10.1f %10.1f %+12.1f %s%s\n", s.of, s.what, from, to, perHour, s.unit, verdict)
	}
	return level
}

// secondHalf fits a line through the second half of the samples: its values at
// both ends, its slope, and whether it has levelled off.
func (s *series) secondHalf() (from, to, perHour float64, level bool) {
	x, y := s.at[len(s.at)/2:], s.value[len(s.value)/2:]
	if len(x) == 0 {
		return 0, 0, 0, false
	}
	var mx, my float64
	for i := range x {
		mx, my = mx+x[i], my+y[i]
	}
	mx, my = mx/float64(len(x)), my/float64(len(y))
	var xy, xx float64
	for i := range x {
		xy, xx = xy+(x[i]-mx)*(y[i]-my), xx+(x[i]-mx)*(x[i]-mx)
	}
	slope := 0.0
	if xx > 0 {
		slope = xy / xx
	}
	from, to = my+slope*(x[0]-mx), my+slope*(x[len(x)-1]-mx)
	return from, to, slope * 3600, to-from <= max(s.slack, s.share*my)
}

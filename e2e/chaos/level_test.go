//go:build slow

package main

import (
	"strings"
	"testing"
	"time"
)

func TestALeakIsToldFromNoise(t *testing.T) {
	for _, c := range []struct {
		name  string
		value func(n int) float64
		level bool
	}{
		{"flat", func(int) float64 { return 100 }, true},
		{"noise", func(n int) float64 { return 100 + 8*float64(n%3) }, true},
		{"filled up, then flat", func(n int) float64 { return min(float64(n)*5, 100) }, true},
		{"falls", func(n int) float64 { return 200 - float64(n) }, true},
		{"grows", func(n int) float64 { return 100 + float64(n) }, false},
		{"grows with noise", func(n int) float64 { return 100 + float64(n) + 8*float64(n%3) }, false},
	} {
		m := &meter{all: map[string]*series{}, begun: time.Now()}
		for n := range 60 {
			m.put("planner-1", "memory", "MiB", 8, 0.1, c.value(n))
			s := m.order[0]
			s.at[n] = float64(10 * n)
		}
		var out strings.Builder
		if got := m.print(&out); got != c.level || strings.Contains(out.String(), "GROWS") == c.level {
			t.Errorf("%s: level %v\n%s", c.name, got, &out)
		}
	}
}

func TestTheLongestSilenceIsFound(t *testing.T) {
	at := time.Unix(100, 0)
	after := func(seconds ...float64) (times []time.Time) {
		for _, s := range seconds {
			times = append(times, at.Add(time.Duration(s*float64(time.Second))))
		}
		return times
	}
	for _, c := range []struct {
		times         []time.Time
		longest, last time.Duration
	}{
		{nil, 0, 0},
		{after(-3, -1, 0.5, 0.75), 500 * time.Millisecond, 750 * time.Millisecond},
		{after(-3, 0.25, 4.25, 4.5), 4 * time.Second, 4500 * time.Millisecond},
	} {
		longest, last := silences(at, c.times)
		if longest != c.longest || last.Sub(at) != c.last {
			t.Errorf("%v: %v, %v; want %v, %v", c.times, longest, last.Sub(at), c.longest, c.last)
		}
	}
}

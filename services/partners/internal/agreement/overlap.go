package agreement

import (
	"slices"
	"time"

	"sabha.dev/chassis/calendar"
)

// stretch is one time that a window lasts.
type stretch struct{ begin, end time.Time }

// stretches are the times of a window in the year up to a date, or its only one. On the
// wall they are written as if the clock hung in UTC.
func (w *Window) stretches(until calendar.Date, onWall bool) []stretch {
	zoned := *w
	if onWall {
		zoned.Zone = time.UTC
	}
	first := until.Plus(-366)
	if w.Date != (calendar.Date{}) {
		first, until = w.Date, w.Date
	}
	var list []stretch
	for d := first; ; d = d.Plus(1) {
		if zoned.on(d) {
			if begin, end := zoned.span(d); begin.Before(end) {
				list = append(list, stretch{begin, end})
			}
		}
		if d == until {
			return list
		}
	}
}

// overlap finds when two windows are both open. In one zone that is a matter of the wall
// clock: of two windows that meet in the hour that is shown twice, neither is wrong.
func overlap(a, b *Window, until calendar.Date) (time.Time, bool) {
	onWall := a.Zone.String() == b.Zone.String()
	switch once := (calendar.Date{}); { // a date may lie after the year that is looked at
	case a.Date != once:
		until = a.Date.Plus(2)
	case b.Date != once:
		until = b.Date.Plus(2)
	}
	all := b.stretches(until, onWall)
	for _, x := range a.stretches(until, onWall) {
		i, _ := slices.BinarySearchFunc(all, x.begin, func(s stretch, at time.Time) int { return s.end.Compare(at) })
		for ; i < len(all) && all[i].begin.Before(x.end); i++ {
			if all[i].end.After(x.begin) {
				return later(all[i].begin, x.begin), true
			}
		}
	}
	return time.Time{}, false
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

package agreement

import (
	"time"

	"sabha.dev/chassis/calendar"
)

// Window is a time of maintenance on a wall clock: on days of the week, or on one date.
// As with business hours, a window that the clock skips is empty, and one in an hour that
// the clock shows twice lasts through both.
type Window struct {
	Days [7]bool // by time.Weekday
	Date calendar.Date
	// From and To are minutes since midnight of the day on which it begins; To may be on
	// the next day.
	From, To int
	Zone     *time.Location
}

// on tells whether a window begins on a date.
func (w *Window) on(d calendar.Date) bool {
	if w.Date != (calendar.Date{}) {
		return d == w.Date
	}
	return w.Days[d.Weekday()]
}

// span is the window that begins on a date.
func (w *Window) span(d calendar.Date) (begin, end time.Time) {
	return calendar.Opening(d, w.From, w.Zone), calendar.Closing(d, w.To, w.Zone)
}

// until is the end of the window that an instant lies in; zero: in none.
func (w *Window) until(at time.Time) time.Time {
	today := calendar.DateOf(at.In(w.Zone))
	for back := range 3 { // over midnight, and a clock that was put back over midnight
		d := today.Plus(-back)
		if !w.on(d) {
			continue
		}
		if begin, end := w.span(d); !at.Before(begin) && at.Before(end) {
			return end
		}
	}
	return time.Time{}
}

// InMaintenance tells whether an instant lies in a window, and when the last of the windows
// that follow on each other ends.
func (t *Terms) InMaintenance(at time.Time) (end time.Time, in bool) {
	for range t.Maintenance { // each may follow on another
		last := end
		for i := range t.Maintenance {
			if until := t.Maintenance[i].until(at); !until.IsZero() {
				at, end = until, until
			}
		}
		if end.Equal(last) {
			break
		}
	}
	return end, !end.IsZero()
}

// MaintenanceBetween is how much time from a to b lies in windows.
func (t *Terms) MaintenanceBetween(a, b time.Time) time.Duration {
	sum := time.Duration(0)
	for i := range t.Maintenance {
		w := &t.Maintenance[i]
		last := calendar.DateOf(b.In(w.Zone)).Plus(1)
		for d := calendar.DateOf(a.In(w.Zone)).Plus(-2); d != last; d = d.Plus(1) {
			if !w.on(d) {
				continue
			}
			begin, end := w.span(d)
			if begin.Before(a) {
				begin = a
			}
			if end.After(b) {
				end = b
			}
			sum += max(0, end.Sub(begin))
		}
	}
	return sum
}

package calendar

import (
	"iter"
	"time"
)

const dayMinutes = 24 * 60

// period is an unbroken stretch of business time: begin inclusive, end exclusive.
type period struct{ begin, end time.Time }

// before is how many days before an instant its periods begin: a clock that was put
// back over midnight shows a date again.
const before = 2

// periods gives the periods around an instant and after it, in order and without
// end. Some of them are over by then.
func (c *Calendar) periods(from time.Time) iter.Seq[period] {
	return func(yield func(period) bool) {
		var last time.Time
		for d := DateOf(from.In(c.zone)).Plus(-before); ; d = d.Plus(1) {
			if _, closed := c.holidays[d]; closed {
				continue
			}
			for _, s := range c.week[d.Weekday()] {
				// Where the clock is put back between two spans, both hold for a while.
				p := period{latest(Opening(d, s.From, c.zone), last), Closing(d, s.To, c.zone)}
				if !p.begin.Before(p.end) {
					continue // the clock skipped it
				}
				last = p.end
				if !yield(p) {
					return
				}
			}
		}
	}
}

// reach is more than any zone is away from UTC.
const reach = 26 * time.Hour

// offsets gives the stretches of constant offset around an instant, in order.
func offsets(around time.Time, zone *time.Location) (list []offset) {
	at := around.Add(-reach).In(zone)
	for {
		begin, end := at.ZoneBounds()
		_, seconds := at.Zone()
		list = append(list, offset{begin, end, time.Duration(seconds) * time.Second})
		if end.IsZero() || end.After(around.Add(reach)) {
			return list
		}
		at = end
	}
}

// offset of a zone from begin (zero: ever) until end (zero: for ever).
type offset struct {
	begin, end time.Time
	east       time.Duration
}

// wall is the time on the wall as if it were in UTC.
func wall(d Date, minute int) time.Time {
	return time.Date(d.Year, d.Month, d.Day, 0, minute, 0, 0, time.UTC)
}

// Opening is the first instant at which the clock of the zone shows a time or a
// later one.
func Opening(d Date, minute int, zone *time.Location) time.Time {
	w := wall(d, minute)
	list := offsets(w, zone)
	for _, o := range list {
		at := w.Add(-o.east)
		if !o.begin.IsZero() && at.Before(o.begin) {
			return o.begin // skipped: the clock was put forward over it
		}
		if o.end.IsZero() || at.Before(o.end) {
			return at
		}
	}
	return w.Add(-list[len(list)-1].east)
}

// Closing is the last instant before which the clock of the zone shows an earlier time.
func Closing(d Date, minute int, zone *time.Location) time.Time {
	w := wall(d, minute)
	list := offsets(w, zone)
	for i := len(list) - 1; i > 0; i-- {
		o := list[i]
		if at := w.Add(-o.east); at.After(o.begin) {
			if !o.end.IsZero() {
				return earliest(at, o.end)
			}
			return at
		}
	}
	at := w.Add(-list[0].east)
	if end := list[0].end; !end.IsZero() {
		return earliest(at, end)
	}
	return at
}

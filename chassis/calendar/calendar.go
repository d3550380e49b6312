// Package calendar measures business time: the hours in which a team works, in
// its time zone, on days that are no holidays.
//
// A span of opening hours is a time on the wall clock. It begins at the first
// instant at which the clock shows its opening or has skipped it, and ends at the
// last instant up to which the clock shows a time before its closing. So a day of
// 00:00-24:00 has 23 hours when the clock is put forward, and 25 when it is put
// back. A business duration counts real time within spans.
package calendar

import (
	"fmt"
	"time"
	_ "time/tzdata" // zones must be there in images that hold nothing but the program
)

// MinWeek is the least a calendar must be open in a week: with less, a business
// duration of some hours would end years later.
const MinWeek = time.Hour

// Span of one day on the wall clock, in minutes since midnight: From inclusive, To
// exclusive. 0 <= From < To <= 1440.
type Span struct{ From, To int }

// Week is the spans of each day, by time.Weekday, ascending and without overlap.
type Week [7][]Span

// Date is a day without a zone.
type Date struct {
	Year  int
	Month time.Month
	Day   int
}

// ParseDate reads a day written as 2006-01-02.
func ParseDate(text string) (Date, error) {
	t, err := time.Parse(time.DateOnly, text)
	if err != nil {
		return Date{}, fmt.Errorf("%q is not a day; write it as 2027-01-31", text)
	}
	return DateOf(t), nil
}

// DateOf is the day that an instant falls on where its clock hangs.
func DateOf(t time.Time) Date {
	y, m, d := t.Date()
	return Date{y, m, d}
}

// Plus is the date n days on.
func (d Date) Plus(n int) Date {
	return DateOf(time.Date(d.Year, d.Month, d.Day+n, 12, 0, 0, 0, time.UTC))
}

// Weekday of the date.
func (d Date) Weekday() time.Weekday {
	return time.Date(d.Year, d.Month, d.Day, 12, 0, 0, 0, time.UTC).Weekday()
}

// String gives the form that ParseDate reads.
func (d Date) String() string { return fmt.Sprintf("%04d-%02d-%02d", d.Year, d.Month, d.Day) }

// Zone finds an IANA time zone such as Europe/Berlin.
func Zone(name string) (*time.Location, error) {
	if name != "" && name != "Local" { // the machine's own zone is not the same everywhere
		if location, err := time.LoadLocation(name); err == nil {
			return location, nil
		}
	}
	return nil, fmt.Errorf("%q is not a time zone; write one such as Europe/Berlin or UTC", name)
}

// Calendar says when a team works. It does not change and is safe for concurrent use.
type Calendar struct {
	zone     *time.Location // nil: always open
	week     Week
	holidays map[Date]string
}

// Always is the calendar that never closes.
func Always() *Calendar { return &Calendar{} }

// New makes a calendar of an IANA time zone such as Europe/Berlin, weekly opening
// hours and holidays with their names. On a holiday nothing is open from midnight
// to midnight.
func New(zone string, week Week, holidays map[Date]string) (*Calendar, error) {
	location, err := Zone(zone)
	if err != nil {
		return nil, err
	}
	open := time.Duration(0)
	for _, spans := range week {
		last := 0
		for _, s := range spans {
			if s.From < last || s.From >= s.To || s.To > dayMinutes {
				return nil, fmt.Errorf("opening hours must be in order, apart from each other and within a day")
			}
			last = s.To
			open += time.Duration(s.To-s.From) * time.Minute
		}
	}
	if open < MinWeek {
		return nil, fmt.Errorf("is open for %s a week; it must be open for %s at least", open, MinWeek)
	}
	return &Calendar{zone: location, week: week, holidays: holidays}, nil
}

// Zone is where the calendar's clock hangs; UTC for the one that never closes.
func (c *Calendar) Zone() *time.Location {
	if c.zone == nil {
		return time.UTC
	}
	return c.zone
}

// Open tells whether an instant is business time.
func (c *Calendar) Open(at time.Time) bool {
	if c.zone == nil {
		return true
	}
	for p := range c.periods(at) {
		if at.Before(p.end) {
			return !at.Before(p.begin)
		}
	}
	return false
}

// Add is the earliest instant by which d of business time has passed since start.
// With d of zero or less it is start itself.
func (c *Calendar) Add(start time.Time, d time.Duration) time.Time {
	if d <= 0 {
		return start
	}
	if c.zone == nil {
		return start.Add(d)
	}
	end := start
	for p := range c.periods(start) {
		begin := latest(p.begin, start)
		if !begin.Before(p.end) {
			continue
		}
		if left := p.end.Sub(begin); left < d {
			d -= left
			continue
		}
		end = begin.Add(d)
		break
	}
	return end.In(start.Location())
}

// Between is the business time from a to b; zero when b is not after a.
func (c *Calendar) Between(a, b time.Time) time.Duration {
	if !a.Before(b) {
		return 0
	}
	if c.zone == nil {
		return b.Sub(a)
	}
	sum := time.Duration(0)
	for p := range c.periods(a) {
		if !p.begin.Before(b) {
			break
		}
		if begin, end := latest(p.begin, a), earliest(p.end, b); begin.Before(end) {
			sum += end.Sub(begin)
		}
	}
	return sum
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func earliest(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

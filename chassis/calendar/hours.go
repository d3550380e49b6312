package calendar

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// days as they are written, by time.Weekday.
var days = []string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}

// ParseDays reads which days hours are meant for: one as mon, or several as
// mon-fri. A range may run over the end of the week, as sat-mon.
func ParseDays(text string) ([]time.Weekday, error) {
	from, to, several := strings.Cut(text, "-")
	first := slices.Index(days, strings.TrimSpace(from))
	last := first
	if several {
		last = slices.Index(days, strings.TrimSpace(to))
	}
	if first < 0 || last < 0 {
		return nil, fmt.Errorf("%q is not a day; write one of %s, or a range such as mon-fri", text, strings.Join(days, ", "))
	}
	var list []time.Weekday
	for d := first; ; d = (d + 1) % 7 {
		list = append(list, time.Weekday(d))
		if d == last {
			return list, nil
		}
	}
}

// Hours are opening hours as they are written for a day. One that closes at or
// before its opening goes on until then on the next day.
type Hours []Span

// ParseHours reads opening hours such as "09:00-12:30, 13:30-18:00". They must be in
// order and apart from each other; the last may run over midnight, as 22:00-06:00.
// 24:00 is the end of the day.
func ParseHours(text string) (Hours, error) {
	var hours Hours
	for _, part := range strings.Split(text, ",") {
		from, to, ok := strings.Cut(strings.TrimSpace(part), "-")
		opens, okFrom := Minute(strings.TrimSpace(from))
		closes, okTo := Minute(strings.TrimSpace(to))
		switch {
		case !ok || !okFrom || !okTo || opens == dayMinutes:
			return nil, fmt.Errorf("%q is not a span of hours; write opening and closing as 09:00-17:30, several with a comma between", strings.TrimSpace(part))
		case opens == closes:
			return nil, fmt.Errorf("%q is empty; a whole day is 00:00-24:00", strings.TrimSpace(part))
		}
		if n := len(hours); n > 0 && (hours[n-1].To > dayMinutes || opens < hours[n-1].To) {
			return nil, fmt.Errorf("%q begins before the span before it has ended", strings.TrimSpace(part))
		}
		if closes < opens {
			closes += dayMinutes
		}
		hours = append(hours, Span{opens, closes})
	}
	return hours, nil
}

// Minute reads a time on the wall clock, 00:00 to 24:00, as minutes since midnight.
func Minute(text string) (int, bool) {
	if len(text) != 5 || text[2] != ':' {
		return 0, false
	}
	n := [4]int{}
	for i, at := range []int{0, 1, 3, 4} {
		if text[at] < '0' || text[at] > '9' {
			return 0, false
		}
		n[i] = int(text[at] - '0')
	}
	h, m := n[0]*10+n[1], n[2]*10+n[3]
	return h*60 + m, m < 60 && h*60+m <= dayMinutes
}

// Plus adds the hours of a day to the week. Hours that run over midnight are those
// of the next day from then on. Hours that overlap with others are refused.
func (w *Week) Plus(day time.Weekday, hours Hours) error {
	for _, s := range hours {
		parts := []Span{s}
		if s.To > dayMinutes {
			parts = []Span{{s.From, dayMinutes}, {0, s.To - dayMinutes}}
		}
		for i, part := range parts {
			d := (day + time.Weekday(i)) % 7
			for _, other := range w[d] {
				if part.From < other.To && other.From < part.To {
					return fmt.Errorf("%s-%s on %s overlaps with %s-%s", clock(part.From), clock(part.To), days[d], clock(other.From), clock(other.To))
				}
			}
			w[d] = append(w[d], part)
			slices.SortFunc(w[d], func(a, b Span) int { return a.From - b.From })
		}
	}
	return nil
}

func clock(minute int) string { return fmt.Sprintf("%02d:%02d", minute/60, minute%60) }

package grounding

import (
	"strconv"
	"strings"
	"time"
)

// date is a calendar date or a time of day of which any part may be open (0;
// minute is -1 where there is no time of day).
type date struct {
	year, month, day int
	minute           int
	text             string
	at               int
}

var months = map[string]int{
	"january": 1, "february": 2, "march": 3, "april": 4, "may": 5, "june": 6, "july": 7, "august": 8, "september": 9, "october": 10, "november": 11, "december": 12,
	"jan": 1, "feb": 2, "mar": 3, "apr": 4, "jun": 6, "jul": 7, "aug": 8, "sep": 9, "sept": 9, "oct": 10, "nov": 11, "dec": 12,
}

// yearCues stand before a year.
var yearCues = wordSet("between and in since until till by from year of to before after during early late mid around for through spring summer autumn winter fall and - – , (")

func (s *sentence) findDates() {
	for i := 0; i < len(s.tokens); i++ {
		d, next, ok := s.dateAt(i)
		if !ok {
			continue
		}
		d.at = i
		d.text = s.text[s.tokens[i].start:s.tokens[next-1].end]
		for _, t := range s.tokens[i:next] {
			t.fact = true
		}
		s.dates = append(s.dates, d)
		i = next - 1
	}
}

func (s *sentence) dateAt(i int) (date, int, bool) {
	t := s.tokens[i]
	d := date{minute: -1}
	if day, err := time.Parse(time.DateOnly, t.raw); err == nil {
		d.year, d.month, d.day = day.Year(), int(day.Month()), day.Day()
		return d, i + 1, true
	}
	if h, m, ok := strings.Cut(t.raw, ":"); ok && t.raw[0] >= '0' && t.raw[0] <= '9' {
		hour, errH := strconv.Atoi(h)
		minute, errM := strconv.Atoi(m[:min(2, len(m))])
		if errH == nil && errM == nil && hour < 25 && minute < 60 {
			d.minute = hour*60 + minute
			return s.halfDay(d, i+1)
		}
	}
	day, isDay := s.number(i, 1, 31)
	month := s.month(i)
	switch {
	case isDay:
		next := i + 1
		if w := s.word(next); w == "st" || w == "nd" || w == "rd" || w == "th" {
			next++
		}
		if s.word(next) == "of" {
			next++
		}
		if m := s.month(next); m > 0 {
			d.day, d.month = day, m
			return s.withYear(d, next+1)
		}
		// "14 and 15 June": the first day has the month of the second.
		if w := s.word(i + 1); w == "and" || w == "-" || w == "–" || w == "to" {
			if _, ok := s.number(i+2, 1, 31); ok && s.month(i+3) > 0 {
				d.day, d.month = day, s.month(i+3)
				year, _, _ := s.withYear(d, i+4)
				d.year = year.year
				return d, i + 1, true
			}
		}
		if w := s.word(i + 1); w == "am" || w == "pm" || w == "a.m" || w == "p.m" {
			d.minute = day * 60
			return s.halfDay(d, i+1)
		}
	case month > 0:
		d.month = month
		next := i + 1
		if day, ok := s.number(next, 1, 31); ok {
			d.day = day
			next++
			if w := s.word(next); w == "st" || w == "nd" || w == "rd" || w == "th" {
				next++
			}
			return s.withYear(d, next)
		}
		d, next, _ = s.withYear(d, next)
		if d.year > 0 || t.lower != "may" && t.lower != "march" && t.lower != "mar" && t.lower != "dec" && t.lower != "sep" {
			return d, next, true
		}
		before := s.word(i - 1)
		return d, next, t.capital && (before == "in" || before == "of" || before == "since" || before == "until" || before == "by")
	}
	if year, ok := s.number(i, 1500, 2199); ok && len(t.raw) == 4 && (i == 0 || yearCues[s.word(i-1)]) {
		if _, isUnit := measures[s.word(i+1)]; !isUnit || s.word(i+1) == "" {
			if i > 0 && s.word(i-1) != "in" && s.word(i-1) != "since" && s.countsNext(i) {
				return d, 0, false
			}
			d.year = year
			return d, i + 1, true
		}
	}
	return d, 0, false
}

// countsNext tells whether a plural noun follows at once: "of 2000 requests".
func (s *sentence) countsNext(i int) bool {
	next := i + 1
	return next < len(s.tokens) && s.tokens[next].content() && strings.HasSuffix(s.tokens[next].lower, "s") && !s.tokens[next].capital
}

func (s *sentence) number(i, low, high int) (int, bool) {
	if i >= len(s.tokens) || !s.tokens[i].number {
		return 0, false
	}
	n, err := strconv.Atoi(s.tokens[i].raw)
	return n, err == nil && n >= low && n <= high
}

func (s *sentence) month(i int) int {
	if i >= len(s.tokens) || !s.tokens[i].capital {
		return 0
	}
	return months[s.word(i)]
}

func (s *sentence) withYear(d date, next int) (date, int, bool) {
	at := next
	if s.word(at) == "," || s.word(at) == "of" {
		at++
	}
	if year, ok := s.number(at, 1500, 2199); ok && len(s.tokens[at].raw) == 4 {
		d.year = year
		return d, at + 1, true
	}
	return d, next, true
}

func (s *sentence) halfDay(d date, next int) (date, int, bool) {
	switch s.word(next) {
	case "pm", "p.m":
		if d.minute < 12*60 {
			d.minute += 12 * 60
		}
		return d, next + 1, true
	case "am", "a.m":
		if d.minute >= 12*60 {
			d.minute -= 12 * 60
		}
		return d, next + 1, true
	}
	return d, next, true
}

// agrees tells whether the evidence states every part of the date that is claimed.
func (d date) agrees(e date) bool {
	return (d.year == 0 || d.year == e.year) && (d.month == 0 || d.month == e.month) && (d.day == 0 || d.day == e.day) && (d.minute < 0 || d.minute == e.minute)
}

// excludes tells whether a part that both dates state differs.
func (d date) excludes(e date) bool {
	return d.year != 0 && e.year != 0 && d.year != e.year || d.month != 0 && e.month != 0 && d.month != e.month ||
		d.day != 0 && e.day != 0 && d.day != e.day || d.minute >= 0 && e.minute >= 0 && d.minute != e.minute
}

package agreement

import (
	"sabha.dev/chassis/calendar"
	"sabha.dev/chassis/strictyaml"
)

func windows(n strictyaml.Node, review calendar.Date) []Window {
	items := n.Items()
	if len(items) > MaxWindows {
		n.Problem("there are %d windows; there may be %d at most", len(items), MaxWindows)
		return nil
	}
	var list []Window
	var at []int // which item it was
	for i, item := range items {
		w, ok := window(item)
		if !ok {
			continue
		}
		for k := range list {
			if when, both := overlap(&list[k], &w, review); both {
				item.Problem("overlaps with maintenance[%d] on %s; make one window of them, or move one", at[k], when.In(w.Zone).Format("2006-01-02 from 15:04"))
				break
			}
		}
		list, at = append(list, w), append(at, i)
	}
	return list
}

// window reads one; false after a problem.
func window(n strictyaml.Node) (w Window, valid bool) {
	f, ok := n.Fields("days", "date", "from", "to", "zone")
	if !ok {
		return w, false
	}
	weekly, isWeekly := f.Get("days")
	once, isOnce := f.Get("date")
	begins := true
	switch {
	case isWeekly == isOnce:
		n.Problem("needs one of days and date")
		begins = false
	case isOnce:
		w.Date = date(once)
		begins = w.Date != calendar.Date{}
	default:
		w.Days, begins = weekdays(weekly)
	}
	from, fromOK := minute(f, "from")
	to, toOK := minute(f, "to")
	if z, ok := f.Need("zone"); ok {
		var err error
		if w.Zone, err = calendar.Zone(z.Scalar()); err != nil {
			z.Problem("%s", err)
		}
	}
	w.From, w.To = from, to
	switch {
	case !begins || !fromOK || !toOK || w.Zone == nil:
		return w, false
	case from == to:
		n.Problem("is empty: it ends when it begins; a whole day is 00:00 to 24:00")
		return w, false
	case to < from:
		w.To += 24 * 60
	}
	if begin, end := w.span(w.Date); isOnce && !begin.Before(end) {
		n.Problem("is empty: on that day the clock of %s skips it", w.Zone)
		return w, false
	}
	return w, true
}

func weekdays(n strictyaml.Node) (days [7]bool, valid bool) {
	items := n.Items()
	if n.IsList() && len(items) == 0 {
		n.Problem("names no day")
	}
	valid = len(items) > 0
	for _, i := range items {
		list, err := calendar.ParseDays(i.Scalar())
		if err != nil {
			i.Problem("%s", err)
			valid = false
		}
		for _, d := range list {
			days[d] = true
		}
	}
	return days, valid
}

// minute reads a time of the day.
func minute(f strictyaml.Fields, key string) (int, bool) {
	n, ok := f.Need(key)
	if !ok {
		return 0, false
	}
	text := n.Scalar()
	m, ok := calendar.Minute(text)
	if ok = ok && (key != "from" || m < 24*60); !ok {
		n.Problem("%q is not a time of the day; write it as \"02:00\"", strictyaml.Clip(text))
	}
	return m, ok
}

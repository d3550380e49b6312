package calendar_test

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"sabha.dev/chassis/calendar"
)

// made makes a calendar of hours by days, for example "mon-fri": "09:00-17:00".
func made(t testing.TB, zone string, hours map[string]string, holidays ...string) *calendar.Calendar {
	t.Helper()
	var week calendar.Week
	for days, text := range hours {
		list, err := calendar.ParseDays(days)
		if err != nil {
			t.Fatal(err)
		}
		spans, err := calendar.ParseHours(text)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range list {
			if err := week.Plus(d, spans); err != nil {
				t.Fatal(err)
			}
		}
	}
	closed := map[calendar.Date]string{}
	for _, h := range holidays {
		d, err := calendar.ParseDate(h)
		if err != nil {
			t.Fatal(err)
		}
		closed[d] = "holiday " + h
	}
	c, err := calendar.New(zone, week, closed)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func at(t testing.TB, text string) time.Time {
	t.Helper()
	v, err := time.Parse(time.RFC3339, text)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

var (
	office   = map[string]string{"mon-thu": "08:00-12:00, 13:00-17:00", "fri": "08:00-14:00"}
	allDay   = map[string]string{"mon-sun": "00:00-24:00"}
	night    = map[string]string{"mon-sun": "22:00-06:00"}
	earlyDay = map[string]string{"mon-sun": "02:15-10:00"}
)

func TestDueTimesFallIntoBusinessTime(t *testing.T) {
	for _, c := range []struct {
		what, zone string
		hours      map[string]string
		holidays   []string
		start      string
		d          time.Duration
		want       string
	}{
		{"within a span", "Europe/Berlin", office, nil, "2026-11-30T08:00:00+01:00", 3 * time.Hour, "2026-11-30T11:00:00+01:00"},
		{"at the end of a span", "Europe/Berlin", office, nil, "2026-11-30T08:00:00+01:00", 4 * time.Hour, "2026-11-30T12:00:00+01:00"},
		{"over lunch", "Europe/Berlin", office, nil, "2026-11-30T11:00:00+01:00", 2 * time.Hour, "2026-11-30T14:00:00+01:00"},
		{"begun at lunch", "Europe/Berlin", office, nil, "2026-11-30T12:30:00+01:00", time.Minute, "2026-11-30T13:01:00+01:00"},
		{"over a night", "Europe/Berlin", office, nil, "2026-11-30T16:30:00+01:00", time.Hour, "2026-12-01T08:30:00+01:00"},
		{"over a weekend", "Europe/Berlin", office, nil, "2026-12-04T13:00:00+01:00", 2 * time.Hour, "2026-12-07T09:00:00+01:00"},
		{"begun on a Sunday", "Europe/Berlin", office, nil, "2026-12-06T23:59:00+01:00", 30 * time.Minute, "2026-12-07T08:30:00+01:00"},
		{"over Christmas and the year", "Europe/Berlin", office, []string{"2026-12-24", "2026-12-25", "2026-12-31", "2027-01-01"}, "2026-12-23T16:00:00+01:00", 25*time.Hour + time.Second, "2027-01-04T08:00:01+01:00"},
		{"a week is 38 hours", "Europe/Berlin", office, nil, "2026-11-30T08:00:00+01:00", 38*time.Hour + time.Second, "2026-12-07T08:00:01+01:00"},
		{"a leap day", "Europe/Berlin", allDay, nil, "2028-02-28T12:00:00+01:00", 48 * time.Hour, "2028-03-01T12:00:00+01:00"},
		{"asked in another zone", "Europe/Berlin", office, nil, "2026-11-30T02:00:00-05:00", 4 * time.Hour, "2026-11-30T06:00:00-05:00"},

		// Berlin puts the clock forward on 2026-03-29 at 02:00 and back on 2026-10-25 at 03:00.
		{"Berlin: a day of 23 hours", "Europe/Berlin", allDay, nil, "2026-03-29T00:00:00+01:00", 23 * time.Hour, "2026-03-30T00:00:00+02:00"},
		{"Berlin: a day of 25 hours", "Europe/Berlin", allDay, nil, "2026-10-25T00:00:00+02:00", 25 * time.Hour, "2026-10-26T00:00:00+01:00"},
		{"Berlin: a night of 7 hours", "Europe/Berlin", night, nil, "2026-03-28T22:00:00+01:00", 7*time.Hour + time.Minute, "2026-03-29T22:01:00+02:00"},
		{"Berlin: a night of 9 hours", "Europe/Berlin", night, nil, "2026-10-24T22:00:00+02:00", 9 * time.Hour, "2026-10-25T06:00:00+01:00"},
		{"Berlin: an opening that is skipped", "Europe/Berlin", earlyDay, nil, "2026-03-29T00:00:00+01:00", time.Hour, "2026-03-29T04:00:00+02:00"},
		{"Berlin: an opening that is shown twice", "Europe/Berlin", earlyDay, nil, "2026-10-25T00:00:00+02:00", time.Hour, "2026-10-25T02:15:00+01:00"},
		{"Berlin: the office over the change", "Europe/Berlin", office, nil, "2026-03-27T13:00:00+01:00", 2 * time.Hour, "2026-03-30T09:00:00+02:00"},

		// New York: forward on 2026-03-08 at 02:00, back on 2026-11-01 at 02:00.
		{"New York: a day of 23 hours", "America/New_York", allDay, nil, "2026-03-08T00:00:00-05:00", 23 * time.Hour, "2026-03-09T00:00:00-04:00"},
		{"New York: a day of 25 hours", "America/New_York", allDay, nil, "2026-11-01T00:00:00-04:00", 25 * time.Hour, "2026-11-02T00:00:00-05:00"},
		{"New York: a night of 9 hours", "America/New_York", night, nil, "2026-10-31T22:00:00-04:00", 9 * time.Hour, "2026-11-01T06:00:00-05:00"},

		// Lord Howe moves by half an hour: forward on 2026-10-04 at 02:00, back on 2026-04-05 at 02:00.
		{"Lord Howe: a day of 23½ hours", "Australia/Lord_Howe", allDay, nil, "2026-10-04T00:00:00+10:30", 23*time.Hour + 30*time.Minute, "2026-10-05T00:00:00+11:00"},
		{"Lord Howe: a day of 24½ hours", "Australia/Lord_Howe", allDay, nil, "2026-04-05T00:00:00+11:00", 24*time.Hour + 30*time.Minute, "2026-04-06T00:00:00+10:30"},
		{"Lord Howe: an opening that is skipped", "Australia/Lord_Howe", earlyDay, nil, "2026-10-04T00:00:00+10:30", time.Hour, "2026-10-04T03:30:00+11:00"},

		// Samoa had no 30 December 2011; Beirut changes at midnight.
		{"Apia: a day that never was", "Pacific/Apia", allDay, nil, "2011-12-29T12:00:00-10:00", 24 * time.Hour, "2011-12-31T12:00:00+14:00"},
		{"Beirut: a day that begins at one", "Asia/Beirut", allDay, nil, "2026-03-29T01:00:00+03:00", 23 * time.Hour, "2026-03-30T00:00:00+03:00"},
		{"Beirut: a midnight shown twice", "Asia/Beirut", allDay, nil, "2026-10-24T00:00:00+03:00", 25 * time.Hour, "2026-10-25T00:00:00+02:00"},
	} {
		t.Run(c.what, func(t *testing.T) {
			cal := made(t, c.zone, c.hours, c.holidays...)
			start := at(t, c.start)
			got := cal.Add(start, c.d)
			if !got.Equal(at(t, c.want)) {
				t.Errorf("%s after %s is %s, want %s", c.d, c.start, got.Format(time.RFC3339), c.want)
			}
			if d := cal.Between(start, got); d != c.d {
				t.Errorf("between them are %s, want %s", d, c.d)
			}
		})
	}
}

func TestOpenSaysWhetherPeopleWork(t *testing.T) {
	cal := made(t, "Europe/Berlin", map[string]string{"mon-fri": "09:00-17:00", "sat": "22:00-02:00"}, "2026-12-25")
	for when, open := range map[string]bool{
		"2026-11-30T08:59:59+01:00": false, "2026-11-30T09:00:00+01:00": true, "2026-11-30T16:59:59+01:00": true, "2026-11-30T17:00:00+01:00": false,
		"2026-12-25T10:00:00+01:00": false, // a holiday, a Friday
		"2026-12-05T23:00:00+01:00": true, "2026-12-06T01:59:59+01:00": true, "2026-12-06T02:00:00+01:00": false,
		"2026-10-25T02:30:00+02:00": false, "2026-10-25T01:59:59+02:00": true, "2026-10-25T02:00:00+01:00": false,
	} {
		if got := cal.Open(at(t, when)); got != open {
			t.Errorf("open at %s: %v, want %v", when, got, open)
		}
	}
	if !calendar.Always().Open(at(t, "2026-12-25T03:00:00Z")) {
		t.Error("the calendar that never closes is closed")
	}
}

func TestAHolidayClosesItsNightToo(t *testing.T) {
	cal := made(t, "Europe/Berlin", night, "2026-12-25")
	if got := cal.Between(at(t, "2026-12-24T12:00:00+01:00"), at(t, "2026-12-26T12:00:00+01:00")); got != 8*time.Hour {
		t.Errorf("open for %s, want two hours before the holiday and six after it", got)
	}
}

func TestAlwaysCountsRealTime(t *testing.T) {
	start := at(t, "2026-10-25T00:00:00+02:00")
	if got := calendar.Always().Add(start, 24*time.Hour); !got.Equal(start.Add(24 * time.Hour)) {
		t.Errorf("a day later is %s", got)
	}
	if got := calendar.Always().Between(start, start.Add(time.Hour)); got != time.Hour {
		t.Errorf("between: %s", got)
	}
}

// Whatever the calendar, what was added is between, and no instant before will do.
func TestAddAndBetweenAgree(t *testing.T) {
	calendars := map[string]*calendar.Calendar{"always": calendar.Always()}
	for _, zone := range []string{"Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Beirut", "America/St_Johns", "Africa/Casablanca", "UTC"} {
		for name, hours := range map[string]map[string]string{
			"office": office, "all day": allDay, "night": night, "early": earlyDay, "broken": {"mon-sun": "00:30-01:10, 01:20-02:30, 02:40-03:15", "wed": "23:00-24:00"},
		} {
			calendars[zone+" "+name] = made(t, zone, hours, "2026-03-29", "2026-12-25")
		}
	}
	random := rand.New(rand.NewPCG(20261130, 1))
	first := time.Date(2006, 1, 1, 0, 0, 0, 0, time.UTC)
	for name, cal := range calendars {
		for range 300 {
			start := first.Add(time.Duration(random.Int64N(int64(24 * 365 * 25 * time.Hour))))
			d := time.Duration(1 + random.Int64N(int64(80*time.Hour)))
			end := cal.Add(start, d)
			if got := cal.Between(start, end); got != d {
				t.Fatalf("%s: %s and %s: between are %s", name, start.Format(time.RFC3339Nano), d, got)
			}
			if got := cal.Between(start, end.Add(-1)); got >= d {
				t.Fatalf("%s: %s and %s: an earlier instant than %s will do", name, start.Format(time.RFC3339Nano), d, end)
			}
			if !cal.Open(end.Add(-1)) {
				t.Fatalf("%s: %s is due just after closed time", name, end.Format(time.RFC3339Nano))
			}
			half := d / 2
			if got := cal.Add(cal.Add(start, half), d-half); !got.Equal(end) {
				t.Fatalf("%s: %s and %s in two steps is %s, want %s", name, start.Format(time.RFC3339Nano), d, got, end)
			}
		}
	}
}

func TestWhatNoOneCanWorkByIsRefused(t *testing.T) {
	for zone, week := range map[string]calendar.Week{
		"Europe/Berlin": {}, // never open
		"UTC":           {1: {{0, 59}}},
		"Mars/Olympus":  {1: {{0, 600}}},
		"Local":         {1: {{0, 600}}},
		"":              {1: {{0, 600}}},
		"Asia/Tokyo":    {1: {{600, 700}, {650, 800}}},
		"Asia/Kolkata":  {1: {{600, 1500}}},
	} {
		if _, err := calendar.New(zone, week, nil); err == nil {
			t.Errorf("zone %q with %v is a calendar", zone, week)
		}
	}
	for text, reason := range map[string]string{
		"9-17": "write opening and closing", "09:00": "write opening and closing", "": "write opening and closing", "24:00-02:00": "write opening and closing",
		"09:60-10:00": "write opening and closing", "25:00-26:00": "write opening and closing", "09:00-09:00": "is empty",
		"13:00-17:00, 08:00-12:00": "begins before", "22:00-06:00, 23:00-24:00": "begins before", "09:00-12:00, 11:00-13:00": "begins before",
	} {
		if _, err := calendar.ParseHours(text); err == nil || !strings.Contains(err.Error(), reason) {
			t.Errorf("hours %q: %v, want %q", text, err, reason)
		}
	}
	var week calendar.Week
	late, _ := calendar.ParseHours("22:00-06:00")
	early, _ := calendar.ParseHours("05:00-07:00")
	if err := week.Plus(time.Monday, late); err != nil {
		t.Fatal(err)
	}
	if err := week.Plus(time.Tuesday, early); err == nil || !strings.Contains(err.Error(), "05:00-07:00 on tue overlaps with 00:00-06:00") {
		t.Errorf("overlap with the night before: %v", err)
	}
	for _, bad := range []string{"", "monday", "mon-", "mon-tue-wed", "-"} {
		if _, err := calendar.ParseDays(bad); err == nil {
			t.Errorf("%q are days", bad)
		}
	}
}

func TestDaysMayRunOverTheWeek(t *testing.T) {
	list, err := calendar.ParseDays("sat-mon")
	if err != nil || len(list) != 3 || list[0] != time.Saturday || list[2] != time.Monday {
		t.Errorf("sat-mon: %v %v", list, err)
	}
}

// Hours that parse make a week, or say where they overlap.
func FuzzParseHours(f *testing.F) {
	for _, s := range []string{"09:00-17:00", "08:00-12:00, 13:00-17:00", "22:00-06:00", "00:00-24:00", "00:00-00:00", "23:59-00:01,", "--", "09:00-08:59"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		hours, err := calendar.ParseHours(text)
		if err != nil {
			return
		}
		var week calendar.Week
		if err := week.Plus(time.Saturday, hours); err != nil {
			t.Fatalf("%q parses, and %v", text, err)
		}
		sum := time.Duration(0)
		for _, h := range hours {
			sum += time.Duration(h.To-h.From) * time.Minute
		}
		cal, err := calendar.New("UTC", week, nil)
		if err != nil {
			if sum >= calendar.MinWeek {
				t.Fatalf("%q: %v", text, err)
			}
			return
		}
		start := time.Date(2026, 12, 2, 0, 0, 0, 0, time.UTC)
		if got := cal.Between(start, start.AddDate(0, 0, 7)); got != sum {
			t.Fatalf("%q is open for %s a week, want %s", text, got, sum)
		}
	})
}

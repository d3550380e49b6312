package agreement_test

import (
	"testing"
	"time"
)

func TestMaintenanceIsATimeOnTheWallClock(t *testing.T) {
	for _, c := range []struct{ what, windows, at, until string }{
		{"in it", `{days: [sun], from: "02:00", to: "04:00", zone: UTC}`, "2026-11-29T03:00:00Z", "2026-11-29T04:00:00Z"},
		{"at its beginning", `{days: [sun], from: "02:00", to: "04:00", zone: UTC}`, "2026-11-29T02:00:00Z", "2026-11-29T04:00:00Z"},
		{"at its end", `{days: [sun], from: "02:00", to: "04:00", zone: UTC}`, "2026-11-29T04:00:00Z", ""},
		{"on another day", `{days: [sun], from: "02:00", to: "04:00", zone: UTC}`, "2026-11-30T03:00:00Z", ""},
		{"a range of days", `{days: [mon-wed, fri], from: "02:00", to: "04:00", zone: UTC}`, "2026-11-24T03:00:00Z", "2026-11-24T04:00:00Z"},
		{"over midnight, before", `{days: [sat], from: "23:00", to: "01:00", zone: UTC}`, "2026-11-28T23:30:00Z", "2026-11-29T01:00:00Z"},
		{"over midnight, after", `{days: [sat], from: "23:00", to: "01:00", zone: UTC}`, "2026-11-29T00:30:00Z", "2026-11-29T01:00:00Z"},
		{"in summer", `{days: [sun], from: "02:00", to: "04:00", zone: Europe/London}`, "2026-07-05T01:30:00Z", "2026-07-05T03:00:00Z"},
		{"in winter the same time is outside", `{days: [sun], from: "02:00", to: "04:00", zone: Europe/London}`, "2026-11-29T01:30:00Z", ""},
		{"the day the clock is put forward", `{days: [sun], from: "00:30", to: "03:00", zone: Europe/London}`, "2027-03-28T01:30:00Z", "2027-03-28T02:00:00Z"},
		{"a window that the clock skips", `{days: [sun], from: "01:10", to: "01:50", zone: Europe/London}`, "2027-03-28T01:00:00Z", ""},
		{"the day the clock is put back: the hour that comes twice", `{days: [sun], from: "01:00", to: "02:00", zone: Europe/London}`, "2026-10-25T00:30:00Z", "2026-10-25T02:00:00Z"},
		{"on a date", `{date: 2026-12-24, from: "12:00", to: "24:00", zone: America/New_York}`, "2026-12-25T04:59:00Z", "2026-12-25T05:00:00Z"},
		{"a year later", `{date: 2026-12-24, from: "12:00", to: "24:00", zone: America/New_York}`, "2027-12-24T20:00:00Z", ""},
		{"two that follow on each other", `{days: [sun], from: "02:00", to: "03:00", zone: UTC}, {date: 2026-11-29, from: "04:00", to: "05:00", zone: Europe/Berlin}`, "2026-11-29T02:30:00Z", "2026-11-29T04:00:00Z"},
	} {
		t.Run(c.what, func(t *testing.T) {
			s := parse(t, head+"skills: {s: {maintenance: ["+c.windows+"]}}").Terms("s")
			end, in := s.InMaintenance(at(t, c.at))
			if got := end.UTC().Format(time.RFC3339); in != (c.until != "") || in && got != c.until {
				t.Errorf("%v until %s, want until %q", in, got, c.until)
			}
		})
	}
}

func TestMaintenanceIsCountedInRealTime(t *testing.T) {
	s := parse(t, head+`skills: {s: {maintenance: [{days: [sun], from: "00:00", to: "04:00", zone: Europe/London}]}}`).Terms("s")
	for _, c := range []struct {
		from, to string
		want     time.Duration
	}{
		{"2027-03-22T00:00:00Z", "2027-03-29T00:00:00Z", 3 * time.Hour},  // the clock is put forward
		{"2026-10-19T00:00:00Z", "2026-10-26T00:00:00Z", 5 * time.Hour},  // and back
		{"2026-11-01T00:00:00Z", "2026-12-01T00:00:00Z", 20 * time.Hour}, // five Sundays
		{"2026-11-29T01:00:00Z", "2026-11-29T02:00:00Z", time.Hour},      // all within
	} {
		if got := s.MaintenanceBetween(at(t, c.from), at(t, c.to)); got != c.want {
			t.Errorf("from %s to %s: %s, want %s", c.from, c.to, got, c.want)
		}
	}
}

func TestWindowsThatCannotBeAreRefused(t *testing.T) {
	for _, c := range []struct{ what, windows, want string }{
		{"apart", `{days: [sun], from: "02:00", to: "04:00", zone: UTC}, {days: [sun], from: "04:00", to: "05:00", zone: UTC}`, ""},
		{"on each other", `{days: [sun], from: "02:00", to: "04:00", zone: UTC}, {days: [sat-mon], from: "03:59", to: "05:00", zone: UTC}`, "u.yaml:7: skills.s.maintenance[1]: overlaps with maintenance[0] on 2026-07-05 from 03:59; make one window of them, or move one"},
		{"over midnight", `{days: [sat], from: "23:00", to: "01:00", zone: UTC}, {days: [sun], from: "00:30", to: "02:00", zone: UTC}`, "u.yaml:7: skills.s.maintenance[1]: overlaps with maintenance[0] on 2026-07-05 from 00:30; make one window of them, or move one"},
		{"a date on a day of the week", `{days: [thu], from: "02:00", to: "04:00", zone: UTC}, {date: 2029-01-04, from: "03:00", to: "05:00", zone: UTC}`, "u.yaml:7: skills.s.maintenance[1]: overlaps with maintenance[0] on 2029-01-04 from 03:00; make one window of them, or move one"},
		{"in two zones, only in the weeks when one of them has changed its clock", `{days: [sun], from: "05:00", to: "06:00", zone: Europe/London}, {days: [sun], from: "01:00", to: "02:00", zone: America/New_York}`, "u.yaml:7: skills.s.maintenance[1]: overlaps with maintenance[0] on 2026-10-25 from 01:00; make one window of them, or move one"},
		{"meeting in the hour that comes twice", `{days: [sun], from: "01:00", to: "01:30", zone: Europe/London}, {days: [sun], from: "01:30", to: "02:00", zone: Europe/London}`, ""},
		{"empty", `{days: [sun], from: "02:00", to: "02:00", zone: UTC}`, "u.yaml:7: skills.s.maintenance[0]: is empty: it ends when it begins; a whole day is 00:00 to 24:00"},
		{"skipped by the clock", `{date: 2027-03-28, from: "01:00", to: "02:00", zone: Europe/London}`, "u.yaml:7: skills.s.maintenance[0]: is empty: on that day the clock of Europe/London skips it"},
		{"no day", `{days: [], from: "02:00", to: "04:00", zone: UTC}`, "u.yaml:7: skills.s.maintenance[0].days: names no day"},
		{"neither days nor a date", `{from: "02:00", to: "04:00", zone: UTC}`, "u.yaml:7: skills.s.maintenance[0]: needs one of days and date"},
		{"days and a date", `{days: [sun], date: 2027-01-01, from: "02:00", to: "04:00", zone: UTC}`, "u.yaml:7: skills.s.maintenance[0]: needs one of days and date"},
		{"not a time", `{days: [sun], from: "24:00", to: "4", zone: UTC}`, "u.yaml:7: skills.s.maintenance[0].from: \"24:00\" is not a time of the day; write it as \"02:00\"\nu.yaml:7: skills.s.maintenance[0].to: \"4\" is not a time of the day; write it as \"02:00\""},
		{"not a zone", `{days: [sun], from: "02:00", to: "04:00", zone: Local}`, `u.yaml:7: skills.s.maintenance[0].zone: "Local" is not a time zone; write one such as Europe/Berlin or UTC`},
		{"not a day of the week", `{days: [sonntag], from: "02:00", to: "04:00", zone: UTC}`, `u.yaml:7: skills.s.maintenance[0].days[0]: "sonntag" is not a day; write one of sun, mon, tue, wed, thu, fri, sat, or a range such as mon-fri`},
	} {
		t.Run(c.what, func(t *testing.T) {
			if got := problems("{maintenance: [" + c.windows + "]}"); got != c.want {
				t.Errorf("\n%s, want\n%s", got, c.want)
			}
		})
	}
}

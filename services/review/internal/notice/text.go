package notice

import (
	"fmt"
	"net/url"
	"strings"
	"time"
	"unicode"

	"sabha.dev/services/review/internal/item"
)

// letter is what people are told at once about items of one queue.
type letter struct {
	subject string
	lines   []string
}

// entry is one item of a letter.
type entry struct {
	notice Notice
	item   *item.Item
}

// headings by what is told.
var headings = map[string]string{created: "New", dueSoon: "Due soon", overdue: "Overdue", escalated: "Escalated"}

// order of headings in a letter: what is most urgent first.
var order = []string{overdue, escalated, dueSoon, created}

// write makes a letter of items of a queue. Of an item it says the title, the risk,
// when it is due and where to find it.
func write(r Recipients, console string, entries []entry) letter {
	var l letter
	by := map[string][]entry{}
	for _, e := range entries {
		by[e.notice.What] = append(by[e.notice.What], e)
	}
	var counts []string
	for _, what := range order {
		group := by[what]
		if len(group) == 0 {
			continue
		}
		counts = append(counts, fmt.Sprintf("%d %s", len(group), strings.ToLower(headings[what])))
		l.lines = append(l.lines, headings[what]+":")
		for _, e := range group {
			l.lines = append(l.lines, "- "+line(e.item, r.Zone), "  "+link(console, e.item.ID))
		}
	}
	l.subject = fmt.Sprintf("%s: %s", plain(r.Title), strings.Join(counts, ", "))
	if len(entries) == 1 {
		l.subject = fmt.Sprintf("%s in %s: %s", headings[entries[0].notice.What], plain(r.Title), plain(entries[0].item.Title))
	}
	return l
}

func line(i *item.Item, zone *time.Location) string {
	text := plain(i.Title)
	if i.Risk != "" {
		text += " (" + plain(i.Risk) + " risk)"
	}
	if !i.DueAt.IsZero() {
		text += ", due " + i.DueAt.In(zone).Format("Mon 2 Jan 2006 15:04 MST")
	}
	return text
}

func link(console, id string) string {
	if console == "" {
		return "review " + id
	}
	return strings.TrimRight(console, "/") + "/review/" + url.PathEscape(id)
}

// plain makes one line of text that came from elsewhere: without control characters
// and without what turns the direction of text.
func plain(s string) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case unicode.IsControl(r), unicode.Is(unicode.Cf, r):
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
	return strings.Join(strings.Fields(s), " ")
}

package policy

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"sabha.dev/chassis/strictyaml"

	"sabha.dev/chassis/calendar"
)

// always is the calendar that is there without being named.
const always = "always"

// Parse reads a policy file. name is the file as problems should show it. The error
// is strictyaml.Problems with everything found.
func Parse(name string, data []byte) (*Policy, error) {
	sum := sha256.Sum256(data)
	c := &compiler{
		policy:    &Policy{Digest: hex.EncodeToString(sum[:])},
		calendars: map[string]*calendar.Calendar{always: calendar.Always()},
	}
	if err := strictyaml.Parse(name, data, c.file); err != nil {
		return nil, err
	}
	return c.policy, nil
}

// compiler turns one file into a policy.
type compiler struct {
	policy    *Policy
	calendars map[string]*calendar.Calendar // nil for one that is broken
}

var nameForm = regexp.MustCompile(`^[a-z][a-z0-9-]{0,62}$`)

func (c *compiler) file(root strictyaml.Node) {
	f, ok := root.Fields("owner", "review_date", "version", "calendars", "queues", "rules", "default")
	if !ok {
		return
	}
	if n, ok := f.Need("owner"); ok {
		c.policy.Owner = n.Text()
	}
	if n, ok := f.Need("review_date"); ok {
		day, err := calendar.ParseDate(n.Scalar())
		if err != nil {
			n.Problem("%s", err)
		}
		c.policy.ReviewDate = day
	}
	if n, ok := f.Need("version"); ok {
		c.policy.Version = n.Scalar()
	}
	if n, ok := f.Get("calendars"); ok {
		for _, e := range n.Entries() {
			c.calendar(e)
		}
	}
	if n, ok := f.Need("queues"); ok {
		for _, e := range n.Entries() {
			c.policy.Queues = append(c.policy.Queues, c.queue(e))
		}
	}
	if n, ok := f.Get("rules"); ok {
		c.rules(n)
	}
	if n, ok := f.Need("default"); ok {
		c.policy.fallback = c.named(n)
	}
}

// name checks what a calendar or queue is called.
func name(e strictyaml.Entry) {
	if !nameForm.MatchString(e.Key) {
		e.Value.Problem("%q is not a name; use small letters, digits and -, beginning with a letter, at most 63", strictyaml.Clip(e.Key))
	}
}

func (c *compiler) calendar(e strictyaml.Entry) {
	name(e)
	if e.Key == always {
		e.Value.Problem("always is the calendar that never closes; choose another name")
		return
	}
	c.calendars[e.Key] = nil
	f, ok := e.Value.Fields("zone", "hours", "holidays")
	if !ok {
		return
	}
	var week calendar.Week
	hours, ok := f.Need("hours")
	if ok {
		for _, days := range hours.Entries() {
			ok = readHours(&week, days) && ok
		}
	}
	holidays := map[calendar.Date]string{}
	if n, found := f.Get("holidays"); found {
		for _, h := range n.Entries() {
			day, err := calendar.ParseDate(h.Key)
			if err != nil {
				h.Value.Problem("%s", err)
			}
			holidays[day] = h.Value.Text()
		}
	}
	zone, found := f.Need("zone")
	if !ok || !found {
		return
	}
	made, err := calendar.New(zone.Text(), week, holidays)
	if err != nil {
		e.Value.Problem("%s", err)
	}
	c.calendars[e.Key] = made
}

func readHours(week *calendar.Week, e strictyaml.Entry) bool {
	days, err := calendar.ParseDays(e.Key)
	if err != nil {
		e.Value.Problem("%s", err)
		return false
	}
	text := e.Value.Text()
	if text == "" {
		return false
	}
	hours, err := calendar.ParseHours(text)
	if err != nil {
		e.Value.Problem("%s", err)
		return false
	}
	for _, d := range days {
		if err := week.Plus(d, hours); err != nil {
			e.Value.Problem("%s", err)
			return false
		}
	}
	return true
}

// calendarOf finds the calendar that a queue names; always after a problem.
func (c *compiler) calendarOf(n strictyaml.Node) *calendar.Calendar {
	text := n.Text()
	made, known := c.calendars[text]
	if text != "" && !known {
		names := slices.Sorted(maps.Keys(c.calendars))
		n.Problem("unknown calendar %q%s; known calendars: %s", strictyaml.Clip(text), strictyaml.DidYouMean(text, names), strings.Join(names, ", "))
	}
	if made == nil {
		return c.calendars[always]
	}
	return made
}

// named finds the queue that a rule or the default names.
func (c *compiler) named(n strictyaml.Node) *Queue {
	text := n.Text()
	if q := c.policy.Queue(text); q != nil || text == "" {
		return q
	}
	names := make([]string, len(c.policy.Queues))
	for i, q := range c.policy.Queues {
		names[i] = q.Name
	}
	n.Problem("unknown queue %q%s; known queues: %s", strictyaml.Clip(text), strictyaml.DidYouMean(text, names), strings.Join(names, ", "))
	return nil
}

// business reads a business duration.
func business(f strictyaml.Fields, key string) time.Duration {
	n, ok := f.Get(key)
	if !ok {
		return 0
	}
	if text := n.Scalar(); strings.HasSuffix(text, "d") {
		n.Problem("%q: days are not all equally long; write how many open hours it is, such as 16h for two days of eight hours", strictyaml.Clip(text))
		return time.Minute
	}
	return n.Duration(time.Minute, MaxBusiness)
}

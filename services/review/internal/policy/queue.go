package policy

import (
	"net/mail"
	"path/filepath"
	"regexp"
	"slices"
	"time"

	"sabha.dev/chassis/strictyaml"
)

// groupForm is what a group may be called: it comes as scope group:NAME.
var groupForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$`)

func (c *compiler) queue(e strictyaml.Entry) *Queue {
	q := &Queue{Name: e.Key, Title: e.Key, Priority: DefaultPriority, ClaimFor: DefaultClaim, Approvals: 1, Calendar: c.calendars[always], Due: time.Minute}
	name(e)
	f, ok := e.Value.Fields("title", "groups", "calendar", "due", "priority", "claim_for", "approvals", "requester_may_decide", "escalate", "expires", "notify")
	if !ok {
		return q
	}
	if n, ok := f.Get("title"); ok {
		q.Title = n.Text()
	}
	if n, ok := f.Get("groups"); ok {
		q.Groups = groups(n)
	}
	if n, ok := f.Get("calendar"); ok {
		q.Calendar = c.calendarOf(n)
	}
	if _, ok := f.Need("due"); ok {
		q.Due = business(f, "due")
	}
	if n, ok := f.Get("priority"); ok {
		q.Priority = n.Int(1, LeastPriority)
	}
	if n, ok := f.Get("claim_for"); ok {
		q.ClaimFor = n.Duration(MinClaim, MaxClaim)
	}
	if n, ok := f.Get("approvals"); ok {
		q.Approvals = n.Int(1, MaxApprovals)
	}
	if n, ok := f.Get("requester_may_decide"); ok {
		q.RequesterMayDecide = n.Bool()
	}
	if n, ok := f.Get("escalate"); ok {
		for _, i := range n.Items() {
			q.escalation(i)
		}
	}
	if n, ok := f.Get("expires"); ok {
		q.expiry(n)
	}
	if n, ok := f.Get("notify"); ok {
		q.notify(n)
	}
	return q
}

func groups(n strictyaml.Node) []string {
	var list []string
	for _, i := range n.Items() {
		g := i.Text()
		switch {
		case g == "":
		case !groupForm.MatchString(g):
			i.Problem("%q is not a group; use letters, digits, . _ and -, at most 63", strictyaml.Clip(g))
		case slices.Contains(list, g):
			i.Problem("group %s is there twice", g)
		default:
			list = append(list, g)
		}
	}
	if len(list) == 0 {
		n.Problem("names nobody; name a group, or remove the key for every reviewer")
	}
	return list
}

func (q *Queue) escalation(n strictyaml.Node) {
	f, ok := n.Fields("after_created", "after_due", "groups", "priority")
	if !ok {
		return
	}
	created, due := business(f, "after_created"), business(f, "after_due")
	e := Escalation{After: created}
	if due > 0 {
		e.After = q.Due + due
	}
	if (created > 0) == (due > 0) {
		n.Problem("needs one of after_created and after_due")
		return
	}
	if last := len(q.Escalations); last > 0 && e.After <= q.Escalations[last-1].After {
		n.Problem("comes %s after creation, not after the escalation before it, which comes after %s", strictyaml.Short(e.After), strictyaml.Short(q.Escalations[last-1].After))
	}
	e.Groups, e.Priority = q.more(n, f)
	q.Escalations = append(q.Escalations, e)
}

// more reads whom an escalation brings.
func (q *Queue) more(n strictyaml.Node, f strictyaml.Fields) (list []string, priority int) {
	g, named := f.Get("groups")
	if named {
		list = groups(g)
		if len(q.Groups) == 0 {
			g.Problem("every reviewer may decide already, as the queue names no groups")
		}
	}
	p, raised := f.Get("priority")
	if raised {
		priority = p.Int(1, LeastPriority)
	}
	if !named && !raised {
		n.Problem("changes nothing; name groups that are brought, a priority, or both")
	}
	return list, priority
}

func (q *Queue) expiry(n strictyaml.Node) {
	f, ok := n.Fields("after", "means", "reason", "groups", "priority")
	if !ok {
		return
	}
	x := &Expiry{After: time.Minute}
	if a, ok := f.Need("after"); ok {
		x.After = business(f, "after")
		if x.After < q.Due {
			a.Problem("comes before the item is due, after %s", strictyaml.Short(q.Due))
		}
		if last := len(q.Escalations); last > 0 && x.After <= q.Escalations[last-1].After {
			a.Problem("comes before the last escalation, after %s, which would never happen", strictyaml.Short(q.Escalations[last-1].After))
		}
	}
	m, ok := f.Need("means")
	if !ok {
		return
	}
	x.Means = Meaning(m.OneOf(string(Reject), string(Approve), string(Escalate)))
	if r, ok := f.Get("reason"); ok {
		x.Reason = r.Text()
	}
	if x.Means == Escalate {
		e := Escalation{After: x.After}
		e.Groups, e.Priority = q.more(n, f)
		q.Escalations = append(q.Escalations, e)
		return
	}
	for _, key := range []string{"groups", "priority"} {
		if k, ok := f.Get(key); ok {
			k.Problem("belongs to means: escalate")
		}
	}
	switch {
	case x.Means == Approve && x.Reason == "":
		n.Problem(`the key "reason" is missing: say why what nobody looked at is approved`)
	case x.Means == Approve && q.Approvals > 1:
		m.Problem("a queue that needs %d people cannot approve without any", q.Approvals)
	}
	q.Expiry = x
}

func (q *Queue) notify(n strictyaml.Node) {
	f, ok := n.Fields("mail", "chat", "before_due")
	if !ok {
		return
	}
	if m, ok := f.Get("mail"); ok {
		for _, i := range m.Items() {
			text := i.Text()
			if a, err := mail.ParseAddress(text); text != "" && (err != nil || a.Address != text) {
				i.Problem("%q is not a mail address; write it as reviews@example.com", strictyaml.Clip(text))
			}
			q.Notify.Mail = append(q.Notify.Mail, text)
		}
	}
	if c, ok := f.Get("chat"); ok {
		if q.Notify.Chat = c.Text(); q.Notify.Chat != "" && !filepath.IsAbs(q.Notify.Chat) {
			c.Problem("must be the absolute path of a file that holds the webhook's URL, which is a secret")
		}
	}
	if b, ok := f.Get("before_due"); ok {
		if q.Notify.BeforeDue = business(f, "before_due"); q.Notify.BeforeDue >= q.Due {
			b.Problem("must be shorter than due, %s", strictyaml.Short(q.Due))
		}
	}
	if len(q.Notify.Mail) == 0 && q.Notify.Chat == "" {
		n.Problem("tells nobody; name mail, chat, or both")
	}
}

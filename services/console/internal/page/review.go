package page

import (
	"fmt"
	"math"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	reviewv1 "sabha.dev/gen/sabha/review/v1"
	"sabha.dev/services/console/internal/desk"
	"sabha.dev/services/console/internal/diff"
	"sabha.dev/services/console/internal/form"
)

// ReviewDesk is the list of items, with one of them beside it or none.
type ReviewDesk struct {
	Board *desk.Board
	// Me is who looks at it: organisation/subject.
	Me string
	// Item that is shown; nil for none. Absent says that there is no item with the ID.
	Item   *reviewv1.Detail
	ID     string
	Absent bool
	// Was is the digest of what the reader was shown before the item changed; empty
	// when it has not.
	Was string
	// Operates says that the reader may hand over what others hold. People are those to
	// whom the item may be handed, as far as they are known.
	Operates bool
	People   []string
	// Edit is what the reader makes of the content; nil when it is not being edited.
	Edit *Edit
	Now  time.Time
}

// Title of the window.
func (d ReviewDesk) Title() string {
	switch {
	case d.Absent:
		return "There is no such item"
	case d.Item != nil:
		return excerpt(visible(d.item().GetTitle()), 60) + " · Review"
	case d.Board.Mine > 0:
		return fmt.Sprintf("Review (%d mine)", d.Board.Mine)
	}
	return "Review"
}

func (d ReviewDesk) item() *reviewv1.Item { return d.Item.GetItem() }

// HandsOver tells whether the reader may hand the item over.
func (d ReviewDesk) HandsOver() bool {
	return d.Item != nil && !desk.HasEnded(d.item()) && (d.Operates || d.holds())
}

// holds tells whether the reader holds the item.
func (d ReviewDesk) holds() bool { return d.Me != "" && d.item().GetHolder() == d.Me }

// beside are the addresses of the items before and after the one that is shown.
func (d ReviewDesk) beside() (before, after string) {
	for n, i := range d.Board.Items {
		if i.GetId() != d.ID {
			continue
		}
		if n > 0 {
			before = itemPath(d.Board.Filter, d.Board.Items[n-1].GetId())
		}
		if n+1 < len(d.Board.Items) {
			after = itemPath(d.Board.Filter, d.Board.Items[n+1].GetId())
		}
		return before, after
	}
	// It is not in the list any more, or not on this page of it.
	if len(d.Board.Items) > 0 {
		after = itemPath(d.Board.Filter, d.Board.Items[0].GetId())
	}
	return "", after
}

// alike counts the open items of the list that may be decided together with this one.
func (d ReviewDesk) alike() int {
	n := 0
	for _, i := range d.Board.Items {
		if i.GetBatchKey() == d.item().GetBatchKey() && i.GetMayDecide() && i.GetState() == reviewv1.State_STATE_OPEN {
			n++
		}
	}
	return n
}

// DeskPath is the address of a list.
func DeskPath(f desk.Filter) string { return addressed("/review", f.Values()) }

// ItemPath is the address of an item beside a list.
func ItemPath(f desk.Filter, id string) string { return itemPath(f, id) }

func itemPath(f desk.Filter, id string) string {
	return addressed("/review/"+url.PathEscape(id), f.Values())
}

// actPath is where an action on an item is sent to.
func actPath(f desk.Filter, id, action string) string {
	return addressed("/review/"+url.PathEscape(id)+"/"+action, f.Values())
}

func with(f desk.Filter, id, name, value string) string {
	q := f.Values()
	q.Set(name, value)
	return addressed("/review/"+url.PathEscape(id), q)
}

// ChangedPath is the address of an item that has changed since the reader was shown
// what has the digest.
func ChangedPath(f desk.Filter, id, was string) string { return with(f, id, "was", was) }

func batchPath(key string) string { return addressed("/review/batch", url.Values{"key": {key}}) }

func addressed(path string, q url.Values) string {
	if len(q) == 0 {
		return path
	}
	return path + "?" + q.Encode()
}

// tabName is what a tab is called.
func tabName(t desk.Tab) string {
	return map[desk.Tab]string{desk.Mine: "Assigned to me", desk.Unassigned: "Unassigned", desk.All: "All", desk.Done: "Done"}[t]
}

// tabCount is how many items a tab has; those of Done are not counted.
func tabCount(b *desk.Board, t desk.Tab) string {
	switch t {
	case desk.Mine:
		return strconv.FormatInt(b.Mine, 10)
	case desk.Unassigned:
		return strconv.FormatInt(b.Unassigned, 10)
	case desk.All:
		return strconv.FormatInt(b.Open, 10)
	}
	return ""
}

func kindName(k reviewv1.Kind) string {
	switch k {
	case reviewv1.Kind_KIND_ACTION:
		return "Action"
	case reviewv1.Kind_KIND_CONFIRMATION:
		return "Confirmation"
	}
	return "Result"
}

func outcomeName(s reviewv1.State) (name, tone string) {
	switch s {
	case reviewv1.State_STATE_OPEN:
		return "Open", "info"
	case reviewv1.State_STATE_ASKED:
		return "Waits for an answer", "wait"
	case reviewv1.State_STATE_APPROVED:
		return "Approved", "good"
	case reviewv1.State_STATE_REJECTED:
		return "Rejected", "bad"
	case reviewv1.State_STATE_EXPIRED:
		return "Expired", "warn"
	case reviewv1.State_STATE_CANCELED:
		return "Canceled", ""
	}
	return "Unknown", ""
}

func riskTone(risk string) string {
	return map[string]string{"high": "bad", "medium": "warn"}[risk]
}

// who is a person by name: the organisation is told where there is one.
func (d ReviewDesk) who(person string) string { return nameOf(person, d.Me) }

func nameOf(person, me string) string {
	if person == me && me != "" {
		return "you"
	}
	organisation, subject, found := strings.Cut(person, "/")
	switch {
	case person == "policy":
		return "the policy"
	case !found:
		return visible(person)
	case organisation == "":
		return visible(subject)
	}
	return visible(subject + " (" + organisation + ")")
}

// begun is a sentence that begins with a capital and ends with a full stop.
func begun(s string) string {
	s = strings.TrimSpace(s)
	if s == "" {
		return ""
	}
	r, n := utf8.DecodeRuneInString(s)
	s = strings.ToUpper(string(r)) + s[n:]
	if strings.ContainsAny(s[len(s)-1:], ".!?") {
		return s
	}
	return s + "."
}

// happened is an event in words.
func happened(what string) string {
	return map[string]string{
		"created": "put it into the queue", "claimed": "claimed it", "released": "released it", "reassigned": "handed it over", "claim-expired": "ended a claim that had run out",
		"escalated": "escalated it", "asked": "asked the requester", "answered": "answered", "approved": "approved it", "rejected": "rejected it",
		"expired": "let it expire", "canceled": "canceled it",
	}[what]
}

// approvers are the people who have approved what the item is now.
func approvers(i *reviewv1.Item) []*reviewv1.Decision {
	var by []*reviewv1.Decision
	for _, d := range i.GetDecisions() {
		switch {
		case !d.GetApproved():
		case d.GetEdited() != nil:
			by = []*reviewv1.Decision{d} // those before have not seen the edit
		default:
			by = append(by, d)
		}
	}
	return by
}

func percent(confidence float64) string {
	return strconv.Itoa(int(math.Round(confidence*100))) + " %"
}

func decimal(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

func at(t *timestamppb.Timestamp) time.Time {
	if t == nil {
		return time.Time{}
	}
	return t.AsTime()
}

// edited is the last decision that changed the content; nil without one.
func edited(i *reviewv1.Item) *reviewv1.Decision {
	var last *reviewv1.Decision
	for _, d := range i.GetDecisions() {
		if d.GetEdited() != nil {
			last = d
		}
	}
	return last
}

// around is how many unchanged lines stand beside a change.
const around = 3

// Changes are what makes one content of another.
func Changes(before, after *structpb.Value) []diff.Run {
	return diff.Around(diff.Texts(form.Text(before), form.Text(after)), around)
}

// lines that a field for a text has to begin with.
func lines(text string) string {
	n := strings.Count(text, "\n") + len([]rune(text))/90 + 2
	return strconv.Itoa(min(max(n, 4), 24))
}

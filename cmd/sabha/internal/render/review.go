package render

import (
	"encoding/json"
	"fmt"
	"strings"

	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	reviewv1 "sabha.dev/gen/sabha/review/v1"
)

// Reviews draws what waits for people.
func (s Style) Reviews(items []*reviewv1.Item) []string {
	rows := make([][]string, len(items))
	for n, i := range items {
		rows[n] = []string{s.moment(i.GetDueAt()), i.GetId(), line(i.GetQueue()), i.GetRisk(), reviewState(i), line(i.GetTitle())}
	}
	return s.Table([]string{"DUE", "ITEM", "QUEUE", "RISK", "STATE", "TITLE"}, rows)
}

// reviewState is the state of an item in a word, with the approvals that it has so far and
// its holder.
func reviewState(i *reviewv1.Item) string {
	state := strings.ToLower(strings.TrimPrefix(i.GetState().String(), "STATE_"))
	if given := len(i.GetDecisions()); given > 0 && i.GetState() == reviewv1.State_STATE_OPEN {
		state += fmt.Sprintf(", %d of %d approvals", given, i.GetApprovalsNeeded())
	}
	if i.GetHolder() != "" {
		state += ", held by " + line(i.GetHolder())
	}
	return state
}

func (s Style) moment(t *timestamppb.Timestamp) string {
	if t == nil {
		return "–"
	}
	at := t.AsTime()
	if s.Zone != nil {
		at = at.In(s.Zone)
	}
	return at.Format("2006-01-02 15:04:05")
}

// DigestShown is how many digits of a digest are shown, and needed to decide.
const DigestShown = 12

// Review draws an item with what a decision rests on.
func (s Style) Review(d *reviewv1.Detail) []string {
	i := d.GetItem()
	out := []string{s.paint(bold, line(i.GetTitle()))}
	fact := func(name, value string) {
		if value != "" {
			out = append(out, s.paint(dim, fmt.Sprintf("  %-11s", name))+value)
		}
	}
	fact("state", reviewState(i))
	fact("queue", line(i.GetQueue()))
	fact("due", s.moment(i.GetDueAt()))
	if i.GetExpiresAt() != nil {
		fact("expires", s.moment(i.GetExpiresAt()))
	}
	fact("asked by", line(strings.TrimPrefix(i.GetRequester(), "/"))) // of no organisation
	fact("task", line(i.GetRootTaskId()))
	fact("product", line(i.GetProduct())+", risk "+i.GetRisk())
	if i.Confidence != nil {
		fact("confidence", fmt.Sprintf("%.2f", i.GetConfidence()))
	}
	fact("effect", line(d.GetEffect()))
	for _, reason := range d.GetReasons() {
		fact("reason", line(reason))
	}
	fact("request", line(d.GetRequest()))
	fact("digest", i.GetDigest()[:min(DigestShown, len(i.GetDigest()))])
	out = append(append(out, "", s.paint(bold, "Content")), indented(d.GetContent())...)
	if d.GetOriginal() != nil {
		out = append(append(out, "", s.paint(bold, "Before it was edited")), indented(d.GetOriginal())...)
	}
	if len(d.GetSources()) > 0 {
		out = append(out, "", s.paint(bold, "Sources"))
		for n, x := range d.GetSources() {
			out = append(out, fmt.Sprintf("  [%d] %s %s: %s", n+1, line(x.GetDocument()), line(x.GetLocation()), line(x.GetText())))
		}
	}
	for _, e := range d.GetExchanges() {
		out = append(out, "", fmt.Sprintf("%s asks: %s", line(e.GetAskedBy()), line(e.GetQuestion())), "  "+line(e.GetAnswer()))
	}
	out = append(out, "", s.paint(bold, "History"))
	for _, e := range d.GetHistory() {
		out = append(out, strings.TrimRight(fmt.Sprintf("  %s  %s by %s  %s", s.moment(e.GetAt()), e.GetWhat(), line(e.GetBy()), line(e.GetNote())), " "))
	}
	if !i.GetMayDecide() {
		out = append(out, "", "You may not decide: "+line(i.GetMayNotBecause())+".")
	}
	return out
}

// indented is a text as it is, or any other JSON with one field a line.
func indented(v *structpb.Value) []string {
	text, isText := v.GetKind().(*structpb.Value_StringValue)
	body := ""
	if isText {
		body = text.StringValue
	} else if raw, err := json.MarshalIndent(v.AsInterface(), "", "  "); err == nil {
		body = string(raw)
	}
	var out []string
	for _, l := range strings.Split(Clean(body), "\n") {
		out = append(out, "  "+l)
	}
	return out
}

package page

import (
	"net/url"
	"strings"

	"google.golang.org/protobuf/types/known/structpb"

	reviewv1 "sabha.dev/gen/sabha/review/v1"
	"sabha.dev/services/console/internal/diff"
	"sabha.dev/services/console/internal/form"
)

// Edit is content that is being edited.
type Edit struct {
	// Sent is what the reader has sent so far; nil at the beginning.
	Sent url.Values
	// Problem says why it cannot be taken as it is.
	Problem string

	// fields of a flat object; none of any other content, which is edited as text.
	fields []form.Field
	text   string
	// changes to what it was; nil when they have not been looked at.
	changes []diff.Run
}

// Fill prepares the fields: with the content of the item, or with what was sent.
func (e *Edit) Fill(d *reviewv1.Detail) {
	now := d.GetContent()
	e.fields, _ = form.Of(now, d.GetSchema())
	e.text = form.Text(now)
	if e.Sent == nil {
		return
	}
	edited, err := Edited(d, e.Sent)
	if err != nil && e.Problem == "" {
		e.Problem = err.Error()
	}
	for n := range e.fields {
		e.fields[n].Value = e.Sent.Get(form.Prefix + e.fields[n].Name)
	}
	e.text = strings.ReplaceAll(e.Sent.Get("text"), "\r\n", "\n")
	if edited != nil && err == nil {
		e.changes = Changes(now, edited)
	}
}

func (e *Edit) reason() string {
	if e == nil {
		return ""
	}
	return e.Sent.Get("reason")
}

// Edited is the content of an item as a form left it. The error says what cannot be meant.
func Edited(d *reviewv1.Detail, sent url.Values) (*structpb.Value, error) {
	now := d.GetContent()
	if fields, flat := form.Of(now, d.GetSchema()); flat {
		return form.Read(fields, sent)
	}
	return form.Parse(sent.Get("text"), now)
}

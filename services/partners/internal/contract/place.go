package contract

import (
	"errors"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
)

var english = message.NewPrinter(language.English)

// place tells where data do not fit and by which rule, without the data's own values.
func place(err error) string {
	var invalid *jsonschema.ValidationError
	if !errors.As(err, &invalid) {
		return "it cannot be checked"
	}
	for len(invalid.Causes) > 0 {
		invalid = invalid.Causes[0]
	}
	at := "/" + strings.Join(invalid.InstanceLocation, "/")
	if rule := invalid.ErrorKind.KeywordPath(); len(rule) > 0 {
		switch rule[0] {
		case "required", "type", "additionalProperties":
			return at + ": " + invalid.ErrorKind.LocalizedString(english)
		}
		return at + ": " + strings.Join(rule, "/")
	}
	return at
}

// Package filter is what people keep of their searches: the query of a page under a
// name, for themselves or for everybody of their organisation.
package filter

import (
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"sabha.dev/chassis/identity"
)

// Bounds of a filter.
const (
	maxName  = 80   // characters
	maxQuery = 2000 // bytes
	// Most filters of one person on one page.
	Most = 100
)

// Errors of the store.
var (
	// ErrBad says what a filter lacks; its text is for people.
	ErrBad = errors.New("the filter cannot be saved")
	// ErrMany says that a person has as many filters on a page as can be.
	ErrMany = fmt.Errorf("%w: there are %d already; delete one first", ErrBad, Most)
	// ErrNone says that the person has no such filter.
	ErrNone = errors.New("there is no such filter")
)

// Filter is a saved query.
type Filter struct {
	ID    string
	Owner identity.Principal // organisation and subject
	// Page that the query is of, such as "tasks".
	Page string
	Name string
	// Query is that of the page's address, without the question mark.
	Query string
	// Shared filters are seen by everybody of the organisation.
	Shared  bool
	Created time.Time
}

// Check says what is wrong with a filter that is to be saved. The error is ErrBad.
func (f Filter) Check() error {
	switch n := utf8.RuneCountInString(strings.TrimSpace(f.Name)); {
	case f.Owner.Anonymous() || f.Page == "":
		return fmt.Errorf("%w: it has no owner or no page", ErrBad)
	case n == 0:
		return fmt.Errorf("%w: give it a name", ErrBad)
	case n > maxName:
		return fmt.Errorf("%w: its name may have %d characters", ErrBad, maxName)
	case len(f.Query) > maxQuery:
		return fmt.Errorf("%w: its query may have %d bytes", ErrBad, maxQuery)
	case !utf8.ValidString(f.Name) || !utf8.ValidString(f.Query) || strings.ContainsFunc(f.Name+f.Query, func(r rune) bool { return r < ' ' }):
		return fmt.Errorf("%w: write its name and query in one line", ErrBad)
	}
	return nil
}

// Package card checks agent cards against the A2A specification 1.0, on the
// JSON as it was published, and says where something is wrong and what to do.
package card

import "fmt"

// Severity of a finding.
type Severity string

// The severities. A client may fail on an error; a warning is something that
// works and is not as it should be.
const (
	Error   Severity = "error"
	Warning Severity = "warning"
)

// Finding is one thing that is wrong with a card.
type Finding struct {
	Severity Severity `json:"severity"`
	// Path into the card, such as skills[0].id; empty for the card as a whole.
	Path    string `json:"path,omitempty"`
	Message string `json:"message"`
}

type report struct{ findings []Finding }

func (r *report) errorf(path, format string, args ...any) {
	r.findings = append(r.findings, Finding{Error, path, fmt.Sprintf(format, args...)})
}

func (r *report) warnf(path, format string, args ...any) {
	r.findings = append(r.findings, Finding{Warning, path, fmt.Sprintf(format, args...)})
}

// Valid tells whether no finding is an error.
func Valid(findings []Finding) bool {
	for _, f := range findings {
		if f.Severity == Error {
			return false
		}
	}
	return true
}

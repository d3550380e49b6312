// Package grounding decides whether the passages that an answer cites say what
// the answer claims. It compares facts (numbers with their units, dates, names,
// negation, opposites) and the words around them; it needs no model and gives a
// reason for every verdict.
package grounding

import "context"

// Verdict is what the passages say about a claim.
type Verdict string

const (
	// Supported means that the cited passages say it.
	Supported Verdict = "supported"
	// Contradicted means that a passage states something that excludes the claim.
	Contradicted Verdict = "contradicted"
	// Unsupported means that no passage the claim rests on says it.
	Unsupported Verdict = "unsupported"
	// Uncited means that a passage says it but the claim does not cite one.
	Uncited Verdict = "uncited"
)

// Passage is a piece of a document that an answer may rest on.
type Passage struct {
	ID       string
	Document string
	// HeadingPath is the headings above the passage, outermost first.
	HeadingPath []string
	// Start and End are byte offsets of the passage in its document.
	Start, End int
	Text       string
}

// Citation binds a marker as it is written in the answer, without brackets, to
// the id of a passage.
type Citation struct {
	Marker, Passage string
}

// Finding is a claim with its verdict.
type Finding struct {
	Claim
	Verdict Verdict
	// Score is how well the passages carry the claim, in [0,1]; 1 is an exact quote.
	Score float64
	// Passages are the ids of the passages that the verdict rests on.
	Passages []string
	// Reasons are sentences that explain the verdict; there is always at least one.
	Reasons []string
}

// Scores of the cases that are not a plain match. They order the cases; a claim
// at or above 0.7 is one that the default threshold lets pass on its own.
const (
	// uncitedFactor scales a claim that a passage supports but that cites none.
	uncitedFactor = 0.85
	// fabricatedScore bounds a supported claim that also cites a passage that does not exist.
	fabricatedScore = 0.6
	// disputedScore bounds a claim that one cited passage supports and another excludes.
	disputedScore = 0.6
	// misplacedScore is for a claim that only a passage it does not cite supports.
	misplacedScore = 0.3
)

// Check splits the answer into claims and compares each with the passages it
// cites. citations may be empty: then marker n is the n-th passage, counted
// from 1, and a marker equal to a passage's id is that passage. The error is
// that of a context which ends before all claims are judged.
func Check(ctx context.Context, answer string, passages []Passage, citations []Citation) ([]Finding, error) {
	library := newLibrary(passages, citations)
	var claims []Claim
	var texts []*sentence
	for _, c := range split(answer, library.known) {
		if s := read(c.Text); s.states() {
			claims, texts = append(claims, c), append(texts, s)
		}
	}
	names := properNames(texts, library)
	findings := make([]Finding, 0, len(claims))
	for i, c := range claims {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		findings = append(findings, library.judge(c, texts[i], names))
	}
	return findings, nil
}

package grounding

// issueKind is what a check found.
type issueKind int

const (
	numberDiffers issueKind = iota // the evidence has another number in its place
	numberMissing                  // the evidence has no such number
	numberMoved                    // the evidence has the number for something else
	boundTurned                    // at least, where the evidence says at most
	dateDiffers                    // the evidence has another date in its place
	dateMissing                    // the evidence has no such date
	dateMoved                      // the evidence has the date for something else
	nameDiffers                    // the evidence has another name in its place
	nameMissing                    // the evidence has no such name
	nameMoved                      // the evidence has the name for something else
	partMissing                    // a clause of the claim is not there
	denied                         // one denies what the other states
	opposite                       // a word of the claim excludes one of the evidence
	orderTurned                    // two sides have changed places
	actorDiffers                   // somebody else does it
	scopeWidened                   // all, always or any, where the evidence restricts
	scopeUnsaid                    // all, always or any, of which the evidence says nothing
	onlyUnsaid                     // only, of which the evidence says nothing
	onlyDenied                     // only, where the evidence names others
	conditionLost                  // what holds on a condition is claimed without one
	kindsOfIssue
)

// excludes tells whether the issue is one that makes the claim false, not merely unsaid.
func (k issueKind) excludes() bool {
	switch k {
	case numberMissing, dateMissing, nameMissing, partMissing, scopeUnsaid, onlyUnsaid:
		return false
	}
	return true
}

// issue is one difference between a claim and the evidence, with the sentence that tells of it.
type issue struct {
	kind issueKind
	text string
}

func (c *comparison) found(kind issueKind, text string) {
	c.issues = append(c.issues, issue{kind, text})
}

// has tells whether the comparison found an issue of one of the kinds.
func (c *comparison) has(kinds ...issueKind) bool {
	for _, i := range c.issues {
		for _, k := range kinds {
			if i.kind == k {
				return true
			}
		}
	}
	return false
}

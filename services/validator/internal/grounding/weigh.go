package grounding

// lightWeight is what a word counts that says little of the matter.
const (
	lightWeight = 0.4
	nameWeight  = 0.9
	modalWeight = 0.2
)

// modals say what may or must be; they matter for whether claim and evidence
// agree, and little for what they speak of.
var modals = wordSet("may can could must")

// weighWords counts the claim's words and those of weight that the evidence lacks.
func (c *comparison) weighWords(claim *sentence, names nameSet) {
	c.words = claim.size()
	for _, t := range claim.tokens {
		if t.content() && !english.light[t.stem] && !names.is(t) && c.evidence.match(t) < 0.5 {
			c.fresh++
		}
	}
}

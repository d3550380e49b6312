package grounding

import (
	"fmt"
	"slices"
	"strings"
)

const (
	// sameWordsScore is for a claim of which the evidence has every word and fact.
	sameWordsScore = 0.95
	// novelScore bounds a claim of which half or more, and two words at least, is not there.
	novelScore = 0.45
	// conflictScore bounds a claim of which a value differs or is not there, or that is denied word by word.
	conflictScore = 0.4
	// firmCoverage is the share of the claim that passages together have to have.
	firmCoverage = 0.8
	// leastCoverage is the share below which a passage speaks of something else.
	leastCoverage = 0.3
	// strongSupport is the score at which a passage that is not cited outweighs a
	// cited one that seems to contradict: the citation is wrong, not the claim.
	strongSupport = 0.9
)

// outcome of comparing a claim with passages.
type outcome struct {
	verdict Verdict
	score   float64
	sources []*source
	reasons []string
	// firm says that the evidence speaks of nearly all that the claim speaks of.
	firm bool
}

// judge compares one claim with what it cites.
func (l *library) judge(c Claim, claim *sentence, names nameSet) Finding {
	f := Finding{Claim: c}
	cited, missing := l.cited(c.Citations)
	var o outcome
	switch {
	case len(c.Citations) == 0:
		o = l.uncited(c, claim, names)
	case len(cited) == 0:
		o = l.fabricated(claim, missing, names)
	default:
		o = l.against(cited, claim, names)
		if len(missing) > 0 {
			o.score = min(o.score, fabricatedScore)
			o.reasons = append(o.reasons, l.missing(missing))
		}
	}
	f.Verdict, f.Score, f.Reasons = o.verdict, o.score, o.reasons
	for _, s := range o.sources {
		f.Passages = append(f.Passages, s.ID)
	}
	return f
}

func (l *library) missing(markers []string) string {
	if len(markers) == 1 {
		return fmt.Sprintf("citation [%s] does not exist: %s", markers[0], l.extent())
	}
	return fmt.Sprintf("citations [%s] do not exist: %s", strings.Join(markers, "], ["), l.extent())
}

func (l *library) fabricated(claim *sentence, missing []string, names nameSet) outcome {
	o := outcome{verdict: Unsupported, reasons: []string{l.missing(missing)}}
	if other := best(l.sources, claim, names); other.verdict == Supported {
		o.reasons = append(o.reasons, fmt.Sprintf("%s says so but is not cited", labels(other.sources)))
	}
	return o
}

func (l *library) uncited(c Claim, claim *sentence, names nameSet) outcome {
	if len(c.Shared) > 0 {
		if cited, _ := l.cited(c.Shared); len(cited) > 0 {
			if o := best(cited, claim, names); o.verdict == Supported {
				o.reasons = append(o.reasons, "the citation behind the paragraph covers it")
				return o
			}
		}
	}
	o := best(l.sources, claim, names)
	switch o.verdict {
	case Supported:
		o.verdict = Uncited
		o.score *= uncitedFactor
		o.reasons = append(o.reasons, "the claim cites no passage")
	case Unsupported:
		if len(l.sources) == 0 {
			o.reasons = []string{"there are no passages to rest on"}
		} else {
			o.reasons = append([]string{"the claim cites no passage, and none says so"}, o.reasons...)
		}
	}
	return o
}

// against compares the claim with the passages it cites: with the one that fits
// best, and where that does not say it with all of them together.
func (l *library) against(cited []*source, claim *sentence, names nameSet) outcome {
	c := choose(cited, claim, names)
	o := decide(claim, c)
	if o.verdict == Supported {
		for _, s := range cited {
			if s == o.sources[0] {
				continue
			}
			switch other := decide(claim, fit(s, claim, names)); {
			case other.verdict == Supported:
				o.sources = append(o.sources, s)
				o.reasons = append(o.reasons, other.reasons...)
			case other.verdict == Contradicted && other.firm:
				o.score = min(o.score, disputedScore)
				o.reasons = append(o.reasons, other.reasons...)
			}
		}
		return o
	}
	if len(cited) > 1 {
		if joint := together(cited, claim, names); joint.verdict == Supported && joint.firm && o.verdict != Contradicted {
			return joint
		}
	}
	if others := l.except(cited); len(others) > 0 {
		if found := best(others, claim, names); found.verdict == Supported && (o.verdict != Contradicted || found.score >= strongSupport) {
			return outcome{
				verdict: Unsupported, score: misplacedScore, sources: found.sources,
				reasons: append([]string{fmt.Sprintf("%s does not say so; %s does", labels(cited), labels(found.sources))}, o.reasons...),
			}
		}
	}
	return o
}

func (l *library) except(cited []*source) []*source {
	skip := map[*source]bool{}
	for _, s := range cited {
		skip[s] = true
	}
	var out []*source
	for _, s := range l.sources {
		if !skip[s] {
			out = append(out, s)
		}
	}
	return out
}

// best is the outcome of the passage that fits the claim best.
func best(sources []*source, claim *sentence, names nameSet) outcome {
	if len(sources) == 0 {
		return outcome{verdict: Unsupported}
	}
	return decide(claim, choose(sources, claim, names))
}

// choose is the comparison with the passage that has most of the claim, and of
// those that have about as much the one that differs least.
func choose(sources []*source, claim *sentence, names nameSet) comparison {
	var top comparison
	value := -1.0
	for _, s := range sources {
		c := fit(s, claim, names)
		if v := c.value(); v > value {
			top, value = c, v
		}
	}
	return top
}

// value orders comparisons of one claim.
func (c *comparison) value() float64 {
	if c.quoted {
		return 2
	}
	v := c.coverage
	if len(c.issues) > 0 {
		v -= 0.04
	}
	return v
}

// together joins the best sentences of several passages.
func together(sources []*source, claim *sentence, names nameSet) outcome {
	var e evidence
	for _, s := range sources {
		c := fit(s, claim, names)
		e.sources = append(e.sources, s)
		e.sentences = append(e.sentences, c.evidence.sentences...)
		e.headings = append(e.headings, s.heading)
	}
	return decide(claim, compare(claim, e, names))
}

// fit finds the sentences of a passage that carry the claim best.
func fit(s *source, claim *sentence, names nameSet) comparison {
	if quoted(s.flat, claim.text) {
		return comparison{evidence: evidence{sources: []*source{s}}, coverage: 1, quoted: true}
	}
	top := comparison{evidence: evidence{sources: []*source{s}}}
	value := -1.0
	for _, e := range s.windows(claim) {
		reach := e.coverage(claim, names) - 0.03*float64(len(e.sentences)-1)
		if reach < value-0.05 {
			continue
		}
		c := compare(claim, e, names)
		v := reach
		if len(c.issues) > 0 {
			v -= 0.04
		}
		if v > value {
			top, value = c, v
		}
	}
	top.rivals(claim, s, names)
	return top
}

// quoted tells whether the text stands in the passage word for word, from the
// beginning of a sentence to a stop.
func quoted(flat, text string) bool {
	want := strings.TrimRight(flatten(text), ".!?;: ")
	if len(strings.Fields(want)) < 2 {
		return false
	}
	for from := 0; ; {
		i := strings.Index(flat[from:], want)
		if i < 0 {
			return false
		}
		i += from
		before, after := strings.TrimRight(flat[:i], " ()*"), flat[i+len(want):]
		if (before == "" || strings.ContainsAny(before[len(before)-1:], ".!?:;"+blockEnd)) && (after == "" || strings.ContainsAny(after[:1], ".!?;:"+blockEnd)) {
			return true
		}
		from = i + 1
	}
}

// decide turns a comparison into a verdict.
func decide(claim *sentence, c comparison) outcome {
	sources := c.evidence.sources
	label := labels(sources)
	if c.quoted {
		return outcome{Supported, 1, sources, []string{fmt.Sprintf("quoted word for word from %s", label)}, true}
	}
	p := c.weigh()
	said := ""
	if s := c.closest(claim); s != nil {
		said = fmt.Sprintf("%s says: %q", label, quote(s.text))
	}
	o := outcome{Unsupported, p.supported, sources, nil, false}
	if c.fresh >= 2 && c.fresh*2 >= c.words {
		o.score = min(o.score, novelScore)
	}
	if c.conflicts() {
		o.score = min(o.score, conflictScore)
	}
	if c.sameWords() {
		o.score = max(o.score, sameWordsScore)
	}
	issues := c.issues
	if c.rival != nil {
		issues = append(slices.Clone(issues), c.rival.issue)
	}
	for _, i := range issues {
		o.reasons = append(o.reasons, fmt.Sprintf("%s: %s", label, i.text))
	}
	switch {
	case o.score >= 0.5:
		o.verdict = Supported
		o.firm = c.coverage >= firmCoverage && len(c.issues) == 0
	case p.contradicted >= p.unsaid && c.speaksAgainst():
		o.verdict = Contradicted
		o.firm = c.coverage >= contextCoverage
	case len(o.reasons) == 0:
		o.reasons = append(o.reasons, fmt.Sprintf("%s has %.0f%% of what the claim says, which is not enough", label, 100*c.coverage))
	}
	if said != "" && o.verdict != Unsupported {
		if o.verdict == Supported {
			o.reasons = nil
		}
		o.reasons = append(o.reasons, said)
	}
	return o
}

// sameWords tells whether the evidence has everything that the claim has and nothing speaks against it.
func (c *comparison) sameWords() bool {
	return c.coverage >= 0.99 && c.fresh == 0 && c.disagree == 0 && !c.turned && len(c.issues) == 0 && c.rival == nil
}

// conflicts tells whether something found makes the claim unfit whatever the weights say of the rest.
func (c *comparison) conflicts() bool {
	return c.has(numberDiffers, dateDiffers, nameDiffers) || c.stated == 0 && c.fresh > 0 && c.has(numberMissing, dateMissing) || c.fresh == 0 && c.has(denied)
}

// speaksAgainst tells whether there is something to name that makes the claim
// false, and not merely that much of it is not there.
func (c *comparison) speaksAgainst() bool {
	if c.has(nameMissing) || c.coverage < leastCoverage {
		return false
	}
	for _, i := range c.issues {
		if i.kind.excludes() || c.coverage >= contextCoverage && (i.kind == scopeUnsaid || i.kind == onlyUnsaid) {
			return true
		}
	}
	return c.rival != nil || c.turned
}

func labels(sources []*source) string {
	var b strings.Builder
	for _, s := range sources {
		b.WriteString("[" + s.label + "]")
	}
	return b.String()
}

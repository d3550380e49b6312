package grounding

import (
	"fmt"
	"strings"
)

// supportCoverage is the share of a claim's words and facts that a passage must
// have before it supports the claim; contextCoverage the share that makes a
// conflicting fact one about the same matter. Both were chosen on the labelled
// cases in testdata/tuning.yaml.
const (
	supportCoverage = 0.6
	contextCoverage = 0.5
	// shortCoverage takes the place of supportCoverage for claims of fewer than
	// shortClaim words and facts, where one missing word is much of the claim.
	shortCoverage = 0.7
	shortClaim    = 5
	// strongSupport is the score at which a passage that is not cited outweighs a
	// cited one that seems to contradict: the citation is wrong, not the claim.
	strongSupport = 0.9
	// weakestSupport is the score of a claim that is just supported.
	weakestSupport = 0.75
)

// outcome of comparing a claim with passages.
type outcome struct {
	verdict Verdict
	score   float64
	sources []*source
	reasons []string
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

// against compares the claim with the passages it cites, one by one and then together.
func (l *library) against(cited []*source, claim *sentence, names nameSet) outcome {
	var supporting, opposing, rest []outcome
	for _, s := range cited {
		o := best([]*source{s}, claim, names)
		switch o.verdict {
		case Supported:
			supporting = append(supporting, o)
		case Contradicted:
			opposing = append(opposing, o)
		default:
			rest = append(rest, o)
		}
	}
	if len(supporting) > 0 {
		o := supporting[0]
		for _, other := range supporting[1:] {
			if other.score > o.score {
				other.sources = append(other.sources, o.sources...)
				other.reasons = append(other.reasons, o.reasons...)
				o = other
			} else {
				o.sources = append(o.sources, other.sources...)
				o.reasons = append(o.reasons, other.reasons...)
			}
		}
		for _, other := range opposing {
			o.score = min(o.score, disputedScore)
			o.reasons = append(o.reasons, other.reasons...)
		}
		return o
	}
	if len(cited) > 1 {
		if o := together(cited, claim, names); o.verdict == Supported {
			return o
		}
	}
	var o outcome
	if len(opposing) > 0 {
		o = opposing[0]
	} else {
		o = rest[0]
		for _, other := range rest[1:] {
			if other.score > o.score {
				o = other
			}
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
	top := outcome{verdict: Unsupported}
	found := false
	for _, s := range sources {
		o := decide(claim, fit(s, claim, names))
		if !found || rank(o) > rank(top) {
			top, found = o, true
		}
	}
	return top
}

// rank orders outcomes: support, then contradiction, then the closest miss.
func rank(o outcome) float64 {
	switch o.verdict {
	case Supported:
		return 2 + o.score
	case Contradicted:
		return 1
	}
	return o.score
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
		if len(c.conflicts)+len(c.missing) > 0 {
			v -= 0.04
		}
		if v > value {
			top, value = c, v
		}
	}
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
	needed := supportCoverage
	if claim.size() < shortClaim {
		needed = shortCoverage
	}
	said := ""
	if s := c.closest(claim); s != nil {
		said = quote(s.text)
	}
	switch {
	case c.quoted:
		return outcome{Supported, 1, sources, []string{fmt.Sprintf("quoted word for word from %s", label)}}
	case len(c.conflicts) > 0 && c.coverage >= contextCoverage:
		o := outcome{Contradicted, 0, sources, nil}
		for _, r := range c.conflicts {
			o.reasons = append(o.reasons, fmt.Sprintf("%s: %s", label, r))
		}
		if said != "" {
			o.reasons = append(o.reasons, fmt.Sprintf("%s says: %q", label, said))
		}
		return o
	case len(c.missing) > 0 || len(c.conflicts) > 0:
		o := outcome{Unsupported, 0.4 * c.coverage, sources, nil}
		for _, r := range append(c.missing, c.conflicts...) {
			o.reasons = append(o.reasons, fmt.Sprintf("%s: %s", label, r))
		}
		return o
	case c.coverage >= needed:
		score := weakestSupport + (1-weakestSupport)*(c.coverage-needed)/(1-needed)
		return outcome{Supported, score, sources, []string{fmt.Sprintf("%s says: %q", label, said)}}
	}
	return outcome{Unsupported, 0.4 * c.coverage, sources, []string{
		fmt.Sprintf("%s has %.0f%% of what the claim says, less than the %.0f%% that support needs", label, 100*c.coverage, 100*needed),
	}}
}

func labels(sources []*source) string {
	var b strings.Builder
	for _, s := range sources {
		b.WriteString("[" + s.label + "]")
	}
	return b.String()
}

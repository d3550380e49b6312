package judgement

import (
	"fmt"
	"math"
	"strings"

	"sabha.dev/services/validator/internal/grounding"
)

// brokenFactor scales the confidence for every rule that is broken and every
// number that is wrong: one is enough to fall under any sensible threshold.
const brokenFactor = 0.3

// weigh gives the confidence and its reasons.
//
// The claims give the geometric mean of their average and the weakest of them:
// one claim alone keeps its score, which is a probability, and one invented
// sentence among many sound ones still counts. Without claims it begins at 1 if anything else was
// checked. Every failed assertion and recomputation then scales it by 0.3.
func (j Judgement) weigh() (float64, []string) {
	if len(j.Claims)+len(j.Assertions)+len(j.Computations) == 0 {
		return 0, []string{"nothing could be checked: the answer makes no claim, and there are no rules and no numbers"}
	}
	confidence := 1.0
	var reasons []string
	if len(j.Claims) > 0 {
		sum, weakest := 0.0, 1.0
		for _, c := range j.Claims {
			sum += c.Score
			weakest = min(weakest, c.Score)
		}
		confidence = math.Sqrt(sum / float64(len(j.Claims)) * weakest)
	}
	for _, verdict := range []grounding.Verdict{grounding.Contradicted, grounding.Unsupported} {
		for i, c := range j.Claims {
			if c.Verdict == verdict {
				reasons = append(reasons, fmt.Sprintf("claim %d is %s (%s): %s", i+1, verdict, brief(c.Text), strings.Join(c.Reasons, "; ")))
			}
		}
	}
	broken := 0
	for _, a := range j.Assertions {
		if !a.Passed {
			broken++
			reasons = append(reasons, fmt.Sprintf("assertion %s failed: %s", a.Name, a.Reason))
		}
	}
	for _, c := range j.Computations {
		if !c.Passed {
			broken++
			reasons = append(reasons, fmt.Sprintf("the arithmetic of %q is wrong: %s", c.Text, c.Reason))
		}
	}
	confidence *= math.Pow(brokenFactor, float64(broken))
	for i, c := range j.Claims {
		switch {
		case c.Verdict == grounding.Uncited:
			reasons = append(reasons, fmt.Sprintf("claim %d cites no passage (%s)", i+1, brief(c.Text)))
		case c.Verdict == grounding.Supported && c.Score < 0.7:
			reasons = append(reasons, fmt.Sprintf("claim %d is doubtful (%s): %s", i+1, brief(c.Text), strings.Join(c.Reasons, "; ")))
		}
	}
	return round(confidence), append(reasons, j.tally())
}

// tally counts what was checked.
func (j Judgement) tally() string {
	var parts []string
	if n := len(j.Claims); n > 0 {
		count := map[grounding.Verdict]int{}
		for _, c := range j.Claims {
			count[c.Verdict]++
		}
		var kinds []string
		for _, v := range []grounding.Verdict{grounding.Supported, grounding.Uncited, grounding.Unsupported, grounding.Contradicted} {
			if count[v] > 0 {
				kinds = append(kinds, fmt.Sprintf("%d %s", count[v], v))
			}
		}
		parts = append(parts, fmt.Sprintf("claims: %s", strings.Join(kinds, ", ")))
	}
	passed := func(name string, n int, ok func(int) bool) {
		good := 0
		for i := range n {
			if ok(i) {
				good++
			}
		}
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%s: %d of %d hold", name, good, n))
		}
	}
	passed("assertions", len(j.Assertions), func(i int) bool { return j.Assertions[i].Passed })
	passed("recomputed numbers", len(j.Computations), func(i int) bool { return j.Computations[i].Passed })
	return strings.Join(parts, "; ")
}

// Headline is the judgement in one sentence. The confidence is cut, not rounded,
// so that 0.699 does not read as 0.70.
func (j Judgement) Headline() string {
	relation := "at or over"
	if j.Verdict == Fail {
		relation = "under"
	}
	return fmt.Sprintf("%s: confidence %.2f, %s the threshold of %.2f.",
		strings.ToUpper(string(j.Verdict)), math.Floor(j.Confidence*100)/100, relation, j.Threshold)
}

// Summary is the judgement in a few lines of text.
func (j Judgement) Summary() string {
	var b strings.Builder
	b.WriteString(j.Headline())
	const most = 5
	for i, r := range j.Reasons {
		if i == most {
			fmt.Fprintf(&b, "\n- and %d more", len(j.Reasons)-most)
			break
		}
		b.WriteString("\n- " + r)
	}
	return b.String()
}

func brief(s string) string {
	if r := []rune(s); len(r) > 80 {
		return `"` + string(r[:79]) + `…"`
	}
	return `"` + s + `"`
}

// round keeps four decimals: more would claim a precision that is not there.
func round(v float64) float64 { return math.Floor(v*10000) / 10000 }

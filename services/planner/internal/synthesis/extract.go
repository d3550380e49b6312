package synthesis

import (
	"cmp"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// How much a word of the question counts by where it stands. Chosen on testdata/questions.yaml.
const (
	inUnit    = 1.0
	inLead    = 0.7 // heading path, title, introducing sentence, table header
	inBefore  = 0.5 // the sentence before: "It …" speaks of what was named there
	proximate = 0.15
	defining  = 0.1
	numeral   = 0.1
	duplicate = 0.6 // the share of equal words from which two quotes say the same
	trailing  = 0.6 // a further quote has at least this share of the best score
)

// Extract answers by quoting. The same request gives the same answer.
func Extract(req Request) Answer {
	q := newQuestion(req)
	ranked := q.rank()
	if len(ranked) == 0 || ranked[0].relevance < req.MinRelevance {
		return unanswered(len(req.Passages))
	}
	chosen := choose(ranked, req)
	slices.SortStableFunc(chosen, func(a, b scored) int {
		return cmp.Or(cmp.Compare(a.passage, b.passage), cmp.Compare(a.order, b.order))
	})
	// The passage with the best quote speaks first.
	best := ranked[0].passage
	slices.SortStableFunc(chosen, func(a, b scored) int {
		switch {
		case a.passage == b.passage:
			return 0
		case a.passage == best:
			return -1
		case b.passage == best:
			return 1
		}
		return 0
	})
	var c cite
	lines := make([]string, len(chosen))
	for i, s := range chosen {
		lines[i] = fmt.Sprintf("%s [%d]", s.text, c.marker(req.Passages[s.passage]))
		if len(chosen) > 1 {
			lines[i] = "- " + lines[i]
		}
	}
	return Answer{Text: strings.Join(lines, "\n"), Answered: true, Method: Extractive, Citations: c.citations}
}

// scored is a unit with its worth as an answer.
type scored struct {
	unit
	relevance float64 // the part of the question it covers, in [0,1]
	score     float64 // orders units
	terms     map[string]bool
	covers    map[string]bool // terms of the question it has itself or by its lead
}

// question is what units are compared with.
type question struct {
	req    Request
	terms  []string // distinct, in order
	weight map[string]float64
	total  float64
	units  []unit
	own    []map[string]bool // terms of each unit
}

func newQuestion(req Request) *question {
	q := &question{req: req, weight: map[string]float64{}}
	for i, p := range req.Passages {
		q.units = append(q.units, units(i, p.Text)...)
	}
	for _, u := range q.units {
		q.own = append(q.own, termSet(u.text))
	}
	for _, t := range terms(asked.ReplaceAllString(req.Question, "how ")) {
		if _, known := q.weight[t]; known {
			continue
		}
		n := 0
		for _, set := range q.own {
			if set[t] {
				n++
			}
		}
		// Rare words say what a question is about; one that stands nowhere is the rarest.
		w := math.Log(1 + (float64(len(q.units)-n)+0.5)/(float64(n)+0.5))
		q.terms, q.weight[t] = append(q.terms, t), w
		q.total += w
	}
	return q
}

// asked finds "how long" and the like: the second word asks, it is not what the answer speaks of.
var asked = regexp.MustCompile(`(?i)\bhow (?:long|often|many|much)\b`)

// rank gives the units that say something about the question, best first.
func (q *question) rank() []scored {
	var out []scored
	if q.total == 0 {
		return nil
	}
	for i, u := range q.units {
		if s, ok := q.score(u, q.own[i]); ok {
			out = append(out, s)
		}
	}
	slices.SortStableFunc(out, func(a, b scored) int { return cmp.Compare(b.score, a.score) })
	return out
}

func (q *question) score(u unit, own map[string]bool) (scored, bool) {
	p := q.req.Passages[u.passage]
	lead := termSet(append(slices.Clone(p.HeadingPath), p.Title, u.lead)...)
	before := termSet(u.before)
	s := scored{unit: u, terms: own, covers: map[string]bool{}}
	covered, mine := 0.0, 0.0
	for _, t := range q.terms {
		w := q.weight[t]
		switch {
		case own[t]:
			covered += w * inUnit
			mine += w
			s.covers[t] = true
		case lead[t]:
			covered += w * inLead
			s.covers[t] = true
		case before[t]:
			covered += w * inBefore
		}
	}
	if covered == 0 || !q.informs(u, own) {
		return scored{}, false
	}
	s.relevance = covered / q.total
	s.score = s.relevance + proximate*q.proximity(u) + 0.2*mine/q.total
	if q.defines(u) {
		s.score += defining
	}
	if q.asksNumber() && strings.IndexFunc(u.text, unicode.IsDigit) >= 0 {
		s.score += numeral
	}
	if n := len(words(u.text)); n < 4 || n > 60 {
		s.score *= 0.8
	}
	if p.Confidence >= 0 {
		s.score *= 0.8 + 0.2*p.Confidence
	}
	return s, true
}

// informs leaves out questions and what only repeats the question.
func (q *question) informs(u unit, own map[string]bool) bool {
	if strings.HasSuffix(u.text, "?") {
		return false
	}
	for t := range own {
		if _, asked := q.weight[t]; !asked {
			return true
		}
	}
	return strings.Contains(u.text, "`")
}

// proximity is 1 when the question's words stand side by side in the unit, less the farther apart
// they stand, and 0 for fewer than two of them.
func (q *question) proximity(u unit) float64 {
	last, lastTerm, pairs, sum := -1, "", 0, 0.0
	for i, w := range words(u.text) {
		t := stem(w)
		if _, asked := q.weight[t]; !asked || stopWords[w] {
			continue
		}
		if last >= 0 && t != lastTerm {
			pairs++
			sum += 1 / float64(i-last)
		}
		last, lastTerm = i, t
	}
	if pairs == 0 {
		return 0
	}
	return sum / float64(pairs)
}

// defines reports whether the question asks what something is and the unit begins with it.
func (q *question) defines(u unit) bool {
	w := words(q.req.Question)
	if len(w) < 2 || w[0] != "what" || w[1] != "is" && w[1] != "are" || len(q.terms) == 0 || len(q.terms) > 3 {
		return false
	}
	begin := words(u.text)
	for _, b := range begin[:min(len(begin), 1+len(q.terms))] {
		if stem(b) == q.terms[len(q.terms)-1] {
			return true
		}
	}
	return false
}

func (q *question) asksNumber() bool {
	text := strings.ToLower(q.req.Question)
	for _, s := range []string{"how many", "how much", "how long", "how often", "how fast", "how large", "how big", "how old", "what percentage", "when "} {
		if strings.Contains(text, s) {
			return true
		}
	}
	return false
}

// choose takes the best units one by one; each further one must be good, and say something else.
func choose(ranked []scored, req Request) []scored {
	var out []scored
	covered := map[string]bool{}
	for _, s := range ranked {
		if len(out) == req.MaxSentences {
			break
		}
		if len(out) > 0 && (s.score < trailing*ranked[0].score || s.relevance < req.MinRelevance*trailing) {
			continue
		}
		if slices.ContainsFunc(out, func(o scored) bool { return overlap(s.terms, o.terms) >= duplicate }) {
			continue
		}
		if len(out) > 0 && !adds(s, covered) && s.score < 0.85*ranked[0].score {
			continue
		}
		for t := range s.covers {
			covered[t] = true
		}
		out = append(out, s)
	}
	return out
}

// adds reports whether a unit covers a word of the question that no chosen one does.
func adds(s scored, covered map[string]bool) bool {
	for t := range s.covers {
		if !covered[t] {
			return true
		}
	}
	return false
}

// overlap is the share of equal terms, relative to the smaller set.
func overlap(a, b map[string]bool) float64 {
	same := 0
	for t := range a {
		if b[t] {
			same++
		}
	}
	if n := min(len(a), len(b)); n > 0 {
		return float64(same) / float64(n)
	}
	return 0
}

package screening

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// Classes of findings.
const (
	Injection    = "prompt-injection"
	Jailbreak    = "jailbreak"
	Exfiltration = "exfiltration"
	Escalation   = "privilege-escalation"
	Command      = "unsafe-command"
	Forgery      = "forged-structure"
	Obfuscation  = "obfuscation"
)

// rule is one signal: how it is found, what it means, how much it weighs.
type rule struct {
	id, class string
	// weight in (0,1) is how likely a message with this signal alone is an attack.
	weight float64
	// reason is the sentence that a person reads.
	reason string
	// phrases are sequences of concepts: "revoke 3 prior|all 3 govern" is a word of
	// revoke, within three more words one of prior or all, within three one of govern.
	phrases []string
	// direct signals speak to the agent itself, so that a question is no excuse.
	direct bool
	// negatable signals mean the opposite after a "not": "do not forget the rules".
	negatable bool
	// unless names a concept that, in the same segment, makes the signal a discussion.
	unless string
	// pattern finds structure in the folded text where one of the needles occurs.
	// It is RE2, so its time is linear.
	pattern string
	needles []string
}

type step struct {
	any set
	// within is how many words may lie between this step and the one before.
	within int
}

type phrase struct {
	rule  int
	steps []step
}

type structure struct {
	rule    int
	needles []string
	pattern *regexp.Regexp
}

type ruleset struct {
	rules      []rule
	phrases    []phrase
	structures []structure
	// starting holds, for each concept, the phrases that can start with it.
	starting [128][]int
}

func compile(rules []rule, l *lexicon) (*ruleset, error) {
	rs := &ruleset{rules: rules}
	seen := map[string]bool{}
	for i, r := range rules {
		if seen[r.id] {
			return nil, fmt.Errorf("rule %s is there twice", r.id)
		}
		seen[r.id] = true
		if r.weight <= 0 || r.weight >= 1 {
			return nil, fmt.Errorf("rule %s: weight %v is outside (0,1)", r.id, r.weight)
		}
		for _, p := range r.phrases {
			steps, err := parsePhrase(p, l)
			if err != nil {
				return nil, fmt.Errorf("rule %s: %w", r.id, err)
			}
			for n := range rs.starting {
				if steps[0].any.has(single(n)) {
					rs.starting[n] = append(rs.starting[n], len(rs.phrases))
				}
			}
			rs.phrases = append(rs.phrases, phrase{rule: i, steps: steps})
		}
		if r.pattern != "" {
			re, err := regexp.Compile(r.pattern)
			if err != nil {
				return nil, fmt.Errorf("rule %s: %w", r.id, err)
			}
			rs.structures = append(rs.structures, structure{rule: i, needles: r.needles, pattern: re})
		}
	}
	return rs, nil
}

func parsePhrase(p string, l *lexicon) ([]step, error) {
	var steps []step
	within := 0
	for _, f := range strings.Fields(p) {
		if n, err := strconv.Atoi(f); err == nil {
			within = n
			continue
		}
		var any set
		for _, name := range strings.Split(f, "|") {
			c, ok := l.concepts[name]
			if !ok {
				return nil, fmt.Errorf("phrase %q: no concept %q in the lexicon", p, name)
			}
			any = any.with(c)
		}
		steps = append(steps, step{any: any, within: within})
		within = 0
	}
	if len(steps) == 0 {
		return nil, fmt.Errorf("phrase %q is empty", p)
	}
	return steps, nil
}

// match tells whether a phrase starts at token i, and gives its last token. The
// nearest word that fits each step is tried first; of several, the walk backs up
// once per step, so the work is bounded by the windows.
func (p phrase) match(tokens []token, i int) (last int, ok bool) {
	if !tokens[i].concepts.has(p.steps[0].any) {
		return 0, false
	}
	return p.rest(tokens, i, 1)
}

func (p phrase) rest(tokens []token, i, n int) (int, bool) {
	if n == len(p.steps) {
		return i, true
	}
	s := p.steps[n]
	for j := i + 1; j < len(tokens) && j <= i+1+s.within && tokens[j].sentence == tokens[i].sentence; j++ {
		if tokens[j].concepts.has(s.any) {
			if last, ok := p.rest(tokens, j, n+1); ok {
				return last, true
			}
		}
	}
	return 0, false
}

func (s structure) find(text string) bool {
	for _, n := range s.needles {
		if strings.Contains(text, n) {
			return s.pattern.MatchString(text)
		}
	}
	return false
}

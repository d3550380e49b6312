// Package screening judges whether a message attacks the agents that will read
// it. It needs no model and no network: the text is read in every form it may
// hide in (package plaintext), weighted signals are looked for in each, and the
// signals are combined to one score.
package screening

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"sort"

	"sabha.dev/services/security/internal/plaintext"
)

// MaxBytes bounds the text of one message.
const MaxBytes = 256 << 10

// Threshold is the score from which a message is refused.
const Threshold = 0.6

// ErrTooLarge says that a message is longer than MaxBytes.
var ErrTooLarge = errors.New("the text is longer than 262144 bytes; send it in smaller messages")

// Decisions.
const (
	Allowed = "allowed"
	Refused = "refused"
)

// Verdict is the outcome of a screening.
type Verdict struct {
	// Verdict is "allowed" or "refused".
	Verdict string `json:"verdict"`
	// Confidence in [0,1] is how sure the screening is of this verdict: the score of
	// the signals when refused, its complement when allowed.
	Confidence float64 `json:"confidence"`
	// Reasons are the signals found, the weightiest first. An allowed message may
	// have some.
	Reasons []Reason `json:"reasons"`
	// PolicyVersion names the rules and words that were applied.
	PolicyVersion string `json:"policy_version"`
}

// Reason is one signal.
type Reason struct {
	// Rule is the rule's id, Reason its sentence.
	Rule   string `json:"rule"`
	Reason string `json:"reason"`
	// Class is the kind of attack the rule belongs to.
	Class string `json:"class"`
	// Found says in which reading of the text: "plain", or the disguise that was
	// taken off. The text itself is never repeated.
	Found string `json:"found"`
	// Weight in (0,1) is what the signal counted here.
	Weight float64 `json:"weight"`
}

// Screener screens texts. It is immutable and safe for concurrent use.
type Screener struct {
	lexicon *lexicon
	rules   *ruleset
	version string
}

// New makes a screener with the built-in policy.
func New() (*Screener, error) {
	l, err := parseLexicon(lexiconText)
	if err != nil {
		return nil, err
	}
	rules := slices.Concat(injectionRules(), jailbreakRules(), exfiltrationRules(), escalationRules(), commandRules(), structureRules(), disguiseRules())
	rs, err := compile(rules, l)
	if err != nil {
		return nil, err
	}
	digest := sha256.New()
	fmt.Fprintf(digest, "%s\n%v\n%v", lexiconText, rules, Threshold)
	return &Screener{lexicon: l, rules: rs, version: fmt.Sprintf("builtin-%x", digest.Sum(nil)[:6])}, nil
}

// PolicyVersion names the rules and words; it changes when any of them does.
func (s *Screener) PolicyVersion() string { return s.version }

// Screen gives the verdict on a text. Its time is linear in the text. A text
// longer than MaxBytes gives ErrTooLarge.
func (s *Screener) Screen(text string) (Verdict, error) {
	if len(text) > MaxBytes {
		return Verdict{}, ErrTooLarge
	}
	reading := plaintext.Read(text)
	f := findings{best: make([]found, len(s.rules.rules))}
	for i := range reading.Views {
		s.scan(&reading.Views[i], &f)
	}
	s.disguises(reading, &f)
	return s.verdict(&f), nil
}

// verdict combines the signals as independent evidence: the score is the
// probability that not all of them are harmless.
func (s *Screener) verdict(f *findings) Verdict {
	harmless := 1.0
	v := Verdict{Verdict: Allowed, PolicyVersion: s.version, Reasons: []Reason{}}
	for i, b := range f.best {
		if b.weight <= 0 {
			continue
		}
		harmless *= 1 - b.weight
		r := s.rules.rules[i]
		v.Reasons = append(v.Reasons, Reason{Rule: r.id, Reason: r.reason, Class: r.class, Found: b.via, Weight: round(b.weight)})
	}
	sort.SliceStable(v.Reasons, func(i, j int) bool { return v.Reasons[i].Weight > v.Reasons[j].Weight })
	score := 1 - harmless
	v.Confidence = round(1 - score)
	if score >= Threshold {
		v.Verdict, v.Confidence = Refused, round(score)
	}
	return v
}

func round(x float64) float64 { return float64(int(x*1000+0.5)) / 1000 }

// Classes gives the classes of the reasons whose weight is at least a quarter,
// in order, each once.
func (v Verdict) Classes() []string {
	seen := map[string]bool{}
	out := []string{}
	for _, r := range v.Reasons {
		if r.Weight >= 0.25 && !seen[r.Class] {
			seen[r.Class] = true
			out = append(out, r.Class)
		}
	}
	sort.Strings(out)
	return out
}

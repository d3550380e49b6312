package judgement

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"time"

	"go.yaml.in/yaml/v3"
)

// DefaultThreshold holds where no policy says otherwise.
const DefaultThreshold = 0.7

// Rule is the threshold of a product and risk class, and who answers for it.
type Rule struct {
	// Product and Risk are empty where the rule holds for all.
	Product   string  `json:"product,omitempty" yaml:"product"`
	Risk      string  `json:"risk,omitempty" yaml:"risk"`
	Threshold float64 `json:"threshold" yaml:"threshold"`
	Owner     string  `json:"owner,omitempty" yaml:"owner"`
	// ReviewDate is the day, as 2006-01-02, on which the owner looks at the rule again.
	ReviewDate string `json:"review_date,omitempty" yaml:"review_date"`
}

// Policy is the thresholds by product and risk.
type Policy struct {
	fallback Rule
	rules    map[[2]string]Rule
}

// DefaultPolicy is the policy without a file: one threshold of 0.7.
func DefaultPolicy() Policy {
	return Policy{fallback: Rule{Threshold: DefaultThreshold}}
}

// ParsePolicy reads a policy file:
//
//	default: {threshold: 0.7, owner: platform, review_date: 2027-01-31}
//	rules:
//	  - {product: mortgage, risk: high, threshold: 0.9, owner: lending-quality, review_date: 2026-12-31}
//	  - {product: mortgage, threshold: 0.8, owner: lending-quality, review_date: 2026-12-31}
//
// Unknown keys, a rule without owner or review date, a threshold outside (0,1]
// and two rules for the same product and risk are errors that say where.
func ParsePolicy(raw []byte) (Policy, error) {
	var file struct {
		Default yaml.Node   `yaml:"default"`
		Rules   []yaml.Node `yaml:"rules"`
	}
	decoder := yaml.NewDecoder(bytes.NewReader(raw))
	decoder.KnownFields(true)
	if err := decoder.Decode(&file); err != nil && !errors.Is(err, io.EOF) {
		return Policy{}, fmt.Errorf("policy: %w", err)
	}
	p := DefaultPolicy()
	if !file.Default.IsZero() {
		r, err := rule(file.Default)
		if err != nil {
			return Policy{}, fmt.Errorf("policy: default: %w", err)
		}
		if r.Product != "" || r.Risk != "" {
			return Policy{}, fmt.Errorf("policy: default: line %d: the default names no product and no risk; move it to rules", file.Default.Line)
		}
		p.fallback = r
	}
	p.rules = map[[2]string]Rule{}
	for i, node := range file.Rules {
		r, err := rule(node)
		if err != nil {
			return Policy{}, fmt.Errorf("policy: rules[%d]: %w", i, err)
		}
		if r.Product == "" && r.Risk == "" {
			return Policy{}, fmt.Errorf("policy: rules[%d]: line %d: name a product or a risk; a rule for all is the default", i, node.Line)
		}
		key := [2]string{r.Product, r.Risk}
		if _, taken := p.rules[key]; taken {
			return Policy{}, fmt.Errorf("policy: rules[%d]: line %d: there is already a rule for product %q and risk %q", i, node.Line, r.Product, r.Risk)
		}
		p.rules[key] = r
	}
	return p, nil
}

// keys of a rule; yaml.Node.Decode does not refuse unknown ones itself.
var keys = map[string]bool{"product": true, "risk": true, "threshold": true, "owner": true, "review_date": true}

func rule(node yaml.Node) (Rule, error) {
	if node.Kind != yaml.MappingNode {
		return Rule{}, fmt.Errorf("line %d: a rule is a mapping with threshold, owner and review_date", node.Line)
	}
	for i := 0; i < len(node.Content); i += 2 {
		if k := node.Content[i]; !keys[k.Value] {
			return Rule{}, fmt.Errorf("line %d: unknown key %q; a rule has product, risk, threshold, owner, review_date", k.Line, k.Value)
		}
	}
	var r Rule
	if err := node.Decode(&r); err != nil {
		return Rule{}, err
	}
	_, date := time.Parse(time.DateOnly, r.ReviewDate)
	switch {
	case !(r.Threshold > 0 && r.Threshold <= 1):
		return Rule{}, fmt.Errorf("line %d: threshold %v: must be over 0 and at most 1", node.Line, r.Threshold)
	case r.Owner == "":
		return Rule{}, fmt.Errorf("line %d: owner is missing: name the team that answers for this threshold", node.Line)
	case date != nil:
		return Rule{}, fmt.Errorf("line %d: review_date %q: write a day as 2027-01-31", node.Line, r.ReviewDate)
	}
	return r, nil
}

// Rule finds the threshold of a product and risk: the rule of both, else of the
// product, else of the risk, else the default.
func (p Policy) Rule(product, risk string) Rule {
	for _, key := range [][2]string{{product, risk}, {product, ""}, {"", risk}} {
		if r, ok := p.rules[key]; ok {
			return r
		}
	}
	return p.fallback
}

// Overdue is a note when the review of the rule is past, or "".
func (r Rule) Overdue(now time.Time) string {
	due, err := time.Parse(time.DateOnly, r.ReviewDate)
	if err != nil || now.Before(due.AddDate(0, 0, 1)) {
		return ""
	}
	return fmt.Sprintf("the threshold of %v was due for review by %s on %s", r.Threshold, r.Owner, r.ReviewDate)
}

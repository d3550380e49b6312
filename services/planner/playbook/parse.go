package playbook

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"slices"
	"time"

	"cel.dev/cel-go/cel"
	"go.yaml.in/yaml/v3"

	"sabha.dev/chassis/strictyaml"
)

// DefaultBudget is the budget of a plan whose playbook gives none, DefaultStepBudget that of a step.
const (
	DefaultBudget     = 5 * time.Minute
	DefaultStepBudget = time.Minute
)

// Parse reads and checks a playbook. Name is the file's name as errors should show it; data is YAML
// (of which JSON is a part). A nil catalog skips the check of agents and skills. The error is
// [Problems] with everything found.
func Parse(name string, data []byte, catalog Catalog) (*Playbook, error) {
	rep := strictyaml.NewReport(name)
	if len(data) > MaxFileSize {
		rep.Add(0, "", "the file has %d bytes; a playbook has at most %d", len(data), MaxFileSize)
		return nil, rep.Err()
	}
	root, ok := strictyaml.Read(data, rep)
	if !ok {
		return nil, rep.Err()
	}
	sum := sha256.Sum256(data)
	k := &compiler{report: rep, catalog: catalog, book: &Playbook{File: name, Source: bytes.Clone(data), Digest: hex.EncodeToString(sum[:]), byID: map[string]*Step{}, loops: map[string]*Loop{}}}
	k.playbook(cursor{Node: root, rep: rep})
	if err := rep.Err(); err != nil {
		return nil, err
	}
	return k.book, nil
}

// Problem is one thing wrong with a playbook file, Problems everything that is.
type (
	Problem  = strictyaml.Problem
	Problems = strictyaml.Problems
)

// compiler turns one document into a playbook.
type compiler struct {
	report   *strictyaml.Report
	catalog  Catalog
	book     *Playbook
	envs     *environments
	defaults defaults

	order       []string // ids of all steps, in the order of the file
	inputFields []string // properties of the input schema, sorted; nil when it has none
	sources     map[string]source
	gateAt      cursor // threshold.review
}

// source keeps where the parts of a step stand in the file.
type source struct {
	step   cursor
	fields map[string]cursor
}

type defaults struct {
	budget  time.Duration
	retries *Retries
}

var (
	nameForm = regexp.MustCompile(`^[a-z][a-z0-9-]{0,62}$`)
	idForm   = regexp.MustCompile(`^[a-z][a-z0-9_]{0,62}$`)
)

// celReserved are words that cannot follow "steps." in an expression.
var celReserved = []string{"as", "break", "const", "continue", "else", "false", "for", "function", "if", "import", "in", "let", "loop", "namespace", "null", "package", "return", "true", "var", "void", "while"}

func (k *compiler) playbook(root cursor) {
	f, ok := root.fields("playbook", "version", "description", "product", "risk", "budget", "defaults", "match", "input", "steps", "threshold", "output")
	if !ok {
		return
	}
	b := k.book
	if c, ok := k.required(root, f, "playbook"); ok {
		if b.Name = c.text(); b.Name != "" && !nameForm.MatchString(b.Name) {
			c.problem("%q is not a name; use small letters, digits and -, beginning with a letter, at most 63", strictyaml.Clip(b.Name))
		}
	}
	if c, ok := k.required(root, f, "version"); ok {
		k.version(c)
	}
	if c, ok := f["description"]; ok {
		b.Description = c.text()
	}
	if c, ok := f["product"]; ok {
		b.Product = c.text()
	}
	b.Risk = k.risk(f, RiskLow)
	b.Budget = k.duration(f, "budget", DefaultBudget)
	k.readDefaults(f)
	if c, ok := f["input"]; ok {
		k.input(c)
	}
	if c, ok := k.required(root, f, "steps"); ok {
		k.stepIDs(c)
	}
	var err error
	if k.envs, err = newEnvironments(k.order, k.inputTypes()); err != nil {
		root.problem("the expressions' environment could not be made: %s", err)
		return
	}
	if c, ok := f["match"]; ok {
		k.match(c)
	}
	k.steps()
	if c, ok := f["threshold"]; ok {
		k.threshold(c)
	}
	k.graph()
	if c, ok := k.required(root, f, "output"); ok {
		k.output(c)
	}
}

func (k *compiler) required(at cursor, f map[string]cursor, name string) (cursor, bool) {
	c, ok := f[name]
	if !ok && !k.report.At(at.key(name, at.Node).path) {
		at.problem("the key %q is missing", name)
	}
	return c, ok
}

func (k *compiler) version(c cursor) {
	if c.Kind != yaml.ScalarNode {
		c.problem("must be a version; it is %s", c.kind())
		return
	}
	v, err := ParseVersion(c.Value)
	if err != nil {
		c.problem("%s", err)
	}
	k.book.Version = v
}

func (k *compiler) risk(f map[string]cursor, otherwise Risk) Risk {
	c, ok := f["risk"]
	if !ok {
		return otherwise
	}
	switch r := Risk(c.text()); r {
	case RiskLow, RiskMedium, RiskHigh:
		return r
	case "":
	default:
		c.problem("%q is not a risk class; use low, medium or high", strictyaml.Clip(string(r)))
	}
	return otherwise
}

// duration reads a positive Go duration.
func (k *compiler) duration(f map[string]cursor, name string, otherwise time.Duration) time.Duration {
	c, ok := f[name]
	if !ok {
		return otherwise
	}
	if c.Kind != yaml.ScalarNode {
		c.problem("must be a duration such as 30s; it is %s", c.kind())
		return otherwise
	}
	d, err := time.ParseDuration(c.Value)
	switch {
	case err != nil:
		c.problem("%q is not a duration; write a number with a unit, such as 500ms, 30s, 5m or 2h", strictyaml.Clip(c.Value))
	case d <= 0:
		c.problem("must be longer than zero; it is %s", c.Value)
	case d > MaxBudget:
		c.problem("must be at most %s; it is %s", MaxBudget, c.Value)
	default:
		return d
	}
	return otherwise
}

func (k *compiler) readDefaults(f map[string]cursor) {
	k.defaults.budget = min(DefaultStepBudget, k.book.Budget)
	c, ok := f["defaults"]
	if !ok {
		return
	}
	d, ok := c.fields("budget", "retries")
	if !ok {
		return
	}
	k.defaults.budget = k.duration(d, "budget", k.defaults.budget)
	if b, ok := d["budget"]; ok && k.defaults.budget > k.book.Budget {
		b.problem("a step's budget of %s is longer than the plan's budget of %s", strictyaml.Short(k.defaults.budget), strictyaml.Short(k.book.Budget))
	}
	if r, ok := d["retries"]; ok {
		retries := k.retries(r, DefaultRetries(false))
		k.defaults.retries = &retries
	}
}

func (k *compiler) retries(c cursor, r Retries) Retries {
	f, ok := c.fields("max", "backoff", "max_backoff", "jitter")
	if !ok {
		return r
	}
	if m, ok := f["max"]; ok {
		r.Max = m.integer(0, MaxRetries)
	}
	r.Backoff = k.duration(f, "backoff", r.Backoff)
	r.MaxBackoff = k.duration(f, "max_backoff", max(r.MaxBackoff, r.Backoff))
	if r.MaxBackoff < r.Backoff {
		f["max_backoff"].problem("must not be shorter than backoff, %s", r.Backoff)
	}
	if j, ok := f["jitter"]; ok {
		r.Jitter = j.fraction()
	}
	return r
}

func (k *compiler) match(c cursor) {
	f, ok := c.fields("skills", "when", "priority")
	if !ok {
		return
	}
	m := &k.book.Match
	if s, ok := f["skills"]; ok {
		m.Skills = s.texts()
	}
	if w, ok := f["when"]; ok {
		m.When = k.condition(w, k.envs.match)
	}
	if p, ok := f["priority"]; ok {
		m.Priority = p.integer(-1000, 1000)
	}
	if len(m.Skills) == 0 && f["when"].Node == nil {
		c.problem("needs skills, when, or both; remove match for a playbook that is only taken by name")
	}
}

func (k *compiler) threshold(c cursor) {
	f, ok := c.fields("step", "min_confidence", "reasons", "review")
	if !ok {
		return
	}
	t := &Threshold{}
	if s, ok := k.required(c, f, "step"); ok {
		if t.Step = s.text(); t.Step != "" && !slices.Contains(k.order, t.Step) {
			s.problem("%s", k.unknownStep(t.Step, ""))
		}
	}
	if m, ok := k.required(c, f, "min_confidence"); ok {
		t.MinConfidence = m.fraction()
	}
	if r, ok := f["reasons"]; ok {
		reasons := k.template(r, k.envs.plain, nil)
		t.reasons = &reasons
	}
	if r, ok := f["review"]; ok {
		switch id := r.text(); {
		case id == "":
		case !slices.Contains(k.order, id):
			r.problem("%s", k.unknownStep(id, ""))
		case id == t.Step:
			r.problem("a step cannot review itself")
		default:
			t.Review, k.gateAt = id, r
		}
	}
	k.book.Threshold = t
}

func (k *compiler) output(c cursor) {
	f, ok := c.fields("text", "data")
	if !ok {
		return
	}
	if t, ok := f["text"]; ok {
		k.book.Output.text = k.template(t, k.envs.plain, cel.StringType)
	}
	if d, ok := f["data"]; ok {
		k.book.Output.data = k.template(d, k.envs.plain, nil)
		if d.Kind != yaml.MappingNode && k.book.Output.data.expr == nil {
			d.problem("must be a map, or an expression that gives one")
		}
	}
	if len(f) == 0 {
		c.problem("needs text, data, or both")
	}
}

// unknownStep words the error for a name that no step has. self is left out of the offer.
func (k *compiler) unknownStep(id, self string) string {
	var known []string
	for _, o := range k.order {
		if o != self {
			known = append(known, o)
		}
	}
	return fmt.Sprintf("unknown step %q%s; known steps: %s", strictyaml.Clip(id), strictyaml.DidYouMean(id, known), listOr(known, "none"))
}

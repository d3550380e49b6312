package playbook

import (
	"regexp"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Bounds of a playbook file. They hold for files and for plans written by a model alike.
const (
	MaxFileSize   = 256 << 10 // bytes of YAML
	MaxSteps      = 100
	MaxRevisions  = 10
	MaxRetries    = 10
	MaxBudget     = 30 * 24 * time.Hour
	MaxExpression = 2048 // code points of one expression
)

// LocalAgent is the planner itself as it appears in a playbook: its one skill [SkillSynthesise]
// runs inside the planner and creates no child task.
const LocalAgent = "planner"

// SkillSynthesise writes an answer out of passages. Its inputs are listed in [SynthesiseInputs].
const SkillSynthesise = "synthesise"

// SynthesiseInputs are the input names a synthesise step takes; question and passages are required.
func SynthesiseInputs() []string {
	return []string{"feedback", "max_sentences", "memories", "min_relevance", "passages", "question"}
}

// Risk is the risk class of a playbook or step; thresholds are chosen by it.
type Risk string

// The risk classes, lowest first.
const (
	RiskLow    Risk = "low"
	RiskMedium Risk = "medium"
	RiskHigh   Risk = "high"
)

// Playbook is a checked and compiled playbook. It is immutable and safe for concurrent use.
type Playbook struct {
	File        string // the name given to Parse
	Source      []byte // the file as it is
	Digest      string // SHA-256 of Source, in hex
	Name        string
	Version     Version
	Description string
	Product     string // selects thresholds together with Risk; may be empty
	Risk        Risk
	Budget      time.Duration // of the whole plan
	Match       Match
	Input       Input
	Steps       []*Step // in topological order; ties in the order of the file
	Threshold   *Threshold
	Output      Answer

	byID  map[string]*Step
	loops map[string]*Loop // by the id of the judging step
}

// Step returns the step with an id, or nil.
func (p *Playbook) Step(id string) *Step { return p.byID[id] }

// IDs returns the ids of the steps, in topological order.
func (p *Playbook) IDs() []string {
	ids := make([]string, len(p.Steps))
	for i, s := range p.Steps {
		ids[i] = s.ID
	}
	return ids
}

// Loops returns the revision loops, in the order of their judging steps.
func (p *Playbook) Loops() []*Loop {
	var out []*Loop
	for _, s := range p.Steps {
		if s.Revise != nil {
			out = append(out, s.Revise)
		}
	}
	return out
}

// Input describes what a request must bring.
type Input struct {
	TextField string         // the property that receives the request's text when its data does not set it; may be empty
	Schema    map[string]any // JSON Schema 2020-12 as data; nil when the playbook declares none

	compiled *jsonschema.Schema
}

// Step is one node of the graph: a call of a skill of an agent.
type Step struct {
	ID           string
	Line         int // in the file
	Agent        string
	Skill        string
	Description  string
	Inputs       Template
	Needs        []string // every step that must settle before: declared, read by expressions, implied by loops; sorted
	Declared     []string // the part of Needs that the file declares
	When         *Expression
	Budget       time.Duration
	Retries      Retries
	Revise       *Loop  // set on the judging step of a loop
	Loop         string // the judging step of the loop this step belongs to; empty outside of loops
	Compensation *Compensation
	Risk         Risk
	SideEffects  bool
	Optional     bool // its failure does not fail the plan
	// Purpose is what its data is used for, and Consent the step that records the consent to
	// that, which is among Needs; both may be empty.
	Purpose, Consent string
	// Releases are the fields of its data that may be believed when they keep to a closed schema.
	Releases []Release

	// Sources are those of everything it is sent; InputSources those of each input, and
	// Condition those of When.
	Sources, Condition Sources
	InputSources       map[string]Sources

	index int // position in the file
}

// Local reports whether the planner runs the step itself.
func (s *Step) Local() bool { return s.Agent == LocalAgent }

// Loop sends work back: after each run of Judge, while Until is false, the steps of Body run again,
// at most Max times.
type Loop struct {
	Judge string   // the step whose output is judged; last of Body
	From  string   // the first step that runs again
	Body  []string // From, Judge and every step between them, in topological order
	Until *Expression
	// Sources are those of Until.
	Sources Sources
	Max     int // revisions, 1 to MaxRevisions; the body runs at most Max+1 times
	// ContinueWhenExhausted lets the plan go on with the last result when Until is still false after
	// Max revisions. Otherwise the plan fails.
	ContinueWhenExhausted bool
}

// Compensation undoes what a completed step did when its plan fails or is cancelled.
type Compensation struct {
	Agent  string
	Skill  string
	Inputs Template
	// Sources are those of Inputs.
	Sources Sources
}

// Match says which requests a playbook takes. A playbook without skills and condition is taken only by name.
type Match struct {
	Skills   []string
	When     *Expression
	Priority int // the highest wins, then the name that sorts first
}

// Threshold is the confidence a plan must reach. Under it nothing that needs Step starts, unless
// the step Review has it approved.
type Threshold struct {
	Step          string
	MinConfidence float64 // in [0,1]
	Review        string  // id of a review step, which is skipped over the threshold; empty: the plan fails under it

	reasons *Template
}

// Answer selects what the plan answers with.
type Answer struct {
	text Template
	data Template
}

// Catalog knows which agents may be called. Implementations that also have Agents() []string give
// better messages.
type Catalog interface {
	// Skills returns an agent's skills, and false for an agent that does not exist.
	Skills(agent string) ([]string, bool)
}

// Agents is a Catalog as a map from agent to skills.
type Agents map[string][]string

// Skills implements Catalog.
func (a Agents) Skills(agent string) ([]string, bool) {
	skills, ok := a[agent]
	return skills, ok
}

// Agents returns the names, sorted.
func (a Agents) Agents() []string { return sortedKeys(a) }

// partners is the agent that calls those of other organisations. Its skills beside its own
// are named PARTNER/SKILL. Which partners there are shows only when a step runs: a person
// may approve one meanwhile, or stop it.
const partners = "partners"

var addressForm = regexp.MustCompile(`^[a-z][a-z0-9-]{0,62}/[^\s/][^\s]{0,199}$`)

// ofPartner tells whether a skill can be that of an agent of another organisation.
func ofPartner(agent, skill string) bool { return agent == partners && addressForm.MatchString(skill) }

// Personas is the catalog of the platform's own agents, for checking a file without a running platform.
func Personas() Agents {
	return Agents{
		"executor":  {"call-tool", "run-code"},
		"memory":    {"export", "forget", "recall", "remember"},
		partners:    {"find-partners"},
		"research":  {"investigate", "search"},
		"review":    {"ask-network", "review"},
		"security":  {"classify", "screen"},
		"validator": {"judge", "validate"},
	}
}

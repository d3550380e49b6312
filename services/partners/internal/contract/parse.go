package contract

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"cel.dev/cel-go/cel"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"sabha.dev/chassis/strictyaml"
	"sabha.dev/services/partners/internal/drift"
	"sabha.dev/services/partners/internal/partner"
)

// Parse reads a file of golden tasks. name is the file as problems should show it. The
// error is strictyaml.Problems with everything found.
func Parse(name string, data []byte) (*Suite, error) {
	s := &Suite{
		File: name, Every: 6 * time.Hour, Budget: 10 * time.Minute, Baseline: 100, Passes: 95, OnDrift: Lower, OnFailure: Lower,
	}
	c := &compiler{suite: s, digest: map[string]any{}}
	if err := strictyaml.Parse(name, data, c.file); err != nil {
		return nil, err
	}
	asked, err := json.Marshal(c.digest)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(asked)
	s.Digest = hex.EncodeToString(sum[:])
	s.Notes = s.notes()
	return s, nil
}

// compiler turns one file into a suite.
type compiler struct {
	suite  *Suite
	digest map[string]any // what is asked and measured
}

var nameForm = regexp.MustCompile(`^[a-z][a-z0-9-]{0,62}$`)

func (c *compiler) file(root strictyaml.Node) {
	f, ok := root.Fields("partner", "owner", "every", "jitter", "budget", "baseline", "passes", "on_drift", "on_failure", "measures", "tasks")
	if !ok {
		return
	}
	s := c.suite
	if n, ok := f.Need("partner"); ok {
		if s.Partner = n.Text(); s.Partner != "" && !partner.ValidID(s.Partner) {
			n.Problem("%q is not a partner's id; use small letters, digits and -, beginning with a letter, at most 63", strictyaml.Clip(s.Partner))
		}
	}
	if n, ok := f.Need("owner"); ok {
		s.Owner = n.Text()
	}
	if n, ok := f.Get("every"); ok {
		s.Every = n.Duration(MinEvery, MaxEvery)
	}
	s.Jitter = s.Every / 10
	if n, ok := f.Get("jitter"); ok {
		s.Jitter = n.Duration(0, s.Every)
	}
	if n, ok := f.Get("budget"); ok {
		s.Budget = n.Duration(time.Second, time.Hour)
	}
	if n, ok := f.Get("baseline"); ok {
		s.Baseline = n.Int(MinBaseline, MaxBaseline)
	}
	if n, ok := f.Get("passes"); ok {
		s.Passes = n.Int(0, 100)
	}
	actions := []string{string(Tell), string(Lower), string(Suspend)}
	if n, ok := f.Get("on_drift"); ok {
		s.OnDrift = Action(n.OneOf(actions...))
	}
	if n, ok := f.Get("on_failure"); ok {
		s.OnFailure = Action(n.OneOf(actions...))
	}
	if n, ok := f.Get("measures"); ok {
		c.measures(n)
	}
	if n, ok := f.Need("tasks"); ok {
		c.tasks(n)
	}
}

func (c *compiler) measures(n strictyaml.Node) {
	c.digest["measures"] = n.Value()
	for _, e := range n.Entries() {
		name(e)
		if e.Key == Outcome || e.Key == Took {
			e.Value.Problem("%s is measured of every suite; choose another name", e.Key)
		}
		f, ok := e.Value.Fields(string(drift.Number), string(drift.Length), string(drift.Category))
		if !ok {
			continue
		}
		m := Measure{Name: e.Key}
		given := 0
		for kind, types := range map[drift.Kind][]*cel.Type{
			drift.Number:   {cel.DoubleType, cel.IntType, cel.UintType},
			drift.Length:   {cel.StringType, cel.ListType(cel.DynType), cel.MapType(cel.StringType, cel.DynType)},
			drift.Category: {cel.StringType, cel.BoolType, cel.IntType},
		} {
			if at, ok := f.Get(string(kind)); ok {
				given++
				m.Kind, m.of = kind, compile(at, types...)
			}
		}
		if given != 1 {
			e.Value.Problem("needs exactly one of number, length and category, with an expression such as data.rate")
		}
		c.suite.Measures = append(c.suite.Measures, m)
	}
	if len(c.suite.Measures) > MaxMeasures {
		n.Problem("there are %d measures; there may be %d at most", len(c.suite.Measures), MaxMeasures)
	}
}

func name(e strictyaml.Entry) {
	if !nameForm.MatchString(e.Key) {
		e.Value.Problem("%q is not a name; use small letters, digits and -, beginning with a letter, at most 63", strictyaml.Clip(e.Key))
	}
}

func (c *compiler) tasks(n strictyaml.Node) {
	c.digest["tasks"] = n.Value()
	entries := n.Entries()
	if len(entries) == 0 || len(entries) > MaxTasks {
		n.Problem("there are %d tasks; there must be 1 to %d", len(entries), MaxTasks)
	}
	for _, e := range entries {
		name(e)
		c.suite.Tasks = append(c.suite.Tasks, c.task(e.Value))
		c.suite.Tasks[len(c.suite.Tasks)-1].Name = e.Key
	}
}

func (c *compiler) task(n strictyaml.Node) Task {
	t := Task{Repeats: 1}
	f, ok := n.Fields("skill", "text", "data", "repeats", "schema", "assert", "measures")
	if !ok {
		return t
	}
	if n, ok := f.Need("skill"); ok {
		t.Skill = n.Text()
	}
	text, hasText := f.Get("text")
	if hasText {
		t.Text = text.Text()
	}
	data, hasData := f.Get("data")
	if hasData {
		if t.Data, ok = data.Value().(map[string]any); !ok {
			data.Problem("must be a map")
		}
	}
	if !hasText && !hasData {
		n.Problem("asks nothing; give it text, data or both")
	}
	if n, ok := f.Get("repeats"); ok {
		t.Repeats = n.Int(1, MaxRepeats)
	}
	if n, ok := f.Get("schema"); ok {
		t.schema = schema(n)
	}
	if n, ok := f.Get("assert"); ok {
		for _, a := range n.Items() {
			t.asserts = append(t.asserts, compile(a, cel.BoolType))
		}
	}
	if n, ok := f.Get("measures"); ok {
		for _, m := range n.Items() {
			t.measures = append(t.measures, c.measure(m))
		}
		return t
	}
	for _, m := range c.suite.Measures {
		t.measures = append(t.measures, m.Name)
	}
	return t
}

// measure finds the one that a task names.
func (c *compiler) measure(n strictyaml.Node) string {
	text := n.Text()
	names := make([]string, len(c.suite.Measures))
	for i, m := range c.suite.Measures {
		names[i] = m.Name
	}
	if text != "" && !slices.Contains(names, text) {
		n.Problem("unknown measure %q%s; known measures: %s", strictyaml.Clip(text), strictyaml.DidYouMean(text, names), strings.Join(names, ", "))
	}
	return text
}

// closed refuses every reference that leaves a schema.
type closed struct{}

func (closed) Load(url string) (any, error) {
	return nil, fmt.Errorf("references outside the schema are not followed: %s", url)
}

func schema(n strictyaml.Node) *jsonschema.Schema {
	const url = "sabha://contract/schema"
	compiler := jsonschema.NewCompiler()
	compiler.DefaultDraft(jsonschema.Draft2020)
	compiler.UseLoader(closed{})
	compiler.AssertFormat()
	err := compiler.AddResource(url, n.Value())
	var made *jsonschema.Schema
	if err == nil {
		made, err = compiler.Compile(url)
	}
	if err != nil {
		n.Problem("cannot be used as a JSON Schema: %s", strings.Join(strings.Fields(err.Error()), " "))
	}
	return made
}

// Figures of the notes: what a suite should find, and how surely.
const (
	shift = 0.5
	power = 0.95
)

// notes say of each measure that gives too few values.
func (s *Suite) notes() []string {
	var list []string
	need := drift.Needed(shift, power, s.Baseline, len(s.Measures)+2)
	for _, m := range s.Measures {
		if have := s.Values(m.Name); have < need {
			list = append(list, fmt.Sprintf("%s: a run gives %d values of it; it needs at least %d, by more tasks or repeats, so that a shift of half a standard deviation is found within %d runs in %.0f of 100 cases",
				m.Name, have, need, drift.Window, power*100))
		}
	}
	if len(s.Measures) == 0 {
		list = append(list, "only outcomes and times are measured; add measures, or another behaviour that gives good answers is not noticed")
	}
	return list
}

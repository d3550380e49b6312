package draft

import (
	"fmt"
	"strings"
)

// Skill is what a drafted plan may use.
type Skill struct {
	Name  string // AGENT/SKILL
	About string // what a model is told of it: what it does, its inputs and outputs
	kind  kind
}

// kind says how an answer is made out of what a skill gives.
type kind int

const (
	// result is anything: its text and data are one passage. The platform knows nothing of
	// the skill, so it counts as one that acts.
	result kind = iota
	// computed is a result of a skill that only reads its inputs.
	computed
	// passages of documents.
	passages
	// memories of the requester.
	memories
)

// maxPassages that one step may ask for, so that an answer can be made of all of them.
const maxPassages = 8

// known are the skills that plans may use where nothing else is configured: they read, and
// change nothing.
var known = map[string]Skill{
	"research/investigate": {kind: passages, About: `Finds passages of the organisation's documents. Inputs: query (text: a question or key words), limit (1 to 8). ` +
		`Output: data.results, a list of {document, title, heading_path, text, confidence}; empty when nothing was found.`},
	"memory/recall": {kind: memories, About: `What is remembered of the requester and this conversation. Inputs: query (text), limit (1 to 8). Output: data.memories, a list of {text, created_at}.`},
	"executor/run-code": {kind: computed, About: `Runs a Starlark snippet (a small Python: no imports, no files, no network) for calculations, dates, sorting and comparing. ` +
		`Inputs: code (text; its last line is the result), inputs (an object, read in the code as inputs["name"]). Output: data.value, or data when the result is an object.`},
}

// Skills gives the skills that an operator allows, by name, with what is told of them; of
// the known ones nothing need be told. Nil means the known ones.
func Skills(allowed map[string]string) ([]Skill, error) {
	if allowed == nil {
		allowed = map[string]string{}
		for name := range known {
			allowed[name] = ""
		}
	}
	var list []Skill
	for name, about := range allowed {
		agent, skill, ok := strings.Cut(name, "/")
		if !ok || agent == "" || skill == "" {
			return nil, fmt.Errorf("model.skills: %q is not AGENT/SKILL, such as executor/call-tool or partners/underwriter/underwrite", name)
		}
		s := known[name]
		if s.Name = name; about != "" {
			s.About = about
		}
		if s.About == "" {
			return nil, fmt.Errorf("model.skills: say of %s what it does, its inputs and outputs: a model knows nothing else of it", name)
		}
		list = append(list, s)
	}
	return list, nil
}

package playbook

import "slices"

// Sources are what a value of a playbook is made of. Its labels follow from theirs; what
// the file itself says needs none.
type Sources struct {
	// Input tells that it reads the request's input, Feedback what the judge of its loop
	// said in the round before.
	Input, Feedback bool
	Fields          []Field
}

// Field is what an expression reads of a step: a value in its data, by the names that lead
// there, or with no path the step as a whole.
type Field struct {
	Step string
	Path []string
}

func (s *Sources) add(e *Expression) {
	s.Input, s.Feedback = s.Input || e.input, s.Feedback || e.revises
	for _, f := range e.fields {
		if !slices.ContainsFunc(s.Fields, func(have Field) bool { return have.Step == f.Step && slices.Equal(have.Path, f.Path) }) {
			s.Fields = append(s.Fields, f)
		}
	}
}

// sources of a template and of conditions beside it; those that are absent are nil.
func sources(t Template, conditions ...*Expression) Sources {
	var s Sources
	t.expressions(s.add)
	for _, c := range conditions {
		if c != nil {
			s.add(c)
		}
	}
	return s
}

// trace finds the sources of everything that a step sends.
func (s *Step) trace() {
	s.Sources, s.Condition, s.InputSources = sources(s.Inputs, s.When), sources(Template{}, s.When), map[string]Sources{}
	for name, t := range s.Inputs.fields {
		s.InputSources[name] = sources(t)
	}
	if s.Revise != nil {
		s.Revise.Sources = sources(Template{}, s.Revise.Until)
	}
	if s.Compensation != nil {
		s.Compensation.Sources = sources(s.Compensation.Inputs)
	}
}

// Sources of the text and of the data of the answer.
func (a Answer) Sources() (text, data Sources) { return sources(a.text), sources(a.data) }

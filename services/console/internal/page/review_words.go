package page

import (
	"maps"
	"slices"
	"strings"

	"google.golang.org/protobuf/types/known/structpb"

	reviewv1 "sabha.dev/gen/sabha/review/v1"
)

// planStep is a step of a plan that was kept with an item.
type planStep struct {
	name, agent, state string
	inputs, output     *structpb.Value
}

// planSteps reads the steps of a plan; none when it has another form.
func planSteps(plan *structpb.Struct) []planStep {
	var out []planStep
	for _, v := range plan.GetFields()["steps"].GetListValue().GetValues() {
		f := v.GetStructValue().GetFields()
		s := planStep{name: f["step"].GetStringValue(), inputs: f["inputs"], output: f["output"]}
		if s.name == "" {
			s.name = f["id"].GetStringValue()
		}
		if s.name == "" {
			return nil
		}
		s.agent = strings.TrimSuffix(f["agent"].GetStringValue()+" · "+f["skill"].GetStringValue(), " · ")
		s.state = titled(strings.ToLower(strings.ReplaceAll(f["state"].GetStringValue(), "_", " ")))
		out = append(out, s)
	}
	return out
}

// labelWords are the labels of a content, each in a word or two.
func labelWords(labels *structpb.Struct) []string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(labels.GetFields())) {
		v := labels.GetFields()[name]
		switch {
		case v.GetStringValue() != "" && (name == "integrity" || name == "confidentiality"):
			out = append(out, v.GetStringValue())
		case v.GetStringValue() != "":
			out = append(out, name+": "+v.GetStringValue())
		case v.GetListValue() != nil:
			for _, e := range v.GetListValue().GetValues() {
				if e.GetStringValue() != "" {
					out = append(out, e.GetStringValue())
				}
			}
		}
	}
	return out
}

func labelTone(word string) string {
	return map[string]string{"untrusted": "warn", "sensitive": "bad"}[word]
}

// sourceName is what a source is called, sourcePlace where in it the passage stands.
func sourceName(s *reviewv1.Source) string {
	if s.GetTitle() != "" {
		return s.GetTitle()
	}
	return s.GetDocument()
}

func sourcePlace(s *reviewv1.Source) string {
	if s.GetTitle() != "" && s.GetDocument() != s.GetTitle() {
		return strings.Trim(s.GetDocument()+" · "+s.GetLocation(), " ·")
	}
	return s.GetLocation()
}

// begins makes the first word of a sentence of "you" and "the policy".
func begins(name string) string {
	if name == "you" || name == "the policy" {
		return titled(name)
	}
	return name
}

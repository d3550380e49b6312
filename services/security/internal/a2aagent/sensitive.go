package a2aagent

import (
	"cmp"
	"slices"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"

	"sabha.dev/chassis/agent"
	"sabha.dev/chassis/sensitive"
)

// Sensitive is one kind of sensitive data and how often it was found; never a value.
type Sensitive struct {
	Class sensitive.Class `json:"class"`
	// Kind narrows the class, such as us-ssn; empty where nothing does.
	Kind  string `json:"kind,omitempty"`
	Count int    `json:"count"`
}

// sensitiveIn counts what parts hold, in the order of classes and kinds: data by the
// names of its fields, text and text files as they read.
func sensitiveIn(parts []*a2apb.Part) []Sensitive {
	counts := map[Sensitive]int{}
	count := func(found []sensitive.Finding) {
		for _, f := range found {
			counts[Sensitive{Class: f.Class, Kind: f.Kind}]++
		}
	}
	for _, p := range parts {
		count(sensitive.Text(p.GetFilename()))
		switch c := p.GetContent().(type) {
		case *a2apb.Part_Text:
			count(sensitive.Text(c.Text))
		case *a2apb.Part_Url:
			count(sensitive.Text(c.Url))
		case *a2apb.Part_Raw:
			if readable(agent.MediaType(p)) {
				count(sensitive.Text(string(c.Raw)))
			}
		case *a2apb.Part_Data:
			for _, place := range sensitive.JSON(c.Data) {
				count(place.Found)
			}
		}
	}
	out := []Sensitive{}
	for s, n := range counts {
		s.Count = n
		out = append(out, s)
	}
	slices.SortFunc(out, func(a, b Sensitive) int { return cmp.Or(cmp.Compare(a.Class, b.Class), cmp.Compare(a.Kind, b.Kind)) })
	return out
}

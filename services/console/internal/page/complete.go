package page

import (
	"slices"
	"strconv"
	"strings"

	"sabha.dev/services/console/internal/query"
	"sabha.dev/services/console/internal/request"
)

// completion is what the query bar offers.
type completion struct{ Value, Meaning string }

// presets are the filters that everybody has.
var presets = []Saved{
	{Name: "Open", Query: "state:open"},
	{Name: "Waits for a person", Query: "state:input-required,auth-required"},
	{Name: "Failed in the last day", Query: "state:failed age:<1d"},
	{Name: "Waits for a retry", Query: "retrying"},
	{Name: "Open for over an hour", Query: "state:open age:>1h"},
}

// completions are the filters with values that make sense, those on the page first.
func completions(l List) []completion {
	var all []completion
	add := func(key, value, meaning string) {
		c := completion{key + ":" + value, meaning}
		if strings.ContainsAny(value, " \"") {
			c.Value = key + ":" + strconv.Quote(value)
		}
		if value != "" && len(all) < 80 && !slices.ContainsFunc(all, func(o completion) bool { return o.Value == c.Value }) {
			all = append(all, c)
		}
	}
	for _, s := range request.States {
		add("state", string(s), "State")
	}
	add("state", "open", "Not ended")
	add("state", "ended", "Ended")
	for _, t := range l.Page.Tasks {
		add("playbook", t.Plan.Playbook, "Playbook")
		add("caller", t.Who, "Asked by")
		for _, s := range t.Plan.Steps {
			add("agent", s.Agent, "Agent of a step")
			if s.State == request.StepFailed {
				add("failed", s.Name, "Failed step")
			}
		}
	}
	add("failed", "*", "Any failed step")
	for _, age := range []string{"<15m", "<1h", "<1d", "<1w", ">15m", ">1h", ">1d"} {
		add("age", age, map[byte]string{'<': "Began less than this ago", '>': "Began more than this ago"}[age[0]])
	}
	all = append(all, completion{"retrying", "A step waits for its next try"})
	for _, k := range query.Keys {
		if k.Name != "retrying" {
			all = append(all, completion{k.Name + ":", "Filter: " + k.Meaning})
		}
	}
	return all
}

func statesOf(s request.State) []request.State {
	if s == "" {
		return nil
	}
	return []request.State{s}
}

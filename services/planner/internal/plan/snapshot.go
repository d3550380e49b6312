package plan

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"

	"sabha.dev/chassis/agent"
	"sabha.dev/services/planner/playbook"
)

// Bounds of what a reviewer is shown beside the content, which is never cut. Together
// they stay under what the review agent keeps.
const (
	mostText    = 16 << 10  // bytes of the request, of a reason
	mostPlan    = 512 << 10 // bytes of JSON of the inputs and outputs of all steps
	mostValue   = 16 << 10  // and of one of them
	mostPassage = 4 << 10   // bytes of a source
	mostSources = 50
	mostReasons = 50
	mostTitle   = 120 // code points
)

// snapshot completes the inputs of a review step with what a decision rests on, as it
// is now. What the playbook's author gave stays.
func (i *interpreter) snapshot(st playbook.Start) map[string]any {
	book, s := i.plan.book, st.Step
	in := i.shown(s)
	in["kind"], in["effect"], in["reasons"] = book.Kind(s), effect(book, s), []any{}
	in["labels"] = asObject(i.plan.labels(s.InputSources["content"], s.Loop, st.Round))
	if v := st.Verdict; v != nil {
		in["confidence"], in["reasons"] = v.Confidence, texts(v.Reasons)
	} else if s.Description != "" {
		in["reasons"] = []any{s.Description}
	}
	maps.Copy(in, st.Inputs)
	return in
}

// shown is what people see of a plan, whatever they are asked about a step or, with nil,
// about the request.
func (i *interpreter) shown(s *playbook.Step) map[string]any {
	book := i.plan.book
	in := map[string]any{"request": i.request(), "sources": []any{}, "plan": i.steps(), "product": book.Product, "risk": string(book.Risk), "playbook": book.Name}
	about := book.Name
	if s != nil {
		in["sources"], in["risk"], in["step"], about = i.sources(s), string(s.Risk), s.ID, book.Name+": "+s.ID
	}
	in["title"] = orElse(title(i.brief()), about)
	return in
}

// effect says what approval will do.
func effect(book *playbook.Playbook, s *playbook.Step) string {
	acts := book.ActsAfter(s)
	if len(acts) == 0 {
		return "The plan goes on with it."
	}
	list := make([]string, len(acts))
	for n, a := range acts {
		list[n] = fmt.Sprintf("%s (%s/%s)", a.ID, a.Agent, a.Skill)
	}
	return "The plan goes on and carries out: " + strings.Join(list, ", ") + "."
}

// request is what the client asked for: its text, or its data as JSON.
func (i *interpreter) request() string {
	for _, m := range i.run.Task().GetHistory() {
		if m.GetRole() != a2apb.Role_ROLE_USER {
			continue
		}
		if text := agent.TextOf(m.GetParts()); text != "" {
			return cut(text, mostText)
		}
		break
	}
	raw, err := json.Marshal(i.plan.input)
	if err != nil {
		return ""
	}
	return cut(string(raw), mostText)
}

// brief is the request in a line or more: what its data says where it has no text.
func (i *interpreter) brief() string {
	for _, m := range i.run.Task().GetHistory() {
		if m.GetRole() == a2apb.Role_ROLE_USER {
			return agent.Brief(m.GetParts(), mostText)
		}
	}
	return ""
}

// cut shortens a text to so many bytes.
func cut(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}

// title is the first line of a request.
func title(request string) string {
	line, _, more := strings.Cut(strings.TrimSpace(request), "\n")
	if utf8.RuneCountInString(line) > mostTitle {
		line, more = string([]rune(line)[:mostTitle]), true
	}
	if more {
		line += "…"
	}
	return line
}

func texts(list []string) []any {
	list = list[:min(len(list), mostReasons)]
	out := make([]any, len(list))
	for n, s := range list {
		out[n] = cut(storable(s), mostText)
	}
	return out
}

// steps are the plan's steps with what went in and what came out.
func (i *interpreter) steps() map[string]any {
	list := make([]any, 0, len(i.plan.book.Steps))
	most := min(mostValue, mostPlan/(2*len(i.plan.book.Steps)))
	for _, s := range i.plan.book.Steps {
		step := map[string]any{"step": s.ID, "agent": s.Agent, "skill": s.Skill, "state": string(playbook.Pending)}
		if s.Description != "" {
			step["description"] = s.Description
		}
		needs := []any{}
		for _, need := range i.plan.book.Edges(s) {
			needs = append(needs, need)
		}
		step["needs"] = needs
		if r := i.plan.current(s); r != nil {
			step["state"], step["inputs"] = string(r.State), bounded(r.Inputs, most)
			if r.State == playbook.Completed {
				step["output"] = bounded(map[string]any{"text": r.Output.Text, "data": r.Output.Data}, most)
			}
			if r.Reason != "" {
				step["reason"] = r.Reason
			}
			step["started_at"] = r.StartedAt.Format(time.RFC3339Nano)
			if !r.EndedAt.IsZero() {
				step["ended_at"] = r.EndedAt.Format(time.RFC3339Nano)
			}
		}
		list = append(list, step)
	}
	return map[string]any{
		"playbook": i.plan.book.Name, "version": string(i.plan.book.Version), "input": bounded(i.plan.input, mostValue), "steps": list,
	}
}

// bounded is a value, or its beginning when it is long.
func bounded(v map[string]any, most int) any {
	raw, err := json.Marshal(v)
	if err != nil {
		return nil
	}
	if len(raw) <= most {
		return v
	}
	return map[string]any{"cut": true, "bytes": float64(len(raw)), "beginning": cut(string(raw), most)}
}

// sources are what the steps before a review rest on: the citations of their outputs,
// else the passages, else what was found.
func (i *interpreter) sources(s *playbook.Step) []any {
	before := i.plan.book.Before(s)
	for _, key := range []string{"citations", "passages", "results"} {
		out := []any{}
		seen := map[string]bool{}
		for _, b := range slices.Backward(before) {
			r := i.plan.current(b)
			if r == nil || r.State != playbook.Completed {
				continue
			}
			list, _ := r.Output.Data[key].([]any)
			for _, x := range list {
				src := source(x)
				if src == nil || len(out) == mostSources {
					continue
				}
				if id := fmt.Sprint(src["document"], "\x00", src["text"]); !seen[id] {
					seen[id] = true
					out = append(out, src)
				}
			}
		}
		if len(out) > 0 {
			return out
		}
	}
	return []any{}
}

// source reads a passage; nil for what is none.
func source(x any) map[string]any {
	p, _ := x.(map[string]any)
	text, _ := p["text"].(string)
	if text == "" {
		return nil
	}
	document, _ := p["document"].(string)
	heading, _ := p["title"].(string)
	location, _ := p["location"].(string)
	if path, _ := p["heading_path"].([]any); location == "" && len(path) > 0 {
		words := make([]string, len(path))
		for n, h := range path {
			words[n] = fmt.Sprint(h)
		}
		location = strings.Join(words, " › ")
	}
	return map[string]any{"title": orElse(heading, document), "document": document, "location": location, "text": cut(text, mostPassage)}
}

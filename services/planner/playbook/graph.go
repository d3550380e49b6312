package playbook

import (
	"slices"
	"strings"
)

// graph joins the steps by what they need, checks the result, and sorts it.
func (k *compiler) graph() {
	for _, id := range k.order {
		k.collectNeeds(k.book.byID[id])
	}
	if k.circles("steps wait for each other in a circle") {
		return
	}
	if !k.loopBodies() {
		return
	}
	k.gate()
	k.waitForLoops()
	if k.circles("loops wait for each other in a circle") {
		return
	}
	for _, id := range k.order {
		k.scopes(k.book.byID[id])
	}
	k.book.Steps = k.sorted()
	for _, s := range k.book.Steps {
		s.trace()
	}
	for _, l := range k.book.loops {
		slices.SortFunc(l.Body, func(a, b string) int {
			return slices.IndexFunc(k.book.Steps, func(s *Step) bool { return s.ID == a }) -
				slices.IndexFunc(k.book.Steps, func(s *Step) bool { return s.ID == b })
		})
	}
}

// collectNeeds adds what the expressions of a step read to what the file declares.
func (k *compiler) collectNeeds(s *Step) {
	needs := map[string]bool{}
	for _, id := range s.Declared {
		needs[id] = true
	}
	read := func(e *Expression) {
		for _, id := range e.reads {
			if id == s.ID {
				k.report.Add(e.Line, e.Path, "step %q reads its own output before it has run; within a revision loop use revision.feedback", id)
				continue
			}
			needs[id] = true
		}
	}
	s.Inputs.expressions(read)
	if s.When != nil {
		read(s.When)
	}
	if s.Revise != nil && s.Revise.Until != nil {
		for _, id := range s.Revise.Until.reads { // its own output is what until is about
			if id != s.ID {
				needs[id] = true
			}
		}
	}
	s.Needs = sortedKeys(needs)
}

// circles reports cycles, each once, at its first step in the file.
func (k *compiler) circles(what string) bool {
	const (
		unseen = iota
		open
		closed
	)
	state := map[string]int{}
	var trail []string
	found := false
	var visit func(id string)
	visit = func(id string) {
		state[id] = open
		trail = append(trail, id)
		for _, need := range k.book.byID[id].Needs {
			switch state[need] {
			case unseen:
				visit(need)
			case open:
				found = true
				circle := slices.Clone(trail[slices.Index(trail, need):])
				k.reportCircle(what, circle)
			}
		}
		trail = trail[:len(trail)-1]
		state[id] = closed
	}
	for _, id := range k.order {
		if state[id] == unseen {
			visit(id)
		}
	}
	return found
}

func (k *compiler) reportCircle(what string, circle []string) {
	first := 0
	for i, id := range circle {
		if k.book.byID[id].index < k.book.byID[circle[first]].index {
			first = i
		}
	}
	circle = append(slices.Clone(circle[first:]), circle[:first]...)
	circle = append(circle, circle[0])
	k.sources[circle[0]].step.problem("%s: %s (each needs the next)", what, strings.Join(circle, " → "))
}

// ancestors returns everything a step waits for, directly or not.
func (k *compiler) ancestors(id string) map[string]bool {
	out := map[string]bool{}
	var visit func(string)
	visit = func(id string) {
		for _, need := range k.book.byID[id].Needs {
			if !out[need] {
				out[need] = true
				visit(need)
			}
		}
	}
	visit(id)
	return out
}

// loopBodies finds the steps each loop runs again. False means that loops overlap or lead nowhere.
func (k *compiler) loopBodies() bool {
	ok := true
	for _, id := range k.order {
		s := k.book.byID[id]
		l := s.Revise
		if l == nil {
			continue
		}
		at := k.sources[id].fields["revise"]
		before := k.ancestors(id)
		if l.From != id && !before[l.From] {
			at.problem("step %q does not lead to %q: nothing on the way needs it, so running it again would change nothing", l.From, id)
			ok = false
			continue
		}
		for _, x := range k.order {
			within := x == id || before[x]
			if within && (x == l.From || k.ancestors(x)[l.From]) {
				ok = k.join(l, k.book.byID[x], at) && ok
			}
		}
	}
	return ok
}

func (k *compiler) join(l *Loop, s *Step, at cursor) bool {
	switch {
	case s.Loop != "":
		at.problem("step %q would be in two loops, of %q and of %q; loops must not overlap", s.ID, s.Loop, l.Judge)
		return false
	case s.SideEffects:
		at.problem("step %q has side effects and would run again with each revision; move it out of the loop", s.ID)
	}
	s.Loop = l.Judge
	l.Body = append(l.Body, s.ID)
	return true
}

// waitForLoops makes whoever reads a step of a loop from outside wait until the loop has ended.
func (k *compiler) waitForLoops() {
	for _, id := range k.order {
		s := k.book.byID[id]
		for _, need := range slices.Clone(s.Needs) {
			judge := k.book.byID[need].Loop
			if judge != "" && judge != s.Loop && !slices.Contains(s.Needs, judge) {
				s.Needs = append(s.Needs, judge)
			}
		}
		slices.Sort(s.Needs)
	}
}

// scopes checks what depends on the finished graph: where revision may be read, and that a
// compensation reads only what has certainly run.
func (k *compiler) scopes(s *Step) {
	outside := func(e *Expression) {
		if e.revises && s.Loop == "" {
			k.report.Add(e.Line, e.Path, "revision can be read only by the steps of a revision loop, and step %q is in none", s.ID)
		}
	}
	s.Inputs.expressions(outside)
	if s.When != nil {
		outside(s.When)
	}
	if s.Compensation == nil {
		return
	}
	before := k.ancestors(s.ID)
	s.Compensation.Inputs.expressions(func(e *Expression) {
		for _, id := range e.reads {
			if id != s.ID && !before[id] {
				k.report.Add(e.Line, e.Path, "step %q may not have run when %q is undone; read only %q and the steps it needs", id, s.ID, s.ID)
			}
		}
	})
}

// sorted returns the steps so that each comes after what it needs; ties keep the order of the file.
func (k *compiler) sorted() []*Step {
	placed := map[string]bool{}
	var out []*Step
	for len(out) < len(k.order) {
		for _, id := range k.order {
			s := k.book.byID[id]
			if !placed[id] && !slices.ContainsFunc(s.Needs, func(n string) bool { return !placed[n] }) {
				placed[id] = true
				out = append(out, s)
				break
			}
		}
	}
	return out
}

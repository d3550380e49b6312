package render

import (
	"fmt"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
)

// Words for the states of a task.
var stateWords = map[a2apb.TaskState]string{
	a2apb.TaskState_TASK_STATE_SUBMITTED:      "submitted",
	a2apb.TaskState_TASK_STATE_WORKING:        "working",
	a2apb.TaskState_TASK_STATE_COMPLETED:      "completed",
	a2apb.TaskState_TASK_STATE_FAILED:         "failed",
	a2apb.TaskState_TASK_STATE_CANCELED:       "canceled",
	a2apb.TaskState_TASK_STATE_REJECTED:       "rejected",
	a2apb.TaskState_TASK_STATE_INPUT_REQUIRED: "input required",
	a2apb.TaskState_TASK_STATE_AUTH_REQUIRED:  "waiting for approval",
}

// State is a task's state in words.
func State(s a2apb.TaskState) string {
	if w := stateWords[s]; w != "" {
		return w
	}
	return "unknown"
}

// ended tells whether a state is final (specification 4.1.3).
func ended(s a2apb.TaskState) bool {
	switch s {
	case a2apb.TaskState_TASK_STATE_COMPLETED, a2apb.TaskState_TASK_STATE_FAILED,
		a2apb.TaskState_TASK_STATE_CANCELED, a2apb.TaskState_TASK_STATE_REJECTED:
		return true
	}
	return false
}

func stateLook(s a2apb.TaskState) string {
	switch s {
	case a2apb.TaskState_TASK_STATE_COMPLETED:
		return green
	case a2apb.TaskState_TASK_STATE_FAILED, a2apb.TaskState_TASK_STATE_REJECTED:
		return red
	case a2apb.TaskState_TASK_STATE_CANCELED, a2apb.TaskState_TASK_STATE_INPUT_REQUIRED, a2apb.TaskState_TASK_STATE_AUTH_REQUIRED:
		return yellow
	}
	return cyan
}

// stepMarks are the sign and the look of a step's state.
var stepMarks = map[string]struct{ sign, look string }{
	pending:   {"○", dim},
	running:   {"●", cyan},
	completed: {"✓", green},
	skipped:   {"–", dim},
	failed:    {"✗", red},
	canceled:  {"✗", yellow},
}

// Board draws a request as it stands, for a terminal that redraws it in place:
// at most height lines (0 for no bound), none wider than the style's width.
// began is when the request was sent; zero when that is not known.
func (s Style) Board(p *Progress, began, now time.Time, height int) []string {
	head := s.heading(p)
	foot := s.footing(p, began, now)
	steps := s.stepLines(p, now)
	if room := height - len(head) - len(foot); height > 0 && len(steps) > max(room, 1) {
		room = max(room, 2)
		hidden := len(steps) - room + 1
		steps = append([]string{s.paint(dim, cut(fmt.Sprintf("  … %d more lines above", hidden), s.Width))}, steps[hidden:]...)
	}
	return append(append(head, steps...), foot...)
}

func (s Style) heading(p *Progress) []string {
	if p.Task == nil {
		return nil
	}
	label := "Task " + line(p.Task.GetId())
	if p.Playbook != "" {
		label += "  " + strings.TrimSpace(p.Playbook+" "+p.Version)
	}
	return []string{s.paint(bold, cut(label, s.Width))}
}

func (s Style) footing(p *Progress, began, now time.Time) []string {
	state := p.State()
	word := State(state)
	switch {
	case p.Message != nil:
		word = "answered"
	case p.Task == nil:
		word = "sending"
	}
	label := strings.ToUpper(word[:1]) + word[1:] + s.since(p, began, now)
	out := []string{s.paint(stateLook(state), cut(label, s.Width))}
	if note := line(p.Note()); note != "" && (state == a2apb.TaskState_TASK_STATE_WORKING || state == a2apb.TaskState_TASK_STATE_AUTH_REQUIRED) {
		out = append(out, cut("  "+note, s.Width))
	}
	return out
}

// since is how long the request took, or has taken so far. Without a time of
// sending the task's own times are used, all of the server's clock.
func (s Style) since(p *Progress, began, now time.Time) string {
	state := p.State()
	over := ended(state) || state == a2apb.TaskState_TASK_STATE_INPUT_REQUIRED || p.Message != nil
	if began.IsZero() {
		for _, st := range p.Steps {
			if !st.Started.IsZero() && (began.IsZero() || st.Started.Before(began)) {
				began = st.Started
			}
		}
		if at := p.Task.GetStatus().GetTimestamp(); over && at != nil {
			now = at.AsTime()
		}
	}
	switch {
	case began.IsZero():
		return ""
	case over:
		return " after " + Took(now.Sub(began))
	}
	return " " + Took(now.Sub(began))
}

// callFrom is the width under which a step's agent and skill are left out.
const callFrom = 56

func (s Style) stepLines(p *Progress, now time.Time) []string {
	name, call := 0, 0
	for _, st := range p.Steps {
		name, call = max(name, wide(st.label())), max(call, wide(st.call()))
	}
	if s.Width > 0 {
		name = min(name, max(s.Width-14, 6))
	}
	var out []string
	for _, st := range p.Steps {
		mark, ok := stepMarks[st.State]
		if !ok {
			mark = stepMarks[pending]
		}
		parts := "  " + s.paint(mark.look, mark.sign) + " " + pad(cut(st.label(), name), name)
		used := 4 + name
		if s.Width == 0 || s.Width >= callFrom {
			parts += "  " + s.paint(dim, pad(st.call(), call))
			used += 2 + call
		}
		took := ""
		if d, ok := st.took(now); ok {
			took = Took(d)
		}
		parts += "  " + fmt.Sprintf("%6s", took)
		used += 2 + max(6, len(took))
		if extra := st.extra(now); extra != "" {
			room := s.Width - used - 2
			switch {
			case s.Width == 0:
				parts += "  " + s.paint(yellow, extra)
			case room >= 8:
				parts += "  " + s.paint(yellow, cut(extra, room))
			}
		}
		out = append(out, strings.TrimRight(parts, " "))
		if why := st.why(); why != "" {
			out = append(out, s.paint(dim, cut("      "+why, s.Width)))
		}
	}
	return out
}

func (s Step) call() string {
	if s.Agent == "" {
		return ""
	}
	return line(s.Agent + "/" + s.Skill)
}

// extra is what is remarkable about a step in a few words.
func (s Step) extra(now time.Time) string {
	var out []string
	if s.Round > 0 {
		out = append(out, fmt.Sprintf("revision %d", s.Round))
	}
	if s.Attempt > 0 {
		again := fmt.Sprintf("retry %d", s.Attempt)
		if !s.settled() && s.RetryAt.After(now) {
			again += " in " + Took(s.RetryAt.Sub(now))
		}
		out = append(out, again)
	}
	if s.WaitsFor != "" && !s.settled() {
		out = append(out, "waits for "+awaited(s.WaitsFor))
	}
	return strings.Join(out, ", ")
}

// why is the reason of a step that did not go well, or not at once.
func (s Step) why() string {
	if s.State == completed {
		return ""
	}
	return line(s.Reason)
}

// Plain tells a change in lines that stand for themselves, for output that is
// not a terminal.
func (s Style) Plain(p *Progress, c Change, now time.Time) []string {
	var out []string
	if c.State && p.Task != nil {
		at := now
		if stamp := p.Task.GetStatus().GetTimestamp(); stamp != nil {
			at = stamp.AsTime()
		}
		l := s.clock(at) + " task " + line(p.Task.GetId()) + " " + State(p.State())
		if note := line(p.Note()); note != "" && p.State() == a2apb.TaskState_TASK_STATE_WORKING {
			l += ": " + note
		}
		out = append(out, l)
	}
	for _, st := range c.Steps {
		at := now
		switch {
		case !st.Ended.IsZero():
			at = st.Ended
		case st.State == running && st.Attempt == 0 && st.WaitsFor == "" && !st.Started.IsZero():
			at = st.Started
		}
		l := s.clock(at) + "   " + st.label() + " " + strings.ToLower(line(st.State))
		if d, ok := st.took(now); ok && st.settled() {
			l += " in " + Took(d)
		}
		if st.Agent != "" {
			l += " (" + st.call() + ")"
		}
		if extra := st.extra(now); extra != "" {
			l += ", " + extra
		}
		if why := st.why(); why != "" {
			l += ": " + why
		}
		out = append(out, l)
	}
	return out
}

func (s Style) clock(t time.Time) string {
	if s.Zone != nil {
		t = t.In(s.Zone)
	}
	return t.Format("15:04:05")
}

// awaited says for whom a step waits.
func awaited(waitsFor string) string {
	if waitsFor == "auth" {
		return "a person"
	}
	return line(waitsFor)
}

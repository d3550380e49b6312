package render

import (
	"fmt"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/protobuf/types/known/structpb"
)

const dateTime = "2006-01-02 15:04:05"

func (s Style) date(t time.Time) string {
	if s.Zone != nil {
		t = t.In(s.Zone)
	}
	return t.Format(dateTime)
}

// Task draws a task as it is stored: what was asked, where it stands, its
// steps, and what has come of it.
func (s Style) Task(t *a2apb.Task, now time.Time) []string {
	p := OfTask(t)
	field := func(name, value string) []string {
		if value == "" {
			return nil
		}
		return s.wrap(pad(name, 10), line(value))
	}
	var out []string
	out = append(out, field("Task", t.GetId())...)
	out = append(out, field("Context", t.GetContextId())...)
	out = append(out, field("State", State(t.GetStatus().GetState()))...)
	out = append(out, field("Since", s.date(t.GetStatus().GetTimestamp().AsTime()))...)
	out = append(out, field("Playbook", strings.TrimSpace(p.Playbook+" "+p.Version))...)
	out = append(out, field("Request", Request(t))...)
	if steps := s.stepLines(p, now); len(steps) > 0 {
		out = append(append(out, "", s.paint(bold, "Steps")), steps...)
	}
	if lines := s.Note(p); len(lines) > 0 {
		out = append(append(out, ""), lines...)
	}
	if lines := s.Artifacts(t.GetArtifacts()); len(lines) > 0 {
		out = append(append(out, ""), lines...)
	}
	return out
}

// Request is the text of a task's first message, on one line.
func Request(t *a2apb.Task) string {
	for _, m := range t.GetHistory() {
		if m.GetRole() == a2apb.Role_ROLE_USER {
			return line(text(m.GetParts()))
		}
	}
	return ""
}

// Note is what the status says in words: why a task failed, or what it waits
// for. A completed task says it with its artifacts.
func (s Style) Note(p *Progress) []string {
	if p.State() == a2apb.TaskState_TASK_STATE_COMPLETED && len(p.Task.GetArtifacts()) > 0 {
		return nil
	}
	note := strings.TrimSpace(Clean(p.Note()))
	if note == "" {
		return nil
	}
	prose := s
	prose.Width = min(s.Width, widest)
	return prose.wrap("", note)
}

// Continue says how to give a task the input it waits for.
func Continue(t *a2apb.Task) []string {
	id := line(t.GetId())
	out := []string{"Continue with:", fmt.Sprintf("  sabha ask --task %s \"…\"", id)}
	if needs := needed(t); len(needs) > 0 {
		fields := make([]string, len(needs))
		for i, n := range needs {
			fields[i] = fmt.Sprintf("%q: …", n)
		}
		out = append(out, fmt.Sprintf("  sabha ask --task %s --data '{%s}'", id, strings.Join(fields, ", ")))
	}
	return out
}

// needed are the fields that the planner asks for, as far as they are at the top of the input.
func needed(t *a2apb.Task) []string {
	var out []string
	for _, part := range t.GetStatus().GetMessage().GetParts() {
		for _, n := range part.GetData().GetStructValue().GetFields()["needs"].GetListValue().GetValues() {
			name := strings.TrimPrefix(field(n, "path"), "/")
			if name != "" && !strings.Contains(name, "/") {
				out = append(out, line(name))
			}
		}
	}
	return out
}

func field(v *structpb.Value, name string) string {
	return v.GetStructValue().GetFields()[name].GetStringValue()
}

// Tasks draws a list of tasks, one a line.
func (s Style) Tasks(list []*a2apb.Task) []string {
	rows := make([][]string, len(list))
	for i, t := range list {
		rows[i] = []string{
			t.GetId(), State(t.GetStatus().GetState()), s.date(t.GetStatus().GetTimestamp().AsTime()), OfTask(t).Playbook, Request(t),
		}
	}
	return s.Table([]string{"TASK", "STATE", "SINCE", "PLAYBOOK", "REQUEST"}, rows)
}

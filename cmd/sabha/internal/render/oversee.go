package render

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"

	adminv1 "sabha.dev/gen/sabha/admin/v1"
)

// Overseen draws tasks of every caller, one a line.
func (s Style) Overseen(list []*adminv1.TaskSummary) []string {
	rows := make([][]string, len(list))
	for i, t := range list {
		rows[i] = []string{
			t.GetId(), State(a2apb.TaskState(a2apb.TaskState_value[t.GetState()])), s.date(t.GetCreatedAt().AsTime()), line(t.GetPrincipal()),
			line(t.GetPlan().GetFields()["playbook"].GetStringValue()), line(t.GetRequest()),
		}
	}
	return s.Table([]string{"TASK", "STATE", "BEGAN", "CALLER", "PLAYBOOK", "REQUEST"}, rows)
}

// Counted says how many tasks of a list are in which state.
func Counted(res *adminv1.ListTasksResponse) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(res.GetCounts())) {
		parts = append(parts, fmt.Sprintf("%d %s", res.GetCounts()[name], State(a2apb.TaskState(a2apb.TaskState_value[name]))))
	}
	switch {
	case len(parts) == 0:
		return "there are more"
	case res.GetCountsMore():
		return "more than " + strings.Join(parts, ", ")
	}
	return strings.Join(parts, ", ")
}

// Line is text of others on one line, without what would steer a terminal.
func Line(text string) string { return line(text) }

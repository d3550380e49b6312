package render

import (
	"fmt"

	adminv1 "sabha.dev/gen/sabha/admin/v1"
)

// DeadPushes draws the webhooks that were given up.
func (s Style) DeadPushes(list []*adminv1.DeadPush) []string {
	rows := make([][]string, len(list))
	for i, p := range list {
		at := p.GetDisabledAt().AsTime()
		if s.Zone != nil {
			at = at.In(s.Zone)
		}
		rows[i] = []string{
			at.Format("2006-01-02 15:04:05"), p.GetService(), p.GetTaskId(), line(p.GetConfigId()),
			fmt.Sprintf("%d of %d", p.GetDelivered(), p.GetNewest()), line(p.GetUrl()), line(p.GetReason()),
		}
	}
	return s.Table([]string{"GIVEN UP", "SERVICE", "TASK", "CONFIG", "EVENTS", "URL", "REASON"}, rows)
}

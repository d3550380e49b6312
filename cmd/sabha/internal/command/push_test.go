package command_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"sabha.dev/chassis/fault"
	"sabha.dev/cmd/sabha/internal/rig"
	adminv1 "sabha.dev/gen/sabha/admin/v1"
)

func TestWebhooksThatWereGivenUpAreListedAndSentAgain(t *testing.T) {
	at := time.Date(2026, 1, 2, 10, 0, 0, 0, time.UTC)
	dead := []*adminv1.DeadPush{
		{Service: "planner", TaskId: "t1", ConfigId: "c1", Url: "https://a.example/x", Reason: "HTTP 500", Failures: 30, DisabledAt: timestamppb.New(at), Delivered: 2, Newest: 5},
		{Service: "planner", TaskId: "t1", ConfigId: "c2", Url: "https://b.example/", Reason: "connection refused", Failures: 30, DisabledAt: timestamppb.New(at), Newest: 5},
		{Service: "research", TaskId: "t2", ConfigId: "c3", Url: "https://b.example/", Reason: "HTTP 410\x1b[2J", Failures: 1, DisabledAt: timestamppb.New(at), Newest: 1},
	}
	var sent []string
	p := rig.Start(t, rig.Script{
		Dead: func(service string) ([]*adminv1.DeadPush, error) {
			return slices.DeleteFunc(slices.Clone(dead), func(d *adminv1.DeadPush) bool { return service != "" && d.GetService() != service }), nil
		},
		Resend: func(q *adminv1.ResendPushRequest) error {
			sent = append(sent, fmt.Sprintf("%s/%s/%s", q.GetService(), q.GetTaskId(), q.GetConfigId()))
			return nil
		},
	})
	const head = "GIVEN UP             SERVICE   TASK  CONFIG  EVENTS  URL                  REASON\n"
	for _, c := range []struct {
		args, out string
		code      int
		sent      []string
	}{
		{"push list --service research", "GIVEN UP             SERVICE   TASK  CONFIG  EVENTS  URL                 REASON\n2026-01-02 10:00:00  research  t2    c3      0 of 1  https://b.example/  HTTP 410 [2J\n", 0, nil},
		{"push list", head +
			"2026-01-02 10:00:00  planner   t1    c1      2 of 5  https://a.example/x  HTTP 500\n" +
			"2026-01-02 10:00:00  planner   t1    c2      0 of 5  https://b.example/   connection refused\n" +
			"2026-01-02 10:00:00  research  t2    c3      0 of 1  https://b.example/   HTTP 410 [2J\n", 0, nil},
		{"push list --service gateway", "No webhook was given up.\n", 0, nil},
		{"push resend t1", "2 sent again.\n", 0, []string{"planner/t1/c1", "planner/t1/c2"}},
		{"push resend t1 c2", "1 sent again.\n", 0, []string{"planner/t1/c2"}},
		{"push resend --all", "3 sent again.\n", 0, []string{"planner/t1/c1", "planner/t1/c2", "research/t2/c3"}},
		{"push resend t9", "", 7, nil},
		{"push resend", "", 2, nil},
		{"push resend t1 --all", "", 2, nil},
	} {
		sent = nil
		u := newUser(p.URL)
		if code := u.run(t.Context(), strings.Fields(c.args)...); int(code) != c.code {
			t.Errorf("%s: exit code %d, want %d: %s", c.args, code, c.code, u.err.String())
		}
		if got := u.out.String(); got != c.out {
			t.Errorf("%s: output\n%s\nwant\n%s", c.args, got, c.out)
		}
		if !slices.Equal(sent, c.sent) {
			t.Errorf("%s: sent %v, want %v", c.args, sent, c.sent)
		}
	}
	denied := newUser(rig.Start(t, rig.Script{Dead: func(string) ([]*adminv1.DeadPush, error) {
		return nil, fault.New(fault.PermissionDenied, "operators only")
	}}).URL)
	if code := denied.run(t.Context(), "push", "list"); code != 8 || !strings.HasPrefix(denied.err.String(), "sabha: operators only\n") {
		t.Errorf("exit code %d: %s", code, denied.err.String())
	}
	wrong := newUser("")
	if code := wrong.run(t.Context(), "up", "--push-allow", "10.0.0.0/99"); code != 2 || !strings.Contains(wrong.err.String(), "write a CIDR") {
		t.Errorf("exit code %d: %s", code, wrong.err.String())
	}
}

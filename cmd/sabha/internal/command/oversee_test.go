package command_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"sabha.dev/chassis/fault"
	"sabha.dev/cmd/sabha/internal/rig"
	adminv1 "sabha.dev/gen/sabha/admin/v1"
)

func TestOperatorsListTheTasksOfEveryCaller(t *testing.T) {
	at := time.Date(2026, 1, 2, 10, 0, 0, 0, time.UTC)
	plan := &structpb.Struct{Fields: map[string]*structpb.Value{"playbook": structpb.NewStringValue("leave")}}
	var asked []string
	p := rig.Start(t, rig.Script{Overseen: func(q *adminv1.ListTasksRequest) (*adminv1.ListTasksResponse, error) {
		asked = append(asked, fmt.Sprintf("%d %s %v %s %s %s %s %s %v %s %s %v", q.GetPageSize(), q.GetPageToken(), q.GetStates(), q.GetPlaybook(), q.GetAgent(),
			q.GetPrincipal(), q.GetContextId(), q.GetQuery(), q.GetRetrying(), q.GetFailedStep(), q.GetService(), q.GetCreatedAfter() != nil))
		if q.GetQuery() == "nothing" {
			return &adminv1.ListTasksResponse{}, nil
		}
		res := &adminv1.ListTasksResponse{Counts: map[string]int64{"TASK_STATE_WORKING": 2, "TASK_STATE_FAILED": 10_001}, CountsMore: true}
		if q.GetPageToken() == "" { // a page may be short and yet have a next one
			res.Tasks, res.NextPageToken = []*adminv1.TaskSummary{{
				Id: "t2", State: "TASK_STATE_WORKING", CreatedAt: timestamppb.New(at), Principal: "acme/alma", Plan: plan, Request: "How much\x1b[2J leave?",
			}}, "t2"
		} else {
			res.Tasks, res.NextPageToken = []*adminv1.TaskSummary{{Id: "t1", State: "TASK_STATE_FAILED", CreatedAt: timestamppb.New(at)}}, "t1"
		}
		return res, nil
	}})
	const head = "TASK  STATE    BEGAN                CALLER     PLAYBOOK  REQUEST\n"
	const first = "t2    working  2026-01-02 10:00:00  acme/alma  leave     How much [2J leave?\n"
	for _, c := range []struct {
		args     []string
		out, err string
		code     int
		asked    []string
	}{
		{[]string{"task", "list", "--all", "--limit", "1"}, head + first, "more than 10001 failed, 2 working; --limit shows more\n", 0, []string{"1  []      false   false"}},
		{
			[]string{"task", "list", "--all", "--limit", "2"},
			head + first + "t1    failed   2026-01-02 10:00:00\n", "more than 10001 failed, 2 working; --limit shows more\n", 0,
			[]string{"2  []      false   false", "1 t2 []      false   false"},
		},
		{
			strings.Split("task list --all --limit 1 --state failed --playbook leave --agent research --caller acme/alma --context c1 --query nothing --retrying --failed-step * --service planner --since 24h", " "),
			"No tasks.\n", "", 0,
			[]string{"1  [TASK_STATE_FAILED] leave research acme/alma c1 nothing true * planner true"},
		},
		{[]string{"task", "list", "--playbook", "leave"}, "", "sabha: --playbook selects among the tasks of every caller; give --all too\nSee: sabha task list --help\n", 2, nil},
	} {
		asked = nil
		u := newUser(p.URL)
		if code := u.run(t.Context(), c.args...); int(code) != c.code {
			t.Errorf("%s: exit code %d, want %d", c.args, code, c.code)
		}
		if u.out.String() != c.out || u.err.String() != c.err {
			t.Errorf("%s: output\n%s%s\nwant\n%s%s", c.args, u.out.String(), u.err.String(), c.out, c.err)
		}
		if strings.Join(asked, "\n") != strings.Join(c.asked, "\n") {
			t.Errorf("%s: asked %q, want %q", c.args, asked, c.asked)
		}
	}
}

func TestOperatorsCancelTasksForAReason(t *testing.T) {
	var asked string
	p := rig.Start(t, rig.Script{CancelFor: func(q *adminv1.CancelTasksRequest) ([]*adminv1.CancelOutcome, error) {
		asked = fmt.Sprint(q.GetService(), q.GetTaskIds(), q.GetReason())
		var out []*adminv1.CancelOutcome
		for _, id := range q.GetTaskIds() {
			o := &adminv1.CancelOutcome{TaskId: id, State: "TASK_STATE_CANCELED"}
			switch id {
			case "plan":
				o.State = "TASK_STATE_WORKING"
			case "over":
				o.State, o.Error = "", "task over has ended as TASK_STATE_FAILED"
			}
			out = append(out, o)
		}
		return out, nil
	}})
	for _, c := range []struct {
		args     []string
		out, err string
		code     int
		asked    string
	}{
		{[]string{"task", "cancel", "t1", "plan", "--reason", "too old"}, "Task t1 is canceled.\nTask plan is being canceled; what it did is being undone.\n", "", 0, "[t1 plan]too old"},
		{
			[]string{"task", "cancel", "over", "t1", "--reason", "too old", "--service", "research"},
			"Task t1 is canceled.\n",
			"sabha: 1 of 2 were not canceled: task over has ended as TASK_STATE_FAILED\n", 1, "research[over t1]too old",
		},
		{[]string{"task", "cancel", "t1", "t2"}, "", "sabha: name the task, or several with --reason; write: sabha task cancel TASK… [--reason WHY] [flags]\nSee: sabha task cancel --help\n", 2, ""},
		{[]string{"task", "cancel", "t1", "--service", "research"}, "", "sabha: --service is for tasks of any caller; give --reason too\nSee: sabha task cancel --help\n", 2, ""},
	} {
		asked = ""
		u := newUser(p.URL)
		if code := u.run(t.Context(), c.args...); int(code) != c.code {
			t.Errorf("%s: exit code %d, want %d", c.args, code, c.code)
		}
		if u.out.String() != c.out || u.err.String() != c.err || asked != c.asked {
			t.Errorf("%s: asked %q, output\n%s%s\nwant\n%s%s", c.args, asked, u.out.String(), u.err.String(), c.out, c.err)
		}
	}
	denied := newUser(rig.Start(t, rig.Script{CancelFor: func(*adminv1.CancelTasksRequest) ([]*adminv1.CancelOutcome, error) {
		return nil, fault.New(fault.PermissionDenied, "it needs one of the scopes operator, admin")
	}}).URL)
	if code := denied.run(t.Context(), "task", "cancel", "t1", "--reason", "x"); code != 8 {
		t.Errorf("without the scope: exit code %d, want 8", code)
	}
}

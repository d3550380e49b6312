package request_test

import (
	"strings"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"sabha.dev/chassis/ext"
	adminv1 "sabha.dev/gen/sabha/admin/v1"
	"sabha.dev/services/console/internal/request"
)

func TestStatesAreNamedAsInTheContract(t *testing.T) {
	for _, s := range request.States {
		back, ok := request.ParseState(string(request.FromWire(s.Wire())))
		if !ok || back != s {
			t.Errorf("%s is %s in the contract and comes back as %q", s, s.Wire(), back)
		}
	}
	if got := request.InputRequired.Wire(); got != "TASK_STATE_INPUT_REQUIRED" {
		t.Errorf("input-required is %q in the contract", got)
	}
	for _, bad := range []string{"", "WORKING", "message", "task_state_working"} {
		if s, ok := request.ParseState(bad); ok {
			t.Errorf("%q was read as the state %q", bad, s)
		}
	}
}

func TestPrincipalsAreReadable(t *testing.T) {
	for key, want := range map[string]string{"": "anonymous", "/operator": "operator", "acme/alma": "alma (acme)", "odd": "odd"} {
		if got := request.OfSummary(&adminv1.TaskSummary{Principal: key}).Principal; got != want {
			t.Errorf("principal %q reads %q, want %q", key, got, want)
		}
	}
}

func TestAPlanIsReadFromTheTasksMetadata(t *testing.T) {
	md := &structpb.Struct{}
	if err := protojson.Unmarshal([]byte(`{"playbook":"general","version":"7","phase":"RUNNING","steps":[
		{"step":"find","agent":"research","skill":"investigate","state":"COMPLETED","started_at":"2026-03-01T08:00:00Z","ended_at":"2026-03-01T08:00:01.5Z"},
		{"step":"find","kind":"compensation","state":"RUNNING","attempt":1,"round":2,"waits_for":"a person","reason":"try again"},
		{"step":"draft","state":"PENDING","started_at":"no time"}]}`), md); err != nil {
		t.Fatal(err)
	}
	p := request.OfSummary(&adminv1.TaskSummary{Plan: md}).Plan
	if p.Playbook != "general" || p.Version != "7" || len(p.Steps) != 3 {
		t.Fatalf("plan %+v", p)
	}
	first, undo, draft := p.Steps[0], p.Steps[1], p.Steps[2]
	if first.State != request.StepCompleted || first.Ended.Sub(first.Started) != 1500*time.Millisecond || first.Agent != "research" {
		t.Errorf("first step %+v", first)
	}
	if !undo.Undo || undo.Attempt != 1 || undo.Round != 2 || undo.WaitsFor != "a person" || undo.Reason != "try again" {
		t.Errorf("compensation %+v", undo)
	}
	if draft.State != request.StepPending || !draft.Started.IsZero() {
		t.Errorf("pending step %+v", draft)
	}
	if c := p.Current(); c == nil || c.Name != "find" {
		t.Errorf("current step %+v, want the compensation of find", c)
	}
}

func TestAnEventSaysWhatItChangesOfThePlan(t *testing.T) {
	r := &a2apb.StreamResponse{}
	if err := protojson.Unmarshal([]byte(`{"statusUpdate":{"status":{"state":"TASK_STATE_WORKING"},"metadata":{"`+ext.Plan+`":{"steps":[
		{"step":"find","state":"COMPLETED"},{"step":"draft","state":"RUNNING","retry_at":"2026-03-01T08:00:00Z","reason":"no model"},{"step":"note","kind":"compensation","state":"RUNNING"}]}}}}`), r); err != nil {
		t.Fatal(err)
	}
	if got, want := request.OfResponse(r).Text, "find completed, draft is tried again: no model, undo note running"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestATrailIsInOrderAndNestsCallsUnderTheTaskThatMadeThem(t *testing.T) {
	hop := func(agent, task, parent string, second int) *adminv1.Hop {
		return &adminv1.Hop{Agent: agent, TaskId: task, ParentTaskId: parent, StartedAt: timestamppb.New(time.Date(2026, 3, 1, 8, 0, second, 0, time.UTC))}
	}
	var got []string
	for _, h := range request.Trail([]*adminv1.Hop{
		hop("validator", "v", "p", 3), hop("security", "", "p", 1), hop("tool", "t", "r", 2), hop("planner", "p", "", 0), hop("research", "r", "p", 1),
	}) {
		got = append(got, strings.Repeat(">", h.Depth)+h.Agent)
	}
	if want := "planner >research >security >>tool >validator"; strings.Join(got, " ") != want {
		t.Errorf("trail %q, want %q", strings.Join(got, " "), want)
	}
}

func TestACallThatRunsHasTakenUntilNow(t *testing.T) {
	h := request.Hop{Started: time.Unix(100, 0)}
	if got := h.Took(time.Unix(130, 0)); got != 30*time.Second {
		t.Errorf("took %v, want 30s", got)
	}
	if got := h.Took(time.Unix(90, 0)); got != 0 {
		t.Errorf("by a clock that is behind it took %v, want 0", got)
	}
	h.Ended = time.Unix(101, 0)
	if got := h.Took(time.Unix(130, 0)); got != time.Second {
		t.Errorf("took %v after its end, want 1s", got)
	}
}

func FuzzPlansOfAnyMetadataAreRead(f *testing.F) {
	for _, seed := range []string{`{}`, `{"steps":null}`, `{"steps":[1,null,{"step":7,"attempt":1e300,"started_at":"2026-13-01T00:00:00Z"}]}`, `{"playbook":{"a":[]},"steps":{}}`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		md := &structpb.Struct{}
		if protojson.Unmarshal([]byte(raw), md) != nil {
			return
		}
		p := request.OfSummary(&adminv1.TaskSummary{Plan: md}).Plan
		if n := len(md.GetFields()["steps"].GetListValue().GetValues()); len(p.Steps) != n {
			t.Errorf("%d steps of %d", len(p.Steps), n)
		}
	})
}

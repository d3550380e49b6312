package load

import (
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/protobuf/types/known/structpb"

	"sabha.dev/chassis/ext"
)

func at(t *testing.T, cursor string, gap bool) *structpb.Struct {
	t.Helper()
	md, err := structpb.NewStruct(map[string]any{ext.Cursor: cursor})
	if err != nil {
		t.Fatal(err)
	}
	if gap {
		md.Fields[ext.Cursor+"/gap"] = structpb.NewBoolValue(true)
	}
	return md
}

func update(t *testing.T, cursor string, state a2apb.TaskState) *a2apb.StreamResponse {
	t.Helper()
	return &a2apb.StreamResponse{Payload: &a2apb.StreamResponse_StatusUpdate{StatusUpdate: &a2apb.TaskStatusUpdateEvent{
		Status: &a2apb.TaskStatus{State: state}, Metadata: at(t, cursor, false),
	}}}
}

func snapshot(t *testing.T, cursor string, gap bool) *a2apb.StreamResponse {
	t.Helper()
	return &a2apb.StreamResponse{Payload: &a2apb.StreamResponse_Task{Task: &a2apb.Task{
		Id: "t1", Status: &a2apb.TaskStatus{State: a2apb.TaskState_TASK_STATE_WORKING}, Metadata: at(t, cursor, gap),
	}}}
}

func TestWhatAClientSeesIsCounted(t *testing.T) {
	working := func(cursor string) *a2apb.StreamResponse {
		return update(t, cursor, a2apb.TaskState_TASK_STATE_WORKING)
	}
	done := func(cursor string) *a2apb.StreamResponse { return update(t, cursor, completed) }
	for _, c := range []struct {
		name                               string
		events                             []*a2apb.StreamResponse
		gaps, repeats, explicit, terminals int
		wrong                              string
	}{
		{name: "one after the other", events: []*a2apb.StreamResponse{working("1.2"), working("1.3"), done("1.4")}, terminals: 1},
		{name: "one is missing", events: []*a2apb.StreamResponse{working("1.2"), done("1.4")}, gaps: 1, terminals: 1, wrong: "event 1.4 came after 1.2"},
		{name: "one comes again", events: []*a2apb.StreamResponse{working("1.2"), working("1.2"), done("1.3")}, repeats: 1, terminals: 1, wrong: "event 1.2 came again after 1.2"},
		{name: "a gap said aloud", events: []*a2apb.StreamResponse{working("1.2"), snapshot(t, "1.7", true), done("1.8")}, explicit: 1, terminals: 1},
		{name: "a snapshot without a word", events: []*a2apb.StreamResponse{snapshot(t, "1.7", false), done("1.8")}, terminals: 1, wrong: "a snapshot at 1.7 after cursor 1.1"},
		{name: "another epoch", events: []*a2apb.StreamResponse{working("2.2"), done("2.3")}, gaps: 1, terminals: 1, wrong: "event 2.2 came after 1.1"},
		{name: "after the end", events: []*a2apb.StreamResponse{done("1.2"), working("1.3")}, terminals: 1, wrong: "an event came after the end"},
		{name: "no cursor", events: []*a2apb.StreamResponse{working("")}, wrong: "an event without a cursor"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := &watcher{}
			w.begin(snapshot(t, "1.1", false).GetTask())
			for _, ev := range c.events {
				w.see(ev)
			}
			if w.gaps != c.gaps || w.repeats != c.repeats || w.explicit != c.explicit || w.terminals != c.terminals || w.events != len(c.events) {
				t.Errorf("%d events, %d gaps, %d repeats, %d explicit, %d terminal", w.events, w.gaps, w.repeats, w.explicit, w.terminals)
			}
			if got := strings.Join(w.wrong, "\n"); !strings.Contains(got, c.wrong) || (got == "") != (c.wrong == "") {
				t.Errorf("wrong: %q, want …%s…", got, c.wrong)
			}
		})
	}
}

package load

import (
	"fmt"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/protobuf/types/known/structpb"

	"sabha.dev/chassis/ext"
)

// watcher is what a client has seen of one task.
type watcher struct {
	task           string
	cursor         string
	epoch, version int64
	state          a2apb.TaskState

	events, explicit, gaps, repeats, terminals int
	// runs and finished are the steps that were seen to run or to have finished.
	runs     map[string]bool
	finished map[string]time.Time

	cuts     []Cut
	arrivals []time.Time

	asked, answered, canceled bool
	wrong                     []string
}

// Cut is a stream that ended before its task, and when the next event came.
type Cut struct{ At, Resumed time.Time }

// cut notes that the stream ended; ends of the attempts to open another are part of it.
func (w *watcher) cut() {
	if n := len(w.cuts); n == 0 || !w.cuts[n-1].Resumed.IsZero() {
		w.cuts = append(w.cuts, Cut{At: time.Now()})
	}
}

// begin takes the task that the message became, which is where watching begins.
func (w *watcher) begin(t *a2apb.Task) {
	w.task, w.runs, w.finished = t.GetId(), map[string]bool{}, map[string]time.Time{}
	w.place(t.GetMetadata())
	w.enter(t.GetStatus().GetState(), t.GetMetadata())
}

// snapshot takes the whole task in place of what was missed.
func (w *watcher) snapshot(t *a2apb.Task) {
	w.explicit++
	w.place(t.GetMetadata())
	w.enter(t.GetStatus().GetState(), t.GetMetadata())
}

func (w *watcher) ended() bool { return terminal(w.state) }

func terminal(s a2apb.TaskState) bool {
	switch s {
	case a2apb.TaskState_TASK_STATE_COMPLETED, a2apb.TaskState_TASK_STATE_FAILED, a2apb.TaskState_TASK_STATE_CANCELED, a2apb.TaskState_TASK_STATE_REJECTED:
		return true
	}
	return false
}

// see checks that an event follows the one before, or that a snapshot says why not.
func (w *watcher) see(ev *a2apb.StreamResponse) {
	now := time.Now()
	w.events++
	w.arrivals = append(w.arrivals, now)
	if n := len(w.cuts); n > 0 && w.cuts[n-1].Resumed.IsZero() {
		w.cuts[n-1].Resumed = now
	}
	if w.ended() {
		w.fault("an event came after the end: %v", ev)
		return
	}
	md, state := metadataOf(ev), w.state
	switch {
	case ev.GetTask() != nil:
		state = ev.GetTask().GetStatus().GetState()
	case ev.GetStatusUpdate() != nil:
		state = ev.GetStatusUpdate().GetStatus().GetState()
	}
	epoch, version := w.epoch, w.version
	if !w.place(md) {
		w.fault("an event without a cursor: %v", ev)
		return
	}
	snapshot := ev.GetTask() != nil
	switch {
	case snapshot && md.GetFields()[ext.Cursor+"/gap"].GetBoolValue():
		w.explicit++
	case snapshot:
		w.fault("a snapshot at %s after cursor %d.%d, which says of no gap", w.cursor, epoch, version)
	case w.epoch == epoch && w.version <= version:
		w.repeats++
		w.fault("event %s came again after %d.%d", w.cursor, epoch, version)
	case w.epoch != epoch || w.version > version+1:
		w.gaps++
		w.fault("event %s came after %d.%d", w.cursor, epoch, version)
	}
	w.enter(state, md)
}

func (w *watcher) fault(format string, args ...any) {
	w.wrong = append(w.wrong, fmt.Sprintf("task %s: ", w.task)+fmt.Sprintf(format, args...))
}

// place moves to the cursor of an event.
func (w *watcher) place(md *structpb.Struct) bool {
	cursor := cursorOf(md)
	if _, err := fmt.Sscanf(cursor, "%d.%d", &w.epoch, &w.version); err != nil {
		return false
	}
	w.cursor = cursor
	return true
}

func cursorOf(md *structpb.Struct) string { return md.GetFields()[ext.Cursor].GetStringValue() }

// enter takes the state of the task and of its steps.
func (w *watcher) enter(state a2apb.TaskState, md *structpb.Struct) {
	w.state = state
	if terminal(state) {
		w.terminals++
	}
	if state == a2apb.TaskState_TASK_STATE_INPUT_REQUIRED {
		w.asked = true
	}
	now := time.Now()
	for _, s := range steps(md) {
		w.runs[s.id] = true
		if _, known := w.finished[s.id]; s.state == "COMPLETED" && !known {
			w.finished[s.id] = now
		}
	}
}

// step of a plan as the metadata shows it.
type step struct {
	id, state string
	ended     time.Time
}

// steps are those of the plan, and with /undo their compensations.
func steps(md *structpb.Struct) []step {
	var list []step
	for _, v := range md.GetFields()[ext.Plan].GetStructValue().GetFields()["steps"].GetListValue().GetValues() {
		f := v.GetStructValue().GetFields()
		s := step{id: f["step"].GetStringValue(), state: f["state"].GetStringValue()}
		if f["kind"].GetStringValue() != "" {
			s.id += "/undo"
		}
		s.ended, _ = time.Parse(time.RFC3339Nano, f["ended_at"].GetStringValue())
		list = append(list, s)
	}
	return list
}

// recorded are the ends of the finished steps as the plan has them.
func recorded(t *a2apb.Task) map[string]time.Time {
	ends := map[string]time.Time{}
	for _, s := range steps(t.GetMetadata()) {
		if s.state == "COMPLETED" {
			ends[s.id] = s.ended
		}
	}
	return ends
}

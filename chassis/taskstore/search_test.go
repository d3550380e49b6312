package taskstore_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"

	"sabha.dev/chassis/taskstore"
)

const (
	works     = a2apb.TaskState_TASK_STATE_WORKING
	completed = a2apb.TaskState_TASK_STATE_COMPLETED
	failed    = a2apb.TaskState_TASK_STATE_FAILED
	canceled  = a2apb.TaskState_TASK_STATE_CANCELED
	needs     = a2apb.TaskState_TASK_STATE_INPUT_REQUIRED
)

// madeAt is the id of the task of a minute after the start, as a UUID of version 7 of then.
func madeAt(minute int) string {
	ms := start.Add(time.Duration(minute) * time.Minute).UnixMilli()
	return fmt.Sprintf("%08x-%04x-7abc-8def-0123456789ab", ms>>16, ms&0xffff)
}

// minutes are the tasks of a page by their minute.
func minutes(list []*taskstore.Record) string {
	var out []string
	for _, rec := range list {
		out = append(out, fmt.Sprint(int(rec.CreatedAt.Sub(start).Minutes())))
	}
	return strings.Join(out, " ")
}

// archive is a library whose tasks are a minute apart, beside a table of a
// persona's own that says what colour some of them have.
func archive(r *rig) *taskstore.Store {
	r.Helper()
	s := r.store("a")
	for i, c := range []struct {
		owner, context, said, colour string
		state                        a2apb.TaskState
	}{
		{"acme/alice", "c1", "Where is the Lighthouse?", "red", completed},
		{"acme/bob", "c2", "where to eat", "", works},
		{"acme/alice", "c1", "ÄPFEL und Birnen", "red", failed},
		{"acme/bob", "c1", "the lighthouse keeper", "blue", completed},
		{"acme/alice", "c2", "birnen", "red", needs},
		{"service:planner", "c1", "lighthouse", "", canceled},
		{"acme/alice", "c1", "who?", "blue", completed},
	} {
		rec := r.record(madeAt(i))
		rec.Owner, rec.Task.ContextId = c.owner, c.context
		rec.Task.History[0].Parts = []*a2apb.Part{text(c.said)}
		h, err := s.Create(r.Context(), rec, "m-"+rec.Task.GetId())
		r.must(err)
		r.must(h.Commit(r.Context(), emit(artifact("x", "lighthouse birnen", false), status(c.state, "a lighthouse"))))
		r.clock.Advance(time.Minute)
		if i == 0 {
			_, err := s.DB().Write.ExecContext(r.Context(), `CREATE TABLE colours (task_id TEXT NOT NULL PRIMARY KEY, colour TEXT NOT NULL)`)
			r.must(err)
		}
		if c.colour != "" {
			_, err := s.DB().Write.ExecContext(r.Context(), `INSERT INTO colours (task_id, colour) VALUES ($1, $2)`, madeAt(i), c.colour)
			r.must(err)
		}
	}
	return s
}

func walk(colour string) taskstore.Facts {
	return taskstore.Facts{Walk: taskstore.Condition{SQL: `SELECT task_id FROM colours WHERE colour = ?`, Args: []any{colour}}}
}

func having(colour string) taskstore.Facts {
	return taskstore.Facts{Where: []taskstore.Condition{{
		SQL: `EXISTS (SELECT 1 FROM colours WHERE colours.task_id = tasks.id AND colours.colour = ?)`, Args: []any{colour},
	}}}
}

func TestSearchFiltersAndCounts(t *testing.T) {
	onBothEngines(t, func(t *testing.T, r *rig) {
		s := archive(r)
		for name, c := range map[string]struct {
			q      taskstore.Search
			want   string
			counts map[a2apb.TaskState]int64
		}{
			"everything, the newest first": {taskstore.Search{}, "6 5 4 3 2 1 0", map[a2apb.TaskState]int64{completed: 3, works: 1, failed: 1, needs: 1, canceled: 1}},
			"an owner's":                   {taskstore.Search{Owner: "acme/bob"}, "3 1", map[a2apb.TaskState]int64{completed: 1, works: 1}},
			"of an owner without any":      {taskstore.Search{Owner: "acme/eve"}, "", nil},
			"of a context":                 {taskstore.Search{ContextID: "c2"}, "4 1", map[a2apb.TaskState]int64{needs: 1, works: 1}},
			"of an owner, in a context and a state": {
				taskstore.Search{Owner: "acme/alice", ContextID: "c1", States: []a2apb.TaskState{completed}}, "6 0", map[a2apb.TaskState]int64{completed: 2, failed: 1},
			},
			"that are open":             {taskstore.Search{States: []a2apb.TaskState{works, needs}}, "4 1", map[a2apb.TaskState]int64{completed: 3, works: 1, failed: 1, needs: 1, canceled: 1}},
			"that ended badly":          {taskstore.Search{States: []a2apb.TaskState{failed, canceled}}, "5 2", map[a2apb.TaskState]int64{completed: 3, works: 1, failed: 1, needs: 1, canceled: 1}},
			"open ones and bad ones":    {taskstore.Search{States: []a2apb.TaskState{failed, works}}, "2 1", map[a2apb.TaskState]int64{completed: 3, works: 1, failed: 1, needs: 1, canceled: 1}},
			"bad ones and completed":    {taskstore.Search{States: []a2apb.TaskState{failed, completed}}, "6 3 2 0", map[a2apb.TaskState]int64{completed: 3, works: 1, failed: 1, needs: 1, canceled: 1}},
			"from a time on":            {taskstore.Search{After: start.Add(4 * time.Minute)}, "6 5 4", map[a2apb.TaskState]int64{completed: 1, needs: 1, canceled: 1}},
			"up to a time":              {taskstore.Search{Before: start.Add(2 * time.Minute)}, "1 0", map[a2apb.TaskState]int64{completed: 1, works: 1}},
			"between times, in a state": {taskstore.Search{After: start.Add(time.Minute), Before: start.Add(4 * time.Minute), States: []a2apb.TaskState{failed}}, "2", map[a2apb.TaskState]int64{completed: 1, works: 1, failed: 1}},
			"that the persona walks":    {taskstore.Search{Facts: walk("red")}, "4 2 0", map[a2apb.TaskState]int64{completed: 1, failed: 1, needs: 1}},
			"walked, in a state":        {taskstore.Search{Facts: walk("blue"), States: []a2apb.TaskState{completed}}, "6 3", map[a2apb.TaskState]int64{completed: 2}},
			"walked, of an owner, late": {taskstore.Search{Facts: walk("red"), Owner: "acme/alice", After: start.Add(time.Minute)}, "4 2", map[a2apb.TaskState]int64{failed: 1, needs: 1}},
			"that the persona knows":    {taskstore.Search{Facts: having("red")}, "4 2 0", map[a2apb.TaskState]int64{completed: 1, failed: 1, needs: 1}},
			"known, of an owner":        {taskstore.Search{Facts: having("blue"), Owner: "acme/bob"}, "3", map[a2apb.TaskState]int64{completed: 1}},
			"that cannot be":            {taskstore.Search{Facts: taskstore.Facts{None: true}}, "", nil},
			"by a word":                 {taskstore.Search{Words: []string{"lighthouse"}}, "5 3 0", nil},
			"by two words":              {taskstore.Search{Words: []string{"keeper", "lighthouse"}}, "3", nil},
			"by a word beyond ASCII":    {taskstore.Search{Words: []string{"äpfel"}}, "2", nil},
			"by a word, of an owner":    {taskstore.Search{Words: []string{"lighthouse"}, Owner: "acme/bob"}, "3", nil},
			"by a word, walked":         {taskstore.Search{Words: []string{"birnen"}, Facts: walk("red"), States: []a2apb.TaskState{failed, needs}}, "4 2", nil},
			"by a word of the answer":   {taskstore.Search{Words: []string{"a lighthouse"}}, "", nil},
		} {
			t.Run(name, func(t *testing.T) {
				c.q.Limit = 100
				page, err := s.Search(t.Context(), c.q)
				if err != nil {
					t.Fatal(err)
				}
				if got := minutes(page.Tasks); got != c.want || page.Next != "" {
					t.Errorf("found %q and then %q, want %q", got, page.Next, c.want)
				}
				counts, err := s.Counts(t.Context(), c.q)
				if err != nil {
					t.Fatal(err)
				}
				if c.counts == nil {
					c.counts = map[a2apb.TaskState]int64{}
				}
				if with, err := s.CountsWith(t.Context(), c.q, page); err != nil || fmt.Sprint(with) != fmt.Sprint(counts) {
					t.Errorf("counts with the page %v, %v; without %v", with, err, counts)
				}
				if fmt.Sprint(counts.ByState) != fmt.Sprint(c.counts) || counts.More {
					t.Errorf("counts %v, want %v", counts, c.counts)
				}
			})
		}
	})
}

func TestPagesOfASearchMeet(t *testing.T) {
	onBothEngines(t, func(t *testing.T, r *rig) {
		s := archive(r)
		for name, c := range map[string]struct {
			q    taskstore.Search
			want string
		}{
			"everything": {taskstore.Search{}, "6 5 4 3 2 1 0"},
			"an owner's": {taskstore.Search{Owner: "acme/alice"}, "6 4 2 0"},
			"states":     {taskstore.Search{States: []a2apb.TaskState{works, needs, canceled}}, "5 4 1"},
			"walked":     {taskstore.Search{Facts: walk("red")}, "4 2 0"},
			"words":      {taskstore.Search{Words: []string{"lighthouse"}}, "5 3 0"},
		} {
			for _, size := range []int{1, 2, 3} {
				c.q.Limit, c.q.OlderThan = size, ""
				var all []string
				for range 20 {
					page, err := s.Search(t.Context(), c.q)
					r.must(err)
					all = append(all, strings.Fields(minutes(page.Tasks))...)
					if c.q.OlderThan = page.Next; page.Next == "" {
						break
					}
				}
				if got := strings.Join(all, " "); got != c.want {
					t.Errorf("%s by pages of %d: %q, want %q", name, size, got, c.want)
				}
			}
		}
	})
}

// A task that ends leaves the index of open ones, and enters that of bad ends.
func TestCountsFollowTheStateOfATask(t *testing.T) {
	onBothEngines(t, func(t *testing.T, r *rig) {
		s := r.store("a")
		h := r.create(s, madeAt(0))
		for _, state := range []a2apb.TaskState{works, needs, works, failed} {
			r.must(h.Commit(t.Context(), emit(status(state, ""))))
			counts, err := s.Counts(t.Context(), taskstore.Search{})
			r.must(err)
			if len(counts.ByState) != 1 || counts.ByState[state] != 1 {
				t.Errorf("in %s the counts are %v", state, counts.ByState)
			}
			page, err := s.Search(t.Context(), taskstore.Search{States: []a2apb.TaskState{state}, Limit: 1})
			r.must(err)
			if !slices.Equal(strings.Fields(minutes(page.Tasks)), []string{"0"}) {
				t.Errorf("in %s the search finds %q", state, minutes(page.Tasks))
			}
		}
	})
}

// A list that is read again decodes only what has changed, on whichever replica.
func TestAListShowsWhatTasksHaveBecome(t *testing.T) {
	onBothEngines(t, func(_ *testing.T, r *rig) {
		s, other := archive(r), r.store("b")
		list := func(s *taskstore.Store) map[string]*taskstore.Record {
			page, err := s.Search(r.Context(), taskstore.Search{Limit: 50})
			r.must(err)
			byID := map[string]*taskstore.Record{}
			for _, rec := range page.Tasks {
				byID[rec.Task.GetId()] = rec
			}
			if got := minutes(page.Tasks); got != "6 5 4 3 2 1 0" {
				t.Errorf("tasks %s", got)
			}
			return byID
		}
		before := list(s)
		_, err := other.Update(r.Context(), madeAt(4), emit(status(completed, "here they are")))
		r.must(err)
		after := list(s)
		if rec := after[madeAt(4)]; rec.Task.GetStatus().GetState() != completed || rec.Rev <= before[madeAt(4)].Rev {
			t.Errorf("the list shows %v", rec.Task.GetStatus())
		}
		if before[madeAt(4)].Task.GetStatus().GetState() != needs {
			t.Error("a list that was given out has changed")
		}
		for minute := range 7 {
			if id := madeAt(minute); minute != 4 && before[id] != after[id] {
				t.Errorf("the task of minute %d was decoded again", minute)
			}
		}
	})
}

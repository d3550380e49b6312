package taskstore_test

import (
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"

	"sabha.dev/chassis/taskstore"
)

// say stores a request of a minute.
func (r *rig) say(s *taskstore.Store, minute int, said string) {
	r.Helper()
	r.clock.Advance(start.Add(time.Duration(minute) * time.Minute).Sub(r.clock.Now()))
	rec := r.record(madeAt(minute))
	rec.Task.History[0].Parts = []*a2apb.Part{text(said)}
	_, err := s.Create(r.Context(), rec, "m-"+rec.Task.GetId())
	r.must(err)
}

// copies stores a request again, under ids that follow the one of its minute.
func (r *rig) copies(s *taskstore.Store, minute, n int) {
	r.Helper()
	id := madeAt(minute)
	_, err := s.DB().Write.ExecContext(r.Context(), `WITH RECURSIVE n (i) AS (SELECT 100000 UNION ALL SELECT i + 1 FROM n WHERE i < $2)
		INSERT INTO tasks (id, owner, context_id, agent, skill, root_task_id, state, status_at, created_at, version, rev, run_epoch, deadline, attempts, takeovers, cancel_requested, info, body)
		SELECT substr(id, 1, 30) || n.i, owner, context_id, agent, skill, root_task_id, state, status_at, created_at, version, rev, run_epoch, deadline, attempts, takeovers, cancel_requested, info, body
		FROM tasks, n WHERE id = $1`, id, 100000+n-1)
	r.must(err)
}

// However many requests lie between those with a word, each is found once, and what
// a page has not looked at is left to the next one.
func TestWordsAreFoundFarApart(t *testing.T) {
	onBothEngines(t, func(t *testing.T, r *rig) {
		s := r.store("a")
		r.say(s, 0, "the oldest Needle")
		r.say(s, 1, "hay")
		r.copies(s, 1, 2400)
		r.say(s, 2, "a needle")
		r.say(s, 3, "hay")
		r.copies(s, 3, 600)
		r.say(s, 4, "needle")
		for size, want := range map[int]string{1: "[4][2][][0]", 2: "[4 2][][0]", 3: "[4 2][0]", 10: "[4 2][0]"} {
			got := ""
			q := taskstore.Search{Words: []string{"needle"}, Limit: size}
			for range 10 {
				page, err := s.Search(t.Context(), q)
				r.must(err)
				got += "[" + minutes(page.Tasks) + "]"
				if q.OlderThan = page.Next; page.Next == "" {
					break
				}
			}
			if got != want {
				t.Errorf("by pages of %d: %s, want %s", size, got, want)
			}
		}
	})
}

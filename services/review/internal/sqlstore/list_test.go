package sqlstore_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	reviewv1 "sabha.dev/gen/sabha/review/v1"
	"sabha.dev/services/review/internal/item"
	"sabha.dev/services/review/internal/sqlstore"
)

func TestAListIsFilteredAndPaged(t *testing.T) {
	onBothEngines(t, func(t *testing.T, open func() *sqlstore.Store) {
		s := open()
		ids := add(t, s, 9, terms())
		now := start.Add(4 * time.Second)
		update := func(id string, f func(*item.Item) (*item.Change, error)) {
			t.Helper()
			if err := s.Update(t.Context(), id, f, nil); err != nil {
				t.Fatal(err)
			}
		}
		update(ids[1], func(i *item.Item) (*item.Change, error) { return i.Claim(person("rosa"), now) })
		update(ids[2], func(i *item.Item) (*item.Change, error) { return i.Claim(person("lena"), now) })
		update(ids[3], func(i *item.Item) (*item.Change, error) { return i.Claim(person("rosa"), start.Add(-time.Hour)) }) // has run out
		update(ids[4], func(i *item.Item) (*item.Change, error) { return i.Ask(person("rosa"), "why?", now) })
		for n, id := range ids[6:] {
			update(id, func(i *item.Item) (*item.Change, error) {
				return i.Decide(person("rosa"), item.Verdict{Digest: i.Digest, Approve: n != 1, Reason: "so"}, now.Add(time.Duration(n)*time.Second))
			})
		}
		for _, c := range []struct {
			name string
			f    sqlstore.Filter
			want string
		}{
			{"open, by due time", sqlstore.Filter{}, "0 1 2 3 4 5"},
			{"mine", sqlstore.Filter{Mine: "acme/rosa"}, "1 4"},
			{"unassigned", sqlstore.Filter{Unassigned: true}, "0 3 5"},
			{"asked", sqlstore.Filter{States: []reviewv1.State{reviewv1.State_STATE_ASKED}}, "4"},
			{"ended, the newest first", sqlstore.Filter{Ended: true}, "8 7 6"},
			{"rejected", sqlstore.Filter{Ended: true, States: []reviewv1.State{reviewv1.State_STATE_REJECTED}}, "7"},
			{"another queue", sqlstore.Filter{Queue: "lending"}, ""},
			{"all of queue, product, risk", sqlstore.Filter{Queue: "general", Product: "loans", Risk: "low"}, "0 1 2 3 4 5"},
			{"words", sqlstore.Filter{Words: []string{"ANSWER", "-000003"}}, "3"},
			{"no pattern", sqlstore.Filter{Words: []string{"%"}}, ""},
		} {
			c.f.Now, c.f.Limit = now, 2
			var got []string
			for range 10 { // pages of two
				page, err := s.List(t.Context(), c.f)
				if err != nil {
					t.Fatal(err)
				}
				for _, i := range page {
					got = append(got, strings.TrimLeft(i.ID[len("item-"):len(i.ID)-1], "0")+i.ID[len(i.ID)-1:])
				}
				if len(page) < 2 {
					break
				}
				c.f.After = sqlstore.KeyOf(page[1])
			}
			if strings.Join(got, " ") != c.want {
				t.Errorf("%s: %v, want %s", c.name, got, c.want)
			}
		}
		counts, err := s.Counts(t.Context(), "acme/rosa", now)
		if want := (sqlstore.Counts{Mine: 2, Unassigned: 3, Open: 6, Overdue: 4}); err != nil || counts != want {
			t.Errorf("counts %+v %v, want %+v", counts, err, want)
		}
		queues, err := s.Queues(t.Context(), now)
		if err != nil || queues["general"] != (sqlstore.QueueCounts{Open: 6, Overdue: 4}) {
			t.Errorf("queues %v %v", queues, err)
		}
		all, err := s.GetAll(t.Context(), append([]string{"nothing"}, ids...))
		if err != nil || len(all) != 9 || !slices.ContainsFunc(all, func(i *item.Item) bool { return len(i.Decisions) == 1 }) {
			t.Errorf("%d items, %v", len(all), err)
		}
	})
}

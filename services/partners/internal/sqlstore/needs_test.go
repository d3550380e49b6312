package sqlstore_test

import (
	"maps"
	"testing"
	"time"

	"sabha.dev/services/partners/internal/registry"
	"sabha.dev/services/partners/internal/sqlstore"
	"sabha.dev/testrig/clocktest"
)

func TestPartnersAreFoundByWhatTheyNeedAPersonFor(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *sqlstore.Store, _ *clocktest.Clock) {
		var told []string
		s.Tell = func(id string) { told = append(told, id) }
		for _, id := range []string{"away", "changed", "fine", "unasked"} {
			must(t, s.Add(t.Context(), record(id), registered()))
		}
		must(t, s.Probed(t.Context(), "away", registry.Probe{Problem: "no answer", At: start, Next: start.Add(time.Minute)}))
		for _, id := range []string{"changed", "fine"} {
			must(t, s.Probed(t.Context(), id, registry.Probe{Online: true, At: start, Next: start.Add(time.Minute)}))
		}
		_, err := s.Update(t.Context(), "changed", func(u *registry.Update) error {
			u.Pending = &registry.Change{Digest: "d2", Card: []byte(`{}`), FoundAt: start}
			return nil
		})
		must(t, err)
		if len(told) != 8 || told[7] != "changed" {
			t.Errorf("it was told that these have changed: %q", told)
		}
		_, err = s.Update(t.Context(), "fine", func(u *registry.Update) error { u.Unchanged = true; return nil })
		must(t, err)
		for _, c := range []struct {
			f    registry.Filter
			want string
		}{{registry.Filter{Offline: true, Limit: 9}, "away"}, {registry.Filter{Changed: true, Limit: 9}, "changed"}, {registry.Filter{Offline: true, Changed: true, Limit: 9}, ""}} {
			found, err := s.Search(t.Context(), c.f)
			must(t, err)
			got := ""
			for _, r := range found {
				got += r.ID
			}
			if got != c.want {
				t.Errorf("%+v: %q, want %q", c.f, got, c.want)
			}
		}
		waits, err := s.ChangeWaits(t.Context(), []string{"away", "changed", "nobody"})
		if must(t, err); !maps.Equal(waits, map[string]bool{"changed": true}) {
			t.Errorf("a change waits of %v", waits)
		}
		if waits, err := s.ChangeWaits(t.Context(), nil); err != nil || len(waits) != 0 {
			t.Errorf("of none: %v, %v", waits, err)
		}
	})
}

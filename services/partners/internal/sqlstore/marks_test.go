package sqlstore_test

import (
	"testing"
	"time"

	"sabha.dev/services/partners/internal/registry"
	"sabha.dev/services/partners/internal/sqlstore"
	"sabha.dev/services/partners/internal/trust"
	"sabha.dev/testrig/clocktest"
)

func TestSuspensionsCountAgainstTheOrganisation(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *sqlstore.Store, clock *clocktest.Clock) {
		for _, id := range []string{"underwriter", "sister"} {
			must(t, s.Add(t.Context(), record(id), registry.Entry{Actor: "acme/olga", What: registry.ApprovedNow}))
		}
		must(t, s.Suspend(t.Context(), "underwriter", "policy", "it drifted"))
		got, err := s.Marks(t.Context(), start.Add(-time.Hour))
		must(t, err)
		marks := got["underwriter plc"]
		if len(marks) != 1 || marks[0].Partner != "underwriter" || marks[0].Kind != trust.Suspended || !marks[0].Open || !marks[0].At.Equal(start) {
			t.Fatalf("the marks are %+v", got)
		}
		_, err = s.Update(t.Context(), "underwriter", func(u *registry.Update) error { u.State = "approved"; return nil })
		must(t, err)
		clock.Advance(24 * time.Hour)
		must(t, s.Suspend(t.Context(), "underwriter", "acme/olga", "again"))
		got, err = s.Marks(t.Context(), start.Add(-time.Hour))
		must(t, err)
		if marks = got["underwriter plc"]; len(marks) != 2 || marks[0].Open || !marks[1].Open {
			t.Errorf("after another one the marks are %+v", marks)
		}
		got, err = s.Marks(t.Context(), clock.Now().Add(time.Hour))
		must(t, err)
		if marks = got["underwriter plc"]; len(marks) != 1 || !marks[0].Open {
			t.Errorf("what lasts is %+v", marks)
		}
	})
}

package sqlstore_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"sabha.dev/chassis/identity"
	"sabha.dev/services/console/internal/filter"
)

func TestFiltersAreOnesOwnAndThoseThatOthersShare(t *testing.T) {
	onBoth(t, func(t *testing.T, r rig) {
		alma, bob, eve := identity.Principal{Organisation: "acme", Subject: "alma"}, identity.Principal{Organisation: "acme", Subject: "bob"}, identity.Principal{Organisation: "evil", Subject: "eve"}
		save := func(f filter.Filter) {
			t.Helper()
			f.Created = morning
			if err := r.store.SaveFilter(t.Context(), f); err != nil {
				t.Fatal(err)
			}
		}
		save(filter.Filter{Owner: alma, Page: "tasks", Name: "late", Query: "state=working"})
		save(filter.Filter{Owner: alma, Page: "review", Name: "mine", Query: "tab=mine"})
		save(filter.Filter{Owner: bob, Page: "tasks", Name: "broken", Query: "state=failed", Shared: true})
		save(filter.Filter{Owner: bob, Page: "tasks", Name: "secret", Query: "q=x"})
		save(filter.Filter{Owner: eve, Page: "tasks", Name: "a", Query: "q=y", Shared: true})
		save(filter.Filter{Owner: alma, Page: "tasks", Name: "late", Query: "state=working&age=1h", Shared: true})
		list := func(p identity.Principal) (said string, ids []string) {
			t.Helper()
			all, err := r.store.Filters(t.Context(), p, "tasks")
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range all {
				said += fmt.Sprintf("%s's %s: %s %t; ", f.Owner.Subject, f.Name, f.Query, f.Shared)
				ids = append(ids, f.ID)
			}
			return said, ids
		}
		said, ids := list(alma)
		if said != "alma's late: state=working&age=1h true; bob's broken: state=failed true; " {
			t.Errorf("alma sees %s", said)
		}
		if said, _ := list(bob); said != "bob's broken: state=failed true; bob's secret: q=x false; alma's late: state=working&age=1h true; " {
			t.Errorf("bob sees %s", said)
		}
		if err := r.store.DeleteFilter(t.Context(), alma, ids[1]); !errors.Is(err, filter.ErrNone) {
			t.Errorf("alma deletes bob's: %v", err)
		}
		if err := r.store.DeleteFilter(t.Context(), alma, ids[0]); err != nil {
			t.Error(err)
		}
		if said, _ := list(alma); said != "bob's broken: state=failed true; " {
			t.Errorf("then alma sees %s", said)
		}
		for name, f := range map[string]filter.Filter{
			"nobody's":   {Page: "tasks", Name: "n"},
			"nameless":   {Owner: alma, Page: "tasks", Name: " "},
			"pageless":   {Owner: alma, Name: "n"},
			"long":       {Owner: alma, Page: "tasks", Name: strings.Repeat("ü", 81)},
			"long query": {Owner: alma, Page: "tasks", Name: "n", Query: strings.Repeat("x", 2001)},
			"two lines":  {Owner: alma, Page: "tasks", Name: "n", Query: "a\nb"},
		} {
			if err := r.store.SaveFilter(t.Context(), f); !errors.Is(err, filter.ErrBad) {
				t.Errorf("%s: %v", name, err)
			}
		}
		for n := range filter.Most {
			save(filter.Filter{Owner: alma, Page: "tasks", Name: fmt.Sprint(n), Query: "q"})
		}
		if err := r.store.SaveFilter(t.Context(), filter.Filter{Owner: alma, Page: "tasks", Name: "more", Query: "q"}); !errors.Is(err, filter.ErrMany) {
			t.Errorf("one too many: %v", err)
		}
		save(filter.Filter{Owner: alma, Page: "tasks", Name: "7", Query: "again"})
	})
}

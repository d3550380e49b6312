package partners

import (
	"net/url"
	"slices"
	"strconv"

	registryv1 "sabha.dev/gen/sabha/registry/v1"
)

// States are those of partners as addresses name them, in their order.
var States = []string{"discovered", "verified", "approved", "suspended"}

// What partners need a person for, as addresses name it: a change of the card waits, or
// plans may call it and it does not answer.
const (
	Changed = "changed"
	Offline = "offline"
)

// Filter says which partners a list has.
type Filter struct {
	// Query are words, Capability is a skill or a word of one, State one of States.
	Query, Organisation, Capability, State string
	Online                                 bool
	// Needs is Changed or Offline; empty for all.
	Needs string
	// Trust is the least, from 0 to 1.
	Trust float64
	// After is where the list continues; empty for its beginning.
	After string
}

// Read takes a filter from the query of an address. What cannot be meant is left out.
func Read(q url.Values) Filter {
	f := Filter{
		Query: q.Get("q"), Organisation: q.Get("organisation"), Capability: q.Get("capability"), State: q.Get("state"),
		Online: q.Get("online") != "", Needs: q.Get("needs"), After: q.Get("after"),
	}
	if f.Needs != Changed && f.Needs != Offline {
		f.Needs = ""
	}
	if !slices.Contains(States, f.State) {
		f.State = ""
	}
	if n, err := strconv.ParseFloat(q.Get("trust"), 64); err == nil && n > 0 && n <= 1 {
		f.Trust = n
	}
	return f
}

// Values is the filter as the query of an address; Read takes it back.
func (f Filter) Values() url.Values {
	q := url.Values{}
	for name, v := range map[string]string{"q": f.Query, "organisation": f.Organisation, "capability": f.Capability, "state": f.State, "needs": f.Needs, "after": f.After} {
		if v != "" {
			q.Set(name, v)
		}
	}
	if f.Online {
		q.Set("online", "1")
	}
	if f.Trust > 0 {
		q.Set("trust", strconv.FormatFloat(f.Trust, 'g', -1, 64))
	}
	return q
}

// Narrows tells whether it leaves partners out.
func (f Filter) Narrows() bool {
	f.After = ""
	return f != Filter{}
}

func (f Filter) request() *registryv1.ListPartnersRequest {
	q := &registryv1.ListPartnersRequest{
		Query: f.Query, Organisation: f.Organisation, Capability: f.Capability, OnlineOnly: f.Online, MinTrustScore: f.Trust,
		PageSize: PageSize, PageToken: f.After,
	}
	switch f.Needs {
	case Changed:
		q.Changed = true
	case Offline: // of the others nobody waits for an answer
		q.Offline, q.Callable, q.States = true, true, []registryv1.State{registryv1.State_STATE_APPROVED}
	}
	if n := slices.Index(States, f.State); n >= 0 {
		q.States = []registryv1.State{registryv1.State(n + 1)} //nolint:gosec // one of four
	}
	return q
}

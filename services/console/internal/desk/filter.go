package desk

import (
	"net/url"
	"slices"

	reviewv1 "sabha.dev/gen/sabha/review/v1"
)

// Tab is a view of the items.
type Tab string

// The tabs, in their order. All is the one that is shown when none is named.
const (
	Mine       Tab = "mine"
	Unassigned Tab = "unassigned"
	All        Tab = "all"
	Done       Tab = "done"
)

// Tabs are all of them.
var Tabs = []Tab{Mine, Unassigned, All, Done}

// Risks are all of them, the greatest first.
var Risks = []string{"high", "medium", "low"}

// Ended are the states of items that nobody decides any more.
var Ended = []reviewv1.State{
	reviewv1.State_STATE_APPROVED, reviewv1.State_STATE_REJECTED, reviewv1.State_STATE_EXPIRED, reviewv1.State_STATE_CANCELED,
}

// HasEnded tells whether nobody decides an item any more.
func HasEnded(i *reviewv1.Item) bool { return slices.Contains(Ended, i.GetState()) }

// Filter says which items a list has. Its fields are those of ListItemsRequest.
type Filter struct {
	Tab                         Tab
	Queue, Product, Risk, Query string
	// After is where the list continues; empty for its beginning.
	After string
}

// Read takes a filter from the query of an address. What is no tab is All.
func Read(q url.Values) Filter {
	f := Filter{Tab: Tab(q.Get("tab")), Queue: q.Get("queue"), Product: q.Get("product"), Risk: q.Get("risk"), Query: q.Get("q"), After: q.Get("after")}
	if !slices.Contains(Tabs, f.Tab) {
		f.Tab = All
	}
	return f
}

// Values is the filter as the query of an address; Read takes it back.
func (f Filter) Values() url.Values {
	q := url.Values{}
	for name, v := range map[string]string{"queue": f.Queue, "product": f.Product, "risk": f.Risk, "q": f.Query, "after": f.After} {
		if v != "" {
			q.Set(name, v)
		}
	}
	if f.Tab != All {
		q.Set("tab", string(f.Tab))
	}
	return q
}

// Narrowed tells whether it leaves out items of its tab.
func (f Filter) Narrowed() bool {
	return f.Queue != "" || f.Product != "" || f.Risk != "" || f.Query != ""
}

// In is the filter in another tab, from the beginning.
func (f Filter) In(t Tab) Filter {
	f.Tab, f.After = t, ""
	return f
}

func (f Filter) request() *reviewv1.ListItemsRequest {
	q := &reviewv1.ListItemsRequest{Queue: f.Queue, Product: f.Product, Risk: f.Risk, Query: f.Query, Mine: f.Tab == Mine, Unassigned: f.Tab == Unassigned}
	if f.Tab == Done {
		q.States = Ended
	}
	return q
}

package request

import (
	"cmp"
	"slices"
	"strings"

	adminv1 "sabha.dev/gen/sabha/admin/v1"
)

// Page of the list of tasks.
type Page struct {
	// Tasks, the youngest request first, so that rows stay where they are while they change.
	Tasks []Task
	// Counts by state of all tasks that the query takes whatever their state.
	Counts map[State]int64
	// Counted says that there are counts, CountsMore that there are more tasks than were counted.
	Counted, CountsMore bool
	// Next continues the list; empty at its end.
	Next string
}

// Total of the counts.
func (p Page) Total() int64 {
	var n int64
	for _, c := range p.Counts {
		n += c
	}
	return n
}

// OfList reads a page from the contract.
func OfList(res *adminv1.ListTasksResponse) Page {
	page := Page{Counts: map[State]int64{}, Next: res.GetNextPageToken(), Counted: res.GetCounts() != nil, CountsMore: res.GetCountsMore()}
	for name, n := range res.GetCounts() {
		page.Counts[FromWire(name)] = n
	}
	for _, t := range res.GetTasks() {
		page.Tasks = append(page.Tasks, OfSummary(t))
	}
	slices.SortStableFunc(page.Tasks, func(a, b Task) int {
		return cmp.Or(b.Created.Compare(a.Created), strings.Compare(b.ID, a.ID))
	})
	return page
}

// Outcome of a cancel.
type Outcome struct {
	TaskID string
	// State after it; empty when it was refused, for the reason in Error.
	State State
	Error string
}

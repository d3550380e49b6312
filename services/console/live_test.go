package console_test

import (
	"bufio"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// What happens is shown on every open page. How soon is logged, for people to
// judge: from before the request is sent until the last page has it.
func TestWhatHappensIsOnFiftyOpenPages(t *testing.T) {
	const pages, rounds = 50, 20
	for name, address := range map[string]func(int) string{
		"all on one address":      func(int) string { return "/tasks" },
		"each on its own address": func(i int) string { return fmt.Sprintf("/tasks?page=%d", i) },
	} {
		t.Run(name, func(t *testing.T) {
			r := start(t, "planner")
			defer close(r.release)
			type sight struct {
				round int
				at    time.Time
			}
			seen := make(chan sight, pages*rounds)
			var open sync.WaitGroup
			for i := range pages {
				lines := bufio.NewScanner(r.get(t, "/events?watch="+address(i)).Body)
				lines.Buffer(nil, 1<<20)
				open.Add(1)
				go func() {
					shown, next := false, 0
					for next < rounds && lines.Scan() {
						if !shown && strings.Contains(lines.Text(), "No tasks yet") {
							shown = true
							open.Done()
						}
						for next < rounds && strings.Contains(lines.Text(), fmt.Sprintf("round %d.", next)) {
							seen <- sight{next, time.Now()}
							next++
						}
					}
				}()
			}
			open.Wait()
			var took []time.Duration
			for round := range rounds {
				began := time.Now()
				r.ask(t, fmt.Sprintf("round %d.", round))
				for range pages {
					select {
					case s := <-seen:
						if s.round != round {
							t.Fatalf("a page shows round %d in round %d", s.round, round)
						}
						took = append(took, s.at.Sub(began))
					case <-time.After(time.Minute):
						t.Fatalf("round %d is not on every page", round)
					}
				}
			}
			slices.Sort(took)
			t.Logf("%d pages, %d events: p50 %v, p95 %v, most %v", pages, rounds, took[len(took)/2], took[len(took)*95/100], took[len(took)-1])
		})
	}
}

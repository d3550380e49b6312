package page

import (
	"fmt"
	"strings"
	"time"

	"sabha.dev/services/console/internal/request"
)

// Spans of the dashboard.
const (
	Hour = time.Hour
	Day  = 24 * time.Hour
	Week = 7 * 24 * time.Hour
)

// SpanOf reads a span in an address; the hour when it is none of them.
func SpanOf(name string) time.Duration {
	switch name {
	case "1d":
		return Day
	case "1w":
		return Week
	}
	return Hour
}

func spanName(d time.Duration) string {
	switch d {
	case Day:
		return "1d"
	case Week:
		return "1w"
	}
	return "1h"
}

func spanLabel(d time.Duration) string {
	for _, s := range spans {
		if s.Name == spanName(d) {
			return s.Label
		}
	}
	return ""
}

func spanWords(f request.Figures) string {
	sum := f.Sum()
	return fmt.Sprintf("%s began in the last %s, %s completed", number(sum.Started), strings.ToLower(spanLabel(f.Span)), number(sum.Completed))
}

func skillsWords(f request.Figures) string {
	words := "calls for requests that began in the last " + strings.ToLower(spanLabel(f.Span))
	if f.More {
		words += "; of busy services the newest 10 000"
	}
	return words
}

// why a task is where it is: what its step says, else its note.
func why(t request.Task) string {
	for _, s := range t.Plan.Steps {
		if text := stepWhy(s); text != "" && (s.State == request.StepRunning || s.State == request.StepPending) {
			return s.Name + ": " + text
		}
	}
	switch s := t.Plan.Current(); {
	case t.Note != "":
		return t.Note
	case s != nil:
		return "in " + s.Name
	}
	return label(t.State)
}

func tallest(buckets []request.Bucket) int64 {
	var most int64
	for _, b := range buckets {
		most = max(most, b.Started)
	}
	return most
}

// block is a part of a column.
type block struct {
	class     string
	y, height float64
}

// stack is a column of what became of the tasks of a bucket, 100 high at most.
func stack(b request.Bucket, most int64) []block {
	var all []block
	top := 104.0
	for _, part := range []struct {
		class string
		n     int64
	}{
		{"state-completed", b.Completed}, {"state-failed", b.Failed}, {"state-canceled", b.Canceled}, {"state-working", max(0, b.Started-b.Completed-b.Failed-b.Canceled)},
	} {
		if part.n == 0 || most == 0 {
			continue
		}
		height := 100 * float64(part.n) / float64(most)
		top -= height
		all = append(all, block{part.class, top, height})
	}
	return all
}

// share of a whole in percent.
func share(part, whole int64) string {
	if whole == 0 {
		return "0 %"
	}
	return fmt.Sprintf("%.1f %%", 100*float64(part)/float64(whole))
}

// attained is a service level in words: the share that was in time, of how many.
func attained(l InTime) string {
	if l.Ended == 0 {
		return "none ended"
	}
	return share(l.InTime, l.Ended) + " of " + number(l.Ended)
}

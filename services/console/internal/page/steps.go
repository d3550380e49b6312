package page

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"sabha.dev/chassis/identity"
	"sabha.dev/services/console/internal/person"
	"sabha.dev/services/console/internal/request"
)

// maxShown bounds what a page repeats of one value, characters.
const maxShown = 20_000

// cut shows the beginning of what is too long for a page.
func cut(s string) string {
	if len(s) <= maxShown {
		return s
	}
	return strings.ToValidUTF8(s[:maxShown], "") + fmt.Sprintf("\n… and %d more characters", len(s)-maxShown)
}

// mayOperate tells whether to offer what operators do. Services decide on their own.
func mayOperate(ctx context.Context) bool {
	p, ok := person.Of(ctx)
	return !ok || p.Has(identity.Operator) || p.Has(identity.Admin)
}

// traceLink is the address of a trace in the store of traces; empty without one.
func traceLink(template, id string) string {
	if template == "" || id == "" {
		return ""
	}
	return strings.ReplaceAll(template, "{trace_id}", url.PathEscape(id))
}

// stepWhy is what there is to say about a step beside its state.
func stepWhy(s request.Step) string {
	var parts []string
	if s.Attempt > 0 {
		attempt := "attempt " + strconv.Itoa(s.Attempt+1)
		if s.Allowed > 0 {
			attempt = fmt.Sprintf("attempt %d of %d", min(s.Attempt+1, s.Allowed), s.Allowed)
		}
		parts = append(parts, attempt)
	}
	switch s.WaitsFor {
	case "":
	case "input":
		parts = append(parts, "waits for the requester")
	case "auth":
		parts = append(parts, "waits for a person")
	default:
		parts = append(parts, "waits for "+s.WaitsFor)
	}
	if s.Reason != "" {
		parts = append(parts, s.Reason)
	}
	return strings.Join(parts, " · ")
}

// trust says of a step in the graph what its mark does.
func trust(s request.Step) string {
	if s.Untrusted {
		return ", untrusted"
	}
	return ""
}

// reasonWord introduces the reason of a step.
func reasonWord(s request.Step) string {
	switch {
	case !s.Retry.IsZero() || s.State == request.StepFailed:
		return "Last failure:"
	case s.State == request.StepSkipped:
		return "Skipped:"
	}
	return "Note:"
}

// stepAnchor names a step on its page; n tells apart those of one name.
func stepAnchor(s request.Step, n int) string {
	if s.Undo || s.Round > 0 {
		return fmt.Sprintf("step-%s-%d", s.Name, n)
	}
	return "step-" + s.Name
}

// untold are the reasons of a plan that the note of its task does not tell already.
func untold(t request.Task) []string {
	return slices.DeleteFunc(slices.Clone(t.Plan.Reasons), func(r string) bool { return strings.Contains(t.Note, strings.TrimSpace(r)) })
}

// undoneWords counts what was undone.
func undoneWords(steps []request.Step) string {
	done, failed := 0, 0
	for _, s := range steps {
		switch s.State {
		case request.StepCompleted:
			done++
		case request.StepFailed:
			failed++
		}
	}
	text := fmt.Sprintf("%d of %d", done, len(steps))
	if failed > 0 {
		text += fmt.Sprintf(", %d could not be undone", failed)
	}
	return text
}

package trace_test

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"testing"

	"sabha.dev/chassis/trace"
)

func TestALineOfARequestCarriesItsTrace(t *testing.T) {
	var out bytes.Buffer
	log := slog.New(trace.Logs(slog.NewJSONHandler(&out, nil))).With("service", "planner")
	place := trace.New()
	log.InfoContext(trace.With(t.Context(), place), "in a request")
	log.InfoContext(t.Context(), "outside")
	dec := json.NewDecoder(&out)
	for _, want := range []string{place.TraceID, ""} {
		var line map[string]any
		if err := dec.Decode(&line); err != nil {
			t.Fatal(err)
		}
		if got, _ := line["trace_id"].(string); got != want || line["service"] != "planner" {
			t.Errorf("%v, want the trace %q", line, want)
		}
	}
}

package grounding

import (
	"fmt"
	"strings"
	"testing"
)

// BenchmarkCheck judges ten claims against ten passages of about 2 KB each.
func BenchmarkCheck(b *testing.B) {
	var passages []Passage
	for i := range 10 {
		var text strings.Builder
		for k := range 20 {
			fmt.Fprintf(&text, "Replica %d of region %d keeps %d snapshots for %d days and reports to the operator of shard %d. ", k, i, 10*k+i, k+3, i*k)
		}
		passages = append(passages, Passage{ID: fmt.Sprint(i), Document: "ops.md", Text: text.String()})
	}
	var answer strings.Builder
	for i := range 10 {
		fmt.Fprintf(&answer, "In region %d the replica %d keeps %d snapshots during %d days [%d]. ", i, i, 10*i+i, i+3, i+1)
	}
	b.ResetTimer()
	for b.Loop() {
		if got, err := Check(b.Context(), answer.String(), passages, nil); err != nil || len(got) != 10 {
			b.Fatalf("%d claims, %v", len(got), err)
		}
	}
}

package main

import (
	"errors"
	"strings"
	"testing"

	"sabha.dev/services/research/internal/ingest"
)

const texts = "../../internal/retrieval/testdata/handbook"

func TestEvalPrintsWhatItMeasured(t *testing.T) {
	var out strings.Builder
	share, err := run(t.Context(), texts, texts+".json", &out)
	if err != nil {
		t.Fatal(err)
	}
	if share < 0.9 {
		t.Errorf("share %v", share)
	}
	for _, want := range []string{"8 ingested", "embedding builtin-meanings-v1", "64 questions", "hit@5 4"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in %s", want, out.String())
		}
	}
}

func TestEvalTellsWhatIsMissing(t *testing.T) {
	if _, err := run(t.Context(), "/no/such/folder", "", &strings.Builder{}); !errors.Is(err, ingest.ErrFolder) {
		t.Errorf("got %v", err)
	}
	if _, err := run(t.Context(), texts, "/no/such/file.json", &strings.Builder{}); err == nil || !strings.Contains(err.Error(), "/no/such/file.json") {
		t.Errorf("got %v", err)
	}
}

func TestScalePrintsItsFigures(t *testing.T) {
	var out strings.Builder
	if err := scale(t.Context(), 40, &out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"ingestion, 40 passages: ", "index read from the rows: ", "search p95: ", "after a change of one document: ", "memory at most: "} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in %s", want, out.String())
		}
	}
}

package retrieval_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"sabha.dev/chassis/clock"
	"sabha.dev/chassis/sqldb"
	"sabha.dev/services/research/internal/embed"
	"sabha.dev/services/research/internal/evaluation"
	"sabha.dev/services/research/internal/ingest"
	"sabha.dev/services/research/internal/retrieval"
	"sabha.dev/services/research/internal/sqlstore"
)

// engine ingests a folder into a fresh store.
func engine(t *testing.T, folder string) *retrieval.Engine {
	t.Helper()
	ctx := context.Background()
	db, err := sqldb.Open(ctx, filepath.Join(t.TempDir(), "research.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	if err := sqlstore.Migrate(ctx, db); err != nil {
		t.Fatal(err)
	}
	store := sqlstore.New(db, clock.System{})
	if _, err := ingest.New(store, embed.Builtin{}).Folder(ctx, "docs", folder); err != nil {
		t.Fatal(err)
	}
	return retrieval.New(store, embed.Builtin{}, "docs")
}

func TestEvalFindsAnswersAndKnowsWhenThereIsNone(t *testing.T) {
	f, err := os.Open("testdata/handbook.json")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	questions, err := evaluation.Read(f)
	if err != nil {
		t.Fatal(err)
	}
	report, err := evaluation.Run(context.Background(), engine(t, "testdata/handbook"), questions)
	if err != nil {
		t.Fatal(err)
	}
	t.Log("\n" + report.String())
	if report.Answerable != 48 || report.Unanswerable != 16 {
		t.Fatalf("%d and %d questions asked", report.Answerable, report.Unanswerable)
	}
	if report.Found < 45 || report.First < 41 {
		t.Errorf("%d of 48 answered within %d passages, %d by the first", report.Found, evaluation.Depth, report.First)
	}
	if report.Sure > 0 {
		t.Errorf("%d questions without an answer got a passage of confidence 0.5 or more", report.Sure)
	}
	if report.Brier > 0.75*report.Base {
		t.Errorf("confidence is off by %.3f; a constant guess is off by %.3f", report.Brier, report.Base)
	}
}

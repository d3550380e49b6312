package evaluation_test

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

// a2aFolder names the documents of the A2A project, which are not part of this
// repository; `make eval` gives them where they are at hand.
const a2aFolder = "A2A_CORPUS"

// shelf is a collection with the questions about it.
type shelf struct {
	engine     *retrieval.Engine
	answering  evaluation.Answering
	open, held []evaluation.Question
}

func shelves(t *testing.T) []shelf {
	t.Helper()
	out := []shelf{newShelf(t, "testdata/bank", "bank")}
	if folder := os.Getenv(a2aFolder); folder != "" {
		out = append(out, newShelf(t, folder, "a2a"))
	}
	return out
}

func newShelf(t *testing.T, folder, questions string) shelf {
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
	s := shelf{engine: retrieval.New(store, embed.Builtin{}, "docs"), open: read(t, questions+"_open.json"), held: read(t, questions+"_held.json")}
	if s.answering, err = evaluation.Collection(ctx, store, "docs"); err != nil {
		t.Fatal(err)
	}
	return s
}

func read(t *testing.T, file string) []evaluation.Question {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	questions, err := evaluation.Read(f)
	if err != nil {
		t.Fatal(err)
	}
	return questions
}

// by is one ranking of an engine.
func by(e *retrieval.Engine, r retrieval.Ranking) evaluation.Rank {
	return func(ctx context.Context, q retrieval.Query) ([]retrieval.Result, error) { return e.Rank(ctx, q, r) }
}

// TestEvalRetrieval measures the rankings on both halves of the questions. The
// open half was used to tune them, the held one is for these figures only.
func TestEvalRetrieval(t *testing.T) {
	all := shelves(t)
	halves := map[string]func(shelf) []evaluation.Question{
		"open": func(s shelf) []evaluation.Question { return s.open },
		"held": func(s shelf) []evaluation.Question { return s.held },
	}
	for _, half := range []string{"open", "held"} {
		var words, meanings, vectors, fused evaluation.Mean
		for _, s := range all {
			for _, m := range []struct {
				mean *evaluation.Mean
				rank evaluation.Rank
			}{
				{&words, by(s.engine, retrieval.ByWords)},
				{&meanings, by(s.engine, retrieval.ByMeanings)},
				{&vectors, by(s.engine, retrieval.ByVectors)},
				{&fused, s.engine.Search},
			} {
				if err := m.mean.Measure(t.Context(), m.rank, halves[half](s), s.answering); err != nil {
					t.Fatal(err)
				}
			}
		}
		base := words.Figures()
		t.Logf("retrieval, %s half, %d questions over %d collections", half, fused.Questions, len(all))
		for _, line := range []struct {
			name string
			f    evaluation.Figures
		}{{"BM25", base}, {"BM25 with synonyms", meanings.Figures()}, {"vectors", vectors.Figures()}, {"fused", fused.Figures()}} {
			t.Logf("retrieval recall@5, %s half, %s: %.3f (BM25 %.3f)", half, line.name, line.f.Recall, base.Recall)
			t.Logf("retrieval nDCG@10, %s half, %s: %.3f (BM25 %.3f)", half, line.name, line.f.NDCG, base.NDCG)
			t.Logf("retrieval MRR, %s half, %s: %.3f (BM25 %.3f)", half, line.name, line.f.MRR, base.MRR)
		}
		f := fused.Figures()
		if f.NDCG < base.NDCG+leastGain {
			t.Errorf("%s half: fused has %v, BM25 %v; want %v more nDCG", half, f, base, leastGain)
		}
		if half == "held" && f.Recall < leastRecall {
			t.Errorf("fused has %v; want a recall of %v", f, leastRecall)
		}
	}
}

// What the fused ranking must reach on questions that it was not tuned on.
const (
	leastRecall = 0.85
	leastGain   = 0.05
)

// TestEvalConfidence measures how far confidences can be believed.
func TestEvalConfidence(t *testing.T) {
	for _, s := range shelves(t) {
		r, err := evaluation.Run(t.Context(), s.engine, s.held)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("retrieval confidence, held half, Brier: %.3f (a constant guess %.3f)", r.Brier, r.Base)
		for i, bin := range r.Bins {
			t.Logf("retrieval confidence, held half, %.1f-%.1f: right %d of %d", float64(i)/5, float64(i+1)/5, bin.Right, bin.Passages)
		}
		t.Logf("retrieval confidence, held half, questions without an answer that got one of 0.5: %d of %d", r.Sure, r.Unanswerable)
		if r.Brier >= r.Base {
			t.Errorf("confidence is off by %.3f; a constant guess is off by %.3f", r.Brier, r.Base)
		}
	}
}

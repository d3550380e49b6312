// Command eval measures retrieval on a folder of documents: it ingests it into
// a temporary store, asks questions with known answers, and prints how many
// were answered within five passages and how far confidences can be trusted.
package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"sabha.dev/chassis/clock"
	"sabha.dev/chassis/sqldb"
	"sabha.dev/services/research/internal/embed"
	"sabha.dev/services/research/internal/evaluation"
	"sabha.dev/services/research/internal/ingest"
	"sabha.dev/services/research/internal/retrieval"
	"sabha.dev/services/research/internal/sqlstore"
)

func main() {
	corpus := flag.String("corpus", "", "folder of documents")
	file := flag.String("questions", "", "JSON list of questions; the built-in ones about A2A when empty")
	least := flag.Float64("least", 0, "exit with 1 when the share answered within five passages is below this, 0-1")
	passages := flag.Int("scale", 0, "measure speed and memory with so many invented passages instead")
	flag.Parse()
	if *passages > 0 {
		if err := scale(context.Background(), *passages, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, "eval:", err)
			os.Exit(1)
		}
		return
	}
	if *corpus == "" {
		fmt.Fprintln(os.Stderr, "eval: -corpus is missing; name a folder of documents")
		os.Exit(2)
	}
	share, err := run(context.Background(), *corpus, *file, os.Stdout)
	switch {
	case err != nil:
		fmt.Fprintln(os.Stderr, "eval:", err)
		os.Exit(1)
	case share < *least:
		fmt.Fprintf(os.Stderr, "eval: hit@%d is %.3f, below %.3f\n", evaluation.Depth, share, *least)
		os.Exit(1)
	}
}

func run(ctx context.Context, corpus, file string, out io.Writer) (float64, error) {
	questions, err := read(file)
	if err != nil {
		return 0, err
	}
	dir, err := os.MkdirTemp("", "research-eval-")
	if err != nil {
		return 0, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	db, err := sqldb.Open(ctx, filepath.Join(dir, "research.db"))
	if err != nil {
		return 0, err
	}
	defer func() { _ = db.Close() }()
	if err := sqlstore.Migrate(ctx, db); err != nil {
		return 0, err
	}
	store := sqlstore.New(db, clock.System{})
	began := time.Now()
	ingested, err := ingest.New(store, embed.Builtin{}).Folder(ctx, "eval", corpus)
	if err != nil {
		return 0, err
	}
	fmt.Fprintf(out, "%s\nin %v, embedding %s\n", ingested, time.Since(began).Round(time.Millisecond), embed.BuiltinName)
	engine := retrieval.New(store, embed.Builtin{}, "eval")
	if _, err := evaluation.Run(ctx, engine, questions[:1]); err != nil { // loads the index
		return 0, err
	}
	began = time.Now()
	report, err := evaluation.Run(ctx, engine, questions)
	if err != nil {
		return 0, err
	}
	each := time.Since(began) / time.Duration(len(questions))
	fmt.Fprintf(out, "%d questions, %v each\n%s", len(questions), each.Round(10*time.Microsecond), report)
	return float64(report.Found) / float64(max(report.Answerable, 1)), nil
}

func read(file string) ([]evaluation.Question, error) {
	raw := evaluation.A2A
	if file != "" {
		var err error
		if raw, err = os.ReadFile(file); err != nil {
			return nil, err
		}
	}
	questions, err := evaluation.Read(bytes.NewReader(raw))
	if err == nil && len(questions) == 0 {
		err = fmt.Errorf("%s has no questions", file)
	}
	return questions, err
}

package main

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"sabha.dev/chassis/clock"
	"sabha.dev/chassis/sqldb"
	"sabha.dev/services/research/internal/embed"
	"sabha.dev/services/research/internal/ingest"
	"sabha.dev/services/research/internal/lexicon"
	"sabha.dev/services/research/internal/retrieval"
	"sabha.dev/services/research/internal/sqlstore"
)

// The invented documents: sections of about the words of a paragraph, drawn
// from the lexicon's words and invented ones as often as words of a language
// are (Zipf), so that queries have synonyms to follow.
const (
	sectionsOfDocument = 20
	wordsOfSection     = 100
	inventedWords      = 60_000
	queriesAsked       = 500
)

// scale ingests invented documents of so many passages, searches them, and
// prints one line a figure.
func scale(ctx context.Context, passages int, out io.Writer) error {
	dir, err := os.MkdirTemp("", "research-scale-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	v := newVocabulary()
	folder := filepath.Join(dir, "documents")
	if err := v.write(folder, passages/sectionsOfDocument); err != nil {
		return err
	}
	db, err := sqldb.Open(ctx, filepath.Join(dir, "research.db"))
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	if err := sqlstore.Migrate(ctx, db); err != nil {
		return err
	}
	store := sqlstore.New(db, clock.System{})
	in := ingest.New(store, embed.Builtin{})
	began, spent := time.Now(), processor()
	report, err := in.Folder(ctx, "scale", folder)
	if err != nil {
		return err
	}
	took := time.Since(began)
	fmt.Fprintf(out, "ingestion, %d passages: %.0f passages/s, %.0f a second of processor time\n",
		report.Chunks, float64(report.Chunks)/took.Seconds(), float64(report.Chunks)/(processor()-spent).Seconds())
	engine := retrieval.New(store, embed.Builtin{}, "scale")
	ask := func() (time.Duration, error) {
		began := time.Now()
		_, err := engine.Search(ctx, retrieval.Query{Text: v.query(), Limit: 5})
		return time.Since(began), err
	}
	if took, err = ask(); err != nil {
		return err
	}
	fmt.Fprintf(out, "index read from the rows: %.1f s\n", took.Seconds())
	spent = processor()
	times := make([]time.Duration, queriesAsked)
	for i := range times {
		if times[i], err = ask(); err != nil {
			return err
		}
	}
	fmt.Fprintf(out, "search, processor time: %.1f ms\n", (processor()-spent).Seconds()*1000/queriesAsked)
	slices.Sort(times)
	for _, p := range []int{50, 95, 99} {
		fmt.Fprintf(out, "search p%d: %.1f ms\n", p, float64(times[len(times)*p/100].Microseconds())/1000)
	}
	if err := v.document(folder, 0); err != nil {
		return err
	}
	if report, err = in.Folder(ctx, "scale", folder); err != nil || len(report.Ingested) != 1 {
		return fmt.Errorf("one changed document: %v, %w", report, err)
	}
	if took, err = ask(); err != nil {
		return err
	}
	fmt.Fprintf(out, "first search after a change of one document: %.1f ms\n", float64(took.Microseconds())/1000)
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(status)) {
		if name, size, ok := strings.Cut(line, ":"); ok && (name == "VmHWM" || name == "VmRSS") {
			var kb int
			if _, err := fmt.Sscan(size, &kb); err != nil {
				return err
			}
			fmt.Fprintf(out, "%s: %d MiB\n", map[string]string{"VmHWM": "memory at most", "VmRSS": "memory at the end"}[name], kb/1024)
		}
	}
	return nil
}

// processor is the processor time of this process so far.
func processor() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

type vocabulary struct {
	random *rand.Rand
	zipf   *rand.Zipf
	words  []string
}

func newVocabulary() *vocabulary {
	random := rand.New(rand.NewPCG(1, 2)) // the same documents each time
	v := &vocabulary{random: random, words: slices.Clone(lexicon.Builtin().Surfaces())}
	for len(v.words) < inventedWords {
		var w strings.Builder
		for range 2 + random.IntN(3) {
			w.WriteByte("bcdfghklmnprstvz"[random.IntN(16)])
			w.WriteByte("aeiou"[random.IntN(5)])
		}
		v.words = append(v.words, w.String())
	}
	random.Shuffle(len(v.words), func(i, j int) { v.words[i], v.words[j] = v.words[j], v.words[i] })
	v.zipf = rand.NewZipf(random, 1.1, 8, uint64(len(v.words)-1))
	return v
}

func (v *vocabulary) word() string { return v.words[v.zipf.Uint64()] }

// query is six words, as often used as those of the documents.
func (v *vocabulary) query() string {
	words := make([]string, 6)
	for i := range words {
		words[i] = v.word()
	}
	return strings.Join(words, " ")
}

func (v *vocabulary) write(folder string, documents int) error {
	if err := os.Mkdir(folder, 0o700); err != nil {
		return err
	}
	for i := range documents {
		if err := v.document(folder, i); err != nil {
			return err
		}
	}
	return nil
}

func (v *vocabulary) document(folder string, number int) error {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s %s\n\n", v.word(), v.word())
	for range sectionsOfDocument {
		fmt.Fprintf(&b, "## %s %s\n\n", v.word(), v.word())
		for range wordsOfSection {
			b.WriteString(v.word())
			b.WriteByte(' ')
		}
		b.WriteString("\n\n")
	}
	return os.WriteFile(filepath.Join(folder, fmt.Sprintf("%06d.md", number)), []byte(b.String()), 0o600)
}

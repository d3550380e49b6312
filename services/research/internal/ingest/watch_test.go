package ingest_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"sabha.dev/services/research/internal/embed"
	"sabha.dev/services/research/internal/ingest"
	"sabha.dev/testrig/clocktest"
)

func TestWatchReadsOnlyWhatChangedAndRemovesWhatIsGone(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "same.md", "same")
	write(t, dir, "gone.md", "gone")
	write(t, dir, "bad.md", "\x00")
	c := clocktest.New(time.Now().Add(time.Hour))
	ctx, cancel := context.WithCancel(t.Context())
	told := make(chan ingest.Report, 8)
	done := make(chan struct{})
	store := newKept()
	go func() {
		defer close(done)
		ingest.New(store, embed.Builtin{}).Watch(ctx, c, time.Minute, "docs", dir, func(r ingest.Report, err error) {
			if err != nil {
				t.Error(err)
			}
			told <- r
		})
	}()
	defer func() { cancel(); <-done }()
	pass := func() {
		c.BlockUntil(1)
		c.Advance(time.Minute)
		c.BlockUntil(1)
	}
	pass()
	if r := <-told; len(r.Ingested) != 2 || len(r.Skipped) != 1 {
		t.Fatalf("first pass: %+v", r)
	}
	pass()
	if len(told) != 0 {
		t.Errorf("nothing changed, but %+v", <-told)
	}

	// Content changed behind an unchanged size and time is not read: only a
	// pass that trusts them leaves it.
	kept := filepath.Join(dir, "same.md")
	info, err := os.Stat(kept)
	if err != nil {
		t.Fatal(err)
	}
	write(t, dir, "same.md", "emas")
	if err := os.Chtimes(kept, info.ModTime(), info.ModTime()); err != nil {
		t.Fatal(err)
	}
	write(t, dir, "new.csv", "a\n1\n")
	if err := os.Remove(filepath.Join(dir, "gone.md")); err != nil {
		t.Fatal(err)
	}
	pass()
	r := <-told
	if !slices.Equal(r.Ingested, []string{"new.csv"}) || !slices.Equal(r.Removed, []string{"gone.md"}) || r.Unchanged != 1 || len(r.Skipped) != 1 {
		t.Errorf("after the change: %+v", r)
	}
	if _, there := store.prints["gone.md"]; there {
		t.Error("gone.md is still stored")
	}
}

package ingest_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"sabha.dev/chassis/label"
	"sabha.dev/services/research/internal/embed"
	"sabha.dev/services/research/internal/ingest"
)

// kept is a store in memory.
type kept struct {
	prints  map[string]ingest.Fingerprint
	chunks  map[string]int
	changes int
}

func newKept() *kept {
	return &kept{prints: map[string]ingest.Fingerprint{}, chunks: map[string]int{}}
}

func (k *kept) Fingerprints(context.Context, string) (map[string]ingest.Fingerprint, error) {
	return k.prints, nil
}

func (k *kept) Apply(_ context.Context, _ string, c ingest.Change) error {
	k.changes++
	for _, name := range c.Remove {
		delete(k.prints, name)
	}
	for _, d := range c.Put {
		if len(d.Chunks) != len(d.Vectors) {
			return errors.New("chunks without vectors")
		}
		k.prints[d.Name], k.chunks[d.Name] = d.Fingerprint, len(d.Chunks)
	}
	return nil
}

func write(t *testing.T, dir, name, content string) {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func folder(t *testing.T, in *ingest.Ingester, dir string) ingest.Report {
	t.Helper()
	report, err := in.Folder(t.Context(), "docs", dir)
	if err != nil {
		t.Fatal(err)
	}
	return report
}

func TestFolderIngestsWhatItCanAndNamesTheRest(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "guide.md", "# Guide\n\ntext")
	write(t, dir, "sub/page.html", "<p>page")
	write(t, dir, "notes.txt", "notes")
	write(t, dir, "logo.png", "\x89PNG\x00")
	write(t, dir, "broken.md", "text\x00more")
	write(t, dir, "latin.txt", "caf\xe9")
	write(t, dir, "empty.md", "\n")
	write(t, dir, ".git/config.txt", "unseen")
	write(t, dir, ".hidden.md", "unseen")
	if err := os.Symlink("/etc/hostname", filepath.Join(dir, "link.txt")); err != nil {
		t.Fatal(err)
	}
	store := newKept()
	got := folder(t, ingest.New(store, embed.Builtin{}), dir)
	want := ingest.Report{
		Ingested: []string{"guide.md", "notes.txt", "sub/page.html"},
		Chunks:   3,
		Skipped: []ingest.Skip{
			{"broken.md", "binary content (a NUL byte)"},
			{"empty.md", "no text in it"},
			{"latin.txt", "not valid UTF-8; convert it to UTF-8"},
			{"link.txt", "not a regular file"},
			{"logo.png", "not a file of a format that is read: Markdown, HTML, text, CSV, JSON or DOCX"},
		},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
	if len(store.prints) != 3 {
		t.Errorf("stored %v", store.prints)
	}
	if s := got.String(); !strings.HasPrefix(s, "3 ingested (3 passages), 0 unchanged, 5 skipped, 0 removed\n  skipped broken.md: binary") {
		t.Errorf("the report reads %q", s)
	}
}

func TestFolderAgainTouchesOnlyWhatChanged(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "same.md", "same")
	write(t, dir, "changed.md", "before")
	write(t, dir, "gone.md", "gone")
	write(t, dir, "spoilt.md", "fine")
	store := newKept()
	in := ingest.New(store, embed.Builtin{})
	folder(t, in, dir)

	write(t, dir, "changed.md", "after")
	write(t, dir, "spoilt.md", "\x00")
	if err := os.Remove(filepath.Join(dir, "gone.md")); err != nil {
		t.Fatal(err)
	}
	got := folder(t, in, dir)
	if !slices.Equal(got.Ingested, []string{"changed.md"}) || got.Unchanged != 1 || !slices.Equal(got.Removed, []string{"gone.md", "spoilt.md"}) || len(got.Skipped) != 1 {
		t.Errorf("got %+v", got)
	}

	before := store.changes
	if got := folder(t, in, dir); len(got.Ingested)+len(got.Removed) != 0 || got.Unchanged != 2 || store.changes != before {
		t.Errorf("nothing changed, but: %+v, %d writes", got, store.changes-before)
	}
}

// away is an embedder that answers for a while.
type away struct {
	embed.Builtin
	after int
}

func (a *away) Embed(ctx context.Context, labels label.Labels, texts []string) ([][]float32, error) {
	if a.after--; a.after < 0 {
		return nil, embed.ErrAway
	}
	return a.Builtin.Embed(ctx, labels, texts)
}

func TestDocumentsAreIngestedWhileTheEmbedderIsAway(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a.md", "b.md", "c.md"} {
		write(t, dir, name, name)
	}
	store := newKept()
	far := &away{after: 1}
	got := folder(t, ingest.New(store, far), dir)
	if len(got.Ingested) != 3 || !errors.Is(got.Away, embed.ErrAway) || !strings.Contains(got.String(), "\n  found by words only for now: the embeddings endpoint gives no vectors") {
		t.Errorf("%+v", got)
	}
	if far.after != -1 {
		t.Errorf("it was asked %d times after it was away", -1-far.after)
	}
	for name, want := range map[string]string{"a.md": embed.BuiltinName, "b.md": "", "c.md": ""} {
		if got := store.prints[name].Embedding; got != want {
			t.Errorf("%s has vectors of %q, want %q", name, got, want)
		}
	}
	// What a document was embedded by is no reason to read it again.
	if got := folder(t, ingest.New(store, far), dir); len(got.Ingested) != 0 || got.Unchanged != 3 {
		t.Errorf("again: %+v", got)
	}
}

func TestManyDocumentsAreStoredInBatches(t *testing.T) {
	dir := t.TempDir()
	for i := range 130 {
		write(t, dir, "f"+strings.Repeat("x", i)+".txt", "text")
	}
	store := newKept()
	if got := folder(t, ingest.New(store, embed.Builtin{}), dir); len(got.Ingested) != 130 || len(store.prints) != 130 || store.changes != 3 {
		t.Errorf("%d ingested, %d stored in %d writes", len(got.Ingested), len(store.prints), store.changes)
	}
}

func TestFolderThatCannotBeReadIsAClearError(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "file.md", "x")
	for path, want := range map[string]string{
		filepath.Join(dir, "nowhere"): "does not exist",
		filepath.Join(dir, "file.md"): "is a file; name the folder it is in",
	} {
		store := newKept()
		store.prints["old.md"] = ingest.Fingerprint{}
		_, err := ingest.New(store, embed.Builtin{}).Folder(t.Context(), "docs", path)
		if !errors.Is(err, ingest.ErrFolder) || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v", path, err)
		}
		if len(store.prints) != 1 {
			t.Error("what was stored is gone")
		}
	}
}

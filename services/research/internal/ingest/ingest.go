// Package ingest brings a folder of documents into a collection and keeps
// the two alike: what is new or changed is read, cut and embedded, what is
// unchanged is left, what is gone is removed.
package ingest

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"sync"

	"sabha.dev/services/research/internal/chunk"
	"sabha.dev/services/research/internal/document"
	"sabha.dev/services/research/internal/embed"
)

// ErrFolder wraps every reason why a folder cannot be read.
var ErrFolder = errors.New("documents folder")

// Store is where documents are kept.
type Store interface {
	// Fingerprints of the documents a collection has, by name.
	Fingerprints(ctx context.Context, collection string) (map[string]Fingerprint, error)
	// Apply makes a change in one transaction and starts a new generation.
	Apply(ctx context.Context, collection string, change Change) error
}

// Fingerprint tells what a stored document was made of, and by what.
type Fingerprint struct {
	Digest    string // of the file's bytes
	Splitter  string // chunk.Version it was cut with
	Embedding string // name of the embedder
}

// Change is documents to add or replace, and names to remove.
type Change struct {
	Put    []Document
	Remove []string
}

// Document is a document ready to be stored, with one vector a chunk.
type Document struct {
	*document.Document
	Chunks  []chunk.Chunk
	Vectors [][]float32
	Fingerprint
}

// Report says what became of every file of a folder.
type Report struct {
	Ingested  []string // new or changed, now searchable
	Unchanged int
	Skipped   []Skip
	Removed   []string // stored before, no longer readable in the folder
	Chunks    int      // of the ingested documents
	// Away is why some of them have no vectors yet; nil if all have. They are found by
	// their words, and the service makes their vectors as soon as it can.
	Away error
}

// Skip is a file that was not ingested, and why.
type Skip struct{ Name, Reason string }

// String is the report as one line, followed by one a skipped file.
func (r Report) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d ingested (%d passages), %d unchanged, %d skipped, %d removed",
		len(r.Ingested), r.Chunks, r.Unchanged, len(r.Skipped), len(r.Removed))
	if r.Away != nil {
		fmt.Fprintf(&b, "\n  found by words only for now: %v", r.Away)
	}
	for _, s := range r.Skipped {
		fmt.Fprintf(&b, "\n  skipped %s: %s", s.Name, s.Reason)
	}
	return b.String()
}

// batch bounds the documents of one transaction, by number and by bytes.
const (
	batchDocuments = 64
	batchBytes     = 4 << 20
)

// Ingester fills a store.
type Ingester struct {
	store    Store
	embedder embed.Embedder
	one      sync.Mutex // two runs over one collection would undo each other
}

// New makes an ingester.
func New(store Store, embedder embed.Embedder) *Ingester {
	return &Ingester{store: store, embedder: embedder}
}

// Folder brings a folder into a collection. A file that cannot be read is
// skipped and named in the report; hidden files and folders are passed over.
// A folder that is missing, is a file, or cannot be listed gives an error
// wrapping ErrFolder. When it fails midway, what was stored stays.
func (in *Ingester) Folder(ctx context.Context, collection, dir string) (Report, error) {
	return in.pass(ctx, collection, dir, look{})
}

func (in *Ingester) pass(ctx context.Context, collection, dir string, l look) (Report, error) {
	in.one.Lock()
	defer in.one.Unlock()
	root, err := open(dir)
	if err != nil {
		return Report{}, err
	}
	defer root.Close()
	stored, err := in.store.Fingerprints(ctx, collection)
	if err != nil {
		return Report{}, fmt.Errorf("ingest %s: %w", dir, err)
	}
	r := run{
		Ingester: in, collection: collection, stored: stored, files: root.FS(),
		keep: map[string]bool{}, watched: l,
	}
	if err := fs.WalkDir(r.files, ".", func(name string, entry fs.DirEntry, err error) error {
		return r.visit(ctx, name, entry, err)
	}); err != nil {
		return r.report, fmt.Errorf("ingest %s: %w", dir, err)
	}
	for name := range stored {
		if !r.keep[name] {
			r.report.Removed = append(r.report.Removed, name)
		}
	}
	slices.Sort(r.report.Removed)
	r.change.Remove = r.report.Removed
	if err := r.flush(ctx); err != nil {
		return r.report, fmt.Errorf("ingest %s: %w", dir, err)
	}
	return r.report, nil
}

// open opens a folder such that nothing outside it can be reached by links.
func open(dir string) (*os.Root, error) {
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%w %s does not exist", ErrFolder, dir)
	case err != nil:
		return nil, fmt.Errorf("%w: %w", ErrFolder, err)
	case !info.IsDir():
		return nil, fmt.Errorf("%w %s is a file; name the folder it is in", ErrFolder, dir)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrFolder, err)
	}
	return root, nil
}

package ingest

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"path"
	"strings"
	"unicode/utf8"

	"sabha.dev/services/research/internal/chunk"
	"sabha.dev/services/research/internal/document"
	"sabha.dev/services/research/internal/embed"
)

// run is one pass over a folder.
type run struct {
	*Ingester
	collection string
	stored     map[string]Fingerprint
	files      fs.FS
	keep       map[string]bool // stored documents that stay
	watched    look
	change     Change
	bytes      int
	report     Report
}

func (r *run) visit(ctx context.Context, name string, entry fs.DirEntry, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if name == "." {
		return err
	}
	hidden := strings.HasPrefix(path.Base(name), ".")
	switch {
	case hidden && entry.IsDir():
		return fs.SkipDir
	case hidden:
		return nil
	case err != nil: // a folder inside that cannot be listed
		r.keepAll(name)
		r.skip(name, reason(err))
		return fs.SkipDir
	case entry.IsDir():
		return nil
	case !entry.Type().IsRegular():
		r.skip(name, "not a regular file")
		return nil
	}
	if !utf8.ValidString(name) {
		r.skip(strings.ToValidUTF8(name, "\ufffd"), "its name is not valid UTF-8")
		return nil
	}
	if _, ok := document.FormatOf(name); !ok {
		r.skip(name, document.ErrUnsupported.Error())
		return nil
	}
	return r.look(ctx, name, entry)
}

func (r *run) file(ctx context.Context, name string) error {
	src, err := read(r.files, name)
	if err != nil {
		// The file is there and its content unknown: the stored one stays.
		r.keep[name] = true
		r.skip(name, reason(err))
		return nil
	}
	parsed, err := document.Parse(name, src)
	if err != nil {
		r.skip(name, reason(err))
		return nil
	}
	r.keep[name] = true
	print := Fingerprint{Digest: parsed.Digest, Splitter: chunk.Version, Embedding: r.embedder.Name()}
	// Whose vectors it has is no matter here: Vectors sees to them.
	if have := r.stored[name]; have.Digest == print.Digest && have.Splitter == print.Splitter {
		r.report.Unchanged++
		return nil
	}
	chunks := chunk.Split(parsed, src)
	vectors, err := r.vectors(ctx, parsed, chunks)
	if err != nil {
		return err
	}
	if vectors == nil {
		vectors, print.Embedding = make([][]float32, len(chunks)), ""
	}
	r.change.Put = append(r.change.Put, Document{Document: parsed, Chunks: chunks, Vectors: vectors, Fingerprint: print})
	r.report.Ingested = append(r.report.Ingested, name)
	r.report.Chunks += len(chunks)
	r.bytes += len(src)
	if len(r.change.Put) >= batchDocuments || r.bytes >= batchBytes {
		return r.flush(ctx)
	}
	return nil
}

// vectors of a document; nil once the embedder gives none: the document is found by its
// words until Vectors has made them.
func (r *run) vectors(ctx context.Context, d *document.Document, chunks []chunk.Chunk) ([][]float32, error) {
	if r.report.Away != nil {
		return nil, nil
	}
	vectors, err := vectorsOf(ctx, r.embedder, d.Title, d.Metadata, chunks)
	if errors.Is(err, embed.ErrAway) {
		r.report.Away = err
		return nil, nil
	}
	return vectors, err
}

func (r *run) flush(ctx context.Context) error {
	if len(r.change.Put) == 0 && len(r.change.Remove) == 0 {
		return nil
	}
	err := r.store.Apply(ctx, r.collection, r.change)
	r.change, r.bytes = Change{}, 0
	return err
}

func (r *run) skip(name, why string) {
	r.report.Skipped = append(r.report.Skipped, Skip{Name: name, Reason: why})
}

// keepAll keeps what was stored from a folder that cannot be listed now.
func (r *run) keepAll(folder string) {
	for name := range r.stored {
		if strings.HasPrefix(name, folder+"/") {
			r.keep[name] = true
		}
	}
}

// read reads a file, no more of it than can be ingested.
func read(files fs.FS, name string) ([]byte, error) {
	f, err := files.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, document.MaxBytes+1))
}

// reason is an error's sentence without the path, which the report names.
func reason(err error) string {
	var named *document.Error
	if errors.As(err, &named) {
		return named.Err.Error()
	}
	var at *fs.PathError
	if errors.As(err, &at) {
		return at.Err.Error()
	}
	return err.Error()
}

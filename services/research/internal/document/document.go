// Package document reads Markdown, HTML, plain text, CSV, JSON and DOCX into a
// tree of headings whose blocks keep the byte offsets of the file they came
// from, so that whatever is quoted later can be found again in the original.
// The bytes of a DOCX file are an archive: its offsets are those of the text
// that is extracted from it, the same from the same file.
package document

import (
	"crypto/sha256"
	"encoding/hex"
	"path"
	"strings"
	"unicode/utf8"
)

// MaxBytes is the largest file that Parse reads.
const MaxBytes = 16 << 20

// Format is the syntax a document is written in.
type Format string

// The formats that are read.
const (
	Markdown Format = "markdown"
	HTML     Format = "html"
	Text     Format = "text"
	CSV      Format = "csv"
	JSON     Format = "json"
	DOCX     Format = "docx"
)

// FormatOf tells the format from a file name's extension. It is false for
// a file that Parse does not read.
func FormatOf(name string) (Format, bool) {
	switch strings.ToLower(path.Ext(name)) {
	case ".md", ".markdown":
		return Markdown, true
	case ".html", ".htm", ".xhtml":
		return HTML, true
	case ".txt", ".text":
		return Text, true
	case ".csv", ".tsv":
		return CSV, true
	case ".json", ".jsonl", ".ndjson":
		return JSON, true
	case ".docx":
		return DOCX, true
	}
	return "", false
}

// Document is one file, read.
type Document struct {
	Name     string // slash-separated, relative to the folder it came from
	Title    string // declared title, else the first heading, else the file's base name
	Format   Format
	Digest   string // "sha256:" and the hex digest of the file's bytes
	Bytes    int    // size of the file
	Metadata Metadata
	// Extracted is the text that offsets point into where the file's own
	// bytes are none (DOCX); otherwise it is nil, and they point into the file.
	Extracted []byte
	Root      *Section
}

// Metadata holds what a document says about itself (front matter of
// Markdown, meta elements of HTML, properties of DOCX): lower-case keys, one or more values.
type Metadata map[string][]string

// Section is a heading with the blocks below it, up to the next heading.
// The root has level 0 and no heading.
type Section struct {
	Level    int // 1–6; 0 for the root
	Heading  string
	Start    int // offset of the heading's line; of the document's text for the root
	Blocks   []Block
	Children []*Section
}

// Block is the smallest piece a document is cut at: a paragraph, a list, a
// table, a piece of code.
type Block struct {
	// Start and End bound the block in the original bytes, or in
	// Document.Extracted, End excluded.
	Start, End int
	// Text is what a reader sees. In Markdown, plain text and DOCX it is
	// exactly the bytes Start to End; in HTML the markup between them is left out, in
	// CSV and JSON the names of columns and values are added.
	Text string
}

// Exact says whether a block's text is the very bytes between its offsets.
func (f Format) Exact() bool { return f == Markdown || f == Text || f == DOCX }

// Parse reads a file. The name gives the format and appears in errors.
// It returns an *Error wrapping ErrUnsupported, ErrTooLarge, ErrMislabelled,
// ErrBinary, ErrEncoding, ErrTooDeep, ErrNoText or the reason of a format.
func Parse(name string, src []byte) (*Document, error) {
	format, ok := FormatOf(name)
	if !ok {
		return nil, &Error{Name: name, Err: ErrUnsupported}
	}
	if err := check(format, src); err != nil {
		return nil, &Error{Name: name, Err: err}
	}
	sum := sha256.Sum256(src)
	doc := &Document{
		Name: name, Format: format, Bytes: len(src), Metadata: Metadata{},
		Digest: "sha256:" + hex.EncodeToString(sum[:]),
	}
	t := newTree()
	var err error
	switch format {
	case Markdown:
		err = parseMarkdown(doc, t, src)
	case HTML:
		err = parseHTML(doc, t, src)
	case Text:
		parseText(t, src)
	case CSV:
		err = parseCSV(t, src, name)
	case JSON:
		err = parseJSON(doc, t, src)
	case DOCX:
		err = parseDOCX(doc, t, src)
	}
	if err != nil {
		return nil, &Error{Name: name, Err: err}
	}
	if t.blocks == 0 {
		return nil, &Error{Name: name, Err: ErrNoText}
	}
	doc.Root = t.root
	if doc.Title == "" {
		doc.Title = t.first
	}
	if doc.Title == "" {
		base := path.Base(name)
		doc.Title = strings.TrimSuffix(base, path.Ext(base))
	}
	return doc, nil
}

func check(format Format, src []byte) error {
	if len(src) > MaxBytes {
		return ErrTooLarge
	}
	if err := sniff(format, src); err != nil || format == DOCX {
		return err
	}
	for _, b := range src {
		if b == 0 {
			return ErrBinary
		}
	}
	if !utf8.Valid(src) {
		return ErrEncoding
	}
	return nil
}

// Sections visits every section in document order with the headings that
// lead to it, its own included.
func (d *Document) Sections(visit func(path []string, s *Section)) {
	var walk func(path []string, s *Section)
	walk = func(path []string, s *Section) {
		if s.Level > 0 {
			path = append(path[:len(path):len(path)], s.Heading)
		}
		visit(path, s)
		for _, c := range s.Children {
			walk(path, c)
		}
	}
	walk(nil, d.Root)
}

// Package docs holds the documents to what they describe: links lead somewhere,
// code in them compiles, and tables have the rows that the code has.
package docs

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"
)

// root is the folder with go.work, seen from this package.
const root = "../.."

// document is one Markdown file.
type document struct {
	// path from the root, with slashes.
	path  string
	lines []line
}

// line of a document. Code is inside a fence, whose first line says the language.
type line struct {
	text string
	code bool
}

// block is the content of one fence.
type block struct {
	// language after the fence, empty for none; file from a comment before it.
	language, file string
	number         int
	text           string
}

// documents reads every Markdown file that belongs to the repository.
func documents(t *testing.T) []document {
	t.Helper()
	var all []document
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			switch name := d.Name(); {
			case name == "node_modules", name == "testdata", name == "bin", name == "data", strings.HasPrefix(name, ".") && name != "..":
				return filepath.SkipDir
			}
			return nil
		}
		if filepath.Ext(path) != ".md" {
			return nil
		}
		relative, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		raw, err := os.ReadFile(path)
		all = append(all, parse(filepath.ToSlash(relative), string(raw)))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 10 {
		t.Fatalf("only %d documents were found", len(all))
	}
	return all
}

// read reads one document by its path from the root.
func read(t *testing.T, path string) document {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(path)))
	if err != nil {
		t.Fatal(err)
	}
	return parse(path, string(raw))
}

func parse(path, text string) document {
	d := document{path: path}
	fenced := false
	for l := range strings.Lines(text) {
		l = strings.TrimRight(l, "\n")
		fence := strings.HasPrefix(strings.TrimSpace(l), "```")
		d.lines = append(d.lines, line{l, fenced || fence})
		if fence {
			fenced = !fenced
		}
	}
	return d
}

var fileComment = regexp.MustCompile(`^<!-- file: (\S+) -->$`)

// blocks of code in the document.
func (d document) blocks() []block {
	var all []block
	var open *block
	file := ""
	for i, l := range d.lines {
		fence, isFence := strings.CutPrefix(strings.TrimSpace(l.text), "```")
		switch {
		case isFence && open == nil:
			open = &block{language: fence, file: file, number: i + 1}
		case isFence:
			all = append(all, *open)
			open = nil
		case open != nil:
			open.text += l.text + "\n"
		}
		if m := fileComment.FindStringSubmatch(l.text); m != nil {
			file = m[1]
		} else if !isFence {
			file = ""
		}
	}
	return all
}

// anchors of the document's headings, as GitHub makes them.
func (d document) anchors() map[string]bool {
	found := map[string]bool{}
	for _, l := range d.lines {
		if title := strings.TrimLeft(l.text, "#"); !l.code && title != l.text && strings.HasPrefix(title, " ") {
			found[slug(strings.TrimSpace(title))] = true
		}
	}
	return found
}

func slug(title string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(title) {
		switch {
		case r == ' ':
			b.WriteRune('-')
		case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
			b.WriteRune(r)
		}
	}
	return b.String()
}

// rows are the cells of every table row, without the marks around code.
func (d document) rows() [][]string {
	var all [][]string
	for _, l := range d.lines {
		if l.code || !strings.HasPrefix(l.text, "|") {
			continue
		}
		cells := strings.Split(strings.Trim(l.text, "| "), "|")
		for i := range cells {
			cells[i] = strings.Trim(strings.TrimSpace(cells[i]), "`")
		}
		all = append(all, cells)
	}
	return all
}

// text of the whole document.
func (d document) text() string {
	var b strings.Builder
	for _, l := range d.lines {
		b.WriteString(l.text + "\n")
	}
	return b.String()
}

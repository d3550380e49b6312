package docs

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	link       = regexp.MustCompile(`\]\(([^()\s]+)\)`)
	codeInLine = regexp.MustCompile("`[^`]*`")
)

func TestLinksLeadSomewhere(t *testing.T) {
	checked := 0
	for _, d := range documents(t) {
		for i, l := range d.lines {
			if l.code {
				continue
			}
			for _, m := range link.FindAllStringSubmatch(codeInLine.ReplaceAllString(l.text, "`…`"), -1) {
				if strings.Contains(m[1], "://") || strings.HasPrefix(m[1], "mailto:") {
					continue
				}
				checked++
				if problem := follow(t, d, m[1]); problem != "" {
					t.Errorf("%s:%d: %s", d.path, i+1, problem)
				}
			}
		}
	}
	if checked < 20 {
		t.Errorf("only %d links were found", checked)
	}
}

// follow says why a relative link leads nowhere, or nothing.
func follow(t *testing.T, from document, target string) string {
	name, anchor, _ := strings.Cut(target, "#")
	to := from
	if name != "" {
		file := path.Join(path.Dir(from.path), name)
		info, err := os.Stat(filepath.Join(root, filepath.FromSlash(file)))
		if err != nil {
			return target + " does not exist"
		}
		if anchor == "" {
			return ""
		}
		if info.IsDir() || path.Ext(file) != ".md" {
			return target + " has an anchor, and is no document"
		}
		to = read(t, file)
	}
	if !to.anchors()[anchor] {
		return target + ": there is no such heading"
	}
	return ""
}

func TestEveryDecisionIsInTheIndex(t *testing.T) {
	index := read(t, "docs/adr/README.md").text()
	files, err := filepath.Glob(root + "/docs/adr/[0-9]*.md")
	if err != nil || len(files) == 0 {
		t.Fatal(len(files), err)
	}
	for _, f := range files {
		name := filepath.Base(f)
		title, ok := strings.CutPrefix(read(t, "docs/adr/"+name).lines[0].text, "# ")
		number, title, _ := strings.Cut(title, ". ")
		if row := "| " + number + " | [" + title + "](" + name + ") |"; !ok || !strings.Contains(index, row) {
			t.Errorf("docs/adr/README.md has no row %q", row)
		}
	}
}

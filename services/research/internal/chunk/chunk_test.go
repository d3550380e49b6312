package chunk

import (
	"archive/zip"
	"bytes"
	"fmt"
	"strings"
	"testing"

	"sabha.dev/services/research/internal/document"
)

// prose is a paragraph of n numbered words.
func prose(label string, n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "%s%d", label, i)
		if i%10 == 9 {
			b.WriteString(". ")
		} else {
			b.WriteString(" ")
		}
	}
	return strings.TrimSpace(b.String())
}

func split(t *testing.T, name, src string) []Chunk {
	t.Helper()
	doc, err := document.Parse(name, []byte(src))
	if err != nil {
		t.Fatal(err)
	}
	chunks := Split(doc, []byte(src))
	if doc.Extracted != nil {
		src = string(doc.Extracted)
	}
	for i, c := range chunks {
		if c.Ordinal != i || c.Start >= c.End || c.End > len(src) || c.Words == 0 {
			t.Fatalf("chunk %d: %+v", i, c)
		}
		if doc.Format.Exact() && c.Text != src[c.Start:c.End] {
			t.Fatalf("chunk %d is not the file's bytes [%d,%d)", i, c.Start, c.End)
		}
		if c.Words > limit+40 {
			t.Fatalf("chunk %d has %d words", i, c.Words)
		}
	}
	return chunks
}

// shape writes each chunk as its path and the first words of what is in it.
func shape(chunks []Chunk) string {
	var b strings.Builder
	for _, c := range chunks {
		fmt.Fprintf(&b, "%s: %d", strings.Join(c.HeadingPath, ">"), c.Words)
		for _, label := range []string{"aa", "bb", "cc", "dd", "#"} {
			if n := strings.Count(c.Text, label); n > 0 {
				fmt.Fprintf(&b, " %s×%d", label, n)
			}
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func TestPassagesFollowTheHeadings(t *testing.T) {
	cases := []struct{ name, src, want string }{
		{
			"level two always divides",
			"# T\n\n" + prose("aa", 60) + "\n\n## B\n\n" + prose("bb", 60) + "\n\n## C\n\n" + prose("cc", 60),
			"T: 60 aa×60\nT>B: 60 bb×60\nT>C: 60 cc×60\n",
		},
		{
			"small sections of level three share a passage under what they have in common",
			"## A\n\n### B\n\n" + prose("bb", 60) + "\n\n### C\n\n" + prose("cc", 60),
			"A: 124 bb×60 cc×60 #×6\n",
		},
		{
			"an empty level two between them still divides",
			"## A\n\n### B\n\n" + prose("bb", 60) + "\n\n## X\n\n### C\n\n" + prose("cc", 60),
			"A>B: 60 bb×60\nX>C: 60 cc×60\n",
		},
		{
			"a tiny introduction joins what follows",
			"# T\n\n" + prose("aa", 8) + "\n\n## B\n\n" + prose("bb", 60),
			"T: 70 aa×8 bb×60 #×2\n",
		},
		{
			"a long section is cut at paragraphs into parts of about equal size",
			"## A\n\n" + strings.Repeat(prose("aa", 90)+"\n\n", 5),
			"A: 180 aa×180\nA: 180 aa×180\nA: 90 aa×90\n",
		},
		{
			"a paragraph that is too long is cut at sentences",
			"## A\n\n" + prose("aa", 700),
			"A: 250 aa×250\nA: 250 aa×250\nA: 200 aa×200\n",
		},
		{"text without headings has no path", prose("aa", 50), ": 50 aa×50\n"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if got := shape(split(t, "a.md", c.src)); got != c.want {
				t.Errorf("got\n%swant\n%s", got, c.want)
			}
		})
	}
}

func TestHTMLPassagesAreBoundedByTheirBlocks(t *testing.T) {
	src := "<h1>T</h1><p>one <b>two</b></p><p>three</p><h2>Next</h2><p>" + prose("bb", 700) + "</p>"
	chunks := split(t, "a.html", src)
	first := chunks[0]
	if first.Text != "one two\n\nthree" || strings.Join(first.HeadingPath, ">") != "T" ||
		src[first.Start:first.End] != "one <b>two</b></p><p>three" {
		t.Errorf("first passage %+v bounds %q", first, src[first.Start:first.End])
	}
	for _, c := range chunks[1:] {
		if !strings.HasPrefix(src[c.Start:c.End], "bb0 ") || !strings.HasSuffix(src[c.Start:c.End], "bb699.") {
			t.Errorf("a part of a cut block is bounded by %d–%d", c.Start, c.End)
		}
	}
}

func TestHTMLPassagesOfSeveralSectionsHaveTheirHeadings(t *testing.T) {
	src := "<h2>A</h2><h3>B</h3><p>" + prose("bb", 50) + "</p><h3>C</h3><p>" + prose("cc", 50) + "</p>"
	chunks := split(t, "a.html", src)
	if want := "B\n\n" + prose("bb", 50) + "\n\nC\n\n" + prose("cc", 50); len(chunks) != 1 || chunks[0].Text != want {
		t.Errorf("got %+v, want one passage %q", chunks, want)
	}
}

func TestRowsOfATableShareAPassage(t *testing.T) {
	src := "City,Country\nParis,France\nOslo,Norway\n"
	chunks := split(t, "a.csv", src)
	if want := "City: Paris; Country: France\n\nCity: Oslo; Country: Norway"; len(chunks) != 1 || chunks[0].Text != want ||
		src[chunks[0].Start:chunks[0].End] != "Paris,France\nOslo,Norway" {
		t.Errorf("got %+v", chunks)
	}
}

func TestPassagesOfWordAreBytesOfTheExtractedText(t *testing.T) {
	text := func(style, s string) string {
		return `<w:p><w:pPr><w:outlineLvl w:val="` + style + `"/></w:pPr><w:r><w:t>` + s + `</w:t></w:r></w:p>`
	}
	var b bytes.Buffer
	archive := zip.NewWriter(&b)
	part, err := archive.Create("word/document.xml")
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprint(part, `<w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"><w:body>`+
		text("0", "T")+text("1", "A")+text("9", prose("aa", 60))+text("1", "B")+text("9", prose("bb", 60))+`</w:body></w:document>`)
	if err := archive.Close(); err != nil {
		t.Fatal(err)
	}
	chunks := split(t, "a.docx", b.String())
	if got, want := shape(chunks), "T>A: 60 aa×60\nT>B: 60 bb×60\n"; got != want || chunks[0].Start != len("# T\n\n## A\n\n") {
		t.Errorf("got\n%sfrom %d, want\n%s", got, chunks[0].Start, want)
	}
}

func TestNothingIsTooLongToBeCut(t *testing.T) {
	for name, src := range map[string]string{
		"no blanks": strings.Repeat("x", 100_000),
		"Chinese":   strings.Repeat("汉字测试", 500),
		"one line":  strings.Repeat("word ", 5000),
		"table":     "| a | b |\n|---|---|\n" + strings.Repeat("| c | d |\n", 600),
	} {
		if chunks := split(t, "a.md", src); len(chunks) < 2 {
			t.Errorf("%s: one passage of %d words", name, chunks[0].Words)
		}
	}
}

func TestWordsOfScriptsWithoutBlanks(t *testing.T) {
	for text, want := range map[string]int{"a b  c": 3, "नमस्ते दुनिया": 2, "汉字 test": 3, strings.Repeat("f", 81): 3, "": 0} {
		if got := Words(text); got != want {
			t.Errorf("%q has %d words, want %d", text, got, want)
		}
	}
}

func FuzzSplit(f *testing.F) {
	f.Add("a.md", "# T\n\n"+prose("aa", 900)+"\n\n### U\n\nx\n\n## V\n\ny")
	f.Add("a.html", "<h1>T</h1><p>"+prose("aa", 900)+"<p>汉字<h3>x</h3>y")
	f.Add("a.txt", "  indented\n\n\n"+prose("aa", 900))
	f.Add("a.csv", "h,i\n"+prose("aa", 900)+",x\ny,z\n")
	f.Add("a.json", `{"openapi":"3.0","paths":{"/a":{"get":{"summary":"`+prose("aa", 900)+`"}}}}`)
	f.Fuzz(func(t *testing.T, name, src string) {
		if _, err := document.Parse(name, []byte(src)); err != nil {
			return
		}
		split(t, name, src)
	})
}

package document

import (
	"errors"
	"reflect"
	"strings"
	"testing"
)

// outline writes a document's tree as indented headings and quoted blocks.
func outline(d *Document) string {
	var b strings.Builder
	d.Sections(func(path []string, s *Section) {
		if s.Level > 0 {
			b.WriteString(strings.Repeat("#", s.Level) + " " + strings.Join(path, " > ") + "\n")
		}
		for _, block := range s.Blocks {
			b.WriteString("| " + strings.ReplaceAll(block.Text, "\n", "⏎") + "\n")
		}
	})
	return b.String()
}

func TestParseBuildsTheHeadingTree(t *testing.T) {
	cases := []struct {
		name, file, src, title, want string
	}{
		{
			name: "markdown: headings of both kinds, code and quotes kept whole", file: "a.md", title: "Guide to *life*",
			src: "---\ntitle: Guide to *life*\nproduct: [alpha, beta]\nyear: 2026\n---\nIntro line.\n\nTitle `x` [link](http://u)\n=====\n\nText one\nstill one.\n\n" +
				"```sh\n# not a heading\n```\n\n### Deep ###\n\n> # quoted\n> text\n\n## Second\n- a\n- b\n\n  more b\n\n***\n\n[ref]: http://r\n",
			want: "| Intro line.\n# Title x link\n| Text one⏎still one.\n| ```sh⏎# not a heading⏎```\n### Title x link > Deep\n| > # quoted⏎> text\n" +
				"## Title x link > Second\n| - a⏎- b⏎⏎  more b\n| [ref]: http://r\n",
		},
		{
			name: "markdown: indented code keeps its indentation", file: "a.markdown", title: "H",
			src: "# H\n\n    code 1\n    code 2\n\nafter", want: "# H\n|     code 1⏎    code 2\n| after\n",
		},
		{
			name: "markdown: a rule that opens the file is not front matter", file: "dir/rule.md", title: "rule",
			src: "---\n\nbody: x\n", want: "| body: x\n",
		},
		{
			name: "html: markup dropped, hidden and script unread", file: "a.html", title: "Page &c",
			src: `<!doctype html><head><title>Page &amp;c</title><meta name="Kind" content="faq"><style>p{}</style></head><body><nav><a>menu</a></nav>` +
				`<h1>One <em>big</em> idea</h1><p>Hello <b>wor</b>ld &lt;3,<br>next   line</p><script>var x = "<p>no</p>"</script><div hidden>evil <div>x</div> y</div>` +
				`<p style="display: none">unseen</p><h2>Two</h2><ul><li>a<li>b</ul><pre>k:
  v</pre><p>tail`,
			want: "# One big idea\n| Hello world <3,⏎next line\n## One big idea > Two\n| a\n| b\n| k:⏎  v\n| tail\n",
		},
		{
			name: "text: underlined headings, paragraphs at blank lines", file: "a.txt", title: "Manual",
			src:  "Manual\n======\n\nfirst\nparagraph\n\n\nPart A\n------\nsecond\n\nname   value\n-------------------------\n",
			want: "# Manual\n| first⏎paragraph\n## Manual > Part A\n| second\n| name   value⏎-------------------------\n",
		},
		{name: "text: a byte order mark is no text", file: "a.txt", title: "a", src: "\ufeffhello", want: "| hello\n"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			d, err := Parse(c.file, []byte(c.src))
			if err != nil {
				t.Fatal(err)
			}
			if got := outline(d); got != c.want {
				t.Errorf("tree:\n%s\nwant:\n%s", got, c.want)
			}
			if d.Title != c.title {
				t.Errorf("title %q, want %q", d.Title, c.title)
			}
			verify(t, d, []byte(c.src))
		})
	}
}

func TestMetadataComesFromFrontMatterAndMetaElements(t *testing.T) {
	md, err := Parse("a.md", []byte("---\nKind: guide\nproduct: [alpha, beta]\nyear: 2026\ndate: 2026-03-01\nnested: {a: b}\n---\nx"))
	if err != nil {
		t.Fatal(err)
	}
	want := Metadata{"kind": {"guide"}, "product": {"alpha", "beta"}, "year": {"2026"}, "date": {"2026-03-01"}}
	if !reflect.DeepEqual(md.Metadata, want) {
		t.Errorf("front matter: %v, want %v", md.Metadata, want)
	}
	page, err := Parse("a.htm", []byte(`<meta name=product content=alpha><meta name="product" content="beta"><p>x`))
	if err != nil {
		t.Fatal(err)
	}
	if want := (Metadata{"product": {"alpha", "beta"}}); !reflect.DeepEqual(page.Metadata, want) {
		t.Errorf("meta elements: %v, want %v", page.Metadata, want)
	}
}

func TestParseNamesWhatIsWrong(t *testing.T) {
	cases := []struct {
		file, src string
		want      error
	}{
		{"logo.png", "x", ErrUnsupported},
		{"LICENSE", "x", ErrUnsupported},
		{"a.md", "a\x00b", ErrBinary},
		{"a.txt", "caf\xe9", ErrEncoding},
		{"a.html", "<p>\xff", ErrEncoding},
		{"a.md", "", ErrNoText},
		{"a.md", "# Only a heading\n", ErrNoText},
		{"a.html", "<script>x</script>", ErrNoText},
		{"a.md", "---\na: [\n---\nx", ErrFrontMatter},
		{"a.md", strings.Repeat("> ", 100) + "x", ErrTooDeep},
		{"a.md", strings.Repeat("1. ", 100) + "x", ErrTooDeep},
		{"a.txt", strings.Repeat("a", MaxBytes+1), ErrTooLarge},
	}
	for _, c := range cases {
		_, err := Parse(c.file, []byte(c.src))
		var named *Error
		if !errors.Is(err, c.want) || !errors.As(err, &named) || named.Name != c.file {
			t.Errorf("%s %.20q: got %v, want %v", c.file, c.src, err, c.want)
		}
	}
}

// verify checks what holds for every document: blocks in order, inside the
// file, and verbatim where the format promises it.
func verify(t *testing.T, d *Document, src []byte) {
	t.Helper()
	if d.Extracted != nil {
		src = d.Extracted
	}
	last := 0
	d.Sections(func(_ []string, s *Section) {
		if s.Level > 0 && (s.Start < last || s.Heading == "") {
			t.Fatalf("heading %q at %d, after %d", s.Heading, s.Start, last)
		}
		for _, b := range s.Blocks {
			if b.Start < last || b.End > len(src) || b.Start >= b.End {
				t.Fatalf("block [%d,%d) after %d in %d bytes", b.Start, b.End, last, len(src))
			}
			if d.Format.Exact() && b.Text != string(src[b.Start:b.End]) {
				t.Fatalf("block %q differs from the file's %q", b.Text, src[b.Start:b.End])
			}
			last = b.End
		}
	})
}

func FuzzParse(f *testing.F) {
	f.Add("a.md", "# A\n\ntext\n\n- l\n\n```\nc\n```\n| a |\n|---|\n")
	f.Add("a.md", "---\nk: v\n---\nx\n\nSetext\n--\n<div>\n\n[r]: u")
	f.Add("a.html", "<h1>A</h1><p>b &amp; c<pre>d</pre><table><tr><td>e</table></>")
	f.Add("a.html", "<title>x</title><p hidden>y</p></ ><!-- z --><![CDATA[q]]><textarea>")
	f.Add("a.txt", "T\n=\n\nx\r\n\r\nTitle\r\n-----\r\ny")
	f.Fuzz(func(t *testing.T, name, src string) {
		d, err := Parse(name, []byte(src))
		if err != nil {
			return
		}
		verify(t, d, []byte(src))
	})
}

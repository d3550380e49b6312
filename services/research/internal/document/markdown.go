package document

import (
	"bytes"
	"strings"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"go.yaml.in/yaml/v3"
)

// maxMarkers bounds the containers (quotes, list items) that one line may
// open; the parser's time grows with the square of that depth.
const maxMarkers = 64

func parseMarkdown(doc *Document, t *tree, src []byte) error {
	body, err := frontMatter(doc, src)
	if err != nil {
		return err
	}
	if tooDeep(src[body:]) {
		return ErrTooDeep
	}
	// Blocks only: what is inside a paragraph is kept as written. Reference
	// definitions stay in the tree as paragraphs, since no transformer
	// removes them.
	blocks := parser.NewParser(parser.WithBlockParsers(parser.DefaultBlockParsers()...))
	root := blocks.Parse(text.NewReader(src[body:]))
	for n := root.FirstChild(); n != nil; n = n.NextSibling() {
		start := lineStart(src, body+n.Pos())
		end := len(src)
		if next := n.NextSibling(); next != nil {
			end = lineStart(src, body+next.Pos())
		}
		start, end = trim(src, start, end)
		switch n := n.(type) {
		case *ast.Heading:
			t.heading(n.Level, start, headingText(n, src[body:]))
		case *ast.ThematicBreak:
		default:
			t.block(Block{Start: start, End: end, Text: string(src[start:end])})
		}
	}
	return nil
}

// lineStart moves an offset back over the blanks before it to its line's
// first byte.
func lineStart(src []byte, pos int) int {
	for i := pos; i > 0; i-- {
		switch src[i-1] {
		case ' ', '\t':
		case '\n':
			return i
		default:
			return pos
		}
	}
	return pos
}

// headingText is a heading as read: without emphasis, link targets and code
// marks.
func headingText(h *ast.Heading, src []byte) string {
	var raw bytes.Buffer
	for i := range h.Lines().Len() {
		seg := h.Lines().At(i)
		raw.Write(seg.Value(src))
		raw.WriteByte(' ')
	}
	line := raw.Bytes()
	inline := parser.NewParser(
		parser.WithBlockParsers(parser.DefaultBlockParsers()[len(parser.DefaultBlockParsers())-1]),
		parser.WithInlineParsers(parser.DefaultInlineParsers()...))
	var out strings.Builder
	_ = ast.Walk(inline.Parse(text.NewReader(line)), func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Text:
			out.Write(n.Segment.Value(line))
		case *ast.String:
			out.Write(n.Value)
		case *ast.AutoLink:
			out.Write(n.Label(line))
		}
		return ast.WalkContinue, nil
	})
	return strings.Join(strings.Fields(out.String()), " ")
}

// tooDeep looks for a line that opens more containers than maxMarkers.
func tooDeep(src []byte) bool {
	for line := range bytes.Lines(src) {
		markers := 0
		for i := 0; i < len(line); {
			switch c := line[i]; {
			case c == ' ' || c == '\t':
				i++
				continue
			case c == '>':
				i++
			case (c == '-' || c == '+' || c == '*') && i+1 < len(line) && isSpace(line[i+1]):
				i += 2
			case c >= '0' && c <= '9':
				j := i
				for j < len(line) && line[j] >= '0' && line[j] <= '9' {
					j++
				}
				if j+1 >= len(line) || (line[j] != '.' && line[j] != ')') || !isSpace(line[j+1]) {
					i = len(line)
					continue
				}
				i = j + 2
			default:
				i = len(line)
				continue
			}
			if markers++; markers > maxMarkers {
				return true
			}
		}
	}
	return false
}

// frontMatter reads the YAML block that may open a Markdown file into the
// document's metadata and returns where the body begins.
func frontMatter(doc *Document, src []byte) (int, error) {
	at := len(bomPrefix(src))
	rest := src[at:]
	first, after, ok := bytes.Cut(rest, []byte("\n"))
	if !ok || strings.TrimRight(string(first), " \t\r") != "---" {
		return at, nil
	}
	offset := at + len(first) + 1
	size := 0
	for line := range bytes.Lines(after) {
		mark := strings.TrimRight(string(line), " \t\r\n")
		if mark == "---" || mark == "..." {
			fields := map[string]any{}
			if err := yaml.Unmarshal(after[:size], &fields); err != nil {
				return 0, ErrFrontMatter
			}
			doc.Title = doc.Metadata.read(fields)
			return offset + size + len(line), nil
		}
		size += len(line)
	}
	// No closing line: a thematic break opens an ordinary document.
	return at, nil
}

func bomPrefix(src []byte) []byte {
	if bytes.HasPrefix(src, []byte("\xef\xbb\xbf")) {
		return src[:3]
	}
	return nil
}

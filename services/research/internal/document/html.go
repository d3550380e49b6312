package document

import (
	"bytes"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// unread are elements whose content is not the text of the page.
var unread = map[atom.Atom]bool{
	atom.Script: true, atom.Style: true, atom.Template: true, atom.Noscript: true, atom.Svg: true,
	atom.Math: true, atom.Iframe: true, atom.Object: true, atom.Nav: true, atom.Select: true, atom.Textarea: true,
}

// inline are elements that do not end a block; every other one does.
var inline = map[atom.Atom]bool{
	atom.A: true, atom.Abbr: true, atom.B: true, atom.Bdi: true, atom.Bdo: true, atom.Cite: true, atom.Code: true,
	atom.Data: true, atom.Del: true, atom.Dfn: true, atom.Em: true, atom.Font: true, atom.I: true, atom.Img: true,
	atom.Ins: true, atom.Kbd: true, atom.Label: true, atom.Mark: true, atom.Q: true, atom.S: true, atom.Samp: true,
	atom.Small: true, atom.Span: true, atom.Strong: true, atom.Sub: true, atom.Sup: true, atom.Time: true,
	atom.Tt: true, atom.U: true, atom.Var: true, atom.Wbr: true,
}

var void = map[atom.Atom]bool{
	atom.Area: true, atom.Base: true, atom.Br: true, atom.Col: true, atom.Embed: true, atom.Hr: true, atom.Img: true,
	atom.Input: true, atom.Link: true, atom.Meta: true, atom.Source: true, atom.Track: true, atom.Wbr: true,
}

// page reads an HTML file token by token, which keeps the offsets that a
// parsed tree would lose.
type page struct {
	doc  *Document
	tree *tree

	text       strings.Builder
	start, end int  // span of text in the file
	space      bool // a blank is owed before the next word
	level      int  // of the heading being read, 0 in a block
	pre        int  // depth of pre elements
	inTitle    bool

	skip  atom.Atom // the element whose content is not read, 0 for none
	depth int       // how many of it are open
}

func parseHTML(doc *Document, t *tree, src []byte) error {
	offset := len(bomPrefix(src))
	// The tokenizer rewrites its buffer in place, hence the copy that its
	// reader makes; src itself stays as it is.
	z := html.NewTokenizer(bytes.NewReader(src[offset:]))
	p := &page{doc: doc, tree: t}
	for {
		kind := z.Next()
		size := len(z.Raw())
		if kind == html.ErrorToken {
			break
		}
		switch kind {
		case html.TextToken:
			raw := src[offset : offset+size]
			p.words(string(z.Text()), offset, raw)
		case html.StartTagToken, html.SelfClosingTagToken:
			p.open(z.Token(), offset)
		case html.EndTagToken:
			p.close(z.Token().DataAtom)
		}
		offset += size
	}
	p.flush()
	return nil
}

func (p *page) open(tok html.Token, offset int) {
	a := tok.DataAtom
	switch {
	case p.skip != 0:
		if a == p.skip && tok.Type == html.StartTagToken {
			p.depth++
		}
		return
	case (unread[a] || hidden(tok)) && !void[a]:
		if !inline[a] {
			p.flush()
		}
		if tok.Type == html.StartTagToken {
			p.skip, p.depth = a, 1
		}
		return
	case a == atom.Meta:
		p.doc.Metadata.add(attr(tok, "name"), attr(tok, "content"))
		return
	case a == atom.Br:
		p.newline()
		return
	case inline[a]:
		return
	}
	p.flush()
	switch a {
	case atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6:
		p.level, p.start = int(a.String()[1]-'0'), offset
	case atom.Title:
		p.inTitle = true
	case atom.Pre:
		p.pre++
	}
}

func (p *page) close(a atom.Atom) {
	if p.skip != 0 {
		if a == p.skip {
			if p.depth--; p.depth == 0 {
				p.skip = 0
			}
		}
		return
	}
	if inline[a] {
		return
	}
	p.flush()
	if a == atom.Pre && p.pre > 0 {
		p.pre--
	}
}

// words adds a run of text whose file bytes are raw, at offset.
func (p *page) words(text string, offset int, raw []byte) {
	if p.skip != 0 {
		return
	}
	from, to := 0, len(raw)
	for from < to && isSpace(raw[from]) {
		from++
	}
	for to > from && isSpace(raw[to-1]) {
		to--
	}
	if from == to {
		p.space = true
		return
	}
	if p.text.Len() == 0 && p.level == 0 {
		p.start = offset + from
	}
	p.end = offset + to
	if p.pre > 0 {
		p.text.WriteString(text)
		return
	}
	if p.text.Len() > 0 && (p.space || from > 0) && !strings.HasSuffix(p.text.String(), "\n") {
		p.text.WriteByte(' ')
	}
	p.text.WriteString(strings.Join(strings.Fields(text), " "))
	p.space = to < len(raw)
}

func (p *page) newline() {
	if p.skip == 0 && p.text.Len() > 0 {
		p.text.WriteByte('\n')
		p.space = false
	}
}

// flush ends the block, heading or title being read.
func (p *page) flush() {
	text := strings.TrimSpace(p.text.String())
	switch {
	case p.inTitle:
		if p.doc.Title == "" {
			p.doc.Title = text
		}
	case p.level > 0:
		p.tree.heading(p.level, p.start, strings.Join(strings.Fields(text), " "))
	case text != "":
		p.tree.block(Block{Start: p.start, End: p.end, Text: text})
	}
	p.text.Reset()
	p.space, p.level, p.inTitle = false, 0, false
}

// hidden elements are not shown to a reader, so they are not read either:
// what nobody sees is where instructions to a machine are planted.
func hidden(tok html.Token) bool {
	for _, a := range tok.Attr {
		if a.Key == "hidden" || (a.Key == "aria-hidden" && a.Val == "true") {
			return true
		}
		if a.Key == "style" {
			style := strings.ReplaceAll(strings.ToLower(a.Val), " ", "")
			if strings.Contains(style, "display:none") || strings.Contains(style, "visibility:hidden") {
				return true
			}
		}
	}
	return false
}

func attr(tok html.Token, key string) string {
	for _, a := range tok.Attr {
		if a.Key == key {
			return a.Val
		}
	}
	return ""
}

package document

import (
	"archive/zip"
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"
)

// Bounds of a Word document.
const (
	maxInflated = 64 << 20 // bytes of all parts that are read, inflated
	maxToken    = 4 << 20  // bytes of one tag or one run of text
	maxElements = 256      // elements inside each other
)

// word is a Word document being opened.
type word struct {
	parts map[string]*zip.File
	left  int // bytes that may still be inflated
}

// parseDOCX reads the text of a Word document into doc.Extracted, which the
// blocks' offsets then point into.
func parseDOCX(doc *Document, t *tree, src []byte) error {
	w, err := openWord(src)
	if err != nil {
		return err
	}
	main := w.main()
	if main == "" {
		return fmt.Errorf("%w: there is no Word text in the archive", ErrDOCX)
	}
	styles := styleSheet{}
	if name := path.Join(path.Dir(main), "styles.xml"); w.parts[name] != nil {
		if err := w.read(name, styles.element); err != nil {
			return err
		}
	}
	if w.parts["docProps/core.xml"] != nil {
		if err := w.read("docProps/core.xml", (&properties{doc: doc}).element); err != nil {
			return err
		}
	}
	b := &body{tree: t, styles: styles.resolve()}
	if err := w.read(main, b.element); err != nil {
		return err
	}
	if err := b.flush(); err != nil {
		return err
	}
	doc.Extracted = b.out.Bytes()
	return nil
}

func openWord(src []byte) (*word, error) {
	archive, err := zip.NewReader(bytes.NewReader(src), int64(len(src)))
	if err != nil {
		return nil, fmt.Errorf("%w: the archive is cut off or damaged", ErrDOCX)
	}
	w := &word{parts: map[string]*zip.File{}, left: maxInflated}
	for _, f := range archive.File {
		// Programs differ in which of two parts of one name they show.
		if w.parts[f.Name] != nil {
			return nil, fmt.Errorf("%w: two parts of the archive have the same name", ErrDOCX)
		}
		w.parts[f.Name] = f
	}
	return w, nil
}

// main is the name of the part that has the text, empty when there is none.
func (w *word) main() string {
	found := ""
	if w.parts["_rels/.rels"] != nil {
		_ = w.read("_rels/.rels", func(e element) error {
			if e.start && e.name == "Relationship" && strings.HasSuffix(e.attr("Type"), "/officeDocument") {
				found = strings.TrimPrefix(e.attr("Target"), "/")
			}
			return nil
		})
	}
	if w.parts[found] == nil {
		found = "word/document.xml"
	}
	if w.parts[found] == nil || !strings.HasPrefix(found, "word/") {
		return "" // a spreadsheet or a presentation
	}
	return found
}

// element is the begin or the end of an element, or text in one.
type element struct {
	name  string // local name; empty for text
	space string // name space
	attrs []xml.Attr
	start bool
	chars bool // it is text
	text  []byte
}

func (e element) attr(name string) string {
	for _, a := range e.attrs {
		if a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}

// on is the value of a switch, such as <w:vanish/>: on unless it says off.
func (e element) on() bool {
	switch e.attr("val") {
	case "0", "false", "off":
		return false
	}
	return true
}

// word tells an element of the text itself, not of a drawing or a formula.
func (e element) word() bool { return strings.Contains(e.space, "wordprocessingml") }

// read visits the elements of a part. The decoder resolves no entity but
// the five of XML, so that text cannot grow by them.
func (w *word) read(name string, visit func(element) error) error {
	part, err := w.parts[name].Open()
	if err != nil {
		return fmt.Errorf("%w: a part of the archive cannot be read", ErrDOCX)
	}
	defer part.Close()
	in := &inflater{from: part, left: &w.left}
	decoder := xml.NewDecoder(in)
	for depth := 0; ; {
		in.token = 0
		tok, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return xmlError(err)
		}
		switch tok := tok.(type) {
		case xml.StartElement:
			if depth++; depth > maxElements {
				return ErrTooDeep
			}
			err = visit(element{name: tok.Name.Local, space: tok.Name.Space, attrs: tok.Attr, start: true})
		case xml.EndElement:
			depth--
			err = visit(element{name: tok.Name.Local, space: tok.Name.Space})
		case xml.CharData:
			err = visit(element{chars: true, text: tok})
		}
		if err != nil {
			return err
		}
	}
}

// inflater reads a part within the bounds, whatever sizes the archive states.
type inflater struct {
	from  io.Reader
	left  *int
	token int // bytes read for the token being read
}

// Read implements io.Reader.
func (i *inflater) Read(p []byte) (int, error) {
	n, err := i.from.Read(p)
	i.token += n
	if *i.left -= n; *i.left < 0 || i.token > maxToken {
		return 0, ErrInflates
	}
	return n, err
}

func xmlError(err error) error {
	var syntax *xml.SyntaxError
	switch {
	case errors.Is(err, ErrInflates):
		return ErrInflates
	case errors.Is(err, io.ErrUnexpectedEOF), errors.As(err, &syntax) && strings.Contains(syntax.Msg, "unexpected EOF"):
		return fmt.Errorf("%w: a part of it ends in the middle", ErrDOCX)
	case errors.As(err, &syntax) && strings.Contains(syntax.Msg, "invalid UTF-8"):
		return ErrEncoding
	case errors.As(err, &syntax):
		return fmt.Errorf("%w: line %d of a part is no XML", ErrDOCX, syntax.Line)
	}
	return fmt.Errorf("%w: a part of the archive is damaged or of another encoding than UTF-8", ErrDOCX)
}

// properties reads what a document says about itself.
type properties struct {
	doc  *Document
	text strings.Builder
}

func (p *properties) element(e element) error {
	switch {
	case e.chars:
		p.text.Write(e.text)
		return nil
	case !e.start:
		text := caption(p.text.String())
		switch e.name {
		case "title":
			p.doc.Title = text
			p.doc.Metadata.add("title", text)
		case "creator":
			p.doc.Metadata.add("author", text)
		case "subject", "keywords", "category":
			p.doc.Metadata.add(e.name, text)
		}
	}
	p.text.Reset()
	return nil
}

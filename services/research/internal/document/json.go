package document

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

const (
	maxNesting = 64      // objects and arrays inside each other
	maxValues  = 1 << 19 // values of one file, containers included
)

// value is one value of a JSON file with the bytes that it takes there.
type value struct {
	key        string // its name in an object
	from       int    // where the name begins; start where there is none
	start, end int    // the value itself
	kind       byte   // '{', '[' or 0
	text       string // of what is neither object nor array
	items      []value
}

// get is the member of that name, or nil.
func (v *value) get(key string) *value {
	for i := range v.items {
		if v.kind == '{' && v.items[i].key == key {
			return &v.items[i]
		}
	}
	return nil
}

// say is the text of the member of that name.
func (v *value) say(key string) string {
	if m := v.get(key); m != nil {
		return m.text
	}
	return ""
}

// parseJSON reads one value or, from a file of JSON Lines, one after the
// other.
func parseJSON(doc *Document, t *tree, src []byte) error {
	offset := len(bomPrefix(src))
	r := jsonReader{src: src, offset: offset, tokens: json.NewDecoder(bytes.NewReader(src[offset:]))}
	r.tokens.UseNumber()
	lines := strings.HasSuffix(strings.ToLower(doc.Name), "l") || strings.HasSuffix(strings.ToLower(doc.Name), ".ndjson")
	for n := 0; ; n++ {
		v, err := r.read(0)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if n > 0 && !lines {
			return fmt.Errorf("%w: something follows the value, at byte %d; name a file of one value a line .jsonl", ErrJSON, v.start)
		}
		if err := sections(doc, t, &v); err != nil {
			return err
		}
	}
}

// sections makes the sections of an OpenAPI document, the lines of any other.
func sections(doc *Document, t *tree, v *value) error {
	if described(v) {
		return openAPI(doc, t, v)
	}
	if doc.Title == "" {
		doc.Title = caption(v.say("title"))
	}
	return flatten(t, "", v)
}

type jsonReader struct {
	src    []byte
	offset int
	tokens *json.Decoder
	values int
}

// next is where the token that is read next begins.
func (r *jsonReader) next() int {
	at := r.offset + int(r.tokens.InputOffset())
	for at < len(r.src) && strings.IndexByte(" \t\r\n,:", r.src[at]) >= 0 {
		at++
	}
	return at
}

func (r *jsonReader) token() (json.Token, error) {
	tok, err := r.tokens.Token()
	if err == nil {
		return tok, nil
	}
	return nil, r.fault(err)
}

func (r *jsonReader) fault(err error) error {
	var syntax *json.SyntaxError
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("%w: it ends in the middle of a value", ErrJSON)
	case errors.As(err, &syntax):
		return fmt.Errorf("%w, at byte %d", ErrJSON, r.offset+int(syntax.Offset))
	}
	return err
}

// read reads a value; io.EOF is that there is none.
func (r *jsonReader) read(depth int) (value, error) {
	v := value{start: r.next()}
	v.from = v.start
	tok, err := r.token()
	if err != nil {
		return v, err
	}
	if r.values++; r.values > maxValues {
		return v, ErrTooMany
	}
	delim, ok := tok.(json.Delim)
	if !ok {
		v.text, v.end = scalarJSON(tok), r.offset+int(r.tokens.InputOffset())
		return v, nil
	}
	if depth == maxNesting {
		return v, ErrTooDeep
	}
	v.kind = byte(delim)
	for r.tokens.More() {
		key, from := "", -1
		if v.kind == '{' {
			from = r.next()
			tok, err := r.token()
			if err != nil {
				return v, inside(err)
			}
			key, _ = tok.(string)
		}
		item, err := r.read(depth + 1)
		if err != nil {
			return v, inside(err)
		}
		item.key = caption(key)
		if from >= 0 {
			item.from = from
		}
		v.items = append(v.items, item)
	}
	if _, err := r.token(); err != nil {
		return v, inside(err)
	}
	v.end = r.offset + int(r.tokens.InputOffset())
	return v, nil
}

// inside makes the end of the file, where a value is open, an error.
func inside(err error) error {
	if errors.Is(err, io.EOF) {
		return fmt.Errorf("%w: it ends in the middle of a value", ErrJSON)
	}
	return err
}

func scalarJSON(tok json.Token) string {
	if tok == nil {
		return "null"
	}
	return oneLine(clean(fmt.Sprint(tok)))
}

// caption is a key fit to stand in a path.
func caption(key string) string {
	const most = 120
	key = oneLine(clean(key))
	if len(key) > most {
		key = clean(key[:most]) + "…"
	}
	return key
}

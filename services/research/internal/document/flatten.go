package document

import (
	"strconv"
	"strings"
)

// maxBlock is how many bytes of lines go into one block, so that a passage
// can end between two values that have little to do with each other.
const maxBlock = 1500

// flatten makes blocks of a value's lines, "path: value" each. Neighbours
// share a block while they fit; what does not fit is divided further.
func flatten(t *tree, path string, v *value) error {
	b := blocks{tree: t}
	if err := b.add(path, v); err != nil {
		return err
	}
	return b.flush()
}

// blocks gathers lines until they fill a block.
type blocks struct {
	tree       *tree
	text       strings.Builder
	start, end int
}

func (b *blocks) add(path string, v *value) error {
	if v.kind == 0 || v.end-v.start <= maxBlock {
		var text strings.Builder
		if render(&text, path, v) {
			return b.line(text.String(), v)
		}
	}
	for i := range v.items {
		if err := b.add(below(path, v, i), &v.items[i]); err != nil {
			return err
		}
	}
	return nil
}

func (b *blocks) line(text string, v *value) error {
	text = strings.TrimSuffix(text, "\n")
	if text == "" {
		return nil
	}
	if b.text.Len() > 0 && b.text.Len()+len(text) > maxBlock {
		if err := b.flush(); err != nil {
			return err
		}
	}
	if b.text.Len() == 0 {
		b.start = v.from
	} else {
		b.text.WriteByte('\n')
	}
	b.text.WriteString(text)
	b.end = v.end
	return nil
}

func (b *blocks) flush() error {
	if b.text.Len() == 0 {
		return nil
	}
	if err := b.tree.spend(b.text.Len()); err != nil {
		return err
	}
	b.tree.block(Block{Start: b.start, End: b.end, Text: b.text.String()})
	b.text.Reset()
	return nil
}

// render writes a value's lines; it gives up, false, when those of an
// object or array are too long for a block. Empty ones have no line.
func render(w *strings.Builder, path string, v *value) bool {
	if v.kind == 0 {
		if v.text != "" {
			if path != "" {
				w.WriteString(path + ": ")
			}
			w.WriteString(v.text + "\n")
		}
		return true
	}
	if list, ok := listed(v); ok {
		if list != "" {
			if path != "" {
				w.WriteString(path + ": ")
			}
			w.WriteString(list + "\n")
		}
		return w.Len() <= maxBlock
	}
	for i := range v.items {
		if !render(w, below(path, v, i), &v.items[i]) || w.Len() > maxBlock {
			return false
		}
	}
	return true
}

// listed is an array of plain values on one line.
func listed(v *value) (string, bool) {
	if v.kind != '[' {
		return "", false
	}
	var texts []string
	for i := range v.items {
		if v.items[i].kind != 0 {
			return "", false
		}
		if v.items[i].text != "" {
			texts = append(texts, v.items[i].text)
		}
	}
	return strings.Join(texts, ", "), true
}

// below is the path of an item.
func below(path string, v *value, i int) string {
	if v.kind == '[' {
		return path + "[" + strconv.Itoa(i) + "]"
	}
	if path == "" {
		return v.items[i].key
	}
	return path + "." + v.items[i].key
}

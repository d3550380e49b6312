package document

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// maxColumns bounds the fields of a row.
const maxColumns = 4096

// parseCSV makes a block of every row below the first, which names the
// columns: "name: value; name: value", without the empty ones. A block's
// offsets bound its row in the file.
func parseCSV(t *tree, src []byte, name string) error {
	offset := len(bomPrefix(src))
	body := src[offset:]
	r := csv.NewReader(bytes.NewReader(body))
	r.FieldsPerRecord = -1 // a row may be shorter or longer than the first
	r.ReuseRecord = true
	r.Comma = separator(body, name)
	var header []string
	for {
		start := int(r.InputOffset())
		row, err := r.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return csvError(err)
		}
		if len(row) > maxColumns {
			return fmt.Errorf("%w: a row has more than %d fields", ErrCSV, maxColumns)
		}
		if header == nil {
			header = columns(row)
			continue
		}
		text := rowText(header, row)
		if text == "" {
			continue
		}
		from, to := trim(src, offset+start, offset+int(r.InputOffset()))
		if err := t.spend(len(text)); err != nil {
			return err
		}
		t.block(Block{Start: from, End: to, Text: text})
	}
}

// separator is the tab in a .tsv file; else whichever of comma, semicolon
// and tab divides the first line most, outside quotes.
func separator(body []byte, name string) rune {
	if strings.HasSuffix(strings.ToLower(name), ".tsv") {
		return '\t'
	}
	counts := map[byte]int{}
	quoted := false
scan:
	for _, b := range body {
		switch {
		case b == '"':
			quoted = !quoted
		case quoted:
		case b == '\n' && len(counts) > 0:
			break scan
		case b == ',' || b == ';' || b == '\t':
			counts[b]++
		}
	}
	best := byte(',')
	for _, b := range []byte{';', '\t'} {
		if counts[b] > counts[best] {
			best = b
		}
	}
	return rune(best)
}

// columns names the columns; one without a name, or with that of another,
// is told by its place.
func columns(row []string) []string {
	names := make([]string, len(row))
	seen := map[string]bool{}
	for i, field := range row {
		name := oneLine(field)
		if name == "" || seen[name] {
			name = place(i)
		}
		seen[name] = true
		names[i] = name
	}
	return names
}

func place(i int) string { return "column " + strconv.Itoa(i+1) }

func rowText(header, row []string) string {
	var parts []string
	for i, field := range row {
		value := oneLine(field)
		if value == "" {
			continue
		}
		name := place(i)
		if i < len(header) {
			name = header[i]
		}
		parts = append(parts, name+": "+value)
	}
	return strings.Join(parts, "; ")
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

func csvError(err error) error {
	var at *csv.ParseError
	if !errors.As(err, &at) {
		return ErrCSV
	}
	what := "a quote inside a field that is not quoted"
	if errors.Is(at.Err, csv.ErrQuote) {
		what = "a quoted field is not closed, or text follows its closing quote"
	}
	return fmt.Errorf("%w: the row that begins on line %d: %s", ErrCSV, at.StartLine, what)
}

package document

import (
	"bytes"
	"fmt"
)

// magic are the first bytes of files that are often given a wrong name.
var magic = []struct{ begins, is string }{
	{"PK\x03\x04", "a ZIP archive (as DOCX, XLSX and ODT are)"},
	{"PK\x05\x06", "an empty ZIP archive"},
	{"%PDF-", "a PDF file"},
	{"\x89PNG\r\n", "a PNG image"},
	{"\xff\xd8\xff", "a JPEG image"},
	{"GIF87a", "a GIF image"},
	{"GIF89a", "a GIF image"},
	{"\x1f\x8b", "a gzip file"},
	{"7z\xbc\xaf\x27\x1c", "a 7z archive"},
	{"\x28\xb5\x2f\xfd", "a Zstandard file"},
	{"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an old or encrypted Office file; save it as DOCX without a password"},
	{"{\\rtf", "an RTF file"},
	{"SQLite format 3\x00", "an SQLite database"},
	{"\x7fELF", "a program"},
}

// sniff tells a file whose first bytes belong to another format than its
// name says.
func sniff(format Format, src []byte) error {
	for _, m := range magic {
		if bytes.HasPrefix(src, []byte(m.begins)) {
			if format == DOCX && m.begins == "PK\x03\x04" {
				return nil
			}
			return fmt.Errorf("%w: it is %s", ErrMislabelled, m.is)
		}
	}
	if bytes.HasPrefix(src, []byte("\xff\xfe")) || bytes.HasPrefix(src, []byte("\xfe\xff")) {
		return fmt.Errorf("%w (it is UTF-16)", ErrEncoding)
	}
	if format == DOCX {
		return fmt.Errorf("%w: it is no ZIP archive, which DOCX files are", ErrMislabelled)
	}
	return nil
}
